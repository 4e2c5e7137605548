"""Shared memory on the interpreter: what views, copies and barriers mean, and that programs which are unsound are found."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from ttgir_programs import place_memory_and_barriers
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32

from minitriton.dialects.text import parse_module
from minitriton.interpreter import InterpreterError, interpret

HEADER = """
#row = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#column = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 4], order = [0, 1]}>
#swizzled = #ttg.swizzled_shared<{vec = 2, perPhase = 2, maxPhase = 4, order = [1, 0]}>
#turned = #ttg.swizzled_shared<{vec = 2, perPhase = 2, maxPhase = 4, order = [0, 1]}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!buffer = !ttg.memdesc<16x32xf32, #swizzled, #smem, mutable>
!buffers = !ttg.memdesc<2x16x32xf32, #swizzled, #smem, mutable>
!tile = tensor<16x32xf32, #row>
!pointers = tensor<16x32x!tt.ptr<f32>, #row>
"""


def kernel(body: str, *, shared: int | None = None) -> ModuleOp:
    """`@f(%x, %o)`: `%xs` points at the 16x32 tile at `%x`, `%os` at that at `%o`, `%v` is the former."""
    size = "" if shared is None else f'"ttg.shared" = {shared} : i32, '
    return parse_module(
        HEADER
        + f"""
    module attributes {{{size}"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
      tt.func public @f(%x: !tt.ptr<f32>, %o: !tt.ptr<f32>) {{
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %width = arith.constant dense<32> : tensor<16x1xi32, #row>
        %i = tt.make_range {{start = 0 : i32, end = 16 : i32}} : tensor<16xi32, #ttg.slice<{{dim = 1, parent = #row}}>>
        %j = tt.make_range {{start = 0 : i32, end = 32 : i32}} : tensor<32xi32, #ttg.slice<{{dim = 0, parent = #row}}>>
        %ie = tt.expand_dims %i {{axis = 1 : i32}} : tensor<16xi32, #ttg.slice<{{dim = 1, parent = #row}}>> -> tensor<16x1xi32, #row>
        %je = tt.expand_dims %j {{axis = 0 : i32}} : tensor<32xi32, #ttg.slice<{{dim = 0, parent = #row}}>> -> tensor<1x32xi32, #row>
        %iw = arith.muli %ie, %width : tensor<16x1xi32, #row>
        %ib = tt.broadcast %iw : tensor<16x1xi32, #row> -> tensor<16x32xi32, #row>
        %jb = tt.broadcast %je : tensor<1x32xi32, #row> -> tensor<16x32xi32, #row>
        %at = arith.addi %ib, %jb : tensor<16x32xi32, #row>
        %x0 = tt.splat %x : !tt.ptr<f32> -> !pointers
        %o0 = tt.splat %o : !tt.ptr<f32> -> !pointers
        %xs = tt.addptr %x0, %at : !pointers, tensor<16x32xi32, #row>
        %os = tt.addptr %o0, %at : !pointers, tensor<16x32xi32, #row>
        %v = tt.load %xs : !pointers
        {body}
        tt.return
      }}
    }}"""
    )


def run(module: ModuleOp, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """The input and the output."""
    x = np.random.default_rng(0).standard_normal((16, 32)).astype(np.float32)
    o = np.full((16, 32), np.float32(7))
    interpret(module, "f", [x, o], **options)
    return x, o


def test_a_view_of_a_buffer_names_the_same_elements() -> None:
    module = kernel("""
        %b = ttg.local_alloc : () -> !buffers
        %b1 = ttg.memdesc_index %b[%c1] : !buffers -> !buffer
        ttg.local_store %v, %b1 : !tile -> !buffer
        %part = ttg.memdesc_subslice %b1[0, 16] : !buffer -> !ttg.memdesc<16x16xf32, #swizzled, #smem, mutable, 16x32>
        %t = ttg.memdesc_trans %part {order = array<i32: 1, 0>}
            : !ttg.memdesc<16x16xf32, #swizzled, #smem, mutable, 16x32> -> !ttg.memdesc<16x16xf32, #turned, #smem, mutable, 32x16>
        %r = ttg.local_load %t : !ttg.memdesc<16x16xf32, #turned, #smem, mutable, 32x16> -> tensor<16x16xf32, #row>
        %w = tt.join %r, %r : tensor<16x16xf32, #row> -> tensor<16x16x2xf32, #ttg.blocked<{sizePerThread = [1, 4, 2], threadsPerWarp = [4, 8, 1], warpsPerCTA = [4, 1, 1], order = [2, 1, 0]}>>
        %f = tt.reshape %w : tensor<16x16x2xf32, #ttg.blocked<{sizePerThread = [1, 4, 2], threadsPerWarp = [4, 8, 1], warpsPerCTA = [4, 1, 1], order = [2, 1, 0]}>> -> tensor<16x32xf32, #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>>
        %s = ttg.convert_layout %f : tensor<16x32xf32, #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>> -> !tile
        tt.store %os, %s : !pointers
    """)
    x, o = run(module)
    assert (o == np.repeat(x[:, 16:].T, 2, axis=1)).all()


def test_another_element_type_sees_the_bytes_as_they_lie() -> None:
    module = kernel("""
        %b = ttg.local_alloc %v : (!tile) -> !buffer
        %p = ttg.memdesc_reinterpret %b : !buffer -> !ttg.memdesc<16x32xi32, #plain, #smem, mutable>
        %q = ttg.local_load %p : !ttg.memdesc<16x32xi32, #plain, #smem, mutable> -> tensor<16x32xi32, #row>
        %r = tt.bitcast %q : tensor<16x32xi32, #row> -> !tile
        tt.store %os, %r : !pointers
    """)
    x, o = run(module)
    row, column = np.divmod(np.arange(512).reshape(16, 32), 32)
    assert (o == x[row, column ^ (2 * (row // 2 % 4))]).all()


def test_a_buffer_that_nothing_has_written_may_not_be_read() -> None:
    module = kernel("""
        %b = ttg.local_alloc : () -> !buffers
        %b0 = ttg.memdesc_index %b[%c0] : !buffers -> !buffer
        %b1 = ttg.memdesc_index %b[%c1] : !buffers -> !buffer
        ttg.local_store %v, %b0 : !tile -> !buffer
        %r = ttg.local_load %b1 : !buffer -> !tile
        tt.store %os, %r : !pointers
    """)
    with pytest.raises(
        InterpreterError, match=r"ttg.local_load reads shared memory that nothing has written: element \(0, 0\)"
    ):
        run(module)


def test_a_buffer_is_poison_again_in_the_next_program() -> None:
    module = kernel("""
        %pid = tt.get_program_id x : i32
        %first = arith.cmpi eq, %pid, %c0 : i32
        %b = ttg.local_alloc : () -> !buffer
        scf.if %first {
          ttg.local_store %v, %b : !tile -> !buffer
        }
        %r = ttg.local_load %b : !buffer -> !tile
        tt.store %os, %r : !pointers
    """)
    with pytest.raises(InterpreterError, match=re.escape("nothing has written")) as caught:
        run(module, grid=(2,))
    assert "(program (1, 0, 0))" in caught.value.message


COPIES = """
        %b = ttg.local_alloc : () -> !buffers
        %b0 = ttg.memdesc_index %b[%c0] : !buffers -> !buffer
        %b1 = ttg.memdesc_index %b[%c1] : !buffers -> !buffer
        %t0 = ttg.async_copy_global_to_local %xs, %b0 : !pointers -> !buffer
        %g0 = ttg.async_commit_group tokens %t0
        %t1 = ttg.async_copy_global_to_local %xs, %b1 : !pointers -> !buffer
        %g1 = ttg.async_commit_group tokens %t1
        %w = ttg.async_wait %g0 {num = PENDING : i32}
        BEFORE
        %r = ttg.local_load %b0 token %w : !buffer -> tensor<16x32xf32, #column>
        %w1 = ttg.async_wait %g1 {num = 0 : i32}
        ttg.local_dealloc %b : !buffers
        %s = ttg.convert_layout %r : tensor<16x32xf32, #column> -> !tile
        tt.store %os, %s : !pointers
"""


def copies(pending: int, before: str = "") -> ModuleOp:
    return kernel(COPIES.replace("PENDING", str(pending)).replace("BEFORE", before))


def test_what_a_wait_covers_can_be_read() -> None:
    x, o = run(copies(pending=1))
    assert (o == x).all()


def test_a_wait_one_group_short_is_found() -> None:
    with pytest.raises(
        InterpreterError, match=r"ttg.local_load reads .* while ttg.async_copy_global_to_local .*may still write"
    ):
        run(copies(pending=2))


def test_a_copy_may_not_be_overwritten_before_it_is_done() -> None:
    with pytest.raises(InterpreterError, match=r"ttg.local_store writes .* while ttg.async_copy_global_to_local"):
        run(copies(1, "ttg.local_store %v, %b1 : !tile -> !buffer"))


def test_a_buffer_may_not_be_freed_while_it_is_copied_to() -> None:
    with pytest.raises(InterpreterError, match=r"ttg.local_dealloc frees memory that ttg.async_copy_global_to_local"):
        run(copies(1, "ttg.local_dealloc %b : !buffers"))


def test_masked_elements_of_a_copy_are_filled() -> None:
    module = kernel("""
        %m = arith.constant dense<false> : tensor<16x32xi1, #row>
        %two = arith.constant dense<2.0> : !tile
        %b = ttg.local_alloc : () -> !buffer
        %t = ttg.async_copy_global_to_local %xs, %b mask %m other %two : !pointers -> !buffer
        %g = ttg.async_commit_group tokens %t
        %w = ttg.async_wait %g {num = 0 : i32}
        %r = ttg.local_load %b token %w : !buffer -> !tile
        tt.store %os, %r : !pointers
    """)
    assert (run(module)[1] == 2).all()


EXCHANGE = """
        %b = ttg.local_alloc : () -> !buffer
        ttg.local_store %v, %b : !tile -> !buffer
        %r = ttg.local_load %b : !buffer -> tensor<16x32xf32, #column>
        %n = arith.negf %v : !tile
        ttg.local_store %n, %b : !tile -> !buffer
        %q = ttg.local_load %b : !buffer -> tensor<16x32xf32, #column>
        %d = arith.subf %r, %q : tensor<16x32xf32, #column>
        %s = ttg.convert_layout %d : tensor<16x32xf32, #column> -> !tile
        tt.store %os, %s : !pointers
"""


def barriers_of(module: ModuleOp) -> list[Any]:
    return [op for op in module.walk() if op.name == "ttg.local_barrier"]


def test_the_barriers_that_the_analysis_puts_in_are_enough() -> None:
    module = place_memory_and_barriers(kernel(EXCHANGE))
    assert len(barriers_of(module)) == 4
    x, o = run(module, barriers_placed=True)
    assert (o == 2 * x).all()


@pytest.mark.parametrize(
    ("which", "complaint"),
    [
        (0, "local_load reads .* was written by another warp in ttg.local_store"),
        (1, "local_store writes .* was read by another warp in ttg.local_load"),
        (2, "local_load reads .* was written by another warp in ttg.local_store"),
    ],
)
def test_a_removed_barrier_is_found(which: int, complaint: str) -> None:
    module = place_memory_and_barriers(kernel(EXCHANGE))
    barriers_of(module)[which].detach()
    with pytest.raises(InterpreterError, match=complaint):
        run(module, barriers_placed=True)


def test_a_barrier_missing_before_an_op_with_scratch_is_found() -> None:
    module = place_memory_and_barriers(
        kernel(EXCHANGE.replace("%s = ttg", "ttg.local_dealloc %b : !buffer\n %s = ttg"))
    )
    barriers_of(module)[3].detach()
    with pytest.raises(
        InterpreterError, match=r"ttg.convert_layout writes .* was read by another warp in ttg.local_load"
    ):
        run(module, barriers_placed=True)


def test_a_warp_may_read_what_it_wrote_itself() -> None:
    module = kernel("""
        %b = ttg.local_alloc %v : (!tile) -> !buffer
        %r = ttg.local_load %b : !buffer -> !tile
        tt.store %os, %r : !pointers
    """)
    x, o = run(module, barriers_placed=True)
    assert (o == x).all()


TWO_BUFFERS = """
        %a = ttg.local_alloc %v {allocation.offset = 0 : i32} : (!tile) -> !buffer
        %n = arith.negf %v : !tile
        %b = ttg.local_alloc %n {allocation.offset = SECOND : i32} : (!tile) -> !buffer
        %r = ttg.local_load %a : !buffer -> !tile
        tt.store %os, %r : !pointers
"""


def test_buffers_beside_each_other_keep_their_contents() -> None:
    x, o = run(kernel(TWO_BUFFERS.replace("SECOND", "2048"), shared=4096))
    assert (o == x).all()


def test_places_that_overlap_are_found() -> None:
    module = kernel(TWO_BUFFERS.replace("SECOND", "1920"), shared=4096)
    with pytest.raises(
        InterpreterError, match=r"ttg.local_load reads element \(15, \d+\) .* belongs to ttg.local_alloc .*by now"
    ):
        run(module)


def test_a_place_past_the_end_is_found() -> None:
    with pytest.raises(InterpreterError, match="is at bytes 2176 to 4224 of shared memory, which ends at 4096"):
        run(kernel(TWO_BUFFERS.replace("SECOND", "2176"), shared=4096))


def test_scratch_that_overlaps_a_live_buffer_is_found() -> None:
    module = place_memory_and_barriers(
        kernel("""
        %b = ttg.local_alloc %v : (!tile) -> !buffer
        %q = ttg.convert_layout %v : !tile -> tensor<16x32xf32, #column>
        %r = ttg.local_load %b : !buffer -> tensor<16x32xf32, #column>
        %d = arith.addf %q, %r : tensor<16x32xf32, #column>
        %s = ttg.convert_layout %d : tensor<16x32xf32, #column> -> !tile
        tt.store %os, %s : !pointers
    """)
    )
    x, o = run(module, barriers_placed=True)
    assert (o == 2 * x).all()
    convert = next(op for op in module.walk() if op.name == "ttg.convert_layout")
    convert.attributes["allocation.offset"] = IntegerAttr(0, i32)
    with pytest.raises(InterpreterError, match=r"ttg.local_load reads .* whose memory is free"):
        run(module)


def test_an_index_outside_the_buffers_is_found() -> None:
    module = kernel("""
        %c2 = arith.constant 2 : i32
        %b = ttg.local_alloc : () -> !buffers
        %b2 = ttg.memdesc_index %b[%c2] : !buffers -> !buffer
    """)
    with pytest.raises(InterpreterError, match="takes part 2 of a buffer that has 2"):
        run(module)


def test_a_scratch_in_device_memory_belongs_to_the_kernel() -> None:
    module = kernel("""
        %g = ttg.global_scratch_alloc {alignment = 128 : i32, nbytes = 4 : i32} : !tt.ptr<i8>
        %p = tt.bitcast %g : !tt.ptr<i8> -> !tt.ptr<i32>
        tt.store %p, %c1 : !tt.ptr<i32>
        %past = tt.addptr %p, %c1 : !tt.ptr<i32>, i32
        tt.store %past, %c1 : !tt.ptr<i32>
    """)
    with pytest.raises(InterpreterError, match="0 bytes past the end of global scratch"):
        run(module)

"""Where buffers lie in shared memory."""

import itertools
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_memory_ir import function, kernel, module_of, named
from triton_test_passes.allocate_shared_memory import AllocateSharedMemory, AllocateSharedMemoryNV
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton.analysis.shared_memory.allocation import Allocation, BufferKind, allocate, write_attributes
from minitriton.analysis.shared_memory.liveness import Liveness, intersects
from minitriton.analysis.shared_memory.offset_assignment import assign_first_offsets, assign_offsets
from minitriton.analysis.shared_memory.scratch_size import triton_scratch_bytes
from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module, print_module
from minitriton.dialects.ttg.ops import LocalBarrierOp
from minitriton.errors import PassError

USE = "%{0}v = ttg.local_load %{0} : !buf -> !tile\n"


def no_scratch(op: Operation) -> int:
    return 0


def places(module: ModuleOp, *names: str, scratch: object = no_scratch) -> list[int | None]:
    """The offsets of the buffers, or of the ops, that the text calls so."""
    allocation = allocate(module, scratch)  # pyright: ignore[reportArgumentType]
    return [allocation.offset(named(module, name).owner) for name in names]  # pyright: ignore[reportArgumentType]


def test_buffers_alive_together_lie_apart() -> None:
    module = kernel(
        "%a = ttg.local_alloc : () -> !buf\n%b = ttg.local_alloc : () -> !buf\n" + USE.format("a") + USE.format("b")
    )
    assert sorted(places(module, "a", "b")) == [0, 1024]  # pyright: ignore[reportArgumentType]


def test_a_dead_buffer_gives_its_place_away() -> None:
    module = kernel(
        "%a = ttg.local_alloc : () -> !buf\n"
        + USE.format("a")
        + "%b = ttg.local_alloc : () -> !buf\n"
        + USE.format("b")
    )
    assert places(module, "a", "b") == [0, 0]
    assert allocate(module, no_scratch).total_bytes == 1024


def test_a_view_keeps_its_buffer_alive() -> None:
    module = kernel(
        """
        %a = ttg.local_alloc : () -> !bufs
        %v = ttg.memdesc_index %a[%i] : !bufs -> !buf
        %b = ttg.local_alloc : () -> !buf
        %bv = ttg.local_load %b : !buf -> !tile
        %vv = ttg.local_load %v : !buf -> !tile
        """,
        "%i: i32",
    )
    assert places(module, "a", "b") == [0, 2048]


def test_a_buffer_from_outside_lives_through_the_whole_loop() -> None:
    module = kernel(
        """
        %a = ttg.local_alloc : () -> !buf
        scf.for %i = %n to %n step %n : i32 {
          %av = ttg.local_load %a : !buf -> !tile
          %b = ttg.local_alloc : () -> !buf
          %bv = ttg.local_load %b : !buf -> !tile
        }
        """,
        "%n: i32",
    )
    a, b = places(module, "a", "b")
    assert a != b


def test_a_buffer_lives_along_every_path_between_blocks() -> None:
    module = kernel(
        """
        %a = ttg.local_alloc : () -> !buf
        cf.cond_br %c, ^bb1, ^bb2
      ^bb1:
        %b = ttg.local_alloc : () -> !buf
        %bv = ttg.local_load %b : !buf -> !tile
        cf.br ^bb3
      ^bb2:
        cf.br ^bb3
      ^bb3:
        %av = ttg.local_load %a : !buf -> !tile
        """,
        "%c: i1",
    )
    a, b = places(module, "a", "b")
    assert a != b


def test_scratch_lives_for_its_op_only() -> None:
    module = kernel(
        """
        %x = ttg.convert_layout %t : !tile -> tensor<16x32xf16, #columns>
        %y = ttg.convert_layout %t : !tile -> tensor<16x32xf16, #columns>
        """,
        "%t: !tile",
    )
    assert places(module, "x", "y", scratch=lambda op: 512 if op.name == "ttg.convert_layout" else 0) == [0, 0]


def test_the_caller_of_a_function_decides_how_large_scratch_is() -> None:
    module = kernel("%x = ttg.convert_layout %t : !tile -> tensor<16x32xf16, #columns>", "%t: !tile")
    sizes = [allocate(module, lambda op, n=n: n if op.name == "ttg.convert_layout" else 0).total_bytes for n in (0, 96)]
    assert sizes == [0, 96]


def test_bigger_buffers_are_placed_first() -> None:
    module = kernel(
        """
        %small = ttg.local_alloc : () -> !buf
        %large = ttg.local_alloc : () -> !big
        %s = ttg.local_load %small : !buf -> !tile
        %l = ttg.local_load %large : !big -> tensor<64x32xf16, #blocked>
        """
    )
    assert places(module, "small", "large") == [4096, 0]


def test_a_buffer_is_aligned_as_its_layout_wants() -> None:
    module = kernel(
        """
        %a = ttg.local_alloc {alignment = 1024 : i32} : () -> !ttg.memdesc<1xi64, #flat, #smem, mutable>
        %b = ttg.local_alloc : () -> !ttg.memdesc<16x32xf16, #nvmma, #smem, mutable>
        %av = ttg.local_load %a : !ttg.memdesc<1xi64, #flat, #smem, mutable> -> tensor<1xi64, #ttg.slice<{dim = 1, parent = #blocked}>>
        %bv = ttg.local_load %b : !ttg.memdesc<16x32xf16, #nvmma, #smem, mutable> -> !tile
        """
    )
    allocation = allocate(module, no_scratch)
    (placed,) = allocation.functions.values()
    assert {buffer.alignment for buffer in placed.of_value.values()} == {1024, 512}
    assert all(buffer.offset % buffer.alignment == 0 for buffer in placed.of_value.values())


def test_a_call_reserves_what_its_callee_needs() -> None:
    module = module_of(
        """
        tt.func @callee() {
          %a = ttg.local_alloc : () -> !buf
          %av = ttg.local_load %a : !buf -> !tile
          tt.return
        }
        tt.func @f() {
          %b = ttg.local_alloc : () -> !buf
          tt.call @callee() : () -> ()
          %bv = ttg.local_load %b : !buf -> !tile
          tt.return
        }
        """
    )
    allocation = allocate(module, no_scratch)
    assert allocation.total_bytes == 2048
    (call,) = allocation.functions[function(module)].of_op.values()
    assert (call.kind, call.size) == (BufferKind.VIRTUAL, 1024)
    assert call.offset != allocation.offset(named(module, "b").owner)  # pyright: ignore[reportArgumentType]


def test_functions_that_call_each_other_are_refused() -> None:
    module = module_of(
        """
        tt.func @f() { tt.call @g() : () -> () tt.return }
        tt.func @g() { tt.call @f() : () -> () tt.return }
        """
    )
    with pytest.raises(PassError, match="call each other in a circle"):
        allocate(module, no_scratch)


def test_partitions_that_run_together_do_not_share_memory() -> None:
    module = kernel(
        """
        ttg.warp_specialize()
        default { ttg.warp_yield }
        partition0() num_warps(4) {
          %a = ttg.local_alloc : () -> !buf
          %av = ttg.local_load %a : !buf -> !tile
          ttg.warp_return
        }
        partition1() num_warps(4) {
          %b = ttg.local_alloc : () -> !buf
          %bv = ttg.local_load %b : !buf -> !tile
          ttg.warp_return
        } : () -> ()
        """
    )
    a, b = places(module, "a", "b")
    assert a != b


def test_warps_that_wait_for_work_get_a_byte_each() -> None:
    module = kernel(
        """
        ttg.warp_specialize()
        default { ttg.warp_yield }
        partition0() num_warps(4) { ttg.warp_return }
        partition1() num_warps(2) { ttg.warp_return } : () -> ()
        """
    )
    assert allocate(module, no_scratch).total_bytes == 6


def test_the_places_are_written_into_the_ir() -> None:
    module = kernel("%a = ttg.local_alloc : () -> !buf\n" + USE.format("a"))
    write_attributes(module, allocate(module, no_scratch))
    text = print_module(module)
    assert "ttg.shared = 1024 : i32" in text
    assert "ttg.local_alloc {allocation.offset = 0 : i32}" in text


def test_a_module_without_buffers_needs_nothing() -> None:
    assert allocate(kernel(""), no_scratch).total_bytes == 0


def test_a_layout_conversion_within_a_warp_may_need_no_scratch() -> None:
    module = kernel("%x = ttg.convert_layout %t : !tile -> !tile", "%t: !tile")
    assert allocate(module, triton_scratch_bytes).total_bytes == 0


def test_a_reduction_across_warps_needs_a_partial_result_per_warp() -> None:
    module = kernel(
        """
        %r = "tt.reduce"(%t) <{axis = 0 : i32}> ({
        ^bb0(%x: f16, %y: f16):
          %s = arith.addf %x, %y : f16
          tt.reduce.return %s : f16
        }) : (!tile) -> tensor<32xf16, #ttg.slice<{dim = 0, parent = #blocked}>>
        """,
        "%t: !tile",
    )
    assert allocate(module, triton_scratch_bytes).total_bytes == 4 * 32 * 2


def test_a_value_lives_from_its_definition_to_its_last_use() -> None:
    module = kernel("%a = ttg.local_alloc : () -> !buf\nttg.local_barrier\n" + USE.format("a") + "ttg.local_barrier")
    liveness = Liveness(function(module))
    start, end = liveness.interval(named(module, "a"))
    assert liveness.number[named(module, "av").owner] == end - 1  # pyright: ignore[reportArgumentType]
    assert liveness.number[named(module, "a").owner] == start  # pyright: ignore[reportArgumentType]


@dataclass
class Piece:
    """A buffer that no op owns."""

    owner: Operation
    size: int
    alignment: int
    live: tuple[int, int]
    offset: int = 0


lives = st.tuples(st.integers(0, 12), st.integers(1, 6)).map(lambda pair: (pair[0], pair[0] + pair[1]))
pieces = st.builds(
    Piece, st.builds(LocalBarrierOp), st.integers(1, 4).map(lambda n: n * 48), st.sampled_from([4, 16, 128]), lives
)


@given(st.lists(pieces, min_size=1, max_size=12))
def test_buffers_alive_together_never_overlap(buffers: list[Piece]) -> None:
    total = assign_offsets(buffers)
    for i, x in enumerate(buffers):
        assert x.offset % x.alignment == 0
        assert x.offset + x.size <= total
        for y in buffers[i + 1 :]:
            if intersects(x.live, y.live):
                assert not intersects((x.offset, x.offset + x.size), (y.offset, y.offset + y.size))


def first_places_by_looking_at_all(buffers: list[Piece]) -> list[int]:
    """The first offsets by the words of the algorithm, each question answered by a look at every interval and buffer."""
    free: list[tuple[int, int, tuple[int, int]]] = [(0, 0, (0, 1 << 62))]
    places = {id(buffer): 0 for buffer in buffers}
    waiting = sorted(buffers, key=lambda buffer: -buffer.size)
    for order in itertools.count(1, 3):
        if not waiting:
            return [places[id(buffer)] for buffer in buffers]
        free.sort()
        offset, _, (start, end) = free.pop(0)
        for chosen in waiting:
            first, last = chosen.live
            if intersects(chosen.live, (start, end)) and not any(intersects(other, chosen.live) for *_, other in free):
                waiting.remove(chosen)
                place = places[id(chosen)] = -(-offset // chosen.alignment) * chosen.alignment
                free.append((place + chosen.size, order, (max(start, first), min(end, last))))
                free += [(offset, order + 1, (start, last))] if start < first else []
                free += [(offset, order + 2, (first, end))] if last < end else []
                break
    raise AssertionError


@given(st.lists(pieces, min_size=1, max_size=12))
def test_each_buffer_gets_the_lowest_place_that_is_free_during_its_life(buffers: list[Piece]) -> None:
    assign_first_offsets(sorted(buffers, key=lambda buffer: -buffer.size))
    assert [buffer.offset for buffer in buffers] == first_places_by_looking_at_all(buffers)


def test_an_allocation_knows_nothing_of_other_ops() -> None:
    assert Allocation().offset(LocalBarrierOp()) is None


def test_conversions_that_matrix_instructions_do_take_less_scratch() -> None:
    module = parse_module(
        """
        #rows = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [32, 1], warpsPerCTA = [1, 1], order = [0, 1]}>
        #columns = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 32], warpsPerCTA = [1, 1], order = [1, 0]}>
        module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 32 : i32} {
          tt.func @f(%x: tensor<128x128xf32, #columns>) -> tensor<128x128xf32, #rows> {
            %0 = ttg.convert_layout %x : tensor<128x128xf32, #columns> -> tensor<128x128xf32, #rows>
            tt.return %0 : tensor<128x128xf32, #rows>
          }
        }"""
    )
    plain, ampere = (AllocateSharedMemory(), AllocateSharedMemoryNV(compute_capability=80))
    sizes: list[int] = []
    for each in (plain, ampere):
        copy = module.clone()
        each.apply(make_context(), copy)
        sizes.append(copy.attributes["ttg.shared"].value.data)  # pyright: ignore[reportAttributeAccessIssue]
    assert sizes == [16384, 4096]

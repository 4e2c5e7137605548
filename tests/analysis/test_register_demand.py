"""What a kernel must hold in registers, from its TTGIR."""

from __future__ import annotations

from textwrap import dedent

import pytest

from minitriton.analysis.register_demand import RegisterDemand, fitting_warps, register_demand
from minitriton.dialects.text import parse_module

_LAYOUTS = """
#b = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#r = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"""


def demand(arguments: str, body: str, shared: int = 0) -> RegisterDemand:
    attributes = f'"ttg.num-warps" = 4 : i32, ttg.shared = {shared} : i32, ttg.target = "cuda:90"'
    text = f"{_LAYOUTS}module attributes {{{attributes}}} {{\ntt.func public @k({arguments}) {{\n{dedent(body)}\ntt.return\n}}\n}}\n"
    return register_demand(parse_module(text))


_POINTERS = "%p: tensor<512x!tt.ptr<f32>, #b>, %n: i32"
_TILE = "%t: tensor<128x8x!tt.ptr<f32>, #r>"


def test_what_is_loaded_is_held_where_it_is_stored() -> None:
    body = "%x = tt.load %p : tensor<512x!tt.ptr<f32>, #b>\ntt.store %p, %x : tensor<512x!tt.ptr<f32>, #b>"
    assert demand(_POINTERS, body, 64) == RegisterDemand(filled=4, held=4, shared_bytes=64)


_SUM = """
%s = "tt.reduce"(%x) <{axis = 1 : i32}> ({
^bb0(%a: f32, %b: f32):
  %c = arith.addf %a, %b : f32
  tt.reduce.return %c : f32
}) : (tensor<128x8xf32, #r>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #r}>>
"""


def test_a_sum_holds_nothing_and_a_softmax_its_row() -> None:
    load = "%x = tt.load %t : tensor<128x8x!tt.ptr<f32>, #r>\n"
    assert demand(_TILE, load + _SUM) == RegisterDemand(filled=8)
    rest = """
    %e = tt.expand_dims %s {axis = 1 : i32} : tensor<128xf32, #ttg.slice<{dim = 1, parent = #r}>> -> tensor<128x1xf32, #r>
    %w = tt.broadcast %e : tensor<128x1xf32, #r> -> tensor<128x8xf32, #r>
    %d = arith.subf %x, %w : tensor<128x8xf32, #r>
    tt.store %t, %d : tensor<128x8x!tt.ptr<f32>, #r>
    """
    assert demand(_TILE, load + _SUM + dedent(rest)) == RegisterDemand(filled=8, held=8)


def test_a_loop_carries_what_it_computes_from_loads_and_not_pointers() -> None:
    body = """
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %z = arith.constant dense<0.0> : tensor<512xf32, #b>
    %o = arith.constant dense<512> : tensor<512xi32, #b>
    %s:3 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z, %q = %p, %k = %c0) -> (tensor<512xf32, #b>, tensor<512x!tt.ptr<f32>, #b>, i32) : i32 {
      %x = tt.load %q : tensor<512x!tt.ptr<f32>, #b>
      %m = arith.addf %acc, %x : tensor<512xf32, #b>
      %r = tt.addptr %q, %o : tensor<512x!tt.ptr<f32>, #b>, tensor<512xi32, #b>
      %l = arith.addi %k, %c1 : i32
      scf.yield %m, %r, %l : tensor<512xf32, #b>, tensor<512x!tt.ptr<f32>, #b>, i32
    }
    """
    assert demand(_POINTERS, body) == RegisterDemand(carried=4, loaded=4, reading_loops=1)


def test_dots_of_one_chain_add_to_the_same_registers() -> None:
    type_ = "!ttg.memdesc<64x64xf16, #shared, #smem, mutable>"
    body = f"""
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %z = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %a = ttg.local_alloc : () -> {type_}
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<64x64xf32, #mma>) : i32 {{
      %d = ttng.warp_group_dot %a, %a, %acc {{inputPrecision = 0 : i32, isAsync = true}} : {type_} * {type_} -> tensor<64x64xf32, #mma>
      %w = ttng.warp_group_dot_wait %d {{pendings = 0 : i32}} : tensor<64x64xf32, #mma>
      scf.yield %w : tensor<64x64xf32, #mma>
    }}
    %l = ttng.warp_group_dot %a, %a, %s {{inputPrecision = 0 : i32}} : {type_} * {type_} -> tensor<64x64xf32, #mma>
    %o = ttng.warp_group_dot %a, %a, %z {{inputPrecision = 0 : i32}} : {type_} * {type_} -> tensor<64x64xf32, #mma>
    """
    found = demand(_POINTERS, body)
    assert (found.accumulators, found.dots, found.register_operands, found.reading_loops) == (64, 3, 0, 0)


@pytest.mark.parametrize("given", [RegisterDemand(), RegisterDemand(accumulators=64, held=2, shared_bytes=98304)])
def test_the_text_says_all_of_it(given: RegisterDemand) -> None:
    assert RegisterDemand.parse(str(given)) == given


def _rows(elements: int, type_: str, *, reads_again: bool, loop: bool) -> str:
    """TTIR: a row is loaded and summed, in a loop or not, and read again or not."""
    tile, pointers = f"tensor<{elements}x{type_}>", f"tensor<{elements}x!tt.ptr<{type_}>>"
    body = f"""
    %x = tt.load %p : {pointers}
    %s = "tt.reduce"(%x) <{{axis = 0 : i32}}> ({{
    ^bb0(%a: {type_}, %b: {type_}):
      %c = arith.addf %a, %b : {type_}
      tt.reduce.return %c : {type_}
    }}) : ({tile}) -> {type_}
    """
    if reads_again:
        body += f"""
        %w = tt.splat %s : {type_} -> {tile}
        %d = arith.subf %x, %w : {tile}
        tt.store %p, %d : {pointers}
        """
    if loop:
        body = f"%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\nscf.for %i = %c0 to %n step %c1 : i32 {{\n{body}\n}}"
    return f"module {{\ntt.func public @k(%p: {pointers}, %n: i32) {{\n{body}\ntt.return\n}}\n}}\n"


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize(
    ("elements", "type_", "reads_again", "warps"),
    [(16384, "f32", True, 4), (32768, "f32", True, 8), (65536, "bf16", True, 16), (65536, "f64", True, 32), (65536, "f32", False, 4)],
)  # fmt: skip
def test_rows_that_are_read_again_take_the_warps_that_hold_them(
    elements: int, type_: str, reads_again: bool, warps: int, loop: bool
) -> None:
    module = parse_module(_rows(elements, type_, reads_again=reads_again, loop=loop))
    assert fitting_warps(module, 4, 32, 32) == warps
    assert fitting_warps(module, 8, 8, 32) == 8

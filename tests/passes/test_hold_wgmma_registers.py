"""`hold-wgmma-registers`: where a wait has to stand before A is written again, and where none is needed."""

from __future__ import annotations

import re

import numpy as np
from filecheck_ir import check, run

import minitriton as triton
import minitriton.language as tl
from minitriton import emulator
from minitriton.compiler import ASTSource, CompiledKernel
from minitriton.passes.asynchronous.hold_wgmma_registers import HoldWgmmaRegisters
from minitriton.target import GPUTarget

HEAD = """
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
#sh = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#s8 = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 8}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
"""


def loop(body: str, *, inputs: str = "") -> str:
    """A function with a loop over %n that carries the accumulator %c."""
    return f"""{HEAD}
  tt.func @f(%m: !ttg.memdesc<64x64xi8, #s8, #smem>, %b: !ttg.memdesc<64x64xf16, #sh, #smem>, %n: i32{inputs}) -> tensor<64x64xf32, #mma> {{
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {{
{body}
    }}
    tt.return %r : tensor<64x64xf32, #mma>
  }}
}}
"""


LOADED = """
      %x = ttg.local_load %m : !ttg.memdesc<64x64xi8, #s8, #smem> -> tensor<64x64xi8, #a>
      %w = arith.sitofp %x : tensor<64x64xi8, #a> to tensor<64x64xf16, #a>"""
PRODUCT = """
      %d = ttng.warp_group_dot %w, %b, %c {isAsync = true} : tensor<64x64xf16, #a> * !ttg.memdesc<64x64xf16, #sh, #smem> -> tensor<64x64xf32, #mma>"""


def waited(pendings: int) -> str:
    return f"""
      %e = ttng.warp_group_dot_wait %d {{pendings = {pendings} : i32}} : tensor<64x64xf32, #mma>
      scf.yield %e : tensor<64x64xf32, #mma>"""


def test_the_next_operand_is_converted_after_the_product_that_runs() -> None:
    check(
        loop(LOADED + PRODUCT + waited(1)),
        HoldWgmmaRegisters(),
        """
        CHECK: iter_args(%[[C:.*]] = %cst)
        CHECK: %[[X:.*]] = ttg.local_load
        CHECK-NEXT: %[[W:.*]]:2 = ttng.warp_group_dot_wait %[[C]], %[[X]] {pendings = 0 : i32}
        CHECK-NEXT: %[[A:.*]] = arith.sitofp %[[W]]#1
        CHECK-NEXT: ttng.warp_group_dot %[[A]], %arg1, %[[W]]#0
        """,
    )


def test_a_product_that_was_waited_for_in_its_iteration_needs_nothing() -> None:
    text = loop(LOADED + PRODUCT + waited(0))
    assert run(text, HoldWgmmaRegisters()) == run(text)


def test_an_operand_from_before_the_loop_keeps_its_registers_anyway() -> None:
    text = loop(PRODUCT + waited(1), inputs=", %w: tensor<64x64xf16, #a>")
    assert run(text, HoldWgmmaRegisters()) == run(text)


def test_a_wait_before_the_next_conversion_is_enough() -> None:
    early = """
      %g = ttng.warp_group_dot_wait %c {pendings = 0 : i32} : tensor<64x64xf32, #mma>"""
    text = loop(early + LOADED + PRODUCT.replace("%c {", "%g {") + waited(1))
    assert run(text, HoldWgmmaRegisters()) == run(text)


def test_a_product_from_shared_memory_has_no_such_registers() -> None:
    text = loop(
        """
      %d = ttng.warp_group_dot %a, %b, %c {isAsync = true} : !ttg.memdesc<64x64xf16, #sh, #smem> * !ttg.memdesc<64x64xf16, #sh, #smem> -> tensor<64x64xf32, #mma>"""
        + waited(1),
        inputs=", %a: !ttg.memdesc<64x64xf16, #sh, #smem>",
    )
    assert run(text, HoldWgmmaRegisters()) == run(text)


def test_an_operand_that_is_loaded_as_it_is_waits_before_the_load() -> None:
    loaded = """
      %w = ttg.local_load %b : !ttg.memdesc<64x64xf16, #sh, #smem> -> tensor<64x64xf16, #a>"""
    check(
        loop(loaded + PRODUCT + waited(1)),
        HoldWgmmaRegisters(),
        """
        CHECK: iter_args(%[[C:.*]] = %cst)
        CHECK-NEXT: %[[W:.*]] = ttng.warp_group_dot_wait %[[C]] {pendings = 0 : i32}
        CHECK-NEXT: ttg.local_load
        """,
    )


def test_operands_are_converted_after_the_waits_that_are_there_and_dots_stay_in_flight() -> None:
    dots = """
      %d = ttng.warp_group_dot %w, %b, %c {isAsync = true} : tensor<64x64xf16, #a> * !ttg.memdesc<64x64xf16, #sh, #smem> -> tensor<64x64xf32, #mma>
      %e = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : tensor<64x64xf32, #mma>
      %f = ttng.warp_group_dot %v1, %b, %e {isAsync = true} : tensor<64x64xf16, #a> * !ttg.memdesc<64x64xf16, #sh, #smem> -> tensor<64x64xf32, #mma>
      %g = ttng.warp_group_dot_wait %f {pendings = 1 : i32} : tensor<64x64xf32, #mma>
      scf.yield %g : tensor<64x64xf32, #mma>"""
    second = """
      %y = ttg.local_load %m : !ttg.memdesc<64x64xi8, #s8, #smem> -> tensor<64x64xi8, #a>
      %v = arith.sitofp %y : tensor<64x64xi8, #a> to tensor<64x64xf16, #a>
      %v1 = ttg.convert_layout %v : tensor<64x64xf16, #a> -> tensor<64x64xf16, #a>"""
    check(
        loop(LOADED + second + dots),
        HoldWgmmaRegisters(),
        """
        CHECK: iter_args(%[[C:.*]] = %cst)
        CHECK-NEXT: %[[X:.*]] = ttg.local_load
        CHECK-NEXT: %[[W:.*]] = arith.sitofp %[[X]]
        CHECK-NEXT: %[[Y:.*]] = ttg.local_load
        CHECK-NEXT: %[[D:.*]] = ttng.warp_group_dot %[[W]], %arg1, %[[C]]
        CHECK-NEXT: %[[V:.*]] = ttg.convert_layout %[[Y]] : tensor<64x64xi8
        CHECK-NEXT: %[[E:.*]]:2 = ttng.warp_group_dot_wait %[[D]], %[[V]] {pendings = 1 : i32}
        CHECK-NEXT: %[[A:.*]] = arith.sitofp %[[E]]#1
        CHECK-NEXT: %[[F:.*]] = ttng.warp_group_dot %[[A]], %arg1, %[[E]]#0
        CHECK-NEXT: ttng.warp_group_dot_wait %[[F]] {pendings = 1 : i32}
        """,
    )


@triton.jit
def converted(A, B, C, K, M: tl.constexpr, BK: tl.constexpr):
    m, k = tl.arange(0, M), tl.arange(0, BK)
    a_at = A + m[:, None] * K + k[None, :]
    b_at = B + k[:, None] * M + m[None, :]
    acc = tl.zeros((M, M), tl.float32)
    for _ in range(0, K, BK):
        bits = tl.load(a_at)
        w = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [bits], dtype=tl.bfloat16, is_pure=True, pack=2)
        acc = tl.dot(w * tl.full((M, BK), 2.0, tl.bfloat16), tl.load(b_at), acc)
        a_at += BK
        b_at += BK * M
    tl.store(C + m[:, None] * M + m[None, :], acc)


def compiled(size: int, depth: int) -> CompiledKernel:
    types = {"A": "*i16", "B": "*bf16", "C": "*fp32", "K": "i32", "M": "constexpr", "BK": "constexpr"}
    aligned = {(i,): [["tt.divisibility", 16]] for i in range(4)}
    source = ASTSource(converted, types, {"M": size, "BK": depth}, aligned)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_stages": 4})


def waits(kernel: CompiledKernel) -> list[str]:
    return re.findall(r"wgmma.wait_group.sync.aligned (\d)", kernel.asm["ptx"])


def test_next_to_a_large_accumulator_fewer_dots_stay_in_flight() -> None:
    assert waits(compiled(128, 128)) == ["3"] * 8 + ["0"]


def test_a_loop_of_converted_operands_keeps_its_dots_in_flight_and_their_registers() -> None:
    kernel = compiled(64, 64)
    assert waits(kernel) == ["3"] * 4 + ["0"]
    draw = np.random.default_rng(0)
    a, b = (draw.integers(-4, 5, shape).astype(np.float32) for shape in ((64, 192), (192, 64)))
    c = np.zeros((64, 64), np.float32)
    words = [np.ascontiguousarray(x.view(np.uint32) >> 16).astype(np.uint16) for x in (a, b)]
    report = emulator.run(kernel.asm["ptx"], None, (1,), [*words, c, 192], kernel.metadata.shared)
    assert report.ok, report.findings
    np.testing.assert_array_equal(c, 2 * a @ b)

"""`minitriton-coalesce-by-width`: a thread holds no more neighbours of an atomic than one instruction changes."""

from __future__ import annotations

import pytest
from filecheck_ir import assert_matches, run

from minitriton.passes.coalesce import Coalesce
from minitriton.passes.coalesce_by_width import CoalesceByWidth

HEAD = """
#row = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:ARCH"} {
tt.func public @f(%x: !tt.ptr<TYPE> {tt.divisibility = 16 : i32}, %v: tensor<1024xTYPE, #row>, %n: i32) {
  %r = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #row>
  %xs = tt.splat %x : !tt.ptr<TYPE> -> tensor<1024x!tt.ptr<TYPE>, #row>
  %xp = tt.addptr %xs, %r : tensor<1024x!tt.ptr<TYPE>, #row>, tensor<1024xi32, #row>
  %ns = tt.splat %n : i32 -> tensor<1024xi32, #row>
  %m = arith.cmpi slt, %r, %ns : tensor<1024xi32, #row>
  %old = tt.atomic_rmw KIND, acq_rel, gpu, %xp, %v OTHERS : (tensor<1024x!tt.ptr<TYPE>, #row>, tensor<1024xTYPE, #row> WITH) -> tensor<1024xTYPE, #row>
  tt.return
}
}"""


@pytest.mark.parametrize(
    ("kind", "type_", "arch", "masked", "held"),
    [
        ("add", "i32", 90, False, 1),
        ("max", "i64", 90, False, 1),
        ("fadd", "f32", 90, False, 4),
        ("fadd", "f32", 90, True, 1),
        ("fadd", "f32", 80, False, 1),
        ("fadd", "f16", 80, False, 2),
        ("fadd", "f16", 90, False, 8),
        ("fadd", "bf16", 80, False, 1),
    ],
)
def test_a_thread_holds_what_an_instruction_changes(kind: str, type_: str, arch: int, masked: bool, held: int) -> None:
    text = HEAD.replace("TYPE", type_).replace("KIND", kind).replace("ARCH", str(arch))
    text = text.replace(" OTHERS", ", %m" if masked else "").replace(
        " WITH", ", tensor<1024xi1, #row>" if masked else ""
    )
    expected = f"""
        // CHECK-DAG: #[[OWN:.*]] = #ttg.blocked<{{sizePerThread = [{held}],
        // CHECK: tt.atomic_rmw {kind}, {{{{.*}}}} -> tensor<1024x{type_}, #[[OWN]]>
        """
    assert_matches(run(text, Coalesce(), CoalesceByWidth()), expected)

"""`minitriton-sink-widening-casts`: casts to wider types stand before their first use, behind what threads wait at."""

from __future__ import annotations

from filecheck_ir import check

from minitriton.passes.reorder_instructions import SinkWideningCasts

HEAD = """
#row = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
tt.func public @f(%x: tensor<512xf16, #row>, %y: tensor<512xf32, #row>, %p: tensor<512x!tt.ptr<f32>, #row>, %n: i32) {
"""
TAIL = """
  tt.return
}
}"""
SUM = """
  %s = "tt.reduce"(%y) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<512xf32, #row>) -> f32
  %t = tt.splat %s : f32 -> tensor<512xf32, #row>"""


def test_a_cast_goes_behind_a_reduction() -> None:
    body = f"""
  %w = arith.extf %x : tensor<512xf16, #row> to tensor<512xf32, #row>
  {SUM}
  %z = arith.mulf %w, %t : tensor<512xf32, #row>
  tt.store %p, %z : tensor<512x!tt.ptr<f32>, #row>"""
    check(
        HEAD + body + TAIL,
        SinkWideningCasts(),
        """
        // CHECK: tt.func
        // CHECK-NEXT: "tt.reduce"
        // CHECK: tt.splat
        // CHECK-NEXT: arith.extf
        // CHECK-NEXT: arith.mulf
        """,
    )


def test_a_chain_of_casts_goes_together() -> None:
    body = f"""
  %i = arith.fptosi %x : tensor<512xf16, #row> to tensor<512xi8, #row>
  %w = arith.extsi %i : tensor<512xi8, #row> to tensor<512xi16, #row>
  %v = arith.sitofp %w : tensor<512xi16, #row> to tensor<512xf32, #row>
  {SUM}
  %z = arith.mulf %v, %t : tensor<512xf32, #row>
  tt.store %p, %z : tensor<512x!tt.ptr<f32>, #row>"""
    check(
        HEAD + body + TAIL,
        SinkWideningCasts(),
        """
        // CHECK: arith.fptosi
        // CHECK-NEXT: "tt.reduce"
        // CHECK: tt.splat
        // CHECK-NEXT: arith.extsi
        // CHECK-NEXT: arith.sitofp
        // CHECK-NEXT: arith.mulf
        """,
    )


def test_a_cast_that_is_used_before_or_narrows_stays() -> None:
    body = f"""
  %w = arith.extf %x : tensor<512xf16, #row> to tensor<512xf32, #row>
  %u = arith.addf %w, %y : tensor<512xf32, #row>
  %h = arith.truncf %u : tensor<512xf32, #row> to tensor<512xf16, #row>
  {SUM}
  %e = arith.extf %h : tensor<512xf16, #row> to tensor<512xf32, #row>
  %z = arith.mulf %w, %t : tensor<512xf32, #row>
  %q = arith.mulf %z, %e : tensor<512xf32, #row>
  tt.store %p, %q : tensor<512x!tt.ptr<f32>, #row>"""
    check(
        HEAD + body + TAIL,
        SinkWideningCasts(),
        """
        // CHECK: tt.func
        // CHECK-NEXT: arith.extf
        // CHECK-NEXT: arith.addf
        // CHECK-NEXT: arith.truncf
        // CHECK-NEXT: "tt.reduce"
        """,
    )


def test_a_cast_goes_to_before_the_loop_that_uses_it() -> None:
    body = f"""
  %w = arith.extf %x : tensor<512xf16, #row> to tensor<512xf32, #row>
  {SUM}
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = scf.for %i = %zero to %n step %one iter_args(%acc = %t) -> (tensor<512xf32, #row>)  : i32 {{
    %m = arith.addf %acc, %w : tensor<512xf32, #row>
    scf.yield %m : tensor<512xf32, #row>
  }}
  tt.store %p, %r : tensor<512x!tt.ptr<f32>, #row>"""
    check(
        HEAD + body + TAIL,
        SinkWideningCasts(),
        """
        // CHECK: "tt.reduce"
        // CHECK: arith.extf
        // CHECK-NEXT: scf.for
        """,
    )

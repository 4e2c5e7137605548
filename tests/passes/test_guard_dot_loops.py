"""`minitriton-guard-dot-loops`: loop and wait under one condition, wherever the loop may be skipped."""

from __future__ import annotations

from filecheck_ir import check, run
from test_hold_wgmma_registers import HEAD

from minitriton.passes.asynchronous.guard_dot_loops import GuardDotLoops

MATRIX = "!ttg.memdesc<64x64xf16, #sh, #smem>"


def program(upper: str, pendings: int = 1, between: str = "") -> str:
    """A loop that leaves its last product running, and the wait for it."""
    return f"""{HEAD}
  tt.func @f(%a: {MATRIX}, %b: {MATRIX}, %n: i32, %p: !tt.ptr<i32>) -> tensor<64x64xf32, #mma> {{
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %r:2 = scf.for %i = %c0 to {upper} step %c1 iter_args(%c = %zero, %k = %c8) -> (tensor<64x64xf32, #mma>, i32) : i32 {{
      %d = ttng.warp_group_dot %a, %b, %c {{isAsync = true}} : {MATRIX} * {MATRIX} -> tensor<64x64xf32, #mma>
      %e:2 = ttng.warp_group_dot_wait %d, %a {{pendings = {pendings} : i32}} : tensor<64x64xf32, #mma>, {MATRIX}
      %k1 = arith.addi %k, %c1 : i32
      scf.yield %e#0, %k1 : tensor<64x64xf32, #mma>, i32
    }}{between}
    %w:2 = ttng.warp_group_dot_wait %r#0, %b {{pendings = 0 : i32}} : tensor<64x64xf32, #mma>, {MATRIX}
    tt.store %p, %r#1 : !tt.ptr<i32>
    tt.return %w#0 : tensor<64x64xf32, #mma>
  }}
}}
"""


def test_a_loop_that_may_be_skipped_is_waited_for_where_it_ran() -> None:
    check(
        program("%n"),
        GuardDotLoops(),
        """
        CHECK: %[[RAN:.*]] = arith.cmpi slt, %c0_i32, %arg2 : i32
        CHECK-NEXT: %[[ALL:.*]]:2 = scf.if %[[RAN]]
        CHECK: %[[LOOP:.*]]:2 = scf.for
        CHECK: %[[WAITED:.*]]:2 = ttng.warp_group_dot_wait %[[LOOP]]#0, %arg1 {pendings = 0 : i32}
        CHECK-NEXT: scf.yield %[[WAITED]]#0, %[[LOOP]]#1
        CHECK: else
        CHECK-NEXT: scf.yield %cst, %c8_i32
        CHECK: tt.store %arg3, %[[ALL]]#1
        CHECK: tt.return %[[ALL]]#0
        """,
    )


def test_a_loop_of_known_length_and_one_whose_products_are_done_stay() -> None:
    for text in (
        program("%c8"),
        program("%n")
        .replace("isAsync = true", "isAsync = false")
        .replace("ttng.warp_group_dot_wait %d, %a", "ttng.warp_group_dot_wait %c, %a"),
    ):
        assert run(text, GuardDotLoops()) == run(text)


def test_a_wait_for_more_than_the_loop_stays_where_it_is() -> None:
    text = program(
        "%n",
        between="\n    %late = ttng.warp_group_dot %a, %b, %zero {isAsync = true} : "
        + f"{MATRIX} * {MATRIX} -> tensor<64x64xf32, #mma>",
    )
    text = text.replace(
        "%r#0, %b {pendings = 0 : i32} : tensor<64x64xf32, #mma>,",
        "%r#0, %late, %b {pendings = 0 : i32} : tensor<64x64xf32, #mma>, tensor<64x64xf32, #mma>,",
    ).replace("%w:2 =", "%w:3 =")
    assert run(text, GuardDotLoops()) == run(text)

"""`triton-nvidia-gpu-plan-cta` on what Triton's own pass refuses: the meaning stays, and conversions stand where layouts meet."""

from __future__ import annotations

from filecheck_ir import check

from minitriton.passes.plan_cta import PlanCTA

TOTAL = """
    #blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0], CGALayout = [[1]]}>
    module attributes {"ttg.num-ctas" = 2 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {
      tt.func @total(%x: !tt.ptr<f32>, %o: !tt.ptr<f32>) {
        %at = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #blocked>
        %base = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #blocked>
        %p = tt.addptr %base, %at : tensor<1024x!tt.ptr<f32>, #blocked>, tensor<1024xi32, #blocked>
        %v = tt.load %p : tensor<1024x!tt.ptr<f32>, #blocked>
        %s = "tt.reduce"(%v) <{axis = 0 : i32}> ({
        ^bb0(%a: f32, %b: f32):
          %c = arith.addf %a, %b : f32
          tt.reduce.return %c : f32
        }) : (tensor<1024xf32, #blocked>) -> f32
        tt.store %o, %s : !tt.ptr<f32>
        tt.return
      }
    }
"""


def test_every_cta_reduces_a_row_that_has_no_other_axis() -> None:
    check(
        TOTAL,
        PlanCTA(),
        """
        // CHECK: #blocked = #ttg.blocked<{sizePerThread = [4], {{.*}}CGALayout = {{\\[\\[}}0]]}>
        // CHECK-NOT: convert_layout
        // CHECK: %[[V:.*]] = tt.load {{.*}} : tensor<1024x!tt.ptr<f32>, #blocked>
        // CHECK: "tt.reduce"(%[[V]])
        // CHECK: }) : (tensor<1024xf32, #blocked>) -> f32
        """,
    )


WHILE = """
    #blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0], CGALayout = [[1, 0]]}>
    module attributes {"ttg.num-ctas" = 2 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {
      tt.func @last_sum(%o: !tt.ptr<f32>, %n: i32, %start: tensor<32x32xf32, #blocked>) {
        %c1 = arith.constant 1 : i32
        %r:2 = scf.while (%i = %n, %t = %start) : (i32, tensor<32x32xf32, #blocked>) -> (i32, tensor<32x32xf32, #blocked>) {
          %more = arith.cmpi sgt, %i, %c1 : i32
          scf.condition(%more) %i, %t : i32, tensor<32x32xf32, #blocked>
        } do {
        ^bb0(%i: i32, %t: tensor<32x32xf32, #blocked>):
          %sum = arith.addf %t, %t : tensor<32x32xf32, #blocked>
          %next = arith.subi %i, %c1 : i32
          scf.yield %next, %sum : i32, tensor<32x32xf32, #blocked>
        }
        %s = "tt.reduce"(%r#1) <{axis = 0 : i32}> ({
        ^bb0(%a: f32, %b: f32):
          %c = arith.addf %a, %b : f32
          tt.reduce.return %c : f32
        }) : (tensor<32x32xf32, #blocked>) -> tensor<32xf32, #ttg.slice<{dim = 0, parent = #blocked}>>
        %p = tt.splat %o : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>, #ttg.slice<{dim = 0, parent = #blocked}>>
        tt.store %p, %s : tensor<32x!tt.ptr<f32>, #ttg.slice<{dim = 0, parent = #blocked}>>
        tt.return
      }
    }
"""


def test_a_while_loop_keeps_its_layouts() -> None:
    check(
        WHILE,
        PlanCTA(),
        """
        // CHECK-DAG: #[[ROWS:.*]] = #ttg.blocked<{{.*}}CGALayout = {{\\[\\[}}1, 0]]}>
        // CHECK-DAG: #[[COLUMNS:.*]] = #ttg.blocked<{{.*}}CGALayout = {{\\[\\[}}0, 1]]}>
        // CHECK: scf.while {{.*}} -> (i32, tensor<32x32xf32, #[[ROWS]]>)
        // CHECK: ttg.convert_layout {{.*}} : tensor<32x32xf32, #[[ROWS]]> -> tensor<32x32xf32, #[[COLUMNS]]>
        // CHECK: "tt.reduce"
        """,
    )

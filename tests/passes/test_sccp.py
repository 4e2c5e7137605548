"""`sccp`: values that are one constant on every path become it."""

from __future__ import annotations

from filecheck_ir import check, run

from minitriton.passes.sccp import Sccp


def test_a_value_that_a_loop_never_changes_is_constant() -> None:
    check(
        """
        tt.func @f(%p: !tt.ptr<i32>, %n: i32) {
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %c4 = arith.constant 4 : i32
          %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c4) -> (i32) : i32 {
            %y = arith.muli %x, %c1 : i32
            %z = arith.addi %x, %i : i32
            tt.store %p, %z : !tt.ptr<i32>
            scf.yield %y : i32
          }
          tt.store %p, %r : !tt.ptr<i32>
          tt.return
        }""",
        Sccp(),
        """
        // CHECK: %c4_i32 = arith.constant 4
        // CHECK-NEXT: %c1_i32 = arith.constant 1
        // CHECK-NEXT: %c0_i32 = arith.constant 0
        // CHECK: scf.for
        // CHECK-NEXT: arith.addi %c4_i32, %
        // CHECK-NEXT: tt.store
        // CHECK-NEXT: scf.yield %c4_i32
        // CHECK: tt.store %arg0, %c4_i32
        """,
    )


def test_a_value_that_a_loop_changes_is_not() -> None:
    text = """
    tt.func @f(%p: !tt.ptr<f32>, %n: i32) {
      %zero = arith.constant 0.0 : f32
      %c1 = arith.constant 1 : i32
      %c0 = arith.constant 0 : i32
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero) -> (f32) : i32 {
        %m = arith.negf %x : f32
        scf.yield %m : f32
      }
      tt.store %p, %r : !tt.ptr<f32>
      tt.return
    }"""
    assert "scf.yield %1" in run(text, Sccp()) and "tt.store %arg0, %0" in run(text, Sccp())


def test_a_branch_on_a_constant_counts_one_way() -> None:
    check(
        """
        tt.func @f(%p: !tt.ptr<i32>, %n: i32, %b: i1) {
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c1) -> (i32) : i32 {
            %positive = arith.cmpi sgt, %x, %c0 : i32
            %y = scf.if %positive -> (i32) {
              scf.yield %x : i32
            } else {
              %s = arith.subi %x, %n : i32
              scf.yield %s : i32
            }
            scf.yield %y : i32
          }
          %either = scf.if %b -> (i32) {
            scf.yield %r : i32
          } else {
            scf.yield %n : i32
          }
          tt.store %p, %r : !tt.ptr<i32>
          tt.store %p, %either : !tt.ptr<i32>
          tt.return
        }""",
        Sccp(),
        """
        // CHECK: [[E:%.*]] = scf.if %arg2
        // CHECK-NEXT: scf.yield %c1_i32
        // CHECK: scf.yield %arg1
        // CHECK: tt.store %arg0, %c1_i32
        // CHECK: tt.store %arg0, [[E]]
        """,
    )


def test_blocks_joined_by_branches_and_tensors() -> None:
    check(
        """
        tt.func @f(%p: tensor<4x!tt.ptr<i32>>, %b: i1) {
          %c3 = arith.constant 3 : i32
          cf.cond_br %b, ^bb1(%c3 : i32), ^bb2(%c3 : i32)
        ^bb1(%x: i32):
          cf.br ^bb3(%x : i32)
        ^bb2(%y: i32):
          cf.br ^bb3(%y : i32)
        ^bb3(%z: i32):
          %s = tt.splat %z : i32 -> tensor<4xi32>
          tt.store %p, %s : tensor<4x!tt.ptr<i32>>
          tt.return
        }""",
        Sccp(),
        """
        // CHECK: [[S:%.*]] = arith.constant dense<3> : tensor<4xi32>
        // CHECK: tt.store %arg0, [[S]]
        """,
    )


def test_the_bits_of_a_float_decide() -> None:
    text = """
    tt.func @f(%p: !tt.ptr<f32>, %b: i1) {
      %plus = arith.constant 0.0 : f32
      %minus = arith.constant -0.0 : f32
      %nan = arith.constant 0x7FC00000 : f32
      %r:2 = scf.if %b -> (f32, f32) {
        scf.yield %plus, %nan : f32, f32
      } else {
        scf.yield %minus, %nan : f32, f32
      }
      tt.store %p, %r#0 : !tt.ptr<f32>
      tt.store %p, %r#1 : !tt.ptr<f32>
      tt.return
    }"""
    stores = [line.split()[2].rstrip() for line in run(text, Sccp()).splitlines() if "tt.store" in line]
    assert stores == ["%0#0", "%cst"]

"""`triton-combine` and `triton-reorder-broadcast`."""

from __future__ import annotations

from filecheck_ir import check, run

from minitriton.passes.combine import Combine
from minitriton.passes.reorder_broadcast import ReorderBroadcast


def test_a_sum_goes_into_the_dot_that_starts_at_zero() -> None:
    check(
        """
        tt.func @f(%a: tensor<16x16xf16>, %b: tensor<16x16xf16>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
          %zero = arith.constant dense<0.0> : tensor<16x16xf32>
          %0 = tt.dot %a, %b, %zero : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
          %1 = arith.addf %0, %c : tensor<16x16xf32>
          tt.return %1 : tensor<16x16xf32>
        }""",
        Combine(),
        "// CHECK: [[D:%.*]] = tt.dot %arg0, %arg1, %arg2\n// CHECK-NEXT: tt.return [[D]]",
    )


OFFSETS = """
    tt.func @f(%p: !tt.ptr<f32>, %i: {type}, %j: {type}) -> !tt.ptr<f32> {{
      {constants}
      %0 = tt.addptr %p, {first} : !tt.ptr<f32>, {type}
      %1 = tt.addptr %0, {second} : !tt.ptr<f32>, {type}
      tt.return %1 : !tt.ptr<f32>
    }}"""


def test_offsets_as_wide_as_pointers_add_up() -> None:
    check(
        OFFSETS.format(type="i64", constants="", first="%i", second="%j"),
        Combine(),
        "// CHECK: [[S:%.*]] = arith.addi %arg1, %arg2 : i64\n// CHECK-NEXT: tt.addptr %arg0, [[S]]",
    )


def test_narrow_offsets_add_up_only_as_constants_that_fit() -> None:
    unknown = run(OFFSETS.format(type="i32", constants="", first="%i", second="%j"), Combine())
    assert unknown.count("tt.addptr") == 2
    constants = "%c = arith.constant 1000 : i32\n%d = arith.constant 2147483647 : i32"
    fits = run(OFFSETS.format(type="i32", constants=constants, first="%c", second="%c"), Combine())
    assert fits.count("tt.addptr") == 1
    overflows = run(OFFSETS.format(type="i32", constants=constants, first="%c", second="%d"), Combine())
    assert overflows.count("tt.addptr") == 2


def test_a_select_of_a_load_under_the_same_condition_is_the_loads_other() -> None:
    check(
        """
        tt.func @f(%c: i1, %p: tensor<4x!tt.ptr<f32>>, %o: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
          %m = tt.splat %c : i1 -> tensor<4xi1>
          %0 = tt.load %p, %m, %z : tensor<4x!tt.ptr<f32>>
          %1 = arith.select %c, %0, %o : tensor<4xf32>
          tt.return %1 : tensor<4xf32>
        }""",
        Combine(),
        "// CHECK: [[L:%.*]] = tt.load %arg1, {{.*}}, %arg2\n// CHECK: tt.return [[L]]",
    )


def test_a_sum_of_products_is_a_dot() -> None:
    check(
        """
        tt.func @f(%a: tensor<32x16xf32>, %b: tensor<16x32xf32>) -> tensor<32x32xf32> {
          %0 = tt.expand_dims %a {axis = 2 : i32} : tensor<32x16xf32> -> tensor<32x16x1xf32>
          %1 = tt.broadcast %0 : tensor<32x16x1xf32> -> tensor<32x16x32xf32>
          %2 = tt.expand_dims %b {axis = 0 : i32} : tensor<16x32xf32> -> tensor<1x16x32xf32>
          %3 = tt.broadcast %2 : tensor<1x16x32xf32> -> tensor<32x16x32xf32>
          %4 = arith.mulf %1, %3 : tensor<32x16x32xf32>
          %5 = "tt.reduce"(%4) <{axis = 1 : i32}> ({
          ^bb0(%x: f32, %y: f32):
            %s = arith.addf %x, %y : f32
            tt.reduce.return %s : f32
          }) : (tensor<32x16x32xf32>) -> tensor<32x32xf32>
          tt.return %5 : tensor<32x32xf32>
        }""",
        Combine(),
        "// CHECK: tt.dot %arg0, %arg1, {{.*}}, inputPrecision = tf32",
    )


def test_elementwise_ops_come_before_splats_and_broadcasts() -> None:
    check(
        """
        tt.func @f(%x: f32, %y: tensor<4x1xf32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
          %c = arith.constant dense<2.0> : tensor<4xf32>
          %0 = tt.splat %x : f32 -> tensor<4xf32>
          %1 = arith.mulf %0, %c : tensor<4xf32>
          %s = tt.splat %x : f32 -> tensor<4x8xf32>
          %2 = tt.broadcast %y : tensor<4x1xf32> -> tensor<4x8xf32>
          %3 = arith.addf %2, %s : tensor<4x8xf32>
          tt.return %1, %3 : tensor<4xf32>, tensor<4x8xf32>
        }""",
        ReorderBroadcast(),
        """
        // CHECK-DAG: [[M:%.*]] = arith.mulf %arg0, {{.*}} : f32
        // CHECK-DAG: tt.splat [[M]] : f32 -> tensor<4xf32>
        // CHECK-DAG: [[S:%.*]] = tt.splat %arg0 : f32 -> tensor<4x1xf32>
        // CHECK-DAG: [[A:%.*]] = arith.addf %arg1, [[S]] : tensor<4x1xf32>
        // CHECK-DAG: tt.broadcast [[A]] : tensor<4x1xf32> -> tensor<4x8xf32>
        """,
    )


def test_ops_on_broadcasts_of_different_shapes_stay() -> None:
    text = run(
        """
        tt.func @f(%x: tensor<1x8xf32>, %y: tensor<4x1xf32>) -> tensor<4x8xf32> {
          %0 = tt.broadcast %x : tensor<1x8xf32> -> tensor<4x8xf32>
          %1 = tt.broadcast %y : tensor<4x1xf32> -> tensor<4x8xf32>
          %2 = arith.addf %0, %1 : tensor<4x8xf32>
          tt.return %2 : tensor<4x8xf32>
        }""",
        ReorderBroadcast(),
    )
    assert "arith.addf %0, %1 : tensor<4x8xf32>" in text


RESHAPED = """
    tt.func @f(%x: tensor<16x4xi32>, %i: tensor<64xi32>, %m: tensor<64xi1>) -> ({results}) {{
      %0 = tt.reshape %x : tensor<16x4xi32> -> tensor<64xi32>
      {user}
      tt.return {value} : {results}
    }}"""


def test_what_is_summed_or_counted_may_be_reordered() -> None:
    summed = """%1 = "tt.reduce"(%0) <{axis = 0 : i32}> ({
        ^bb0(%a: i32, %b: i32):
          %s = arith.addi %a, %b : i32
          tt.reduce.return %s : i32
      }) : (tensor<64xi32>) -> i32"""
    assert "allow_reorder" in run(RESHAPED.format(results="i32", user=summed, value="%1"), Combine())
    counted = "%1 = tt.histogram %0 : tensor<64xi32> -> tensor<8xi32>"
    assert "allow_reorder" in run(RESHAPED.format(results="tensor<8xi32>", user=counted, value="%1"), Combine())


def test_what_goes_with_indices_or_a_mask_keeps_its_order() -> None:
    with_index = """%1:2 = "tt.reduce"(%0, %i) <{axis = 0 : i32}> ({
        ^bb0(%a: i32, %j: i32, %b: i32, %k: i32):
          %less = arith.cmpi slt, %a, %b : i32
          %v = arith.select %less, %a, %b : i32
          %w = arith.select %less, %j, %k : i32
          tt.reduce.return %v, %w : i32, i32
      }) : (tensor<64xi32>, tensor<64xi32>) -> (i32, i32)"""
    assert "allow_reorder" not in run(RESHAPED.format(results="i32", user=with_index, value="%1#1"), Combine())
    masked = "%1 = tt.histogram %0, %m : tensor<64xi32> -> tensor<8xi32>"
    assert "allow_reorder" not in run(RESHAPED.format(results="tensor<8xi32>", user=masked, value="%1"), Combine())

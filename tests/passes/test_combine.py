"""`triton-combine` and `triton-reorder-broadcast`."""

from __future__ import annotations

import pytest
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


LOADED = """
    tt.func @f(%c: i1, %p: tensor<4x!tt.ptr<f32>>, %o: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{
      %m = tt.splat %c : i1 -> tensor<4xi1>
      %0 = tt.load %p, %m, %o {volatile} : tensor<4x!tt.ptr<f32>>
      {between}
      %1 = arith.select %c, %0, %o : tensor<4xf32>
      tt.return %1, {other} : tensor<4xf32>, tensor<4xf32>
    }}"""


@pytest.mark.parametrize(
    ("volatile", "between", "other"),
    [
        ("", "tt.store %p, %o : tensor<4x!tt.ptr<f32>>", "%1"),
        ("", "scf.if %c { tt.store %p, %o : tensor<4x!tt.ptr<f32>> }", "%1"),
        ("", "gpu.barrier", "%1"),
        ("{isVolatile = true}", "", "%1"),
        ("", "", "%0"),
    ],
    ids=["a store", "a store in a branch", "a barrier", "a volatile load", "another use"],
)
def test_a_select_of_a_load_stays_where_a_load_at_its_place_could_read_something_else(
    volatile: str, between: str, other: str
) -> None:
    text = run(LOADED.format(volatile=volatile, between=between, other=other), Combine())
    assert "arith.select" in text and text.count("tt.load") == 1


def test_a_dot_does_not_move_into_a_loop() -> None:
    text = run(
        """
        tt.func @f(%a: tensor<16x16xf16>, %c: tensor<16x16xf32>, %n: i32) -> tensor<16x16xf32> {
          %zero = arith.constant dense<0.0> : tensor<16x16xf32>
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %0 = tt.dot %a, %a, %zero : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
          %1 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c) -> (tensor<16x16xf32>) : i32 {
            %2 = arith.addf %x, %0 : tensor<16x16xf32>
            scf.yield %2 : tensor<16x16xf32>
          }
          tt.return %1 : tensor<16x16xf32>
        }""",
        Combine(),
    )
    assert text.index("tt.dot") < text.index("scf.for") and "arith.addf" in text


def summed_products(
    m: int = 32,
    k: int = 16,
    n: int = 32,
    *,
    axis: int = 1,
    type: str = "f32",
    a: str = "",
    b: str = "",
    body: str = "%x, %y",
) -> str:
    """sum(x[:, :, None] * y[None, :, :], axis); `a` and `b` are the shapes of x and y, `body` what is added."""
    x, y = a or f"{m}x{k}", b or f"{k}x{n}"
    full = f"{m}x{k}x{n}"
    result = "x".join(str(size) for i, size in enumerate((m, k, n)) if i != axis)
    return f"""
        tt.func @f(%a: tensor<{x}x{type}>, %b: tensor<{y}x{type}>) -> tensor<{result}x{type}> {{
          %0 = tt.expand_dims %a {{axis = 2 : i32}} : tensor<{x}x{type}> -> tensor<{x}x1x{type}>
          %1 = tt.broadcast %0 : tensor<{x}x1x{type}> -> tensor<{full}x{type}>
          %2 = tt.expand_dims %b {{axis = 0 : i32}} : tensor<{y}x{type}> -> tensor<1x{y}x{type}>
          %3 = tt.broadcast %2 : tensor<1x{y}x{type}> -> tensor<{full}x{type}>
          %4 = arith.mulf %1, %3 : tensor<{full}x{type}>
          %5 = "tt.reduce"(%4) <{{axis = {axis} : i32}}> ({{
          ^bb0(%x: {type}, %y: {type}):
            %s = arith.addf {body} : {type}
            tt.reduce.return %s : {type}
          }}) : (tensor<{full}x{type}>) -> tensor<{result}x{type}>
          tt.return %5 : tensor<{result}x{type}>
        }}"""


@pytest.mark.parametrize("type", ["f32", "f16"])
def test_a_sum_of_products_is_a_dot_as_exact_as_they_are(type: str) -> None:
    dot = f"tt.dot %arg0, %arg1, {{{{.*}}}} : tensor<32x16x{type}> * tensor<16x32x{type}> -> tensor<32x32x{type}>"
    check(summed_products(type=type, body="%y, %x"), Combine(), f"// CHECK: {dot}")


def test_a_sum_of_products_with_two_results_is_left() -> None:
    text = summed_products().replace("(%4) <", "(%4, %4) <").replace("^bb0(", "^bb0(%v: f32, %w: f32, ")
    text = text.replace("return %s : f32", "return %s, %s : f32, f32").replace("%5 = ", "%5:2 = ")
    text = text.replace(
        "(tensor<32x16x32xf32>) -> tensor<32x32xf32>",
        "(tensor<32x16x32xf32>, tensor<32x16x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>)",
    )
    assert "tt.dot" not in run(text.replace("return %5 :", "return %5#0 :"), Combine())


@pytest.mark.parametrize(
    "text",
    [
        summed_products(axis=0),
        summed_products(k=32, axis=2),
        summed_products(k=8),
        summed_products(m=8),
        summed_products(n=8),
        summed_products(a="1x16"),
        summed_products(b="16x1"),
        summed_products(body="%x, %x"),
        summed_products(type="bf16"),
        summed_products(type="f64"),
    ],
    ids=[
        "axis 0", "axis 2", "short k", "few rows", "few columns", "left factor repeated twice", "right factor repeated twice",
        "twice one operand", "bf16 in bf16", "f64",
    ],
)  # fmt: skip
def test_another_sum_of_products_is_left(text: str) -> None:
    assert "tt.dot" not in run(text, Combine())


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
    of_first = """%1 = "tt.reduce"(%0) <{axis = 0 : i32}> ({
        ^bb0(%a: i32, %b: i32):
          tt.reduce.return %a : i32
      }) : (tensor<64xi32>) -> i32"""
    assert "allow_reorder" not in run(RESHAPED.format(results="i32", user=of_first, value="%1"), Combine())
    masked = "%1 = tt.histogram %0, %m : tensor<64xi32> -> tensor<8xi32>"
    assert "allow_reorder" not in run(RESHAPED.format(results="tensor<8xi32>", user=masked, value="%1"), Combine())

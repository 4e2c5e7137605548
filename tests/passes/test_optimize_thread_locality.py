"""`tritongpu-optimize-thread-locality`, with `any-axis` and without: reductions that stay in threads."""

from __future__ import annotations

import pytest
from filecheck_ir import check, run

from minitriton.passes.canonicalize import Canonicalize
from minitriton.passes.optimize_thread_locality import OptimizeThreadLocality

ANY_AXIS = [OptimizeThreadLocality(any_axis=True), Canonicalize()]

HEADER = """
#a = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#h = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#rows = #ttg.slice<{dim = 1, parent = #a}>
#cols = #ttg.slice<{dim = 0, parent = #h}>
#wide = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
"""


def module(body: str) -> str:
    """`body` in a module with layouts of rows and columns."""
    return HEADER + body + "\n}\n"


def row_sums(update: str) -> str:
    """Sums of rows, accumulated in a loop by `update`."""
    return module(f"""
        tt.func @f(%p: tensor<32x128x!tt.ptr<f32>, #a>, %q: tensor<32x!tt.ptr<f32>, #rows>, %n: i32) {{
          %z = arith.constant dense<0.000000e+00> : tensor<32xf32, #rows>
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %0 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<32xf32, #rows>) : i32 {{
            %1 = tt.load %p : tensor<32x128x!tt.ptr<f32>, #a>
            %2 = "tt.reduce"(%1) <{{axis = 1 : i32}}> ({{
            ^bb0(%l: f32, %r: f32):
              %4 = arith.addf %l, %r : f32
              tt.reduce.return %4 : f32
            }}) : (tensor<32x128xf32, #a>) -> tensor<32xf32, #rows>
            %3 = {update} %acc, %2 : tensor<32xf32, #rows>
            scf.yield %3 : tensor<32xf32, #rows>
          }}
          tt.store %q, %0 : tensor<32x!tt.ptr<f32>, #rows>
          tt.return
        }}
    """)


def test_a_loop_of_row_sums_adds_up_per_thread_and_exchanges_behind_the_loop() -> None:
    check(
        row_sums("arith.addf"),
        [OptimizeThreadLocality(), Canonicalize()],
        """
        // CHECK: scf.for
        // CHECK: tt.load
        // CHECK-NEXT: tt.reshape {{.*}} allow_reorder efficient_layout : {{.*}} -> tensor<32x32x4xf32
        // CHECK-NEXT: "tt.reduce"{{.*}}axis = 2
        // CHECK: arith.addf {{.*}} : tensor<32x32xf32
        // CHECK-NEXT: scf.yield
        // CHECK: "tt.reduce"{{.*}}axis = 1
        // CHECK: tt.store
        """,
    )


def test_a_difference_of_row_sums_stays_in_its_loop() -> None:
    text = run(row_sums("arith.subf"), OptimizeThreadLocality(), Canonicalize())
    assert "tt.reshape" not in text


def test_a_gather_along_a_column_is_done_by_warps_that_hold_whole_columns() -> None:
    check(
        module("""
        tt.func @f(%x: tensor<32x128xf32, #a>, %i: tensor<32x128xi32, #a>) -> tensor<32x128xf32, #a> {
          %0 = tt.gather %x[%i] {axis = 0 : i32} : (tensor<32x128xf32, #a>, tensor<32x128xi32, #a>) -> tensor<32x128xf32, #a>
          tt.return %0 : tensor<32x128xf32, #a>
        }
        """),
        OptimizeThreadLocality(),
        """
        // CHECK: threadsPerWarp = [32, 1], warpsPerCTA = [1, 4], order = [0, 1]
        // CHECK: ttg.convert_layout
        // CHECK-NEXT: ttg.convert_layout
        // CHECK-NEXT: tt.gather {{.*}}efficient_layout
        // CHECK-NEXT: ttg.convert_layout
        """,
    )


def column_sums(
    update: str = "arith.addf", combine: str = "arith.addf", element: str = "f32", zero: str = "0.0"
) -> str:
    """Sums of columns of 128x64 tiles of which a thread holds 8 rows, accumulated in a loop."""
    return module(f"""
        tt.func @f(%p: tensor<128x64x!tt.ptr<{element}>, #h>, %q: tensor<64x!tt.ptr<{element}>, #cols>, %n: i32) {{
          %z = arith.constant dense<{zero}> : tensor<64x{element}, #cols>
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %0 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<64x{element}, #cols>) : i32 {{
            %1 = tt.load %p : tensor<128x64x!tt.ptr<{element}>, #h>
            %2 = "tt.reduce"(%1) <{{axis = 0 : i32}}> ({{
            ^bb0(%l: {element}, %r: {element}):
              %4 = {combine} %l, %r : {element}
              tt.reduce.return %4 : {element}
            }}) : (tensor<128x64x{element}, #h>) -> tensor<64x{element}, #cols>
            %3 = {update} %acc, %2 : tensor<64x{element}, #cols>
            scf.yield %3 : tensor<64x{element}, #cols>
          }}
          tt.store %q, %0 : tensor<64x!tt.ptr<{element}>, #cols>
          tt.return
        }}
    """)


def test_a_loop_of_column_sums_keeps_the_rows_of_different_threads_apart() -> None:
    check(
        column_sums(),
        ANY_AXIS,
        """
        // CHECK: arith.constant dense<-0.000000e+00> : tensor<16x64xf32, #ttg.slice<{dim = 0, parent = [[V:#.*]]}>>
        // CHECK: scf.for {{.*}} -> (tensor<16x64xf32
        // CHECK-NEXT: tt.load
        // CHECK-NEXT: tt.reshape {{.*}} -> tensor<8x16x64xf32, [[V]]>
        // CHECK-NEXT: "tt.reduce"{{.*}}axis = 0
        // CHECK: -> tensor<16x64xf32
        // CHECK-NEXT: arith.addf {{.*}} : tensor<16x64xf32
        // CHECK-NEXT: scf.yield
        // CHECK: "tt.reduce"{{.*}}axis = 0
        // CHECK: -> tensor<64xf32
        // CHECK-NEXT: ttg.convert_layout
        // CHECK-NEXT: arith.addf {{.*}} : tensor<64xf32
        // CHECK-NEXT: tt.store
        """,
    )


def test_the_first_reduction_of_a_column_sum_stays_in_the_thread() -> None:
    """No lane or warp lies along the dimension that the loop reduces, and the vectors of 8 are whole."""
    text = run(column_sums(), *ANY_AXIS)
    layout = "sizePerThread = [1, 1, 8], threadsPerWarp = [1, 4, 8], warpsPerCTA = [1, 4, 1], order = [2, 1, 0]"
    assert layout in text


@pytest.mark.parametrize(
    ("combine", "element", "neutral"),
    [
        ("arith.maxnumf", "f32", "dense<0xFF800000>"),
        ("arith.mulf", "f32", "dense<1.000000e+00>"),
        ("arith.addi", "i32", "dense<0>"),
        ("arith.minsi", "i32", "dense<2147483647>"),
        ("arith.maxsi", "i32", "dense<-2147483648>"),
        ("arith.andi", "i32", "dense<-1>"),
    ],
)
def test_the_accumulator_starts_from_what_changes_nothing(combine: str, element: str, neutral: str) -> None:
    zero = "0" if element == "i32" else "0.0"
    text = run(column_sums(combine, combine, element, zero), OptimizeThreadLocality(any_axis=True))
    assert f"arith.constant {neutral} : tensor<16x64x{element}" in text


WHOLE_COLUMNS = column_sums().replace(
    "threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]", "threadsPerWarp = [1, 32], warpsPerCTA = [1, 4]"
)


@pytest.mark.parametrize(
    "source",
    [column_sums(update="arith.subf"), column_sums(update="arith.mulf"), WHOLE_COLUMNS],
    ids=["difference", "product of sums", "threads hold whole columns"],
)
def test_other_accumulations_are_left_alone(source: str) -> None:
    assert run(source, *ANY_AXIS) == run(source, Canonicalize())


def test_row_sums_of_something_computed_add_up_per_thread_too() -> None:
    """As in a product of a matrix and a vector. Triton moves only sums of what was loaded."""
    source = row_sums("arith.addf").replace('"tt.reduce"(%1)', '"tt.reduce"(%x)')
    source = source.replace("%2 = ", "%x = arith.mulf %1, %1 : tensor<32x128xf32, #a>\n            %2 = ")
    assert run(source, OptimizeThreadLocality(), Canonicalize()) == run(source, Canonicalize())
    check(
        source,
        ANY_AXIS,
        """
        // CHECK: scf.for {{.*}} -> (tensor<32x32xf32
        // CHECK: arith.mulf
        // CHECK-NEXT: tt.reshape {{.*}} -> tensor<32x32x4xf32
        // CHECK-NEXT: "tt.reduce"{{.*}}axis = 2
        // CHECK: arith.addf {{.*}} : tensor<32x32xf32
        // CHECK-NEXT: scf.yield
        // CHECK: "tt.reduce"{{.*}}axis = 1
        """,
    )


def test_a_whole_tile_reduced_to_a_number_in_each_iteration_is_reduced_once() -> None:
    check(
        module("""
        tt.func @f(%p: tensor<1024x!tt.ptr<f32>, #wide>, %n: i32) -> f32 {
          %z = arith.constant 0.000000e+00 : f32
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %0 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (f32) : i32 {
            %1 = tt.load %p : tensor<1024x!tt.ptr<f32>, #wide>
            %2 = "tt.reduce"(%1) <{axis = 0 : i32}> ({
            ^bb0(%l: f32, %r: f32):
              %4 = arith.addf %l, %r : f32
              tt.reduce.return %4 : f32
            }) : (tensor<1024xf32, #wide>) -> f32
            %3 = arith.addf %acc, %2 : f32
            scf.yield %3 : f32
          }
          tt.return %0 : f32
        }
        """),
        ANY_AXIS,
        """
        // CHECK: scf.for {{.*}} -> (tensor<128xf32
        // CHECK: tt.reshape {{.*}} -> tensor<2x128x4xf32
        // CHECK-NEXT: "tt.reduce"{{.*}}axis = 2
        // CHECK: "tt.reduce"{{.*}}axis = 0
        // CHECK: arith.addf {{.*}} : tensor<128xf32
        // CHECK-NEXT: scf.yield
        // CHECK: "tt.reduce"{{.*}}axis = 0
        // CHECK: -> f32
        // CHECK-NEXT: arith.addf {{.*}} : f32
        // CHECK-NEXT: tt.return
        """,
    )


def test_it_can_be_switched_off() -> None:
    assert run(column_sums(), OptimizeThreadLocality()) == run(column_sums())

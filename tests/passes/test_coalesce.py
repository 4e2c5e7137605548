"""`tritongpu-coalesce`: the layout of each memory access."""

from __future__ import annotations

import pytest
from filecheck_ir import assert_matches, run

from minitriton.dialects.text import parse_module
from minitriton.passes.coalesce import Coalesce, order_from_contiguity

LAYOUTS = """
#row = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#tile = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
#rows = #ttg.slice<{dim = 1, parent = #tile}>
"""
HEAD = """
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
tt.func public @f(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f16> {tt.divisibility = 16 : i32},
                  %n: i32 {tt.divisibility = 16 : i32}, %z: !tt.ptr<f32>, %d: !tt.tensordesc<tensor<64x64xf16>>) {
"""
ROW = """
  %range = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #row>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #row>
  %xp = tt.addptr %xs, %range : tensor<1024x!tt.ptr<f32>, #row>, tensor<1024xi32, #row>
  %zs = tt.splat %z : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #row>
  %zp = tt.addptr %zs, %range : tensor<1024x!tt.ptr<f32>, #row>, tensor<1024xi32, #row>
"""


def source(body: str) -> str:
    return f"{LAYOUTS}{HEAD}{body}\n  tt.return\n}}\n}}"


def check(body: str, expected: str) -> None:
    assert_matches(run(source(body), Coalesce()), expected)


def test_contiguous_aligned_pointers_are_loaded_sixteen_bytes_a_thread():
    check(
        ROW + "  %v = tt.load %xp : tensor<1024x!tt.ptr<f32>, #row>\n",
        """
        // CHECK: #[[WIDE:.*]] = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
        // CHECK: %[[P:.*]] = ttg.convert_layout %{{.*}} -> tensor<1024x!tt.ptr<f32>, #[[WIDE]]>
        // CHECK-NEXT: %[[V:.*]] = tt.load %[[P]] : tensor<1024x!tt.ptr<f32>, #[[WIDE]]>
        // CHECK-NEXT: ttg.convert_layout %[[V]] : tensor<1024xf32, #[[WIDE]]> -> tensor<1024xf32, #{{.*}}>
        """,
    )


def test_mask_and_other_are_converted_with_the_pointer():
    check(
        ROW
        + """
  %m = arith.constant dense<true> : tensor<1024xi1, #row>
  %o = arith.constant dense<0.0> : tensor<1024xf32, #row>
  %v = tt.load %xp, %m, %o : tensor<1024x!tt.ptr<f32>, #row>
""",
        """
        // CHECK: #[[WIDE:.*]] = #ttg.blocked<{sizePerThread = [4]
        // CHECK: ttg.convert_layout {{.*}} -> tensor<1024x!tt.ptr<f32>, #[[WIDE]]>
        // CHECK-NEXT: ttg.convert_layout {{.*}} -> tensor<1024xi1, #[[WIDE]]>
        // CHECK-NEXT: ttg.convert_layout {{.*}} -> tensor<1024xf32, #[[WIDE]]>
        // CHECK-NEXT: tt.load
        """,
    )


def test_unaligned_pointers_are_accessed_one_by_one():
    check(
        ROW + "  %v = tt.load %zp : tensor<1024x!tt.ptr<f32>, #row>\n",
        """
        // CHECK: #[[ONE:.*]] = #ttg.blocked<{sizePerThread = [1],
        // CHECK: tt.load %{{.*}} : tensor<1024x!tt.ptr<f32>, #[[ONE]]>
        """,
    )


def test_a_load_connected_to_a_wider_access_takes_as_many_elements():
    check(
        ROW
        + """
  %v = tt.load %zp : tensor<1024x!tt.ptr<f32>, #row>
  tt.store %xp, %v : tensor<1024x!tt.ptr<f32>, #row>
""",
        """
        // CHECK: #[[WIDE:.*]] = #ttg.blocked<{sizePerThread = [4]
        // CHECK: tt.load %{{.*}} : tensor<1024x!tt.ptr<f32>, #[[WIDE]]>
        // CHECK: tt.store %{{.*}}, %{{.*}} : tensor<1024x!tt.ptr<f32>, #[[WIDE]]>
        """,
    )


def test_a_store_takes_no_more_elements_than_its_own_pointers_allow():
    check(
        ROW
        + """
  %v = tt.load %xp : tensor<1024x!tt.ptr<f32>, #row>
  tt.store %zp, %v : tensor<1024x!tt.ptr<f32>, #row>
""",
        """
        // CHECK-DAG: #[[WIDE:.*]] = #ttg.blocked<{sizePerThread = [4]
        // CHECK-DAG: #[[ONE:.*]] = #ttg.blocked<{sizePerThread = [1],
        // CHECK: tt.load %{{.*}} : tensor<1024x!tt.ptr<f32>, #[[WIDE]]>
        // CHECK: tt.store %{{.*}}, %{{.*}} : tensor<1024x!tt.ptr<f32>, #[[ONE]]>
        """,
    )


def test_the_order_follows_the_contiguous_dimension():
    check(
        """
  %range = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32, #rows>
  %column = tt.expand_dims %range {axis = 1 : i32} : tensor<64xi32, #rows> -> tensor<64x1xi32, #tile>
  %down = tt.broadcast %column : tensor<64x1xi32, #tile> -> tensor<64x64xi32, #tile>
  %ys = tt.splat %y : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>, #tile>
  %yp = tt.addptr %ys, %down : tensor<64x64x!tt.ptr<f16>, #tile>, tensor<64x64xi32, #tile>
  %v = tt.load %yp : tensor<64x64x!tt.ptr<f16>, #tile>
""",
        """
        // CHECK: #[[L:.*]] = #ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1]}>
        // CHECK: tt.load %{{.*}} : tensor<64x64x!tt.ptr<f16>, #[[L]]>
        """,
    )


def test_a_descriptor_access_takes_rows_of_sixteen_bytes_a_thread():
    check(
        """
  %c0 = arith.constant 0 : i32
  %v = tt.descriptor_load %d[%c0, %c0] : !tt.tensordesc<tensor<64x64xf16>> -> tensor<64x64xf16, #tile>
  tt.descriptor_store %d[%c0, %c0], %v : !tt.tensordesc<tensor<64x64xf16>>, tensor<64x64xf16, #tile>
""",
        """
        // CHECK: #[[L:.*]] = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
        // CHECK: %[[V:.*]] = tt.descriptor_load {{.*}} -> tensor<64x64xf16, #[[L]]>
        // CHECK-NEXT: %[[W:.*]] = ttg.convert_layout %[[V]]
        // CHECK-NEXT: %[[S:.*]] = ttg.convert_layout %[[W]] {{.*}} -> tensor<64x64xf16, #[[L]]>
        // CHECK-NEXT: tt.descriptor_store {{.*}}, %[[S]]
        """,
    )


def test_loads_through_scalars_are_left_alone():
    text = source("  %v = tt.load %x : !tt.ptr<f32>\n")
    assert "convert_layout" not in run(text, Coalesce())


def test_locations_and_names_stay():
    module = parse_module(source(ROW + '  %v = tt.load %xp : tensor<1024x!tt.ptr<f32>, #row> loc("k.py":3:7)\n'))
    Coalesce().apply(None, module)  # pyright: ignore[reportArgumentType]
    rebuilt = [op for op in module.walk() if op.name in ("tt.load", "ttg.convert_layout")]
    assert len(rebuilt) == 3
    assert all('"k.py":3:7' in str(op.location) for op in rebuilt)


@pytest.mark.parametrize(
    ("contiguity", "order"),
    [((1, 128), (1, 0)), ((128, 1), (0, 1)), ((1, 1), (0, 1)), ((1, 4, 4), (1, 2, 0)), ((8,), (0,))],
)
def test_equally_contiguous_dimensions_keep_their_order(contiguity: tuple[int, ...], order: tuple[int, ...]):
    assert order_from_contiguity(contiguity) == order


def test_a_function_says_what_its_calls_know_of_its_arguments():
    assert_matches(
        run(
            """
            module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
              tt.func public @kernel(%p: !tt.ptr<i32> {tt.divisibility = 16 : i32}, %q: !tt.ptr<i32> {tt.divisibility = 8 : i32}) {
                tt.call @store(%p) : (!tt.ptr<i32>) -> ()
                tt.call @store(%q) : (!tt.ptr<i32>) -> ()
                tt.return
              }
              tt.func private @store(%p: !tt.ptr<i32>) attributes {noinline = true} {
                %c0 = arith.constant 0 : i32
                tt.store %p, %c0 : !tt.ptr<i32>
                tt.return
              }
            }""",
            Coalesce(),
        ),
        "// CHECK: @store(%arg0: !tt.ptr<i32> {tt.constancy = 1 : i64, tt.contiguity = 1 : i64, tt.divisibility = 8 : i64})",
    )


@pytest.mark.parametrize("element, width", [("i1", 16), ("i8", 16), ("f16", 8), ("i64", 2)])
def test_a_thread_holds_what_one_access_moves(element: str, width: int):
    """A truth value takes a byte in memory, as the width of the access counts it."""
    check(
        f"""
  %range = tt.make_range {{start = 0 : i32, end = 8192 : i32}} : tensor<8192xi32, #row>
  %a = tt.bitcast %x : !tt.ptr<f32> -> !tt.ptr<{element}>
  %as = tt.splat %a : !tt.ptr<{element}> -> tensor<8192x!tt.ptr<{element}>, #row>
  %ap = tt.addptr %as, %range : tensor<8192x!tt.ptr<{element}>, #row>, tensor<8192xi32, #row>
  %v = tt.load %ap : tensor<8192x!tt.ptr<{element}>, #row>
""",
        f"// CHECK: sizePerThread = [{width}]",
    )

"""`minitriton-coalesce-by-width`: threads hold no more neighbours than one access moves."""

from __future__ import annotations

import re

from filecheck_ir import assert_matches, run

from minitriton.passes.coalesce import Coalesce
from minitriton.passes.coalesce_by_width import CoalesceByWidth

HEAD = """
#row = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
tt.func public @f(%x: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %y: !tt.ptr<i8> {tt.divisibility = 16 : i32},
                  %n: i32 BOUND, %index: tensor<2048xi32, #row>) {
  %r = tt.make_range {start = 0 : i32, end = 2048 : i32} : tensor<2048xi32, #row>
  %ns = tt.splat %n : i32 -> tensor<2048xi32, #row>
  %m = arith.cmpi slt, %r, %ns : tensor<2048xi32, #row>
  %xs = tt.splat %x : !tt.ptr<f16> -> tensor<2048x!tt.ptr<f16>, #row>
  %xp = tt.addptr %xs, %r : tensor<2048x!tt.ptr<f16>, #row>, tensor<2048xi32, #row>
  %ys = tt.splat %y : !tt.ptr<i8> -> tensor<2048x!tt.ptr<i8>, #row>
  %yp = tt.addptr %ys, %r : tensor<2048x!tt.ptr<i8>, #row>, tensor<2048xi32, #row>
"""


def text(body: str, *passes, even: bool = False) -> str:
    head = HEAD.replace("BOUND", "{tt.divisibility = 16 : i32}" if even else "")
    return run(f"{head}{body}\n  tt.return\n}}\n}}", Coalesce(), *passes)


def check(body: str, expected: str, *, even: bool = False) -> None:
    assert_matches(text(body, CoalesceByWidth(), even=even), expected)


MASKED = """
  %v = tt.load %xp, %m : tensor<2048x!tt.ptr<f16>, #row>
  tt.store %xp, %v, %m : tensor<2048x!tt.ptr<f16>, #row>"""
NARROWER = """
  %v = tt.load %xp : tensor<2048x!tt.ptr<f16>, #row>
  %b = arith.fptosi %v : tensor<2048xf16, #row> to tensor<2048xi8, #row>
  tt.store %yp, %b : tensor<2048x!tt.ptr<i8>, #row>"""
WIDER = """
  %v = tt.load %yp : tensor<2048x!tt.ptr<i8>, #row>
  %b = arith.sitofp %v : tensor<2048xi8, #row> to tensor<2048xf16, #row>
  tt.store %xp, %b : tensor<2048x!tt.ptr<f16>, #row>"""


F32 = """
  %v = tt.load %yp : tensor<2048x!tt.ptr<i8>, #row>
  %b = arith.sitofp %v : tensor<2048xi8, #row> to tensor<2048xf32, #row>
  %zs = tt.splat %z : !tt.ptr<f32> -> tensor<2048x!tt.ptr<f32>, #row>
  %zp = tt.addptr %zs, %r : tensor<2048x!tt.ptr<f32>, #row>, tensor<2048xi32, #row>
  tt.store %zp, %b : tensor<2048x!tt.ptr<f32>, #row>"""


def layouts_of_f32(warps: int, own_layouts: str = "") -> list[str]:
    """Elements a thread of a load of int8 and of a store of the same as f32."""
    head = HEAD.replace("BOUND", "").replace(
        "%y: !tt.ptr<i8>", "%z: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %y: !tt.ptr<i8>"
    )
    head = head.replace("warpsPerCTA = [4]", f"warpsPerCTA = [{warps}]").replace(
        'num-warps" = 4', f'num-warps" = {warps}'
    )
    found = run(f"{head}{F32}\n  tt.return\n}}\n}}", Coalesce(), CoalesceByWidth(own_layouts=own_layouts))
    held = dict(re.findall(r"(#\w+) = #ttg.blocked<{sizePerThread = \[(\d+)\]", found))
    return [held[name] for name in re.findall(r"tt\.(?:load|store) .*, (#\w+)>", found)]


def test_many_narrow_loads_are_wide_with_a_conversion():
    """64 elements a thread: 12 loads more, or 16 words through shared memory; with several warps also a barrier."""
    assert layouts_of_f32(warps=1) == ["16", "4"]
    assert layouts_of_f32(warps=4) == ["4", "4"]
    assert layouts_of_f32(warps=1, own_layouts="false") == ["4", "4"]
    assert layouts_of_f32(warps=4, own_layouts="true") == ["16", "4"]


def test_a_mask_that_ends_within_a_vector_is_split():
    check(
        MASKED,
        """
        // CHECK: #[[EIGHT:.*]] = #ttg.blocked<{sizePerThread = [8]
        // CHECK: tt.load {{.*}} {split_mask} : tensor<2048x!tt.ptr<f16>, #[[EIGHT]]>
        // CHECK: tt.store {{.*}} {split_mask} : tensor<2048x!tt.ptr<f16>, #[[EIGHT]]>
        """,
    )


ONE_ELEMENT = """
    // CHECK: #[[ONE:.*]] = #ttg.blocked<{sizePerThread = [1]
    // CHECK: tt.load {{.*}} : tensor<2048x!tt.ptr<f16>, #[[ONE]]>
    // CHECK: tt.store {{.*}} : tensor<2048x!tt.ptr<f16>, #[[ONE]]>
    """


def test_without_splitting_such_a_mask_leaves_one_element_a_thread():
    assert_matches(text(MASKED, CoalesceByWidth(split_masks=False)), ONE_ELEMENT)


def test_a_mask_that_changes_back_and_forth_leaves_one_element_a_thread():
    body = "  %odd = arith.cmpi ne, %r, %ns : tensor<2048xi32, #row>" + MASKED.replace("%m", "%odd")
    check(body, ONE_ELEMENT)


def test_a_mask_that_begins_within_a_vector_is_not_split():
    body = "  %late = arith.cmpi sge, %r, %ns : tensor<2048xi32, #row>" + MASKED.replace("%m", "%late")
    check(body, ONE_ELEMENT)


def test_masks_are_split_where_floats_are_summed_since_layouts_stay():
    total = """
  %v = tt.load %xp, %m : tensor<2048x!tt.ptr<f16>, #row>
  %s = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%a: f16, %b: f16):
    %c = arith.addf %a, %b : f16
    tt.reduce.return %c : f16
  }) : (tensor<2048xf16, #row>) -> f16
"""
    check(total, "// CHECK: #[[EIGHT:.*]] = #ttg.blocked<{sizePerThread = [8]\n// CHECK: tt.load {{.*}} {split_mask}")


def test_a_mask_that_is_constant_over_vectors_leaves_the_layout():
    assert text(MASKED, CoalesceByWidth(), even=True) == text(MASKED, even=True)


def test_wide_elements_decide_for_the_narrow_ones_that_are_made_of_them():
    assert "sizePerThread = [16]" in text(NARROWER)
    check(
        NARROWER,
        """
        // CHECK: #[[EIGHT:.*]] = #ttg.blocked<{sizePerThread = [8]
        // CHECK: tt.load {{.*}} : tensor<2048x!tt.ptr<f16>, #[[EIGHT]]>
        // CHECK: tt.store {{.*}} : tensor<2048x!tt.ptr<i8>, #[[EIGHT]]>
        """,
    )


def test_accesses_of_the_same_data_share_the_narrower_layout():
    check(
        WIDER,
        """
        // CHECK: #[[EIGHT:.*]] = #ttg.blocked<{sizePerThread = [8]
        // CHECK: tt.load {{.*}} : tensor<2048x!tt.ptr<i8>, #[[EIGHT]]>
        // CHECK: tt.store {{.*}} : tensor<2048x!tt.ptr<f16>, #[[EIGHT]]>
        """,
    )


def test_scattered_pointers_keep_their_layout():
    gather = """
  %odd = arith.cmpi ne, %r, %ns : tensor<2048xi32, #row>
  %gp = tt.addptr %xs, %index : tensor<2048x!tt.ptr<f16>, #row>, tensor<2048xi32, #row>
  %v = tt.load %gp, %odd : tensor<2048x!tt.ptr<f16>, #row>"""
    assert text(gather, CoalesceByWidth()) == text(gather)


def test_sums_of_floats_keep_their_order():
    total = """
  %odd = arith.cmpi ne, %r, %ns : tensor<2048xi32, #row>
  %v = tt.load %xp, %odd : tensor<2048x!tt.ptr<f16>, #row>
  %s = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%a: f16, %b: f16):
    %c = COMBINE %a, %b : f16
    tt.reduce.return %c : f16
  }) : (tensor<2048xf16, #row>) -> f16
"""
    summed, largest = total.replace("COMBINE", "arith.addf"), total.replace("COMBINE", "arith.maxnumf")
    assert text(summed, CoalesceByWidth()) == text(summed)
    assert text(largest, CoalesceByWidth()) != text(largest)


PRODUCT = """
#tile = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
tt.func public @f(%x: !tt.ptr<i8> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant dense<64> : tensor<64x64xi32, #tile>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #tile>
  %r = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #tile}>>
  %row = tt.expand_dims %r {axis = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #tile}>> -> tensor<1x64xi32, #tile>
  %cols = tt.broadcast %row : tensor<1x64xi32, #tile> -> tensor<64x64xi32, #tile>
  %q = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32, #ttg.slice<{dim = 1, parent = #tile}>>
  %column = tt.expand_dims %q {axis = 1 : i32} : tensor<64xi32, #ttg.slice<{dim = 1, parent = #tile}>> -> tensor<64x1xi32, #tile>
  %rows = tt.broadcast %column : tensor<64x1xi32, #tile> -> tensor<64x64xi32, #tile>
  %above = arith.muli %rows, %c64 : tensor<64x64xi32, #tile>
  %o = arith.addi %above, %cols : tensor<64x64xi32, #tile>
  %xs = tt.splat %x : !tt.ptr<i8> -> tensor<64x64x!tt.ptr<i8>, #tile>
  %start = tt.addptr %xs, %o : tensor<64x64x!tt.ptr<i8>, #tile>, tensor<64x64xi32, #tile>
  %ys = tt.splat %y : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>, #tile>
  %yp = tt.addptr %ys, %o : tensor<64x64x!tt.ptr<f16>, #tile>, tensor<64x64xi32, #tile>
  %sum:2 = scf.for %i = %c0 to %n step %c1 iter_args(%c = %zero, %xp = %start) -> (tensor<64x64xf32, #tile>, tensor<64x64x!tt.ptr<i8>, #tile>) : i32 {
    %v = tt.load %xp : tensor<64x64x!tt.ptr<i8>, #tile>
    %h = arith.sitofp %v : tensor<64x64xi8, #tile> to tensor<64x64xf16, #tile>
    %a = ttg.convert_layout %h : tensor<64x64xf16, #tile> -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #tile}>>
    %b = ttg.convert_layout %h : tensor<64x64xf16, #tile> -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 1, parent = #tile}>>
    %d = tt.dot %a, %b, %c : tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #tile}>> * tensor<64x64xf16, #ttg.dot_op<{opIdx = 1, parent = #tile}>> -> tensor<64x64xf32, #tile>
    %next = tt.addptr %xp, %c64 : tensor<64x64x!tt.ptr<i8>, #tile>, tensor<64x64xi32, #tile>
    scf.yield %d, %next : tensor<64x64xf32, #tile>, tensor<64x64x!tt.ptr<i8>, #tile>
  }
  %w = arith.truncf %sum#0 : tensor<64x64xf32, #tile> to tensor<64x64xf16, #tile>
  tt.store %yp, %w : tensor<64x64x!tt.ptr<f16>, #tile>
  tt.return
}
}"""


def test_a_product_ties_its_factors_to_nothing():
    """What is loaded for a product meets what is stored of it in no layout: sixteen bytes each."""
    assert_matches(
        run(PRODUCT, Coalesce(), CoalesceByWidth()),
        """
        // CHECK-DAG: #[[SIXTEEN:.*]] = #ttg.blocked<{sizePerThread = [1, 16]
        // CHECK-DAG: #[[EIGHT:.*]] = #ttg.blocked<{sizePerThread = [1, 8]
        // CHECK: tt.load {{.*}} : tensor<64x64x!tt.ptr<i8>, #[[SIXTEEN]]>
        // CHECK: tt.store {{.*}} : tensor<64x64x!tt.ptr<f16>, #[[EIGHT]]>
        """,
    )


def test_data_that_is_scanned_keeps_its_runs_of_neighbours():
    scan = """
  %s = "tt.scan"(%v) <{axis = 0 : i32, reverse = false}> ({
  ^bb0(%a: i8, %c: i8):
    %d = arith.addi %a, %c : i8
    tt.scan.return %d : i8
  }) : (tensor<2048xi8, #row>) -> tensor<2048xi8, #row>"""
    assert "sizePerThread = [8]" in text(WIDER, CoalesceByWidth())
    found = text(WIDER.replace("\n  %b =", f"{scan}\n  %b =").replace("sitofp %v", "sitofp %s"), CoalesceByWidth())
    assert "sizePerThread = [16]" in found

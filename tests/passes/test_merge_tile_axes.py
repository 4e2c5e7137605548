"""`minitriton-merge-tile-axes`: axes of a tile that lie side by side in memory are accessed as one."""

from __future__ import annotations

from filecheck_ir import check, run

from minitriton.passes.merge_tile_axes import MergeTileAxes


def tile(shape: tuple[int, int], strides: tuple[int, int], element: str = "f16", access: str = "") -> str:
    """A load of `shape` whose axes have these strides."""
    rows, columns = shape
    full = f"tensor<{rows}x{columns}x!tt.ptr<{element}>>"
    return f"""
tt.func public @f(%x: !tt.ptr<{element}> {{tt.divisibility = 16 : i32}}, %n: i32) {{
  %i = tt.make_range {{start = 0 : i32, end = {rows} : i32}} : tensor<{rows}xi32>
  %j = tt.make_range {{start = 0 : i32, end = {columns} : i32}} : tensor<{columns}xi32>
  %i1 = tt.expand_dims %i {{axis = 1 : i32}} : tensor<{rows}xi32> -> tensor<{rows}x1xi32>
  %j1 = tt.expand_dims %j {{axis = 0 : i32}} : tensor<{columns}xi32> -> tensor<1x{columns}xi32>
  %si = arith.constant dense<{strides[0]}> : tensor<{rows}x1xi32>
  %sj = arith.constant dense<{strides[1]}> : tensor<1x{columns}xi32>
  %i2 = arith.muli %i1, %si : tensor<{rows}x1xi32>
  %j2 = arith.muli %j1, %sj : tensor<1x{columns}xi32>
  %i3 = tt.broadcast %i2 : tensor<{rows}x1xi32> -> tensor<{rows}x{columns}xi32>
  %j3 = tt.broadcast %j2 : tensor<1x{columns}xi32> -> tensor<{rows}x{columns}xi32>
  %o = arith.addi %i3, %j3 : tensor<{rows}x{columns}xi32>
  %xs = tt.splat %x : !tt.ptr<{element}> -> {full}
  %p = tt.addptr %xs, %o : {full}, tensor<{rows}x{columns}xi32>
  {access or f"%v = tt.load %p : {full}"}
  tt.return
}}
"""


def test_a_short_inner_axis_is_merged_with_the_next():
    check(
        tile((64, 4), (4, 1)),
        MergeTileAxes(),
        """
        // CHECK: %[[P:.*]] = tt.addptr
        // CHECK: %[[Q:.*]] = tt.reshape %[[P]] : tensor<64x4x!tt.ptr<f16>> -> tensor<256x!tt.ptr<f16>>
        // CHECK: %[[V:.*]] = tt.load %[[Q]] : tensor<256x!tt.ptr<f16>>
        // CHECK: tt.reshape %[[V]] : tensor<256xf16> -> tensor<64x4xf16>
        """,
    )


def test_a_store_merges_pointer_value_and_mask():
    check(
        tile(
            (64, 4),
            (4, 1),
            access="""
  %c = arith.constant dense<1.0> : tensor<64x4xf16>
  %ns = tt.splat %n : i32 -> tensor<64x4xi32>
  %m = arith.cmpi slt, %i3, %ns : tensor<64x4xi32>
  tt.store %p, %c, %m : tensor<64x4x!tt.ptr<f16>>""",
        ),
        MergeTileAxes(),
        """
        // CHECK: %[[P:.*]] = tt.reshape {{.*}} -> tensor<256x!tt.ptr<f16>>
        // CHECK: %[[C:.*]] = tt.reshape {{.*}} -> tensor<256xf16>
        // CHECK: %[[M:.*]] = tt.reshape {{.*}} -> tensor<256xi1>
        // CHECK: tt.store %[[P]], %[[C]], %[[M]] : tensor<256x!tt.ptr<f16>>
        """,
    )


def test_an_outer_axis_that_is_contiguous_is_turned_first():
    check(
        tile((4, 64), (1, 4)),
        MergeTileAxes(),
        """
        // CHECK: %[[T:.*]] = tt.trans {{.*}} {order = array<i32: 1, 0>} : tensor<4x64x!tt.ptr<f16>> -> tensor<64x4x!tt.ptr<f16>>
        // CHECK: tt.reshape %[[T]] : tensor<64x4x!tt.ptr<f16>> -> tensor<256x!tt.ptr<f16>>
        // CHECK: %[[V:.*]] = tt.reshape {{.*}} : tensor<256xf16> -> tensor<64x4xf16>
        // CHECK: tt.trans %[[V]] {order = array<i32: 1, 0>} : tensor<64x4xf16> -> tensor<4x64xf16>
        """,
    )


def unchanged(source: str) -> bool:
    return run(source, MergeTileAxes()) == run(source)


def test_rows_with_gaps_between_them_stay_apart():
    assert unchanged(tile((64, 4), (6, 1)))


def test_an_inner_axis_that_fills_a_vector_is_left_alone():
    assert unchanged(tile((64, 8), (8, 1)))
    assert not unchanged(tile((64, 8), (8, 1), "i8"))


def test_sums_of_floats_keep_their_order():
    def reduced(combine: str) -> str:
        return tile(
            (64, 2),
            (2, 1),
            "f32",
            f"""
  %v = tt.load %p : tensor<64x2x!tt.ptr<f32>>
  %s = "tt.reduce"(%v) <{{axis = 0 : i32}}> ({{
  ^bb0(%a: f32, %b: f32):
    %c = {combine} %a, %b : f32
    tt.reduce.return %c : f32
  }}) : (tensor<64x2xf32>) -> tensor<2xf32>""",
        )

    assert unchanged(reduced("arith.addf"))
    assert not unchanged(reduced("arith.maxnumf"))

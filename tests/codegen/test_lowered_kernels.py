"""Lowered kernels compute what NumPy computes."""

from __future__ import annotations

import numpy as np
import pytest

HEAD = 'module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {'

ADD = (
    """
#b = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
"""
    + HEAD
    + """
  tt.func public @add(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %o: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
    %c = arith.constant 1024 : i32
    %pid = tt.get_program_id x : i32
    %base = arith.muli %pid, %c : i32
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #b>
    %s = tt.splat %base : i32 -> tensor<1024xi32, #b>
    %off = arith.addi %s, %r : tensor<1024xi32, #b>
    %ns = tt.splat %n : i32 -> tensor<1024xi32, #b>
    %m = arith.cmpi slt, %off, %ns : tensor<1024xi32, #b>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #b>
    %xp = tt.addptr %xs, %off : tensor<1024x!tt.ptr<f32>, #b>, tensor<1024xi32, #b>
    %v = tt.load %xp, %m : tensor<1024x!tt.ptr<f32>, #b>
    %w = arith.addf %v, %v : tensor<1024xf32, #b>
    %os = tt.splat %o : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #b>
    %op = tt.addptr %os, %off : tensor<1024x!tt.ptr<f32>, #b>, tensor<1024xi32, #b>
    tt.store %op, %w, %m : tensor<1024x!tt.ptr<f32>, #b>
    tt.return
  }
}
"""
)


def test_a_masked_elementwise_kernel_writes_only_inside_the_mask(kernel):
    x = np.arange(2048, dtype=np.float32)
    out = np.full(2048, -1, np.float32)
    kernel(ADD)(x, out, 1500, program=(1, 0, 0))
    expected = np.full(2048, -1, np.float32)
    expected[1024:1500] = 2 * x[1024:1500]
    np.testing.assert_array_equal(out, expected)


def _tile(body: str, layouts: str, *, x: str = "f32", out: str = "f32", rows: int, columns: int, load: str) -> str:
    """A kernel that loads a tile `%a` of `x` in layout `load`, and does `body`."""
    shape = f"{rows}x{columns}"
    return (
        layouts
        + HEAD
        + f"""
  tt.func public @k(%x: !tt.ptr<{x}> {{tt.divisibility = 16 : i32}}, %out: !tt.ptr<{out}> {{tt.divisibility = 16 : i32}}) {{
    %r = tt.make_range {{end = {rows} : i32, start = 0 : i32}} : tensor<{rows}xi32, #ttg.slice<{{dim = 1, parent = {load}}}>>
    %c = tt.make_range {{end = {columns} : i32, start = 0 : i32}} : tensor<{columns}xi32, #ttg.slice<{{dim = 0, parent = {load}}}>>
    %re = tt.expand_dims %r {{axis = 1 : i32}} : tensor<{rows}xi32, #ttg.slice<{{dim = 1, parent = {load}}}>> -> tensor<{rows}x1xi32, {load}>
    %ce = tt.expand_dims %c {{axis = 0 : i32}} : tensor<{columns}xi32, #ttg.slice<{{dim = 0, parent = {load}}}>> -> tensor<1x{columns}xi32, {load}>
    %n = arith.constant dense<{columns}> : tensor<{rows}x1xi32, {load}>
    %rn = arith.muli %re, %n : tensor<{rows}x1xi32, {load}>
    %rb = tt.broadcast %rn : tensor<{rows}x1xi32, {load}> -> tensor<{shape}xi32, {load}>
    %cb = tt.broadcast %ce : tensor<1x{columns}xi32, {load}> -> tensor<{shape}xi32, {load}>
    %off = arith.addi %rb, %cb : tensor<{shape}xi32, {load}>
    %xs = tt.splat %x : !tt.ptr<{x}> -> tensor<{shape}x!tt.ptr<{x}>, {load}>
    %xp = tt.addptr %xs, %off : tensor<{shape}x!tt.ptr<{x}>, {load}>, tensor<{shape}xi32, {load}>
    %a = tt.load %xp : tensor<{shape}x!tt.ptr<{x}>, {load}>
{body}
    tt.return
  }}
}}
"""
    )


def _store_rows(name: str, element: str, layout: str, count: int) -> str:
    """Stores a vector of `count` elements to `%out`."""
    return f"""
    %so = tt.make_range {{end = {count} : i32, start = 0 : i32}} : tensor<{count}xi32, {layout}>
    %ss = tt.splat %out : !tt.ptr<{element}> -> tensor<{count}x!tt.ptr<{element}>, {layout}>
    %sp = tt.addptr %ss, %so : tensor<{count}x!tt.ptr<{element}>, {layout}>, tensor<{count}xi32, {layout}>
    tt.store %sp, {name} : tensor<{count}x!tt.ptr<{element}>, {layout}>"""


def _store_tile(name: str, element: str, layout: str, rows: int, columns: int) -> str:
    """Stores a tile in `layout` to `%out`, row by row."""
    shape = f"{rows}x{columns}"
    row, column = f"#ttg.slice<{{dim = 1, parent = {layout}}}>", f"#ttg.slice<{{dim = 0, parent = {layout}}}>"
    return f"""
    %tr = tt.make_range {{end = {rows} : i32, start = 0 : i32}} : tensor<{rows}xi32, {row}>
    %tc = tt.make_range {{end = {columns} : i32, start = 0 : i32}} : tensor<{columns}xi32, {column}>
    %tre = tt.expand_dims %tr {{axis = 1 : i32}} : tensor<{rows}xi32, {row}> -> tensor<{rows}x1xi32, {layout}>
    %tce = tt.expand_dims %tc {{axis = 0 : i32}} : tensor<{columns}xi32, {column}> -> tensor<1x{columns}xi32, {layout}>
    %tn = arith.constant dense<{columns}> : tensor<{rows}x1xi32, {layout}>
    %trn = arith.muli %tre, %tn : tensor<{rows}x1xi32, {layout}>
    %trb = tt.broadcast %trn : tensor<{rows}x1xi32, {layout}> -> tensor<{shape}xi32, {layout}>
    %tcb = tt.broadcast %tce : tensor<1x{columns}xi32, {layout}> -> tensor<{shape}xi32, {layout}>
    %toff = arith.addi %trb, %tcb : tensor<{shape}xi32, {layout}>
    %ts = tt.splat %out : !tt.ptr<{element}> -> tensor<{shape}x!tt.ptr<{element}>, {layout}>
    %tp = tt.addptr %ts, %toff : tensor<{shape}x!tt.ptr<{element}>, {layout}>, tensor<{shape}xi32, {layout}>
    tt.store %tp, {name} : tensor<{shape}x!tt.ptr<{element}>, {layout}>"""


ROWS = "#r = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>\n"
COLUMNS = "#c = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1]}>\n"
SPREAD = "#s = #ttg.blocked<{sizePerThread = [2, 2], threadsPerWarp = [8, 4], warpsPerCTA = [2, 2], order = [1, 0]}>\n"
LAYOUTS = ROWS + COLUMNS + SPREAD

rng = np.random.default_rng(1)


@pytest.mark.parametrize(
    "element,dtype", [("f32", np.float32), ("f16", np.float16), ("i8", np.int8), ("i64", np.int64)]
)
@pytest.mark.parametrize("source,target", [("#r", "#c"), ("#c", "#s"), ("#s", "#r"), ("#r", "#s")])
def test_a_layout_conversion_moves_every_element_to_its_place(kernel, element, dtype, source, target):
    x = rng.integers(-100, 100, (32, 64)).astype(dtype)
    body = f"    %b = ttg.convert_layout %a : tensor<32x64x{element}, {source}> -> tensor<32x64x{element}, {target}>"
    body += _store_tile("%b", element, target, 32, 64)
    out = np.zeros_like(x)
    kernel(_tile(body, LAYOUTS, x=element, out=element, rows=32, columns=64, load=source))(x, out)
    np.testing.assert_array_equal(out, x)


def _reduction(axis: int, layout: str, combine: str, element: str = "f32") -> str:
    count = 64 if axis == 0 else 32
    slice_ = f"#ttg.slice<{{dim = {axis}, parent = {layout}}}>"
    body = f"""
    %z = "tt.reduce"(%a) <{{axis = {axis} : i32}}> ({{
    ^bb0(%p: {element}, %q: {element}):
      %y = {combine} %p, %q : {element}
      tt.reduce.return %y : {element}
    }}) : (tensor<32x64x{element}, {layout}>) -> tensor<{count}x{element}, {slice_}>"""
    return _tile(
        body + _store_rows("%z", element, slice_, count),
        LAYOUTS,
        x=element,
        out=element,
        rows=32,
        columns=64,
        load=layout,
    )


@pytest.mark.parametrize("layout", ["#r", "#c", "#s"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    "combine,element,function",
    [
        ("arith.addf", "f32", np.add),
        ("arith.maxnumf", "f32", np.maximum),
        ("arith.addi", "i32", np.add),
        ("arith.xori", "i32", np.bitwise_xor),
    ],
)
def test_a_reduction_along_either_axis_of_any_layout(kernel, layout, axis, combine, element, function):
    x = rng.integers(-1000, 1000, (32, 64)).astype(np.float32 if element == "f32" else np.int32)
    out = np.zeros(64 if axis == 0 else 32, x.dtype)
    kernel(_reduction(axis, layout, combine, element))(x, out)
    np.testing.assert_array_equal(out, function.reduce(x, axis=axis))


@pytest.mark.parametrize("layout", ["#r", "#c", "#s"])
@pytest.mark.parametrize("axis", [0, 1])
def test_an_argmax_reduces_values_and_indices_together(kernel, layout, axis):
    count = 64 if axis == 0 else 32
    slice_ = f"#ttg.slice<{{dim = {axis}, parent = {layout}}}>"
    index = "%rb" if axis == 0 else "%cb"
    where = "%off2"
    body = f"""
    %nn = arith.constant dense<1> : tensor<32x64xi32, {layout}>
    {where} = arith.muli {index}, %nn : tensor<32x64xi32, {layout}>
    %z:2 = "tt.reduce"(%a, {where}) <{{axis = {axis} : i32}}> ({{
    ^bb0(%v: f32, %i: i32, %w: f32, %j: i32):
      %g = arith.cmpf ogt, %v, %w : f32
      %e = arith.cmpf oeq, %v, %w : f32
      %l = arith.cmpi slt, %i, %j : i32
      %el = arith.andi %e, %l : i1
      %t = arith.ori %g, %el : i1
      %best = arith.select %t, %v, %w : f32
      %at = arith.select %t, %i, %j : i32
      tt.reduce.return %best, %at : f32, i32
    }}) : (tensor<32x64xf32, {layout}>, tensor<32x64xi32, {layout}>) -> (tensor<{count}xf32, {slice_}>, tensor<{count}xi32, {slice_}>)"""
    text = _tile(body + _store_rows("%z#1", "i32", slice_, count), LAYOUTS, out="i32", rows=32, columns=64, load=layout)
    x = rng.integers(0, 9, (32, 64)).astype(np.float32)
    out = np.zeros(count, np.int32)
    kernel(text)(x, out)
    expected = x.argmax(axis=axis) * (64 if axis == 0 else 1)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("layout", ["#r", "#c", "#s"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_in_both_directions_along_either_axis(kernel, layout, axis, reverse):
    body = f"""
    %z = "tt.scan"(%a) <{{axis = {axis} : i32, reverse = {str(reverse).lower()}}}> ({{
    ^bb0(%p: i32, %q: i32):
      %y = arith.addi %p, %q : i32
      tt.scan.return %y : i32
    }}) : (tensor<32x64xi32, {layout}>) -> tensor<32x64xi32, {layout}>"""
    body += _store_tile("%z", "i32", layout, 32, 64)
    x = rng.integers(-1000, 1000, (32, 64)).astype(np.int32)
    out = np.zeros_like(x)
    kernel(_tile(body, LAYOUTS, x="i32", out="i32", rows=32, columns=64, load=layout))(x, out)
    expected = np.flip(np.cumsum(np.flip(x, axis), axis), axis) if reverse else np.cumsum(x, axis)
    np.testing.assert_array_equal(out, expected)


SWIZZLED = (
    "#sh = #ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 8, order = [1, 0]}>\n#smem = #ttg.shared_memory\n"
)


@pytest.mark.parametrize("element,dtype", [("f32", np.float32), ("f16", np.float16)])
@pytest.mark.parametrize("source,target", [("#r", "#c"), ("#c", "#r"), ("#s", "#c")])
def test_a_tile_comes_back_from_a_swizzled_buffer_in_another_layout(kernel, element, dtype, source, target):
    memdesc = f"!ttg.memdesc<32x64x{element}, #sh, #smem>"
    body = f"""
    %m = ttg.local_alloc %a : (tensor<32x64x{element}, {source}>) -> {memdesc}
    %b = ttg.local_load %m : {memdesc} -> tensor<32x64x{element}, {target}>"""
    body += _store_tile("%b", element, target, 32, 64)
    x = rng.standard_normal((32, 64)).astype(dtype)
    out = np.zeros_like(x)
    kernel(_tile(body, LAYOUTS + SWIZZLED, x=element, out=element, rows=32, columns=64, load=source))(x, out)
    np.testing.assert_array_equal(out, x)


def test_a_transposed_view_of_a_slice_reads_the_right_part_of_the_buffer(kernel):
    body = """
    %m = ttg.local_alloc %a : (tensor<32x64xf32, #r>) -> !ttg.memdesc<32x64xf32, #sh, #smem, mutable>
    %v = ttg.memdesc_subslice %m [0, 32] : !ttg.memdesc<32x64xf32, #sh, #smem, mutable> -> !ttg.memdesc<32x32xf32, #sh, #smem, mutable, 32x64>
    %t = ttg.memdesc_trans %v {order = array<i32: 1, 0>} : !ttg.memdesc<32x32xf32, #sh, #smem, mutable, 32x64> -> !ttg.memdesc<32x32xf32, #sht, #smem, mutable, 64x32>
    %b = ttg.local_load %t : !ttg.memdesc<32x32xf32, #sht, #smem, mutable, 64x32> -> tensor<32x32xf32, #c>"""
    body += _store_tile("%b", "f32", "#c", 32, 32)
    transposed = "#sht = #ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 8, order = [0, 1]}>\n"
    x = rng.standard_normal((32, 64)).astype(np.float32)
    out = np.zeros((32, 32), np.float32)
    kernel(_tile(body, LAYOUTS + SWIZZLED + transposed, rows=32, columns=64, load="#r"))(x, out)
    np.testing.assert_array_equal(out, x[:, 32:].T)


def test_asynchronous_copies_fill_masked_elements_with_zeros(kernel):
    body = """
    %lim = arith.constant dense<48> : tensor<32x64xi32, #r>
    %keep = arith.cmpi slt, %cb, %lim : tensor<32x64xi32, #r>
    %i = arith.constant 1 : i32
    %m = ttg.local_alloc : () -> !ttg.memdesc<2x32x64xf32, #sh, #smem, mutable>
    %v = ttg.memdesc_index %m[%i] : !ttg.memdesc<2x32x64xf32, #sh, #smem, mutable> -> !ttg.memdesc<32x64xf32, #sh, #smem, mutable>
    %t = ttg.async_copy_global_to_local %xp, %v mask %keep : tensor<32x64x!tt.ptr<f32>, #r> -> <32x64xf32, #sh, #smem, mutable>
    %g = ttg.async_commit_group tokens %t
    %w = ttg.async_wait %g {num = 0 : i32}
    %b = ttg.local_load %v token %w : !ttg.memdesc<32x64xf32, #sh, #smem, mutable> -> tensor<32x64xf32, #c>"""
    body += _store_tile("%b", "f32", "#c", 32, 64)
    x = rng.standard_normal((32, 64)).astype(np.float32)
    out = np.ones_like(x)
    kernel(_tile(body, LAYOUTS + SWIZZLED, rows=32, columns=64, load="#r"))(x, out)
    expected = x.copy()
    expected[:, 48:] = 0
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("order, widest", [("[0, 1]", 4), ("[1, 0]", 16)])
def test_an_asynchronous_copy_is_as_wide_as_what_lies_together_on_both_sides(kernel, llvm_ir, order, widest):
    layouts = f"""
#q = #ttg.blocked<{{sizePerThread = [4, 4], threadsPerWarp = [4, 8], warpsPerCTA = [2, 2], order = [1, 0]}}>
#sh = #ttg.swizzled_shared<{{vec = 4, perPhase = 1, maxPhase = 8, order = {order}}}>
#smem = #ttg.shared_memory
"""
    body = """
    %m = ttg.local_alloc : () -> !ttg.memdesc<32x64xf32, #sh, #smem, mutable>
    %t = ttg.async_copy_global_to_local %xp, %m : tensor<32x64x!tt.ptr<f32>, #q> -> <32x64xf32, #sh, #smem, mutable>
    %g = ttg.async_commit_group tokens %t
    %w = ttg.async_wait %g {num = 0 : i32}
    %b = ttg.local_load %m token %w : !ttg.memdesc<32x64xf32, #sh, #smem, mutable> -> tensor<32x64xf32, #q>"""
    body += _store_tile("%b", "f32", "#q", 32, 64)
    x = rng.standard_normal((32, 64)).astype(np.float32)
    out = np.ones_like(x)
    text = _tile(body, layouts, rows=32, columns=64, load="#q")
    kernel(text)(x, out)
    np.testing.assert_array_equal(out, x)
    copies = [line for line in llvm_ir(text).splitlines() if "shared.global" in line]
    assert len(copies) == 64 // widest and all(f", {widest:#x}, " in line for line in copies)


def test_a_dot_of_registers_is_a_matrix_product(kernel):
    a, b = "#ttg.dot_op<{opIdx = 0, parent = #s}>", "#ttg.dot_op<{opIdx = 1, parent = #s}>"
    body = f"""
    %m = ttg.local_alloc %a : (tensor<32x32xf32, #r>) -> !ttg.memdesc<32x32xf32, #sh, #smem>
    %l = ttg.local_load %m : !ttg.memdesc<32x32xf32, #sh, #smem> -> tensor<32x32xf32, {a}>
    %g = ttg.local_load %m : !ttg.memdesc<32x32xf32, #sh, #smem> -> tensor<32x32xf32, {b}>
    %z = arith.constant dense<1.0> : tensor<32x32xf32, #s>
    %d = tt.dot %l, %g, %z : tensor<32x32xf32, {a}> * tensor<32x32xf32, {b}> -> tensor<32x32xf32, #s>"""
    body += _store_tile("%d", "f32", "#s", 32, 32)
    x = rng.integers(-8, 8, (32, 32)).astype(np.float32)
    out = np.zeros_like(x)
    kernel(_tile(body, LAYOUTS + SWIZZLED, rows=32, columns=32, load="#r"))(x, out)
    np.testing.assert_array_equal(out, x @ x + 1)


def test_a_gather_takes_the_elements_that_the_indices_name(kernel):
    body = """
    %k = arith.constant dense<31> : tensor<32x64xi32, #r>
    %seven = arith.constant dense<7> : tensor<32x64xi32, #r>
    %h = arith.muli %off, %seven : tensor<32x64xi32, #r>
    %i = arith.andi %h, %k : tensor<32x64xi32, #r>
    %b = tt.gather %a[%i] {axis = 0 : i32} : (tensor<32x64xf32, #r>, tensor<32x64xi32, #r>) -> tensor<32x64xf32, #r>"""
    body += _store_tile("%b", "f32", "#r", 32, 64)
    x = rng.standard_normal((32, 64)).astype(np.float32)
    out = np.zeros_like(x)
    kernel(_tile(body, LAYOUTS, rows=32, columns=64, load="#r"))(x, out)
    index = (np.arange(32 * 64).reshape(32, 64) * 7) & 31
    np.testing.assert_array_equal(out, np.take_along_axis(x, index, 0))


def test_atomics_count_each_element_once_although_threads_hold_copies(kernel):
    body = """
    %z = "tt.reduce"(%a) <{axis = 1 : i32}> ({
    ^bb0(%p: f32, %q: f32):
      %y = arith.addf %p, %q : f32
      tt.reduce.return %y : f32
    }) : (tensor<32x64xf32, #s>) -> tensor<32xf32, #ttg.slice<{dim = 1, parent = #s}>>
    %so = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 1, parent = #s}>>
    %ss = tt.splat %out : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #s}>>
    %sp = tt.addptr %ss, %so : tensor<32x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #s}>>, tensor<32xi32, #ttg.slice<{dim = 1, parent = #s}>>
    %old = tt.atomic_rmw fadd, acq_rel, gpu, %sp, %z : (tensor<32x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #s}>>, tensor<32xf32, #ttg.slice<{dim = 1, parent = #s}>>) -> tensor<32xf32, #ttg.slice<{dim = 1, parent = #s}>>
    %again = tt.atomic_rmw fadd, acq_rel, gpu, %sp, %old : (tensor<32x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #s}>>, tensor<32xf32, #ttg.slice<{dim = 1, parent = #s}>>) -> tensor<32xf32, #ttg.slice<{dim = 1, parent = #s}>>"""
    x = rng.integers(-8, 8, (32, 64)).astype(np.float32)
    out = np.full(32, 5, np.float32)
    kernel(_tile(body, LAYOUTS, rows=32, columns=64, load="#s"))(x, out)
    np.testing.assert_array_equal(out, 5 + x.sum(1) + 5)


def test_a_loop_carries_pointers_and_accumulators(kernel):
    body = """
    %lo = arith.constant 0 : i32
    %hi = arith.constant 3 : i32
    %one = arith.constant 1 : i32
    %step = arith.constant dense<2048> : tensor<32x64xi32, #r>
    %zero = arith.constant dense<0.0> : tensor<32x64xf32, #r>
    %res:2 = scf.for %i = %lo to %hi step %one iter_args(%acc = %zero, %ptr = %xp) -> (tensor<32x64xf32, #r>, tensor<32x64x!tt.ptr<f32>, #r>)  : i32 {
      %v = tt.load %ptr : tensor<32x64x!tt.ptr<f32>, #r>
      %n1 = arith.addf %acc, %v : tensor<32x64xf32, #r>
      %n2 = tt.addptr %ptr, %step : tensor<32x64x!tt.ptr<f32>, #r>, tensor<32x64xi32, #r>
      scf.yield %n1, %n2 : tensor<32x64xf32, #r>, tensor<32x64x!tt.ptr<f32>, #r>
    }"""
    body += _store_tile("%res#0", "f32", "#r", 32, 64)
    x = rng.integers(-8, 8, (3, 32, 64)).astype(np.float32)
    out = np.zeros((32, 64), np.float32)
    kernel(_tile(body, LAYOUTS, rows=32, columns=64, load="#r"))(x, out)
    np.testing.assert_array_equal(out, x.sum(0))


def test_both_sides_of_a_branch_meet_with_their_values(kernel):
    text = (
        HEAD
        + """
  tt.func public @k(%n: i32, %out: !tt.ptr<i32>) {
    %c = arith.constant 3 : i32
    %p = arith.cmpi slt, %n, %c : i32
    %v = scf.if %p -> (i32) {
      %a = arith.addi %n, %c : i32
      scf.yield %a : i32
    } else {
      %b = arith.muli %n, %c : i32
      scf.yield %b : i32
    }
    tt.store %out, %v : !tt.ptr<i32>
    tt.return
  }
}
"""
    )
    run = kernel(text)
    out = np.zeros(1, np.int32)
    run(2, out)
    assert out[0] == 5
    run(5, out)
    assert out[0] == 15

"""What a kernel computes is the same before and after the layout passes, by the interpreter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from filecheck_ir import run

from minitriton.dialects.text import parse_module
from minitriton.interpreter import interpret
from minitriton.passes.canonicalize import Canonicalize
from minitriton.passes.coalesce import Coalesce
from minitriton.passes.convert_triton_to_tritongpu import ConvertTritonToTritonGPU
from minitriton.passes.optimize_dot_operands import ReduceDataDuplication
from minitriton.passes.optimize_thread_locality import OptimizeThreadLocality
from minitriton.passes.remove_layout_conversions import RemoveLayoutConversions
from minitriton.passes.reorder_instructions import ReorderInstructions
from minitriton.pipeline.pass_registry import Pass

PASSES: list[Pass] = [
    ConvertTritonToTritonGPU(target="cuda:90"),
    Coalesce(),
    RemoveLayoutConversions(),
    OptimizeThreadLocality(),
    OptimizeThreadLocality(any_axis=True),
    RemoveLayoutConversions(),
    Canonicalize(),
    ReduceDataDuplication(),
    ReorderInstructions(),
]


def tile_reduction(combine: str, element: str, zero: str, axis: int, rows: int, cols: int) -> str:
    """Reduces a matrix of `rows` times n by `cols` along `axis`, tile by tile below each other, onto `zero`."""
    left = cols if axis == 0 else rows
    pair = f"{rows}x{cols}"
    return f"""
    tt.func @f(%x: !tt.ptr<{element}> {{tt.divisibility = 16 : i32}}, %o: !tt.ptr<{element}> {{tt.divisibility = 16 : i32}}, %n: i32) {{
      %z = arith.constant dense<{zero}> : tensor<{left}x{element}>
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %size = arith.constant {rows * cols} : i32
      %width = arith.constant dense<{cols}> : tensor<{rows}x1xi32>
      %r = tt.make_range {{start = 0 : i32, end = {rows} : i32}} : tensor<{rows}xi32>
      %c = tt.make_range {{start = 0 : i32, end = {cols} : i32}} : tensor<{cols}xi32>
      %r1 = tt.expand_dims %r {{axis = 1 : i32}} : tensor<{rows}xi32> -> tensor<{rows}x1xi32>
      %c1d = tt.expand_dims %c {{axis = 0 : i32}} : tensor<{cols}xi32> -> tensor<1x{cols}xi32>
      %rw = arith.muli %r1, %width : tensor<{rows}x1xi32>
      %rb = tt.broadcast %rw : tensor<{rows}x1xi32> -> tensor<{pair}xi32>
      %cb = tt.broadcast %c1d : tensor<1x{cols}xi32> -> tensor<{pair}xi32>
      %at = arith.addi %rb, %cb : tensor<{pair}xi32>
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<{left}x{element}>) : i32 {{
        %start = arith.muli %i, %size : i32
        %tile = tt.addptr %x, %start : !tt.ptr<{element}>, i32
        %base = tt.splat %tile : !tt.ptr<{element}> -> tensor<{pair}x!tt.ptr<{element}>>
        %p = tt.addptr %base, %at : tensor<{pair}x!tt.ptr<{element}>>, tensor<{pair}xi32>
        %v = tt.load %p : tensor<{pair}x!tt.ptr<{element}>>
        %red = "tt.reduce"(%v) <{{axis = {axis} : i32}}> ({{
        ^bb0(%a: {element}, %b: {element}):
          %s = {combine} %a, %b : {element}
          tt.reduce.return %s : {element}
        }}) : (tensor<{pair}x{element}>) -> tensor<{left}x{element}>
        %next = {combine} %acc, %red : tensor<{left}x{element}>
        scf.yield %next : tensor<{left}x{element}>
      }}
      %ob = tt.splat %o : !tt.ptr<{element}> -> tensor<{left}x!tt.ptr<{element}>>
      %op = tt.addptr %ob, %{"c" if axis == 0 else "r"} : tensor<{left}x!tt.ptr<{element}>>, tensor<{left}xi32>
      tt.store %op, %sum : tensor<{left}x!tt.ptr<{element}>>
      tt.return
    }}
    """


def outcome(text: str, x: np.ndarray, size: int, tiles: int) -> np.ndarray:
    """What the kernel `f` of `text` writes."""
    out = np.zeros(size, x.dtype)
    interpret(parse_module(text), "f", (x.copy(), out, tiles), (1,))
    return out


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", [(128, 64), (32, 32), (64, 8), (16, 256)], ids=str)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("combine", "element", "zero", "reduce"),
    [
        ("arith.addf", "f32", "1.5", np.sum),
        ("arith.maxnumf", "f32", "-1.0", np.max),
        ("arith.addi", "i32", "7", np.sum),
        ("arith.minsi", "i32", "3", np.min),
    ],
)
def test_reductions_of_tiles_in_a_loop(
    combine: str, element: str, zero: str, reduce: Callable[..., np.ndarray], axis: int, shape: tuple[int, int]
) -> None:
    rows, cols = shape
    tiles, left = 3, cols if axis == 0 else rows
    random = np.random.default_rng(rows + axis)
    x = random.integers(-50, 50, (tiles, rows, cols)).astype(np.float32 if element == "f32" else np.int32)
    expected = reduce(np.stack([reduce(x, axis=(0, axis + 1)), np.full(left, float(zero), x.dtype)]), axis=0)
    source = tile_reduction(combine, element, zero, axis, rows, cols)
    np.testing.assert_array_equal(outcome(source, x, left, tiles), expected)
    np.testing.assert_array_equal(outcome(run(source, *PASSES), x, left, tiles), expected)


def test_a_sum_of_all_elements_in_a_loop() -> None:
    source = """
    tt.func @f(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %o: !tt.ptr<f32>, %n: i32) {
      %z = arith.constant 2.0 : f32
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %size = arith.constant 1024 : i32
      %at = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32>
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (f32) : i32 {
        %start = arith.muli %i, %size : i32
        %tile = tt.addptr %x, %start : !tt.ptr<f32>, i32
        %base = tt.splat %tile : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
        %p = tt.addptr %base, %at : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
        %v = tt.load %p : tensor<1024x!tt.ptr<f32>>
        %red = "tt.reduce"(%v) <{axis = 0 : i32}> ({
        ^bb0(%a: f32, %b: f32):
          %s = arith.addf %a, %b : f32
          tt.reduce.return %s : f32
        }) : (tensor<1024xf32>) -> f32
        %next = arith.addf %acc, %red : f32
        scf.yield %next : f32
      }
      tt.store %o, %sum : !tt.ptr<f32>
      tt.return
    }
    """
    x = np.random.default_rng(0).integers(-9, 9, (3, 1024)).astype(np.float32)
    after = run(source, *PASSES)
    assert "tt.reshape" in after
    assert outcome(after, x, 1, 3) == outcome(source, x, 1, 3) == x.sum() + 2


def test_the_column_sums_above_are_ones_that_the_outer_reduction_rewrites() -> None:
    text = run(tile_reduction("arith.addf", "f32", "1.5", 0, 128, 64), *PASSES)
    assert "tt.reshape" in text and text.count('"tt.reduce"') == 2

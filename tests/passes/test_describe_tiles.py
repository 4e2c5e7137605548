"""`minitriton-describe-tiles`: which loads become copies of tensor maps, with the same results, and which launches take the kernel without."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module, print_module
from minitriton.pipeline.pass_manager import PassManager, Pipeline
from minitriton_kernels.cases import load_kernels

KERNELS = load_kernels("plain_tiles", "minitriton")
COPIES = "cp.async.bulk.tensor"


def _matmul(m: int, n: int, k: int, **options: Any) -> tuple[np.ndarray, str]:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    c = np.zeros((m, n), np.float16)
    kernel = KERNELS.matmul[(-(-m // 64) * -(-n // 64),)](
        a, b, c, m, n, k, k, 1, n, 1, n, 1, 64, 64, 32, 8, num_warps=4, num_stages=2, **options
    )
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=2e-2, atol=5e-2)
    return c, kernel.asm["ptx"]


@pytest.mark.parametrize(
    ("m", "n", "k"),
    [
        pytest.param(128, 64, 96, id="whole tiles"),
        pytest.param(112, 64, 80, id="rows that the tile does not divide, by the kernel without; a last step along K"),
        pytest.param(64, 80, 32, id="columns that the tile does not divide"),
    ],
)
def test_a_plain_matmul_gives_the_same_bits(m: int, n: int, k: int) -> None:
    described, ptx = _matmul(m, n, k)
    plain, plain_ptx = _matmul(m, n, k, describe_tiles=False)
    assert COPIES in ptx
    assert COPIES not in plain_ptx
    assert described.tobytes() == plain.tobytes()


def test_strides_that_no_map_can_have_take_the_kernel_without() -> None:
    _, ptx = _matmul(64, 68, 32)
    assert COPIES not in ptx


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [128, 88])
def test_plain_attention_gives_the_same_bits(causal: bool, length: int) -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((2, 2, length, 32)).astype(np.float16) for _ in range(3))
    strides = [step // 2 for step in q.strides[:3]] * 4
    outs: list[bytes] = []
    for describes in (True, False):
        out = np.zeros_like(q)
        kernel = KERNELS.attention[(-(-length // 64), 4)](
            q,
            k,
            v,
            out,
            0.2,
            2,
            length,
            *strides,
            64,
            32,
            32,
            causal,
            num_warps=4,
            num_stages=2,
            describe_tiles=describes,
        )
        assert (COPIES in kernel.asm["ptx"]) == describes
        outs.append(out.tobytes())
    assert outs[0] == outs[1]


@triton.jit
def _in_place(x_ptr, y_ptr, K, stride, BM: tl.constexpr, BK: tl.constexpr):
    rows, depth = tl.arange(0, BM), tl.arange(0, BK)
    tl.store(x_ptr + rows[:, None] * stride + depth[None, :], tl.full((BM, BK), 1.0, tl.float16))
    total = tl.zeros((BM, BM), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(x_ptr + rows[:, None] * stride + (k + depth)[None, :])
        y = tl.load(y_ptr + rows[None, :] * stride + (k + depth)[:, None])
        total = tl.dot(x, y, total)
    tl.store(x_ptr + rows[:, None] * stride + rows[None, :], total.to(tl.float16))


def test_a_kernel_that_wrote_before_keeps_its_pointers() -> None:
    x, y = (np.ones((64, 64), np.float16) for _ in range(2))
    kernel = _in_place[(1,)](x, y, 64, 64, 64, 32)
    assert COPIES not in kernel.asm["ptx"]
    np.testing.assert_array_equal(x, 64)


def _described(loads: str, parameters: str = "") -> str:
    """The module with a loop over `loads`, which leave tiles %x and %y, after the pass."""
    text = f"""
module {{
  tt.func public @k(%a: !tt.ptr<f16> {{tt.divisibility = 16 : i32}}, %b: !tt.ptr<f16> {{tt.divisibility = 16 : i32}}, %n: i32 {{tt.divisibility = 16 : i32}}{parameters}) {{
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %none = arith.constant dense<0.0> : tensor<64x64xf16>
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %range = tt.make_range {{end = 64 : i32, start = 0 : i32}} : tensor<64xi32>
    %column = tt.expand_dims %range {{axis = 1 : i32}} : tensor<64xi32> -> tensor<64x1xi32>
    %row = tt.expand_dims %range {{axis = 0 : i32}} : tensor<64xi32> -> tensor<1x64xi32>
    %stride = tt.splat %n : i32 -> tensor<64x1xi32>
    %down = arith.muli %column, %stride : tensor<64x1xi32>
    %d = tt.broadcast %down : tensor<64x1xi32> -> tensor<64x64xi32>
    %r = tt.broadcast %row : tensor<1x64xi32> -> tensor<64x64xi32>
    %offsets = arith.addi %d, %r : tensor<64x64xi32>
    %as = tt.splat %a : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    %bs = tt.splat %b : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    %p = tt.addptr %as, %offsets : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    %q = tt.addptr %bs, %offsets : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    %total = scf.for %k = %c0 to %n step %c64 iter_args(%t = %zero) -> (tensor<64x64xf32>) : i32 {{
      %ks = tt.splat %k : i32 -> tensor<64x64xi32>
      {loads}
      %u = tt.dot %x, %y, %t : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
      scf.yield %u : tensor<64x64xf32>
    }}
    %half = arith.truncf %total : tensor<64x64xf32> to tensor<64x64xf16>
    tt.store %p, %half : tensor<64x64x!tt.ptr<f16>>
    tt.return
  }}
}}"""
    module = parse_module(text)
    PassManager(Pipeline.parse("minitriton-describe-tiles")).run(make_context(), module)
    return print_module(module)


_X = """%px = tt.addptr %p, %ks : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
      %x = tt.load %px : tensor<64x64x!tt.ptr<f16>>"""
_Y = "%y = tt.load %q : tensor<64x64x!tt.ptr<f16>>"


def test_the_offset_along_a_row_is_a_coordinate_of_the_last_dimension() -> None:
    text = _described(f"{_X}\n{_Y}")
    variable = re.search(r"scf.for (%\w+) =", text)
    assert variable is not None
    assert re.search(rf"tt.descriptor_load %\w+\[%\w+, {variable[1]}\]", text)
    assert text.count("tt.descriptor_load") == 2
    assert "tt.load" not in text


_FROM_COLUMN = """%ms = tt.splat %m : i32 -> tensor<64x64xi32>
      %px = tt.addptr %p, %ms : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
      %x = tt.load %px : tensor<64x64x!tt.ptr<f16>>"""


def test_a_row_that_begins_at_a_multiple_of_16_bytes_is_a_box() -> None:
    text = _described(f"{_FROM_COLUMN}\n{_Y}", ", %m: i32 {tt.divisibility = 16 : i32}")
    assert text.count("tt.descriptor_load") == 2


@pytest.mark.parametrize(
    ("loads", "parameters"),
    [
        pytest.param(_X + "\n" + _Y.replace("%q", "%q, %m"), ", %m: tensor<64x64xi1>", id="a mask that is not followed"),
        pytest.param(
            """%px = tt.addptr %p, %far : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
      %x = tt.load %px : tensor<64x64x!tt.ptr<f16>>
      """ + _Y,
            ", %far: tensor<64x64xi32>", id="offsets that are not affine",
        ),
        pytest.param(
            """%minus = arith.constant dense<-64> : tensor<64x64xi32>
      %px = tt.addptr %p, %minus : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
      %x = tt.load %px : tensor<64x64x!tt.ptr<f16>>
      """ + _Y,
            "", id="a box that begins before the array",
        ),
        pytest.param(
            """%m = arith.cmpi slt, %ks, %offsets : tensor<64x64xi32>
      %x = tt.load %p, %m, %none : tensor<64x64x!tt.ptr<f16>>
      """ + _Y,
            "", id="a mask that compares two indices",
        ),
        pytest.param(f"{_FROM_COLUMN}\n{_Y}", ", %m: i32", id="a row that may begin anywhere: the copy would be illegal"),
        pytest.param(_X.replace("tt.load %px", "tt.load %px {isVolatile = true}") + "\n" + _Y, "", id="volatile"),
    ],
)  # fmt: skip
def test_what_is_no_box_is_loaded_as_before(loads: str, parameters: str) -> None:
    text = _described(loads, parameters)
    assert "tt.descriptor_load" not in text
    assert text.count("tt.load") == 2


@triton.jit
def _products(x_ptr, y_ptr, out_ptr, m, K, stride, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    batch = tl.program_id(1).to(tl.int64)
    rows, columns, depth = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        inside = (rows < m)[:, None]
        x = tl.load(x_ptr + batch * m * K + rows[:, None] * K + (k + depth)[None, :], mask=inside, other=0.0)
        y = tl.load(y_ptr + (k + depth)[:, None] * stride + columns[None, :])
        total = tl.dot(x, y, total)
    at = batch * m * BN + rows[:, None] * BN + columns[None, :]
    tl.store(out_ptr + at, total.to(tl.float16), mask=(rows < m)[:, None])


def _product(m: int, tile: int, step: int, describes: bool) -> tuple[bytes, bool]:
    """The result of two products of `m` rows in tiles of `tile` by `tile`, and whether it came by copies."""
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal(shape).astype(np.float16) for shape in ((2, m, 64), (64, tile)))
    out = np.zeros((2, m, tile), np.float16)
    kernel = _products[(-(-m // tile), 2)](
        x, y, out, m, 64, tile, tile, tile, step, num_warps=4, num_stages=2, describe_tiles=describes
    )
    np.testing.assert_allclose(out, (x @ y), atol=0.05)
    return out.tobytes(), COPIES in kernel.asm["ptx"]


@pytest.mark.parametrize("m", [64, 104])
def test_rows_of_a_batch_end_where_the_mask_says(m: int) -> None:
    """Each batch is an index of a dimension of its own: a tile must not read into the next one."""
    described, came_by_copies = _product(m, 64, 32, True)
    assert came_by_copies
    assert described == _product(m, 64, 32, False)[0]


@pytest.mark.parametrize(("step", "are_copies"), [(32, False), (64, True)])
def test_short_rows_next_to_a_tile_across_k_keep_their_pointers(step: int, are_copies: bool) -> None:
    assert _product(128, 128, step, True)[1] == are_copies

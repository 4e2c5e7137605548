"""Products of every type on a GPU give what NumPy gives: tensor cores, by the instruction that the target has."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "dots"))

import test_scaled as scaled_products
import test_types as plain_products

torch = pytest.importorskip("torch")


def on_device(values: list[Any]) -> list[Any]:
    """`values` with its arrays as CUDA tensors."""
    return [torch.from_numpy(np.ascontiguousarray(v)).cuda() if isinstance(v, np.ndarray) else v for v in values]


@pytest.mark.parametrize(("m", "n", "warps"), [(64, 32, 4), (128, 256, 8), (16, 16, 1), (64, 128, 8), (32, 64, 4)])
@pytest.mark.parametrize("kind", ["float16", "bf16", "float32", "float64", "int8", "e4m3", "e5m2"])
def test_a_product_is_what_numpy_gives(kind: str, m: int, n: int, warps: int) -> None:
    a, b, type_, out, wanted = plain_products.operands(kind, m, n)
    arguments = on_device([a, b, np.full((m, n), -7, out)])
    if kind == "e4m3" and torch.cuda.get_device_capability() < (8, 9):
        pytest.skip("this device has no e4m3")
    plain_products.product[(1,)](*arguments, m, n, plain_products.K, 32, type_, "tf32", None, num_warps=warps)
    tolerance = plain_products.TOLERANCE.get(kind, 1e-4)
    np.testing.assert_allclose(arguments[2].cpu().numpy(), wanted, rtol=0, atol=tolerance)


@pytest.mark.parametrize("precision", plain_products.PRECISIONS)
def test_input_precision_says_how_exact_a_product_of_floats_is(precision: str) -> None:
    a, b, _, _, wanted = plain_products.operands("float32", 64, 32)
    arguments = on_device([a, b, np.zeros((64, 32), np.float32)])
    plain_products.product[(1,)](*arguments, 64, 32, plain_products.K, 32, None, precision, None)
    tolerance = plain_products.PRECISIONS[precision][1]
    np.testing.assert_allclose(arguments[2].cpu().numpy(), wanted, rtol=0, atol=tolerance)


@pytest.mark.parametrize(("m", "n", "k", "warps"), [(1, 64, 32, 4), (64, 1, 16, 4), (4, 8, 16, 2), (128, 8, 16, 8)])
def test_small_products_fill_up_the_instruction(m: int, n: int, k: int, warps: int) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    arguments = on_device([a, b, np.zeros((m, n), np.float32)])
    plain_products.odd[(1,)](*arguments, m, n, k, num_warps=warps)
    np.testing.assert_allclose(arguments[2].cpu().numpy(), a.astype(np.float64) @ b, rtol=0, atol=1e-4)


@pytest.mark.parametrize(("m", "n", "k"), [(64, 32, 64), (16, 16, 128), (128, 128, 128)])
@pytest.mark.parametrize(("left", "right", "left_scaled", "right_scaled"), scaled_products.PAIRS)
def test_a_scaled_product_is_what_numpy_gives(
    left: str, right: str, left_scaled: bool, right_scaled: bool, m: int, n: int, k: int
) -> None:
    if "e4m3" in (left, right) and torch.cuda.get_device_capability() < (8, 9):
        pytest.skip("this device has no e4m3")
    a, x = scaled_products.operand(left, m, k)
    b, y = scaled_products.operand(right, n, k)
    (sa, fa), (sb, fb) = scaled_products.scale(m, k), scaled_products.scale(n, k)
    wanted = (x * fa if left_scaled else x) @ (y * fb if right_scaled else y).T
    scales = [sa if left_scaled else None, sb if right_scaled else None]
    arguments = on_device([a, scales[0], b.T, scales[1], np.zeros((m, n), np.float32)])
    types = (scaled_products.TYPES.get(left), scaled_products.TYPES.get(right))
    scaled_products.scaled[(1,)](*arguments, m, n, k, left, right, *types, False)
    np.testing.assert_allclose(arguments[4].cpu().numpy(), wanted, rtol=1e-5, atol=1e-3)

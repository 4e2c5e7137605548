"""Products of programs of several CTAs on sm_90: each CTA has in its shared memory what its part of the product takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.lab import check_call
from minitriton.tools.tensor_descriptor import TensorDescriptor


@pytest.fixture(autouse=True)
def on_hopper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm90")
    triton.set_allocator(lambda size, alignment, stream: np.zeros(size, np.int8))


def integers(seed: int, *shape: int) -> np.ndarray:
    """Small ones: their products are exact in every type."""
    return np.random.default_rng(seed).integers(-3, 4, shape)


@triton.jit
def by_descriptors(a, b, c, s, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TRANSPOSED: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    if TRANSPOSED:
        db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    else:
        db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = da.load([0, k]).to(tl.float16) * tl.load(s + k // BK).to(tl.float16)
        if TRANSPOSED:
            y = tl.trans(db.load([0, k]))
        else:
            y = db.load([k, 0])
        acc = tl.dot(x, y.to(tl.float16), acc)
    dc.store([0, 0], acc)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ctas", [2, 4])
@pytest.mark.parametrize(("m", "n", "k"), [(128, 16, 32), (16, 64, 64), (64, 64, 64)])
@pytest.mark.parametrize("transposed", [True, False])
def test_operands_of_descriptors_are_shared_as_the_product_takes_them(
    m: int, n: int, k: int, transposed: bool, ctas: int
) -> None:
    a, b = integers(0, m, 3 * k).astype(np.int8), integers(1, 3 * k, n).astype(np.float16)
    scales, c = np.array([1, 2, 4], np.float32), np.zeros((m, n), np.float32)
    given = np.ascontiguousarray(b.T) if transposed else b
    by_descriptors[(1,)](a, given, c, scales, m, n, 3 * k, m, n, k, transposed, num_ctas=ctas)
    scaled = a.reshape(m, 3, k) * scales[:, None]
    np.testing.assert_array_equal(c, scaled.reshape(m, -1) @ b.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.int8, np.float16])
@pytest.mark.parametrize("stages", [1, 3])
def test_every_cta_copies_whole_rows_where_its_part_of_them_is_too_short_for_a_copy(dtype: Any, stages: int) -> None:
    a, b = integers(2, 16, 96).astype(np.int8), integers(3, 96, 16).astype(dtype)
    c = np.zeros((16, 16), np.float32)
    by_descriptors[(1,)](a, b, c, np.ones(3, np.float32), 16, 16, 96, 16, 16, 32, False, num_ctas=4, num_stages=stages)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b)


@triton.jit
def by_host_descriptors(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    acc = tl.zeros((BM, BN), tl.int32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([0, k]), b.load([k, 0]), acc)
    c.store([0, 0], acc)


def test_so_does_the_host_s_descriptor() -> None:
    a, b, c = integers(4, 64, 64).astype(np.int8), integers(5, 64, 16).astype(np.int8), np.zeros((64, 16), np.int32)
    given = [TensorDescriptor(x, list(x.shape), [x.shape[1], 1], block) for x, block in ((a, [64, 32]), (b, [32, 16]), (c, [64, 16]))]  # fmt: skip
    by_host_descriptors[(1,)](*given, 64, 64, 16, 32, num_ctas=4)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b)


@triton.jit
def by_pointers(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros((M, N), tl.float32)
    for i in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (i + k)[None, :])
        y = tl.trans(tl.load(b + n[:, None] * K + (i + k)[None, :]))
        acc = tl.dot(x, y, acc, input_precision=PRECISION) + tl.dot(x, y + y, input_precision=PRECISION)
    tl.store(c + m[:, None] * N + n[None, :], acc)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ctas", [2, 4])
@pytest.mark.parametrize(
    ("m", "n", "precision"), [(64, 16, "ieee"), (16, 1, "ieee"), (64, 64, "tf32"), (16, 8, "tf32")]
)
def test_transposed_tiles_run_ahead_into_buffers_shared_otherwise(m: int, n: int, precision: str, ctas: int) -> None:
    a, b = integers(6, m, 128).astype(np.float32), integers(7, n, 128).astype(np.float32)
    c = np.zeros((m, n), np.float32)
    by_pointers[(1,)](a, b, c, 128, m, n, 32, precision, num_ctas=ctas)
    np.testing.assert_array_equal(c, 3 * (a @ b.T))


def test_every_pass_keeps_what_a_cluster_computes() -> None:
    a, b, c = (
        integers(8, 64, 64).astype(np.float32),
        integers(9, 64, 64).astype(np.float32),
        np.zeros((64, 64), np.float32),
    )
    sizes = {"M": 64, "N": 64, "BK": 32, "PRECISION": "tf32"}
    report = check_call(by_pointers, [a, b, c, 64], (1,), arch=90, options={"num_ctas": 2}, **sizes)
    assert report.ok, report.text()

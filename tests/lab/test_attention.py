"""Attention of `minitriton_kernels/attention.py`: the same numbers after every pass, and the PTX sound on the emulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minitriton.lab import check_call
from minitriton.lab.corpus.case import load_file
from minitriton.tools.tensor_descriptor import TensorDescriptor

KERNELS = load_file(Path(__file__).parents[2] / "minitriton_kernels/attention.py", "minitriton")
HEADS = 2


def boxes(arrays: list[np.ndarray[Any, Any]], rows: list[int]) -> list[TensorDescriptor]:
    return [
        TensorDescriptor(x, list(x.shape), [x.shape[1], 1], [n, x.shape[1]]) for x, n in zip(arrays, rows, strict=True)
    ]


def numbers(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float16)


def weights_of(q: Any, k: Any, scale: float, causal: bool) -> tuple[Any, Any]:
    """Softmax of the scores of each head, and the base-2 logarithms of their sums."""
    scores = np.einsum("hid,hjd->hij", q, k) * scale
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf)
    e = np.exp(scores)
    return e / e.sum(-1, keepdims=True), np.log2(e.sum(-1))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("rows", "length", "causal", "stages", "warps"),
    [
        (64, 64, False, 3, 4),
        (64, 128, True, 2, 4),
        (64, 192, False, 2, 4),
        (64, 192, True, 3, 4),
        (128, 256, False, 3, 8),
    ],
)
def test_forward(rows: int, length: int, causal: bool, stages: int, warps: int) -> None:
    width, scale = 32, 0.4
    q, k, v = (numbers(seed, HEADS * length, width) for seed in range(3))
    o, sums = np.zeros_like(q), np.zeros((HEADS, length), np.float32)
    arguments = [*boxes([q, k, v, o], [rows, 32, 32, rows]), sums, length, scale]
    sizes: dict[str, Any] = {"BM": rows, "BN": 32, "D": width, "CAUSAL": causal}
    options = {"num_stages": stages, "num_warps": warps}
    report = check_call(KERNELS.attention, arguments, (length // rows, HEADS), options=options, **sizes)
    assert report.ok, report.text()
    heads = [x.reshape(HEADS, length, width).astype(np.float32) for x in (q, k, v)]
    weights, logarithms = weights_of(heads[0], heads[1], scale, causal)
    np.testing.assert_allclose(o.reshape(HEADS, length, width), weights @ heads[2], atol=4e-3)
    np.testing.assert_allclose(sums, logarithms, atol=1e-4)


@pytest.mark.parametrize("causal", [False, True])
def test_backward(causal: bool) -> None:
    length, width, scale = 128, 32, 0.5
    q, k, v, do = (numbers(seed, length, width) for seed in range(4))
    wide = [x.astype(np.float32) for x in (q, k, v, do)]
    weights, logarithms = weights_of(wide[0][None], wide[1][None], scale, causal)
    p, delta = weights[0], np.zeros(length, np.float32)
    o = (p @ wide[2]).astype(np.float16)
    report = check_call(KERNELS.row_products, [o, do, delta, length], (1, 1), BM=length, D=width)
    assert report.ok, report.text()
    np.testing.assert_allclose(delta, (o.astype(np.float32) * wide[3]).sum(1), atol=1e-3)
    dq, dk, dv = (np.zeros_like(x) for x in (q, k, v))
    scaled = (wide[1] * (scale * np.log2(np.e))).astype(np.float16)
    arguments = [q, scaled, v, do, dq, dk, dv, logarithms.astype(np.float32).ravel(), delta, length, scale]
    options = {"num_stages": 3}
    sizes: dict[str, Any] = {"OUTER": 64, "INNER": 32, "D": width, "CAUSAL": causal}
    report = check_call(KERNELS.attention_backward, arguments, (length // 64, 1, 1), options=options, **sizes)
    assert report.ok, report.text()
    ds = p * (wide[3] @ wide[2].T - delta[:, None])
    for got, wanted in ((dv, p.T @ wide[3]), (dk, ds.T @ wide[0] * scale), (dq, ds @ wide[1] * scale)):
        np.testing.assert_allclose(got, wanted, atol=1e-2)

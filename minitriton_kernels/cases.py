"""The plain Triton programs with inputs, a launch and the right answer: what golden files, tests and benchmarks run.

In: nothing. Out: `CASES`, a list of `Case`, and `OPENED`, which the explorer opens further kernels with. `load_kernels(which)` imports the kernel files for one compiler, so that the
same source runs under minitriton and, beside it in the same process, under Triton.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

import minitriton.language as tl
from minitriton.lab.corpus.case import KERNELS, Case, load_file


def load_kernels(file: str, compiler: str) -> ModuleType:
    """Imports `<file>.py` of the corpus, or the file that an absolute path without its suffix names, with `import triton`
    meaning `compiler` ("triton" or "minitriton")."""
    return load_file(KERNELS / f"{file}.py", compiler)


def _f32(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def _vector_add(rng: np.random.Generator) -> list[Any]:
    n = 4000
    return [_f32(rng, n), _f32(rng, n), np.zeros(n, np.float32), n]


def _softmax(rng: np.random.Generator) -> list[Any]:
    x = _f32(rng, 37, 781)
    return [np.zeros_like(x), x, x.shape[1], x.shape[1], *x.shape]


def _softmax_expected(out: Any, x: np.ndarray, *_: Any) -> dict[int, np.ndarray]:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return {0: e / e.sum(axis=1, keepdims=True)}


def _layer_norm(rng: np.random.Generator) -> list[Any]:
    rows, cols = 13, 1500
    x = _f32(rng, rows, cols)
    return [
        x, np.zeros_like(x), _f32(rng, cols), _f32(rng, cols), np.zeros(rows, np.float32), np.zeros(rows, np.float32),
        cols, cols, 1e-5,
    ]  # fmt: skip


def _layer_norm_expected(x: np.ndarray, y: Any, w: Any, b: Any, *_: Any) -> dict[int, np.ndarray]:
    wide = x.astype(np.float64)
    mean = wide.mean(axis=1, keepdims=True)
    rstd = 1 / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5)
    return {1: (wide - mean) * rstd * w + b, 4: mean[:, 0], 5: rstd[:, 0]}


def _rms_norm(rng: np.random.Generator) -> list[Any]:
    x = _f32(rng, 21, 1000)
    return [x, _f32(rng, 1000), np.zeros_like(x), 1000, 1000, 1e-6]


def _rms_norm_expected(x: np.ndarray, w: np.ndarray, *_: Any) -> dict[int, np.ndarray]:
    wide = x.astype(np.float64)
    return {2: wide / np.sqrt((wide * wide).mean(axis=1, keepdims=True) + 1e-6) * w}


def _matrix(rows: int, cols: int, out_length: int, out_type: Any = np.float32) -> Callable[..., list[Any]]:
    return lambda rng: [_f32(rng, rows, cols), np.zeros(out_length, out_type), rows, cols]


def _over(function: Any, axis: int) -> Callable[..., dict[int, np.ndarray]]:
    return lambda x, *_: {1: function(x.astype(np.float64), axis=axis)}


def _transpose(rng: np.random.Generator) -> list[Any]:
    x = _f32(rng, 100, 90)
    return [x, np.zeros((90, 100), np.float32), *x.shape]


def _masked_gather(rng: np.random.Generator) -> list[Any]:
    n, size = 3000, 777
    return [_f32(rng, size), rng.integers(-50, size + 50, n).astype(np.int32), np.zeros(n, np.float32), n, size, -1.5]


def _masked_gather_expected(table: Any, index: np.ndarray, out: Any, n: int, size: int, fill: float) -> Any:
    valid = (index >= 0) & (index < size)
    return {2: np.where(valid, table[np.where(valid, index, 0)], np.float32(fill))}


def _dropout(rng: np.random.Generator) -> list[Any]:
    n = 5000
    return [_f32(rng, n), rng.integers(0, 2**31, n).astype(np.int32), np.zeros(n, np.float32), n, 0.4]


def _dropout_expected(x: np.ndarray, seed: np.ndarray, out: Any, n: int, p: float) -> dict[int, np.ndarray]:
    h = seed.astype(np.uint32)
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    h = h ^ (h >> np.uint32(16))
    uniform = (h >> np.uint32(8)).astype(np.float32) * np.float32(1.0 / 16777216.0)
    return {2: np.where(uniform > np.float32(p), x / (np.float32(1) - np.float32(p)), np.float32(0))}


def _small_matmul(rng: np.random.Generator) -> list[Any]:
    m, n, k = 50, 40, 70
    return [_f32(rng, m, k), _f32(rng, k, n), np.zeros((m, n), np.float32), m, n, k]


CASES: list[Case] = [
    Case("vector_add", "vector_add", "vector_add", _vector_add, {"BLOCK": 1024}, (4,), lambda x, y, *_: {2: x + y}),
    Case("softmax", "softmax", "softmax", _softmax, {"BLOCK": 1024}, (8,), _softmax_expected),
    Case(
        "layer_norm", "layer_norm", "layer_norm", _layer_norm, {"BLOCK": 1024}, (13,), _layer_norm_expected, 1e-4,
        num_warps=8,
    ),
    Case("rms_norm", "rms_norm", "rms_norm", _rms_norm, {"BLOCK": 1024}, (21,), _rms_norm_expected, 1e-4),
    Case(
        "sum_rows", "reductions", "sum_rows", _matrix(70, 300, 70), {"ROWS": 16, "COLS": 128}, (5,), _over(np.sum, 1),
        1e-4,
    ),
    Case(
        "max_rows", "reductions", "max_rows", _matrix(70, 300, 70), {"ROWS": 16, "COLS": 128}, (5,), _over(np.max, 1)
    ),
    Case(
        "argmax_rows", "reductions", "argmax_rows", _matrix(70, 200, 70, np.int32), {"ROWS": 16, "COLS": 256}, (5,),
        _over(np.argmax, 1),
    ),
    Case(
        "sum_columns", "reductions", "sum_columns", _matrix(300, 200, 200), {"ROWS": 32, "COLS": 64}, (4,),
        _over(np.sum, 0), 1e-4, exact_order=False,
    ),
    Case(
        "max_columns", "reductions", "max_columns", _matrix(300, 200, 200), {"ROWS": 32, "COLS": 64}, (4,),
        _over(np.max, 0),
    ),
    Case(
        "argmax_columns", "reductions", "argmax_columns", _matrix(100, 200, 200, np.int32), {"ROWS": 128, "COLS": 32},
        (7,), _over(np.argmax, 0),
    ),
    Case(
        "column_sums", "column_sums", "column_sums", _matrix(1000, 200, 200), {"BAND": 128, "ROWS": 32, "COLS": 64},
        (4, 8), _over(np.sum, 0), 1e-4, exact_order=False,
    ),
    Case(
        "transpose", "transpose", "transpose", _transpose, {"ROWS": 32, "COLS": 32}, (4, 3), lambda x, *_: {1: x.T}
    ),
    Case(
        "masked_gather", "masked_gather", "masked_gather", _masked_gather, {"BLOCK": 512}, (6,), _masked_gather_expected
    ),
    Case("dropout", "dropout", "dropout", _dropout, {"BLOCK": 1024}, (5,), _dropout_expected),
    Case(
        "small_matmul", "small_matmul", "small_matmul", _small_matmul, {"BM": 32, "BN": 32, "BK": 16}, (2, 2),
        lambda a, b, *_: {2: a.astype(np.float64) @ b}, 1e-4,
    ),
]  # fmt: skip


def _f16(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float16)


def _matmul(rng: np.random.Generator) -> list[Any]:
    m, n, k = 128, 128, 256
    return [_f16(rng, m, k), _f16(rng, k, n), np.zeros((m, n), np.float32), m, n, k, k, 1, n, 1, n]


def _matmul_batched(rng: np.random.Generator) -> list[Any]:
    m, n, k = 64, 64, 192
    arrays = [_f16(rng, 2, m, k), _f16(rng, 2, k, n), np.zeros((2, m, n), np.float32)]
    return [*arrays, m, n, k, m * k, k * n, m * n]


_TILE = {"BM": 64, "BN": 64, "BK": 64, "GROUP": 8}
OPENED: list[Case] = [
    Case("matmul", "matmul", "matmul", _matmul, {**_TILE, "ACC": tl.float32}, (4,), lambda a, b, *_: {2: a.astype(np.float64) @ b}),
    Case("matmul_batched", "matmul", "matmul_batched", _matmul_batched, _TILE, (1, 2), lambda a, b, *_: {2: a.astype(np.float64) @ b}),
]  # fmt: skip
"""Launches of further kernels, that the explorer opens them with: strides and types that a body does not say."""

"""Kernels of `tl` translated to Gluon: both leave the same numbers on the emulator."""

from __future__ import annotations

import importlib.util
import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitriton
import minitriton.language as tl
from minitriton.dialects.context import make_context
from minitriton.dialects.text import print_module
from minitriton.errors import MinitritonError
from minitriton.runtime.gluon import GluonJITFunction
from minitriton.target import CUDAOptions, GPUTarget
from minitriton.tools.tensor_descriptor import TensorDescriptor
from minitriton.tools.triton_to_gluon_translater import translator_helpers
from minitriton.tools.triton_to_gluon_translater.translator import convert_triton_to_gluon
from minitriton.tools.triton_to_gluon_translater.translator_helpers import convert_host_descriptor

RNG = np.random.default_rng(0)
SCALE = tl.constexpr(3)
_numbers = itertools.count()


def translated(kernel: Any, folder: Path) -> GluonJITFunction:
    """The kernel in Gluon, from a file of its own."""
    path = folder / f"translated_{next(_numbers)}.py"
    path.write_text(convert_triton_to_gluon([kernel]))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, kernel.__name__)
    assert isinstance(found, GluonJITFunction)
    return found


@minitriton.jit
def scaled(x):
    return x * SCALE


@minitriton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = scaled(tl.load(x + offsets, mask=mask)) + tl.load(y + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + offsets, tl.where(total > 0, total, tl.zeros((BLOCK,), tl.float32)), mask=mask)


@minitriton.jit
def softmax(x, out, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    at = rows[:, None] * N + columns[None, :]
    values = tl.load(x + at)
    powers = tl.exp(values - tl.max(values, axis=1)[:, None])
    tl.store(out + at, powers / tl.sum(powers, axis=1, keep_dims=True) + tl.cumsum(values, 1))


@minitriton.jit
def shapes(x, out, KIND: tl.constexpr):
    at = tl.arange(0, 256)
    a = tl.load(x + at).reshape(16, 16)
    if KIND == "method":
        b = a.trans(1, 0)
    elif KIND == "separate":
        b = tl.trans(a, 1, 0)
    elif KIND == "tuple":
        b = tl.trans(a, (1, 0))
    else:
        b = tl.trans(a)
    low, high = tl.reshape(a + b, (128, 2)).split()
    tl.store(out + at, tl.join(low - high, high).reshape(256))
    tl.store(out + 256 + tl.arange(0, 128), low * tl.arange(0, 128))


@minitriton.jit
def scalar(out):
    threads: tl.constexpr = tl.extra.cuda.num_threads()
    tl.store(out, tl.sum(tl.arange(0, 16)))
    tl.store(out + 1 + tl.arange(0, threads), tl.full((threads,), 7, tl.int32))


@minitriton.jit
def matmul(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in tl.range(0, tl.cdiv(K, BLOCK), num_stages=2):
        left = tl.load(a + m[:, None] * K + (start * BLOCK + k)[None, :])
        right = tl.load(b + (start * BLOCK + k)[:, None] * N + n[None, :])
        total = tl.dot(left, right, acc=total)
    tl.store(c + m[:, None] * N + n[None, :], total)


@minitriton.jit
def scaled_matmul(a, b, a_scale, b_scale, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k, packed, g = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, K // 2), tl.arange(0, K // 32)
    left = tl.load(a + m[:, None] * (K // 2) + packed[None, :])
    right = tl.load(b + k[:, None] * N + n[None, :])
    left_scale = tl.load(a_scale + m[:, None] * (K // 32) + g[None, :])
    right_scale = tl.load(b_scale + n[:, None] * (K // 32) + g[None, :])
    total = tl.dot_scaled(left, left_scale, "e2m1", right, right_scale, "e5m2")
    tl.store(c + m[:, None] * N + n[None, :], tl.clamp(total, -1e4, 1e4))


@minitriton.jit
def half_scaled_matmul(a, b, b_scale, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Its numbers need the 11 bits of float16."""
    m, n, k, g = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, K // 32)
    left = tl.load(a + m[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * N + n[None, :])
    scale = tl.load(b_scale + n[:, None] * (K // 32) + g[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot_scaled(left, None, "fp16", right, scale, "e5m2"))


@minitriton.jit
def batched(a, b, c, N: tl.constexpr):
    z, m, n = tl.arange(0, 2)[:, None, None], tl.arange(0, N)[None, :, None], tl.arange(0, N)[None, None, :]
    at = z * N * N + m * N + n
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@minitriton.jit
def moved_rows(x, out, rows, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [64, N], [N, 1], [1, N])
    target = tl.make_tensor_descriptor(out, [64, N], [N, 1], [1, N])
    at = tl.load(rows + tl.arange(0, 32))
    target.scatter(source.gather(at, 0), at, 0)


@minitriton.jit
def copied(source, target, out, N: tl.constexpr):
    block = source.load([0, 0])
    made = tl.make_tensor_descriptor(out, [N, N], [N, 1], [N, N])
    made.store([0, 0], block + block)
    target.store([0, 0], block * 2)


@minitriton.jit
def unknown(x):
    tl.store(x, tl.load(tl.make_block_ptr(x, (16,), (1,), (0,), (16,), (0,))))


def whole(*shape: int) -> np.ndarray:
    """Small whole numbers, whose sums are exact."""
    return RNG.integers(-4, 5, shape).astype(np.float16)


X, Y = (RNG.standard_normal(256).astype(np.float32) for _ in range(2))
CASES: dict[str, tuple[Any, Callable[[], list[Any]], tuple[int, ...], dict[str, int]]] = {
    "add": (add, lambda: [X, Y, np.zeros(256, np.float32), 200, 128], (2,), {}),
    "softmax": (softmax, lambda: [X, np.zeros(256, np.float32), 8, 32], (1,), {"num_warps": 2}),
    **{kind: (shapes, lambda kind=kind: [X, np.zeros(384, np.float32), kind], (1,), {}) for kind in ("method", "separate", "tuple", "plain")},
    "scalar": (scalar, lambda: [np.zeros(129, np.int32)], (1,), {}),
    "matmul": (matmul, lambda: [A, B, np.zeros((32, 16), np.float32), 64, 32, 16, 32], (1,), {}),
    "batched": (batched, lambda: [WHOLE, WHOLE, np.zeros((2, 32, 32), np.float32), 32], (1,), {}),
    "half scaled": (half_scaled_matmul, lambda: [HALVES, FP8, RIGHT, np.zeros((32, 16), np.float32), 32, 16, 64], (1,), {}),
    "scaled": (scaled_matmul, lambda: [FP4, FP8, LEFT, RIGHT, np.zeros((32, 16), np.float32), 32, 16, 64], (1,), {}),
}  # fmt: skip
A, B, WHOLE = whole(32, 64), whole(64, 16), whole(2, 32, 32)
HALVES = (whole(32, 64) + 1 + 2.0**-10).astype(np.float16)
FP4 = RNG.integers(0, 256, (32, 32)).astype(np.uint8)
FP8 = RNG.integers(0x38, 0x44, (64, 16)).astype(np.uint8)
LEFT, RIGHT = (RNG.integers(124, 131, (rows, 2)).astype(np.uint8) for rows in (32, 16))


@pytest.mark.parametrize("name", CASES)
def test_the_translation_computes_what_the_kernel_does(name: str, tmp_path: Path) -> None:
    kernel, arguments, grid, options = CASES[name]
    results: list[list[np.ndarray]] = []
    for launched in (kernel, translated(kernel, tmp_path)):
        given = arguments()
        launched[grid](*given, **options)
        results.append([each for each in given if isinstance(each, np.ndarray)])
    for wanted, found in zip(*results, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)  # sums along an axis in another order
    assert results[0][-1].any()


def test_descriptors_of_the_host_and_of_the_kernel(tmp_path: Path) -> None:
    x = whole(64, 64)
    for launched, convert in ((copied, lambda desc: desc), (translated(copied, tmp_path), convert_host_descriptor)):
        target, out = np.zeros_like(x), np.zeros_like(x)
        described = [convert(TensorDescriptor(each, each.shape, [64, 1], [64, 64])) for each in (x, target)]
        launched[(1,)](*described, out, 64)
        np.testing.assert_array_equal(target, x * 2)
        np.testing.assert_array_equal(out, x * 2)


BLACKWELL = GPUTarget("cuda", 100, 32)


def ir_on_blackwell(kernel: Any, types: dict[str, str], constants: dict[str, object], folder: Path) -> str:
    function = translated(kernel, folder)
    source = function.ASTSource(function, {**types, **dict.fromkeys(constants, "constexpr")}, constants)
    options = CUDAOptions.for_target(BLACKWELL)
    return print_module(source.make_ir(BLACKWELL, options, make_context()))


def test_on_blackwell_a_dot_is_in_tensor_memory_where_it_can_be(tmp_path: Path) -> None:
    pointers = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "K": "i32"}
    large = ir_on_blackwell(matmul, pointers, {"M": 128, "N": 64, "BLOCK": 32}, tmp_path)
    assert "ttng.tc_gen5_mma" in large and "ttng.tmem_load" in large and "tt.dot" not in large
    small = ir_on_blackwell(matmul, pointers, {"M": 32, "N": 16, "BLOCK": 32}, tmp_path)
    assert "tt.dot" in small and "tc_gen5" not in small


def test_rows_of_a_descriptor_are_gathered_and_scattered(tmp_path: Path) -> None:
    ir = ir_on_blackwell(moved_rows, {"x": "*fp16", "out": "*fp16", "rows": "*i32"}, {"N": 64}, tmp_path)
    assert "ttng.async_tma_gather" in ir and "ttng.async_tma_scatter" in ir and "ttng.fence_async_shared" in ir


@pytest.mark.oracle
def test_helpers_have_the_names_of_tritons() -> None:
    pytest.importorskip("triton")
    path = "triton.tools.triton_to_gluon_translater.translator_helpers"
    code = f"import {path} as helpers; print(*(n for n, v in vars(helpers).items() if getattr(v, '__module__', '') == '{path}'))"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert len(names) > 40 and not [name for name in names if not hasattr(translator_helpers, name)]


def test_what_gluon_lacks_is_refused_at_its_line() -> None:
    with pytest.raises(MinitritonError, match=r"test_translator.py:\d+.*tl.make_block_ptr is without a counterpart"):
        convert_triton_to_gluon([unknown])

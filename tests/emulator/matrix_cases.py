"""Launches of the matrix kernels, small enough for the emulator, with NumPy's answers.

In: nothing. Out: `MATRIX_CASES`, as the example cases are, each with the capabilities that its PTX is made for.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from minitriton_kernels.cases import Case, load_kernels

HALF = 2.0**-11
"""Unit roundoff of float16: the tolerance of results that are stored as such."""


@dataclass(frozen=True)
class MatrixCase:
    """A case, the options of its compilation and the capabilities to compile for."""

    case: Case
    options: dict[str, Any]
    capabilities: tuple[int, ...]


def _operands(m: int, n: int, k: int, dtype: Any, out: Any, turned: bool = False) -> Any:
    def make(rng: np.random.Generator) -> list[Any]:
        a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
        return [a, np.ascontiguousarray(b.T) if turned else b, np.zeros((m, n), out), m, n, k]

    return make


def _half_and_bytes(rng: np.random.Generator) -> list[Any]:
    a, b = rng.standard_normal((80, 160)).astype(np.float16), rng.integers(-8, 9, (160, 96)).astype(np.int8)
    return [a, b, np.zeros((80, 96), np.float32), 80, 96, 160]


def _product(turned: bool = False) -> Any:
    return lambda a, b, *_: {2: a.astype(np.float64) @ (b.T if turned else b).astype(np.float64)}


def _attention(rng: np.random.Generator) -> list[Any]:
    q, k, v = (rng.standard_normal((2, 128, 64)).astype(np.float16) for _ in range(3))
    return [q, k, v, np.zeros_like(q), 0.125]


def _attention_expected(q: np.ndarray, k: np.ndarray, v: np.ndarray, out: np.ndarray, scale: float) -> Any:
    score = q.astype(np.float64) @ k.astype(np.float64).swapaxes(1, 2) * scale
    score = np.where(np.tri(score.shape[1], dtype=np.bool_), score, -np.inf)
    p = np.exp(score - score.max(2, keepdims=True))
    return {3: p / p.sum(2, keepdims=True) @ v.astype(np.float64)}


TILE = {"BM": 64, "BN": 64, "BK": 32}
MATRIX_CASES = [
    MatrixCase(
        Case("matmul_f16", "matrix", "by_pointers", _operands(80, 96, 160, np.float16, np.float32), TILE, (2, 2), _product(), 1e-4),
        {"num_stages": 3}, (80, 90),
    ),
    MatrixCase(
        Case("matmul_tf32", "matrix", "by_pointers", _operands(80, 96, 160, np.float32, np.float32), TILE, (2, 2), _product(), 0.05),
        {"num_stages": 3}, (80, 90),
    ),
    MatrixCase(
        Case("matmul_widened", "matrix", "widened", _half_and_bytes, TILE, (2, 2), _product(), 1e-3),
        {"num_stages": 3}, (80, 90),
    ),
    MatrixCase(
        Case("matmul_descriptors", "matrix", "by_descriptors", _operands(80, 96, 160, np.float16, np.float32), TILE, (2, 2), _product(), 1e-4),
        {"num_stages": 3}, (90,),
    ),
    MatrixCase(
        Case(
            "matmul_persistent", "matrix", "persistent", _operands(192, 128, 96, np.float16, np.float16, turned=True),
            {"PROGRAMS": 2, **TILE, "FLATTEN": False}, (2,), _product(turned=True), 32 * HALF,
        ),
        {"num_stages": 3}, (90,),
    ),
    MatrixCase(
        Case(
            "matmul_persistent_flat", "matrix", "persistent", _operands(192, 128, 96, np.float16, np.float16, turned=True),
            {"PROGRAMS": 2, **TILE, "FLATTEN": True}, (2,), _product(turned=True), 32 * HALF,
        ),
        {"num_stages": 3}, (90,),
    ),
    MatrixCase(
        Case(
            "matmul_specialized", "matrix", "specialized", _operands(128, 128, 192, np.float16, np.float16, turned=True),
            {"BM": 128, "BN": 128, "BK": 64}, (1, 1), _product(turned=True), 32 * HALF,
        ),
        {"num_stages": 3}, (90,),
    ),
    MatrixCase(
        Case(
            "causal_attention", "matrix", "causal_attention", _attention,
            {"LENGTH": 128, "WIDTH": 64, "BM": 64, "BN": 32}, (2, 2), _attention_expected, 4 * HALF,
        ),
        {"num_stages": 2}, (80, 90),
    ),
]  # fmt: skip


def signature(case: Case, compiler: str) -> tuple[dict[str, str], dict[tuple[int, ...], Any]]:
    """Types and attributes of a launch of `case`."""
    from minitriton.runtime.launching.arguments import specialize

    kernel = getattr(load_kernels(case.file, compiler), case.kernel)
    kinds = dict.fromkeys(kernel.arg_names, "constexpr")
    attrs: dict[tuple[int, ...], Any] = {}
    for index, (name, value) in enumerate(zip(kernel.arg_names, case.inputs(np.random.default_rng(0)), strict=False)):
        kinds[name], key = specialize(value, False, True, True)
        if key == "D" or kinds[name].startswith("*"):
            attrs[(index,)] = [["tt.divisibility", 16]]
    return kinds, attrs


@functools.cache
def our_ptx(name: str, capability: int) -> tuple[str, int]:
    """This package's PTX and shared bytes of a matrix case."""
    import minitriton
    from minitriton.compiler import ASTSource
    from minitriton.target import GPUTarget

    one = next(m for m in MATRIX_CASES if m.case.name == name)
    kernel = getattr(load_kernels("matrix", "minitriton"), one.case.kernel)
    kinds, attrs = signature(one.case, "minitriton")
    source = ASTSource(kernel, kinds, dict(one.case.constexprs), attrs)
    made = minitriton.compile(source, GPUTarget("cuda", capability, 32), dict(one.options))
    return made.asm["ptx"], made.metadata.shared


@functools.cache
def triton_ptx(name: str, capability: int) -> tuple[str, int]:
    """Triton's PTX and shared bytes of a matrix case."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    one = next(m for m in MATRIX_CASES if m.case.name == name)
    kernel = getattr(load_kernels("matrix", "triton"), one.case.kernel)
    kinds, attrs = signature(one.case, "triton")
    source = ASTSource(kernel, kinds, dict(one.case.constexprs), attrs)
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=one.options)
    return made.asm["ptx"], made.metadata.shared

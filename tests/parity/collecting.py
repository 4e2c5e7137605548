"""How a file of parity kernels says what each kernel is run on and what it must give.

    CASES, case = collector(__file__)

    @case(inputs=lambda rng: [f32(rng, 500), f32(500), 500], expected=lambda x, *_: {1: x + 1}, grid=(4,), BLOCK=128)
    @triton.jit
    def add_one(x, out, n, BLOCK: tl.constexpr): ...

A file is loaded once under each compiler; the cases of the two loads name the same kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cases import Case

Inputs = Callable[[np.random.Generator], list[Any]]


def collector(file: str) -> tuple[list[Case], Callable[..., Callable[[Any], Any]]]:
    """The list of the file's cases, and the decorator that adds to it. Keywords that `Case` lacks are constexprs."""
    cases: list[Case] = []

    def case(
        *,
        inputs: Inputs,
        expected: Callable[..., dict[int, np.ndarray]],
        grid: tuple[int, ...] = (1,),
        tolerance: float = 1e-5,
        exact_order: bool = True,
        num_warps: int = 4,
        num_ctas: int = 1,
        **constexprs: Any,
    ) -> Callable[[Any], Any]:
        def add(kernel: Any) -> Any:
            name = kernel.fn.__name__
            where = str(Path(file).with_suffix(""))
            how = (tolerance, exact_order, num_warps)
            cases.append(Case(name, where, name, inputs, constexprs, grid, expected, *how, num_ctas=num_ctas))
            return kernel

        return add

    return cases, case


def f32(*shape: int) -> np.ndarray:
    """Zeros to write a result into."""
    return np.zeros(shape, np.float32)


def i32(*shape: int) -> np.ndarray:
    """Zeros to write a result into."""
    return np.zeros(shape, np.int32)


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Normally distributed float32 values."""
    return rng.standard_normal(shape).astype(np.float32)


def uniform(rng: np.random.Generator, low: float, high: float, *shape: int) -> np.ndarray:
    """Float32 values in [low, high)."""
    return rng.uniform(low, high, shape).astype(np.float32)


def integers(rng: np.random.Generator, low: int, high: int, *shape: int, dtype: Any = np.int32) -> np.ndarray:
    """Whole numbers in [low, high)."""
    return rng.integers(low, high, shape, dtype=np.int64).astype(dtype)

"""Functions with branches and loops that a reduction, a scan or an elementwise map calls, before anything is inlined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.dialects.context import make_context
from minitriton.interpreter import interpret
from minitriton.target import CUDAOptions, GPUTarget


@triton.jit
def halves_or_triples(x):
    if x % 2 == 0:
        x = x // 2
    else:
        x = 3 * x + 1
    return x


@triton.jit
def steps_to_one(x):
    steps = 0
    while x > 1:
        x = halves_or_triples(x)
        steps += 1
    return steps


@triton.jit
def early(x):
    if x > 9:
        return x - 9
    return x


@triton.jit
def larger(a, b):
    result = b
    if a > b:
        result = a
    return result


@triton.jit
def maps(x, out):
    offsets = tl.arange(0, 16)
    a = tl.load(x + offsets)
    tl.store(out + offsets, tl.map_elementwise(steps_to_one, a))
    tl.store(out + 16 + offsets, tl.map_elementwise(early, a))
    tl.store(out + 32, tl.reduce(a, 0, larger))
    tl.store(out + 48 + offsets, tl.associative_scan(a, 0, larger))


def expected(x: np.ndarray) -> np.ndarray:
    def steps(n: int) -> int:
        count = 0
        while n > 1:
            n, count = n // 2 if n % 2 == 0 else 3 * n + 1, count + 1
        return count

    out = np.zeros(64, np.int32)
    out[:16] = [steps(int(n)) for n in x]
    out[16:32] = np.where(x > 9, x - 9, x)
    out[32] = x.max()
    out[48:] = np.maximum.accumulate(x)
    return out


@pytest.mark.parametrize("inlined", [False, True])
def test_a_called_function_may_branch(inlined: bool) -> None:
    x, out = np.random.default_rng(0).permutation(16).astype(np.int32) + 1, np.zeros(64, np.int32)
    if inlined:
        maps._interpret((1,), (x, out), {})
    else:
        source: Any = maps.source_of_call((x, out), {})[0]
        target = GPUTarget("cuda", 90)
        module = source.make_ir(target, CUDAOptions.for_target(target), make_context())
        interpret(module, source.name, [x, out], (1, 1, 1))
    np.testing.assert_array_equal(out, expected(x))


def test_the_ptx_does_the_same() -> None:
    x, out = np.arange(1, 17, dtype=np.int32), np.zeros(64, np.int32)
    maps[(1,)](x, out)
    np.testing.assert_array_equal(out, expected(x))

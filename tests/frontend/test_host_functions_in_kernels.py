"""Names that kernels share with host code, and what published kernels annotate as constexpr."""

from __future__ import annotations

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl


@triton.jit
def sizes(out, N: tl.constexpr):
    COUNT: tl.constexpr = triton.cdiv(N, 4)
    tl.store(out + tl.arange(0, triton.next_power_of_2(N)), COUNT)


def test_host_functions_are_called_at_compile_time() -> None:
    out = np.zeros(16, np.int32)
    sizes[(1,)](out, N=11)
    assert (out == 3).all() and triton.cdiv(11, 4) == 3 and triton.next_power_of_2(11) == 16


@triton.jit
def tails(out, n, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    if CAUSAL:
        tail: tl.constexpr = tl.cdiv(BM, BN) * BN
    else:
        tail: tl.constexpr = (tl.cdiv(BM, BN) + 1) * BN
    for i in range(n - tail, n):
        tl.store(out + i, tail)


@pytest.mark.parametrize("causal", [True, False])
def test_a_number_that_a_function_returned_may_be_annotated_as_constexpr(causal: bool) -> None:
    tail = 32 + 16 * (not causal)
    out = np.zeros(64, np.int32)
    tails[(1,)](out, 64, BM=24, BN=16, CAUSAL=causal)
    assert (out == np.where(np.arange(64) >= 64 - tail, tail, 0)).all()

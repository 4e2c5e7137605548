"""`@constexpr_function`: what it uses is part of the key of the kernels that call it."""

from __future__ import annotations

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl

SCALE = tl.constexpr(3)


@triton.constexpr_function
def scaled(n):
    return n * SCALE


@triton.constexpr_function
def twice_scaled(n):
    return scaled(n) * 2


@triton.jit
def kernel(out):
    factor: tl.constexpr = twice_scaled(7)
    tl.store(out, factor)


def test_it_runs_at_compile_time_and_on_the_host() -> None:
    out = np.zeros(1, np.int32)
    kernel[(1,)](out)
    assert out[0] == 42
    assert twice_scaled(tl.constexpr(7)) == 42


def test_a_changed_source_changes_the_key_of_its_callers() -> None:
    before = kernel.cache_key
    source = scaled.src
    scaled._unsafe_update_src(source.replace("n * SCALE", "n + SCALE"))
    twice_scaled.hash = kernel.hash = None
    changed = kernel.cache_key
    scaled._unsafe_update_src(source)
    twice_scaled.hash = kernel.hash = None
    assert changed != before
    assert kernel.cache_key == before


def test_globals_of_functions_called_are_watched() -> None:
    assert kernel.cache_key
    assert [name for name, _ in kernel.used_global_vals] == ["SCALE"]


@triton.constexpr_function
def asks_numpy():
    return np.random.default_rng()


def test_a_plain_python_function_cannot_be_called() -> None:
    with pytest.raises(RuntimeError, match="Unsupported function referenced"):
        _ = asks_numpy.cache_key

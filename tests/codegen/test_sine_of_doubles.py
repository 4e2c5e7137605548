"""`tl.sin` and `tl.cos` of float64: right to the last places for every argument, short however many elements a thread has."""

from __future__ import annotations

import math

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.codegen.nvidia.device_library import find_libdevice
from minitriton.compiler import ASTSource
from minitriton.target import GPUTarget

pytestmark = pytest.mark.skipif(
    find_libdevice() is None, reason="large arguments are libdevice's, which is not installed"
)

COUNT = 512
rng = np.random.default_rng(2)


@triton.jit
def sine_and_cosine(x, sines, cosines, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(sines + i, tl.sin(v))
    tl.store(cosines + i, tl.cos(v))


ARGUMENTS = {
    "small": rng.choice([-1.0, 1.0], COUNT) * np.exp2(rng.uniform(-60, 31, COUNT)),
    "near multiples of a quarter": np.arange(COUNT)
    * (math.pi / 4)
    * (1 + rng.choice([-(2.0**-52), 0, 2.0**-52], COUNT)),
    "some large": np.where(np.arange(COUNT) % 3, 1.0, np.exp2(rng.uniform(31, 1023, COUNT))),
    "not finite": np.where(np.arange(COUNT) % 2, 1.0, rng.choice([math.inf, -math.inf, math.nan], COUNT)),
}


@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize("size", [128, COUNT])
def test_both_are_right_to_the_last_places(arguments: str, size: int) -> None:
    x = ARGUMENTS[arguments][:size].copy()
    x[:2] = 0.0, -0.0
    found = np.zeros((2, size))
    sine_and_cosine[(1,)](x, found[0], found[1], size)
    with np.errstate(invalid="ignore"):
        expected = np.array([np.sin(x.astype(np.longdouble)), np.cos(x.astype(np.longdouble))])
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    error = np.abs(found - expected) / np.spacing(np.abs(expected).astype(np.float64))
    assert np.nanmax(error) <= 1.5
    np.testing.assert_array_equal(np.signbit(found[:, :2]), [[False, True], [False, False]])


def ptx_lines(size: int) -> int:
    """Lines of PTX of a kernel that computes both of `size` elements by 128 threads."""
    source = ASTSource(
        sine_and_cosine, {"x": "*fp64", "sines": "*fp64", "cosines": "*fp64", "N": "constexpr"}, {(3,): size}
    )
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), assemble=False).asm["ptx"].count("\n")


def test_what_an_element_adds_to_the_ptx_is_short() -> None:
    assert (ptx_lines(4096) - ptx_lines(1024)) / 24 < 60

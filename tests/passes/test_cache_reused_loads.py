"""`minitriton-cache-reused-loads`: which loads get a hint, and which stay."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.errors import PipelineError
from minitriton.passes.cache_hints import CacheReusedLoads

PASS = "minitriton-cache-reused-loads"
FLOATS = triton.MockTensor(tl.float32)


@triton.jit
def norm(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row + at, mask=at < n, other=0.0)
        total += value * value
    scale = tl.sum(total)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(out + row + at, tl.load(x + row + at, mask=at < n) / scale, mask=at < n)


@triton.jit
def norm_by_moved_pointers(x, out, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    from_x = x + tl.arange(0, BLOCK)
    for _ in range(0, n, BLOCK):
        total += tl.load(from_x)
        from_x += BLOCK
    scale = tl.sum(total)
    from_x, to = x + tl.arange(0, BLOCK), out + tl.arange(0, BLOCK)
    for _ in range(0, n, BLOCK):
        tl.store(to, tl.load(from_x) / scale)
        from_x += BLOCK
        to += BLOCK


@triton.jit
def three_passes(x, out, n, BLOCK: tl.constexpr):
    mean = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        mean += tl.load(x + start + tl.arange(0, BLOCK))
    mean = tl.sum(mean) / n
    spread = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        apart = tl.load(x + start + tl.arange(0, BLOCK)) - mean
        spread += apart * apart
    scale = tl.sum(spread) / n
    for start in range(0, n, BLOCK):
        tl.store(out + start + tl.arange(0, BLOCK), (tl.load(x + start + tl.arange(0, BLOCK)) - mean) / scale)


@triton.jit
def two_arrays(x, out, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + start + tl.arange(0, BLOCK))
    for start in range(0, n, BLOCK):
        tl.store(x + start + tl.arange(0, BLOCK), total + tl.load(out + start + tl.arange(0, BLOCK)))


@triton.jit
def other_steps(x, out, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + start + tl.arange(0, BLOCK))
    for start in range(0, n, 2 * BLOCK):
        tl.store(out + start + tl.arange(0, BLOCK), total + tl.load(x + start + tl.arange(0, BLOCK)))


@triton.jit
def once(x, out, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at) + tl.load(x + at))


@triton.jit
def hinted(x, out, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + start + tl.arange(0, BLOCK), cache_modifier=".cg")
    scale = tl.sum(total)
    for start in range(0, n, BLOCK):
        tl.store(out + start + tl.arange(0, BLOCK), tl.load(x + start + tl.arange(0, BLOCK)) / scale)


def loads(kernel: triton.JITFunction, **options: object) -> list[str]:
    """The kinds of loads in PTX, in their order."""
    ptx = kernel.warmup(FLOATS, FLOATS, 4096, BLOCK=512, grid=(1,), **options).asm["ptx"]
    found = re.findall(r"ld\.global(\S*?)(?:\.v\d)?\.[bf]\d+", ptx)
    return [one for number, one in enumerate(found) if not number or one != found[number - 1]]


KEPT = ".L1::evict_last"


@pytest.mark.parametrize("kernel", [norm, norm_by_moved_pointers, three_passes], ids=lambda k: k.__name__)
def test_all_readings_but_the_last_are_kept(kernel: triton.JITFunction) -> None:
    assert loads(kernel) == [KEPT, ""]
    assert loads(kernel, without=PASS) == [""]


@pytest.mark.parametrize("kernel", [two_arrays, other_steps, once], ids=lambda k: k.__name__)
def test_what_is_read_once_has_no_hint(kernel: triton.JITFunction) -> None:
    assert loads(kernel) == [""]


def test_what_the_author_wrote_stays() -> None:
    assert loads(hinted) == [".cg", ""]


def test_hints_can_be_others() -> None:
    own = norm.warmup(FLOATS, FLOATS, 4096, BLOCK=512, grid=(1,)).metadata.pipeline
    other = own.replace(PASS, PASS + "{again=evict_last last=evict_first}")
    assert loads(norm, pipeline=other) == [".L1::evict_last.L2::cache_hint", ".L1::evict_first.L2::cache_hint"]
    with pytest.raises(PipelineError, match=f"{PASS}: loads lack hint 'wt'"):
        CacheReusedLoads(again="wt")


def test_results_are_the_same() -> None:
    x = np.random.default_rng(0).random((3, 1500), np.float32)
    found, plain = np.zeros_like(x), np.zeros_like(x)
    norm[(3,)](x, found, 1500, BLOCK=512)
    norm[(3,)](x, plain, 1500, BLOCK=512, without=PASS)
    np.testing.assert_array_equal(found, plain)
    np.testing.assert_allclose(found, x / (x * x).sum(1, keepdims=True), rtol=1e-5)

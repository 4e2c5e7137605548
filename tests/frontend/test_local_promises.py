"""What `tl.multiple_of` and its like promise in one branch or loop does not count outside of it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.compiler import ASTSource
from minitriton.target import GPUTarget


@triton.jit
def promises_in_one_branch(x, out, start, aligned, KIND: tl.constexpr):
    offsets = start + tl.arange(0, 256)
    if aligned > 0:
        if KIND == "multiple_of":
            offsets = tl.multiple_of(offsets, 16)
        elif KIND == "assume":
            tl.assume(start % 16 == 0)
        else:
            offsets = tl.max_contiguous(tl.multiple_of(offsets, 16), 256)
        tl.store(out + tl.arange(0, 256), tl.load(x + offsets))
    else:
        tl.store(out + tl.arange(0, 256), tl.load(x + offsets) + 1)


@triton.jit
def promises_in_a_loop_that_may_not_run(x, out, start, aligned, KIND: tl.constexpr):
    offsets = start + tl.arange(0, 256)
    for _ in range(aligned):
        tl.store(out + tl.arange(0, 256), tl.load(x + tl.multiple_of(offsets, 16)))
    if aligned == 0:
        tl.store(out + tl.arange(0, 256), tl.load(x + offsets) + 1)


@triton.jit
def promises_about_what_a_loop_carries(x, out, start, aligned, KIND: tl.constexpr):
    pointers = x + start + tl.arange(0, 256)
    before = tl.load(pointers)
    for _ in range(aligned):
        pointers = tl.multiple_of(pointers, 16)
        before += tl.load(pointers) - tl.load(pointers + 16)
        pointers += 16
    tl.store(out + tl.arange(0, 256), before + 1 + 15 * aligned)


@triton.jit
def promises_about_what_a_loop_leaves(x, out, start, aligned, KIND: tl.constexpr):
    pointers = x + start + tl.arange(0, 256)
    for _ in range(aligned):
        pointers = tl.multiple_of(pointers, 16)
        tl.store(out + tl.arange(0, 256), tl.load(pointers))
        pointers += 16
    tl.store(out + tl.arange(0, 256), tl.load(pointers) + 1 - 17 * aligned)


@triton.jit
def promises_about_what_only_a_loop_reads(x, out, start, times):
    pointers = x + start + tl.arange(0, 1024)
    found = tl.zeros([1024], tl.float32)
    for _ in range(times):
        pointers = tl.multiple_of(pointers, 16)
        found += tl.load(pointers)
        pointers += 1024
    tl.store(out + tl.arange(0, 1024), found)


@triton.jit
def promises_behind_a_return(x, out, start, aligned, KIND: tl.constexpr):
    offsets = start + tl.arange(0, 256)
    if aligned == 0:
        tl.store(out + tl.arange(0, 256), tl.load(x + offsets) + 1)
        return
    tl.store(out + tl.arange(0, 256), tl.load(x + tl.multiple_of(offsets, 16)))


@triton.jit
def scattered_in_one_branch(x, out, start, aligned, KIND: tl.constexpr):
    offsets = tl.load(out + tl.arange(0, 256)).to(tl.int32) + start
    if aligned > 0:
        if KIND == "constancy":
            found = tl.load(x + tl.max_constancy(offsets, 4))
        else:
            found = tl.load(x + tl.max_contiguous(tl.multiple_of(offsets, 4), 4))
        tl.store(out + tl.arange(0, 256), found)
    else:
        tl.store(out + tl.arange(0, 256), tl.load(x + offsets) + 1)


KERNELS: list[tuple[Any, str]] = [
    (promises_in_one_branch, "multiple_of"),
    (promises_in_one_branch, "assume"),
    (promises_in_one_branch, "max_contiguous"),
    (promises_in_a_loop_that_may_not_run, ""),
    (promises_about_what_a_loop_carries, ""),
    (promises_about_what_a_loop_leaves, ""),
    (promises_behind_a_return, ""),
]


@pytest.mark.parametrize(("kernel", "kind"), KERNELS, ids=[f"{k.__name__}-{kind}" for k, kind in KERNELS])
def test_a_promise_counts_only_where_it_is_made(kernel: Any, kind: str) -> None:
    x = np.arange(512, dtype=np.float32)
    for start, aligned in ((3, 0), (16, 1)):
        out = np.zeros(256, np.float32)
        kernel[(1,)](x, out, start, aligned, kind)
        np.testing.assert_array_equal(out, x[start : start + 256] + 1 - aligned)


@pytest.mark.parametrize("kind", ["constancy", "contiguity"])
def test_a_promise_about_scattered_elements_counts_only_where_it_is_made(kind: str) -> None:
    x = np.arange(1024, dtype=np.float32)
    out = np.random.default_rng(0).permutation(256).astype(np.float32)
    expected = out + 5 + 1
    scattered_in_one_branch[(1,)](x, out, 5, 0, kind)
    np.testing.assert_array_equal(out, expected)


def test_a_promise_in_a_branch_counts_there() -> None:
    x, out = np.zeros(512, np.float32), np.zeros(256, np.float32)
    ptx = promises_in_one_branch.warmup(x, out, 3, 0, "multiple_of", grid=(1,)).asm["ptx"]
    assert "ld.global.v2.b32" in ptx or "ld.global.v4.b32" in ptx


def test_what_a_loop_promises_of_a_variable_counts_for_what_only_the_loop_reads() -> None:
    x, out = np.zeros(2048, np.float32), np.zeros(1024, np.float32)
    ptx = promises_about_what_only_a_loop_reads.warmup(x, out, 3, 2, grid=(1,)).asm["ptx"]
    assert "ld.global.v4.b32" in ptx


@triton.jit
def promises_of_arguments(x, out, stride, other, WHERE: tl.constexpr):
    if WHERE == "behind a return" and other < 0:
        return
    if WHERE == "in a branch":
        if other > 0:
            x, stride = tl.multiple_of(x, 16), tl.multiple_of(stride, 16)
    else:
        x, stride = tl.multiple_of(x, 16), tl.multiple_of(stride, 48)
    at = tl.program_id(0) * stride + tl.arange(0, 256)
    tl.store(out + tl.arange(0, 256), tl.load(x + at))


@pytest.mark.parametrize("where", ["first", "in a branch", "behind a return"])
def test_a_promise_of_an_argument_counts_where_it_always_runs(where: str) -> None:
    signature = {"x": "*fp32", "out": "*fp32", "stride": "i32", "other": "i32", "WHERE": "constexpr"}
    source = ASTSource(promises_of_arguments, signature, {"WHERE": where}, {(0,): [], (1,): [["tt.divisibility", 16]]})
    asm = triton.compile(source, GPUTarget("cuda", 90, 32), {}).asm
    always = where == "first"
    assert ("ld.global.v2.b32" in asm["ptx"]) == always
    assert bool(re.search(r"%x: !tt.ptr<f32> {tt.divisibility = 16", asm["ttir"])) == always
    assert bool(re.search(r"%stride: i32 {tt.divisibility = 16", asm["ttir"])) == always

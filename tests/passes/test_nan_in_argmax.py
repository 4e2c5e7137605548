"""`minitriton-nan-in-argmax`: which reductions see an infinity for NaN, and which are left."""

from __future__ import annotations

from typing import Any

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.compiler import ASTSource
from minitriton.target import GPUTarget


@triton.jit
def largest(x, out):
    tl.store(out, tl.argmax(tl.load(x + tl.arange(0, 64)), 0))


@triton.jit
def smallest(x, out):
    tl.store(out, tl.argmin(tl.load(x + tl.arange(0, 64)), 0, tie_break_left=False))


@triton.jit
def largest_of_integers(x, out):
    v = tl.load(x + tl.arange(0, 64)).to(tl.int32)
    tl.store(out, tl.argmax(v, 0) + tl.argmax(v.to(tl.float32), 0))


@triton.jit
def without_index(x, out):
    tl.store(out, tl.max(tl.load(x + tl.arange(0, 64)), 0).to(tl.int32))


def ttir(kernel: Any, **options: object) -> str:
    source = ASTSource(kernel, {"x": "*fp32", "out": "*i32"})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options, until="ttir").asm["ttir"]


@pytest.mark.parametrize(
    ("kernel", "op", "limit"), [(largest, "arith.maxnumf", "0xFF800000"), (smallest, "arith.minnumf", "0x7F800000")]
)
def test_numbers_with_an_index_have_no_nan(kernel: Any, op: str, limit: str) -> None:
    text = ttir(kernel)
    assert f"{op} %" in text and f"dense<{limit}>" in text
    assert op not in ttir(kernel, without="minitriton-nan-in-argmax")


@pytest.mark.parametrize("kernel", [largest_of_integers, without_index])
def test_what_has_no_nan_or_no_index_is_left(kernel: Any) -> None:
    assert ttir(kernel) == ttir(kernel, without="minitriton-nan-in-argmax")

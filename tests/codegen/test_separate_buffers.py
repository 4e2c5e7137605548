"""`minitriton-use-free-shared-memory`: kernels with small buffers need fewer barriers, and stay sound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton import emulator
from minitriton.compiler import ASTSource
from minitriton.target import GPUTarget


@triton.jit
def spread(x_ptr, out_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, x * (tl.max(x) - tl.min(x)))


@triton.jit
def spread_of_rows(x_ptr, out_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    for row in range(3):
        x = tl.load(x_ptr + row * SIZE + at)
        tl.store(out_ptr + row * SIZE + at, x * (tl.max(x) - tl.min(x)))


@triton.jit
def sums_of_rows(x_ptr, out_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    for row in range(3):
        x = tl.load(x_ptr + row * SIZE + at)
        tl.store(out_ptr + row * SIZE + at, x * tl.sum(x))


@triton.jit
def turned_twice(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows, columns = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    x = tl.load(x_ptr + rows * SIZE + columns)
    tl.store(out_ptr + columns * SIZE + rows, x * tl.sum(x))


@triton.jit(noinline=True)
def least(x_ptr, SIZE: tl.constexpr):
    return tl.min(tl.load(x_ptr + tl.arange(0, SIZE)))


@triton.jit
def spread_by_call(x_ptr, out_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, x * (tl.max(x) - least(x_ptr, SIZE)))


def compiled(kernel: Any, size: int, without: str = "") -> Any:
    source = ASTSource(kernel, {"x_ptr": "*i32", "out_ptr": "*i32", "SIZE": "constexpr"}, {"SIZE": size})
    return triton.compile(source, GPUTarget("cuda", 90), {"without": without})


def barriers(made: Any) -> int:
    return made.asm["ptx"].count("bar.sync")


@pytest.mark.parametrize(
    ("kernel", "size", "with_pass", "as_triton"),
    [
        (spread, 256, 2, 3),
        (spread_of_rows, 256, 6, 12),  # three rows
        (sums_of_rows, 256, 6, 6),  # the next row waits until all have read
        (turned_twice, 64, 3, 3),  # a tile of 16 KiB
        (spread_by_call, 256, 3, 3),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_barriers_in_the_text(kernel: Any, size: int, with_pass: int, as_triton: int) -> None:
    found = [barriers(compiled(kernel, size, without)) for without in ("", "minitriton-use-free-shared-memory")]
    assert found == [with_pass, as_triton]


@pytest.mark.parametrize(
    ("kernel", "rows", "wanted"),
    [
        (spread, 1, lambda x: x * (x.max(-1, keepdims=True) - x.min(-1, keepdims=True))),
        (spread_of_rows, 3, lambda x: x * (x.max(-1, keepdims=True) - x.min(-1, keepdims=True))),
        (sums_of_rows, 3, lambda x: x * x.sum(-1, keepdims=True)),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_what_stays_is_enough(kernel: Any, rows: int, wanted: Any) -> None:
    made = compiled(kernel, 256)
    x = np.random.default_rng(0).integers(-99, 99, (rows, 256), dtype=np.int32)
    out = np.zeros_like(x)
    report = emulator.run(made.asm["ptx"], None, (1,), [x, out], made.metadata.shared)
    assert not report.findings, report.findings
    np.testing.assert_array_equal(out, wanted(x))

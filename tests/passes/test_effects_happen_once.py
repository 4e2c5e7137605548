"""What has an effect, or may read something else the next time, is done once, whatever layouts its result is wanted in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl


@triton.jit
def counts(c, out, table, N: tl.constexpr, M: tl.constexpr):
    i, j = tl.arange(0, N), tl.arange(0, M)
    old = tl.inline_asm_elementwise(
        "atom.global.add.u32 $0, [$1], 1;", "=r,l", [c + i], dtype=tl.int32, is_pure=False, pack=1
    )
    tl.store(out + i, old)
    tl.store(table + i[:, None] * M + j[None, :], old[:, None] + j[None, :])


@triton.jit
def reads(c, out, table, N: tl.constexpr, M: tl.constexpr):
    i, j = tl.arange(0, N), tl.arange(0, M)
    read = tl.load(c + i, volatile=True)
    tl.store(out + i, read)
    tl.store(table + i[:, None] * M + j[None, :], read[:, None] + j[None, :])


@pytest.mark.parametrize(
    ("kernel", "size", "op"), [(counts, 128, 'asm "atom'), (reads, 64, "tt.load ")], ids=["asm", "volatile"]
)
def test_an_op_with_an_effect_is_not_repeated_in_another_layout(kernel: Any, size: int, op: str) -> None:
    c = np.arange(size, dtype=np.int32)
    out, table = np.zeros(size, np.int32), np.zeros((size, 16), np.int32)
    compiled = kernel[(1,)](c, out, table, size, 16)
    assert compiled.asm["ttgir"].count(op) == 1
    assert np.array_equal(c, np.arange(size) + (kernel is counts))
    assert np.array_equal(out, np.arange(size))
    assert np.array_equal(table, np.arange(size)[:, None] + np.arange(16))

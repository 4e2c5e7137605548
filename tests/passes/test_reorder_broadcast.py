"""`triton-reorder-broadcast` computes before it repeats, where every element is computed alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl

COUNTS_BYTES = tl.constexpr("add.u32 $0, $1, 0x00010203;")


@triton.jit
def of_a_splat(out, value):
    x = tl.full((512,), 1, tl.int8) + value.to(tl.int8)
    y = tl.inline_asm_elementwise(COUNTS_BYTES, "=r,r", [x], dtype=tl.int8, is_pure=True, pack=4)
    tl.store(out + tl.arange(0, 512), y)


@triton.jit
def of_a_broadcast(out, value):
    rows, columns = tl.arange(0, 4)[:, None], tl.arange(0, 128)[None, :]
    x = tl.broadcast_to((rows * 0 + 1 + value).to(tl.int8), 4, 128)
    y = tl.inline_asm_elementwise(COUNTS_BYTES, "=r,r", [x], dtype=tl.int8, is_pure=True, pack=4)
    tl.store(out + rows * 128 + columns, y)


@pytest.mark.parametrize("kernel", [of_a_splat, of_a_broadcast])
def test_packed_assembly_runs_on_the_repeated_elements(kernel: Any) -> None:
    """Its results differ within a group (triton-lang/triton#11238)."""
    out = np.zeros(512, np.int8)
    kernel[(1,)](out, 4)
    assert np.array_equal(out, np.tile([8, 7, 6, 5], 128))

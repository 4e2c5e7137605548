"""Plain loads keep their place among accesses that are inline assembly: LLVM moves none past a store, an atomic or a wait."""

from __future__ import annotations

import numpy as np

import minitriton as triton
import minitriton.language as tl


@triton.jit
def read_then_overwritten(data, state, cells, bound, out_t1, out_t2, out_s3, out_q5, n6, n9, n10):
    lane = tl.arange(0, 64)
    t1 = tl.full((64,), 2, tl.int32)
    t2 = tl.full((64,), 1, tl.int32)
    s3 = tl.full((), 1, tl.uint8)
    v4 = tl.load(state + (s3.to(tl.int32) & 3) * 64 + lane)
    t2 = t2 + v4
    tl.store(
        state + (tl.full((), 1, tl.int32) & 3) * 64 + lane,
        tl.load(data + (tl.full((), 5, tl.int32) & 7) * 64 + lane),
        mask=lane < ((s3.to(tl.int32) + 5) + (tl.full((), 5, tl.int32) * 0)),
    )
    q5 = tl.full((), 0, tl.int32)
    for i7 in tl.range(n6, tl.load(bound + 0)):
        q5 = q5 + (i7 // 7)
    q5 = q5 + q5 * q5
    m8 = tl.load(cells + 2)
    q5 = q5 * 3 + m8
    tl.store(state + ((n9 & m8) & 3) * 64 + lane, tl.full((64,), 2, tl.int32))
    if n10 > 5:
        tl.assume(n10 > 5)
        tl.assume(n10 != n6)
        s3 = tl.maximum(s3, tl.full((), 5, tl.uint8))
    else:
        t1 = t1 - tl.full((64,), 3, tl.int32)
        tl.assume(n9 > 0)
        s3 = s3 * 10 + q5.to(tl.uint8)
    tl.store(out_t1 + lane, t1)
    tl.store(out_t2 + lane, t2)
    tl.store(out_s3, s3)
    tl.store(out_q5, q5)


def test_a_load_is_not_sunk_past_a_masked_store_to_what_it_reads() -> None:
    data, state = np.arange(512, dtype=np.int32) + 1000, np.arange(256, dtype=np.int32)
    read, out_t1, out_t2 = state[64:128].copy(), np.zeros(64, np.int32), np.zeros(64, np.int32)
    cells, bound = np.zeros(8, np.int32), np.array([3], np.int32)
    left = np.zeros(1, np.uint8), np.zeros(1, np.int32)
    read_then_overwritten[(1,)](data, state, cells, bound, out_t1, out_t2, *left, 2, 100, -4, num_warps=1)
    np.testing.assert_array_equal(out_t2, read + 1)

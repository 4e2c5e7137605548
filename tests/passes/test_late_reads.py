# ruff: noqa: B007 - loops count
"""A load that a pipelined loop makes an asynchronous copy reads until it is waited for: none is made of an array that the loop writes meanwhile.

The kernel is a finding of `minitriton fuzz --kind control-flow`; smaller ones keep their load.
"""

from __future__ import annotations

import numpy as np

import minitriton as triton
import minitriton.language as tl


@triton.jit
def reads_late(
    data, state, cells, bounds_uint16, bounds_int32, out_t1, out_s2, out_s3, n4, n5, n7, n8, n12, n13, n18, n19, n22
):
    state = state + tl.program_id(0) * 256
    cells = cells + tl.program_id(0) * 8
    out_t1 = out_t1 + tl.program_id(0) * 64
    out_s2 = out_s2 + tl.program_id(0) * 1
    out_s3 = out_s3 + tl.program_id(0) * 1
    lane = tl.arange(0, 64)
    t1 = tl.full((64,), 0, tl.uint32)
    s2 = tl.full((), 3, tl.uint32)
    s3 = tl.full((), 1, tl.int32)
    for i6 in tl.range(n4, n5, loop_unroll_factor=3):
        for i9 in range(-2, n7, n8):
            q10 = tl.full((), 1, tl.int32)
            c11 = tl.full((), 0, tl.uint64)
            while c11 < n12:
                q10 = q10 + i9
                c11 += 3
            q10 = q10 + q10 * ((s3 & 5) * (i9 % 2))
            for i14 in range(tl.load(bounds_uint16 + 0), n13, 3):
                tl.assume(n12 > 2)
            t1 = tl.where(lane % 2 == 1, tl.full((64,), 2, tl.uint32), t1)
    for i15 in range(tl.load(bounds_int32 + 0)):
        tl.store(state + (s2.to(tl.int32) & 3) * 64 + lane, tl.load(data + 6 * 64 + lane))
    for u16 in tl.static_range(0, 3):
        for i17 in tl.range(4, flatten=True, num_stages=4):
            for i20 in tl.range(n18, n19, num_stages=4):
                on21 = (((i20 ^ u16) & 2) != 7) | ((i17 * (s3 - 5)) > (n22 - s3))
                v23 = tl.load(state + lane, mask=on21, other=0)
                tl.store(state + lane, tl.load(data + (s3 & 7) * 64 + lane))
                if on21:
                    r24 = v23
                else:
                    r24 = tl.full((64,), 9, tl.uint32)
                t1 = t1 ^ r24
            tl.assume(n19 > 0)
    tl.store(out_t1 + lane, t1)


def test_a_load_whose_value_is_used_after_a_store_to_its_array_is_not_a_copy() -> None:
    data, state = np.arange(512, dtype=np.uint32) * 3, np.arange(768, dtype=np.uint32) + 7
    before, out = state.reshape(3, 256)[:, :64].copy(), np.zeros((3, 64), np.uint32)
    bounds = np.array([4], np.uint16), np.array([1], np.int32)
    others = np.zeros(3, np.uint32), np.zeros(3, np.int32)
    scalars = (0, 1, -2, 1, 9, 4, 2147483646, 2147483648, 3)
    reads_late[(3,)](data, state, np.zeros(24, np.int32), *bounds, out, *others, *scalars, num_warps=8)
    # 24 iterations: the first reads what was there, the others what the one before them has stored.
    np.testing.assert_array_equal(out, before ^ data[64:128])

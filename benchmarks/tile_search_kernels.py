"""The matmuls of `tile_search.py`: any sizes, any order of B, one or a batch."""

import triton
import triton.language as tl


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, m, n, k, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, batch_a, batch_b, batch_c,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, ACC: tl.constexpr, MASKED: tl.constexpr,
    BATCHED: tl.constexpr,
):  # fmt: skip
    """c = a @ b; MASKED: K is not a multiple of every BK."""
    if BATCHED:
        number = tl.program_id(1).to(tl.int64)
        a_ptr += number * batch_a
        b_ptr += number * batch_b
        c_ptr += number * batch_c
    pid, down, across = tl.program_id(0), tl.cdiv(m, BM), tl.cdiv(n, BN)
    first = pid // (GROUP * across) * GROUP
    height = min(down - first, GROUP)
    row, column = first + pid % (GROUP * across) % height, pid % (GROUP * across) // height
    rows, columns, inner = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN), tl.arange(0, BK)
    a_ptrs = a_ptr + (rows % m)[:, None] * stride_am + inner[None, :] * stride_ak
    b_ptrs = b_ptr + inner[:, None] * stride_bk + (columns % n)[None, :] * stride_bn
    total = tl.zeros((BM, BN), ACC)
    for step in range(tl.cdiv(k, BK)):
        if MASKED:
            a = tl.load(a_ptrs, mask=inner[None, :] < k - step * BK, other=0.0)
            b = tl.load(b_ptrs, mask=inner[:, None] < k - step * BK, other=0.0)
        else:
            a = tl.load(a_ptrs)
            b = tl.load(b_ptrs)
        total = tl.dot(a, b, total, out_dtype=ACC)
        a_ptrs += BK * stride_ak
        b_ptrs += BK * stride_bk
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c_ptr + rows[:, None] * stride_cm + columns[None, :], total.to(c_ptr.dtype.element_ty), mask=mask)

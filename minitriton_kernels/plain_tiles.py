"""Matmul and attention as one writes them first: pointers, strides of every axis, a mask in every block, one loop."""

import triton
import triton.language as tl


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """c = a @ b in f16; grid (cdiv(M, BM) * cdiv(N, BN),)."""
    pid = tl.program_id(0)
    down, across = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = pid // (GROUP * across) * GROUP
    height = min(down - first, GROUP)
    row = first + pid % (GROUP * across) % height
    column = pid % (GROUP * across) // height
    rows = (row * BM + tl.arange(0, BM)) % M
    columns = (column * BN + tl.arange(0, BN)) % N
    depth = tl.arange(0, BK)
    a_ptrs = a_ptr + rows[:, None] * stride_am + depth[None, :] * stride_ak
    b_ptrs = b_ptr + depth[:, None] * stride_bk + columns[None, :] * stride_bn
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=depth[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_ptrs, mask=depth[:, None] < K - k * BK, other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BK * stride_ak
        b_ptrs += BK * stride_bk
    rows, columns = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN)
    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    tl.store(c_ptrs, total.to(tl.float16), mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, out_ptr, scale, heads, length,
    stride_qb, stride_qh, stride_qm, stride_kb, stride_kh, stride_kn, stride_vb, stride_vh, stride_vn,
    stride_ob, stride_oh, stride_om,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """out = softmax(scale * q @ k.T) @ v; tensors (batch, heads, length, D), grid (cdiv(length, BM), batch * heads)."""
    block, both = tl.program_id(0), tl.program_id(1)
    batch, head = both // heads, both % heads
    rows, features = block * BM + tl.arange(0, BM), tl.arange(0, D)
    q_ptrs = q_ptr + batch * stride_qb + head * stride_qh + rows[:, None] * stride_qm + features[None, :]
    k_base = k_ptr + batch * stride_kb + head * stride_kh
    v_base = v_ptr + batch * stride_vb + head * stride_vh
    q = tl.load(q_ptrs, mask=rows[:, None] < length, other=0.0)
    largest = tl.full((BM,), float("-inf"), tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    end = tl.minimum((block + 1) * BM, length) if CAUSAL else length
    for start in range(0, end, BN):
        columns = start + tl.arange(0, BN)
        k = tl.load(
            k_base + columns[None, :] * stride_kn + features[:, None], mask=columns[None, :] < length, other=0.0
        )
        score = tl.dot(q, k) * (scale * 1.4426950408889634)
        score = tl.where(columns[None, :] < length, score, float("-inf"))
        if CAUSAL:
            score = tl.where(rows[:, None] >= columns[None, :], score, float("-inf"))
        new = tl.maximum(largest, tl.max(score, 1))
        p = tl.exp2(score - new[:, None])
        shrink = tl.exp2(largest - new)
        weight = weight * shrink + tl.sum(p, 1)
        v = tl.load(
            v_base + columns[:, None] * stride_vn + features[None, :], mask=columns[:, None] < length, other=0.0
        )
        total = tl.dot(p.to(v.dtype), v, total * shrink[:, None])
        largest = new
    out_ptrs = out_ptr + batch * stride_ob + head * stride_oh + rows[:, None] * stride_om + features[None, :]
    tl.store(out_ptrs, (total / weight[:, None]).to(out_ptr.dtype.element_ty), mask=rows[:, None] < length)

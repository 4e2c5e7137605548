"""Attention in one pass over keys and values (FlashAttention 2), and its gradients.

q, k, v, o: (batch * heads * length, D) row by row, f16 or bf16. `log_sums`: (batch * heads, length) f32, the base-2 logarithm of the
sum of exponentials of each row of scores; `delta`: (batch * heads, length) f32, the row sums of o * do. `scale` is a factor of the scores.
"""

import triton
import triton.language as tl


@triton.jit
def _keys_from(
    total, weight, largest, q, k_desc, v_desc, base, first, end, rows, factor,
    BN: tl.constexpr, MASKED: tl.constexpr, SPECIALIZE: tl.constexpr,
):  # fmt: skip
    """Attends to the keys `first` to `end`; with MASKED each row only to those up to its own place."""
    for start in tl.range(first, end, BN, warp_specialize=SPECIALIZE):
        start = tl.multiple_of(start, BN)
        score = tl.dot(q, k_desc.load([base + start, 0]).T)
        if MASKED:
            columns = start + tl.arange(0, BN)
            score = tl.where(rows[:, None] >= columns[None, :], score * factor, -1.0e6)
            new = tl.maximum(largest, tl.max(score, 1))
            score -= new[:, None]
        else:
            new = tl.maximum(largest, tl.max(score, 1) * factor)
            score = score * factor - new[:, None]
        p = tl.exp2(score)
        shrink = tl.exp2(largest - new)
        weight = weight * shrink + tl.sum(p, 1)
        total = total * shrink[:, None]
        value = v_desc.load([base + start, 0])
        total = tl.dot(p.to(value.dtype), value, total)
        largest = new
    return total, weight, largest


@triton.jit
def attention(
    q_desc, k_desc, v_desc, o_desc, log_sums, length, scale,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr, SPECIALIZE: tl.constexpr = False,
):  # fmt: skip
    """o = softmax(scale * q @ k.T) @ v for BM rows of one head; grid (length / BM, batch * heads)."""
    first, head = tl.program_id(0) * BM, tl.program_id(1)
    base = head * length
    rows = first + tl.arange(0, BM)
    largest = tl.full((BM,), float("-inf"), tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    factor = scale * 1.4426950408889634
    q = q_desc.load([base + first, 0])
    unmasked = first if CAUSAL else length
    total, weight, largest = _keys_from(
        total, weight, largest, q, k_desc, v_desc, base, 0, unmasked, rows, factor, BN, False, SPECIALIZE
    )
    if CAUSAL:
        total, weight, largest = _keys_from(
            total, weight, largest, q, k_desc, v_desc, base, first, first + BM, rows, factor, BN, True, SPECIALIZE
        )
    tl.store(log_sums + head * length + rows, largest + tl.log2(weight))
    o_desc.store([base + first, 0], (total / weight[:, None]).to(o_desc.dtype))


@triton.jit
def row_products(o, do, delta, length, BM: tl.constexpr, D: tl.constexpr):
    """delta = sum(o * do, 1); grid (length / BM, batch * heads)."""
    rows = tl.program_id(1) * length + tl.program_id(0) * BM + tl.arange(0, BM)
    places = rows[:, None] * D + tl.arange(0, D)[None, :]
    product = tl.load(o + places).to(tl.float32) * tl.load(do + places).to(tl.float32)
    tl.store(delta + rows, tl.sum(product, 1))


@triton.jit
def _gradients_of_keys(
    dk, dv, k, v, q_ptr, do_ptr, log_sums, delta, first, steps, keys,
    BM: tl.constexpr, D: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Adds what `steps` blocks of BM rows from `first` on say of dk and dv."""
    rows, features = first + tl.arange(0, BM), tl.arange(0, D)
    q_ptrs = q_ptr + rows[None, :] * D + features[:, None]
    do_ptrs = do_ptr + rows[:, None] * D + features[None, :]
    for _ in range(steps):
        q_columns = tl.load(q_ptrs)
        p = tl.exp2(tl.dot(k, q_columns) - tl.load(log_sums + rows)[None, :])
        if MASKED:
            p = tl.where(rows[None, :] >= keys[:, None], p, 0.0)
        do = tl.load(do_ptrs)
        dv = tl.dot(p.to(do.dtype), do, dv)
        ds = p * (tl.dot(v, tl.trans(do)) - tl.load(delta + rows)[None, :])
        dk = tl.dot(ds.to(do.dtype), tl.trans(q_columns), dk)
        rows += BM
        q_ptrs += BM * D
        do_ptrs += BM * D
    return dk, dv


@triton.jit
def _gradients_of_queries(
    dq, q, do, log_sums, delta, k_ptr, v_ptr, first, steps, rows,
    BN: tl.constexpr, D: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Adds what `steps` blocks of BN keys from `first` on say of dq."""
    keys, features = first + tl.arange(0, BN), tl.arange(0, D)
    k_ptrs = k_ptr + keys[None, :] * D + features[:, None]
    v_ptrs = v_ptr + keys[None, :] * D + features[:, None]
    for _ in range(steps):
        k_columns = tl.load(k_ptrs)
        v_columns = tl.load(v_ptrs)
        p = tl.exp2(tl.dot(q, k_columns) - log_sums[:, None])
        if MASKED:
            p = tl.where(rows[:, None] >= keys[None, :], p, 0.0)
        ds = p * (tl.dot(do, v_columns) - delta[:, None])
        dq = tl.dot(ds.to(do.dtype), tl.trans(k_columns), dq)
        keys += BN
        k_ptrs += BN * D
        v_ptrs += BN * D
    return dq


@triton.jit
def attention_backward(
    q_ptr, k_ptr, v_ptr, do_ptr, dq_ptr, dk_ptr, dv_ptr, log_sums, delta, length, scale,
    OUTER: tl.constexpr, INNER: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """dk and dv of OUTER keys, then dq of as many rows, INNER rows or keys at a time; k is already scaled by `scale` * log2(e).

    grid (length / OUTER, 1, batch * heads). On the diagonal half as many at a time.
    """
    head = tl.program_id(2)
    begin = (head * length).to(tl.int64)
    q_ptr += begin * D
    k_ptr += begin * D
    v_ptr += begin * D
    do_ptr += begin * D
    log_sums += begin
    delta += begin
    first = tl.program_id(0) * OUTER
    own = first + tl.arange(0, OUTER)
    places = own[:, None] * D + tl.arange(0, D)[None, :]
    HALF: tl.constexpr = INNER // 2

    dk = tl.zeros((OUTER, D), tl.float32)
    dv = tl.zeros((OUTER, D), tl.float32)
    k = tl.load(k_ptr + places)
    v = tl.load(v_ptr + places)
    start = 0
    if CAUSAL:
        dk, dv = _gradients_of_keys(
            dk, dv, k, v, q_ptr, do_ptr, log_sums, delta, first, OUTER // HALF, own, HALF, D, True
        )
        start = first + OUTER
    dk, dv = _gradients_of_keys(
        dk, dv, k, v, q_ptr, do_ptr, log_sums, delta, start, (length - start) // INNER, own, INNER, D, False
    )
    tl.store(dv_ptr + begin * D + places, dv.to(dv_ptr.dtype.element_ty))
    tl.store(dk_ptr + begin * D + places, (dk * scale).to(dk_ptr.dtype.element_ty))

    dq = tl.zeros((OUTER, D), tl.float32)
    q = tl.load(q_ptr + places)
    do = tl.load(do_ptr + places)
    row_sums = tl.load(log_sums + own)
    row_delta = tl.load(delta + own)
    end = length
    if CAUSAL:
        dq = _gradients_of_queries(
            dq, q, do, row_sums, row_delta, k_ptr, v_ptr, first, OUTER // HALF, own, HALF, D, True
        )
        end = first
    dq = _gradients_of_queries(dq, q, do, row_sums, row_delta, k_ptr, v_ptr, 0, end // INNER, own, INNER, D, False)
    tl.store(dq_ptr + begin * D + places, (dq * 0.6931471805599453).to(dq_ptr.dtype.element_ty))

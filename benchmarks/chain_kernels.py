"""Kernels with long chains from a load to a dot, and with tiles of many registers: what `chains.py` measures. Written plainly, by pointers."""

import triton
import triton.language as tl


@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, COLUMN_B: tl.constexpr):
    """c = a @ b; `COLUMN_B`: b lies column by column."""
    across = tl.cdiv(n, BN)
    rows = tl.program_id(0) // across * BM + tl.arange(0, BM)
    columns = tl.program_id(0) % across * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    a_ptrs = a_ptr + rows[:, None] * k + inner[None, :]
    if COLUMN_B:
        b_ptrs = b_ptr + inner[:, None] + columns[None, :] * k
    else:
        b_ptrs = b_ptr + inner[:, None] * n + columns[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(tl.cdiv(k, BK)):
        total = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), total)
        a_ptrs += BK
        b_ptrs += BK if COLUMN_B else BK * n
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], total.to(c_ptr.dtype.element_ty))


@triton.jit
def int4_weights(
    a_ptr, b_ptr, scale_ptr, c_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """c = a @ (b * scale): b of 4 bits, two neighbours along K to a byte, a scale for each GROUP rows of a column."""
    across = tl.cdiv(n, BN)
    rows = tl.program_id(0) // across * BM + tl.arange(0, BM)
    columns = tl.program_id(0) % across * BN + tl.arange(0, BN)
    inner, packed_inner = tl.arange(0, BK), tl.arange(0, BK // 2)
    a_ptrs = a_ptr + rows[:, None] * k + inner[None, :]
    b_ptrs = b_ptr + packed_inner[:, None] * n + columns[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        packed = tl.load(b_ptrs)
        scale = tl.load(scale_ptr + start // GROUP * n + columns)
        low, high = (packed << 4) >> 4, packed >> 4
        b = tl.join(low, high).permute(0, 2, 1).reshape(BK, BN).to(scale.dtype) * scale[None, :]
        total = tl.dot(tl.load(a_ptrs), b, total)
        a_ptrs += BK
        b_ptrs += BK // 2 * n
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], total.to(c_ptr.dtype.element_ty))


@triton.jit
def int8_weights(a_ptr, b_ptr, scale_ptr, c_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c = (a @ b) * scale: b of 8 bits, a scale for each column."""
    across = tl.cdiv(n, BN)
    rows = tl.program_id(0) // across * BM + tl.arange(0, BM)
    columns = tl.program_id(0) % across * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    a_ptrs = a_ptr + rows[:, None] * k + inner[None, :]
    b_ptrs = b_ptr + inner[:, None] * n + columns[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, k, BK):
        a = tl.load(a_ptrs)
        total = tl.dot(a, tl.load(b_ptrs).to(a.dtype), total)
        a_ptrs += BK
        b_ptrs += BK * n
    total *= tl.load(scale_ptr + columns)[None, :].to(tl.float32)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], total.to(c_ptr.dtype.element_ty))


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, o_ptr, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """o = softmax(scale * q @ k.T) @ v of one head a second index of the grid."""
    base = tl.program_id(1).to(tl.int64) * length * D
    rows, features = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    q = tl.load(q_ptr + base + rows[:, None] * D + features[None, :])
    k_ptrs = k_ptr + base + tl.arange(0, BN)[None, :] * D + features[:, None]
    v_ptrs = v_ptr + base + tl.arange(0, BN)[:, None] * D + features[None, :]
    largest = tl.full((BM,), float("-inf"), tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    for _ in range(0, length, BN):
        score = tl.dot(q, tl.load(k_ptrs)) * scale
        new = tl.maximum(largest, tl.max(score, 1))
        p = tl.exp2(score - new[:, None])
        shrink = tl.exp2(largest - new)
        weight = weight * shrink + tl.sum(p, 1)
        total = tl.dot(p.to(q.dtype), tl.load(v_ptrs), total * shrink[:, None])
        largest = new
        k_ptrs += BN * D
        v_ptrs += BN * D
    tl.store(o_ptr + base + rows[:, None] * D + features[None, :], (total / weight[:, None]).to(q.dtype))


@triton.jit
def decode_attention(q_ptr, k_ptr, v_ptr, o_ptr, length, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    """One query of each head over `length` keys, without tensor cores."""
    head = tl.program_id(0).to(tl.int64)
    features, keys = tl.arange(0, D), tl.arange(0, BLOCK)
    q = tl.load(q_ptr + head * D + features).to(tl.float32) * scale
    largest = float("-inf")
    weight = 0.0
    total = tl.zeros((D,), tl.float32)
    for start in range(0, length, BLOCK):
        places = (head * length + start + keys[:, None]) * D + features[None, :]
        score = tl.sum(tl.load(k_ptr + places).to(tl.float32) * q[None, :], 1)
        new = tl.maximum(largest, tl.max(score, 0))
        p = tl.exp2(score - new)
        shrink = tl.exp2(largest - new)
        weight = weight * shrink + tl.sum(p, 0)
        total = total * shrink + tl.sum(p[:, None] * tl.load(v_ptr + places).to(tl.float32), 0)
        largest = new
    tl.store(o_ptr + head * D + features, (total / weight).to(o_ptr.dtype.element_ty))


@triton.jit
def gated_mlp(x_ptr, gate_ptr, up_ptr, h_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """h = silu(x @ gate) * (x @ up): two dots share x."""
    across = tl.cdiv(n, BN)
    rows = tl.program_id(0) // across * BM + tl.arange(0, BM)
    columns = tl.program_id(0) % across * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    x_ptrs = x_ptr + rows[:, None] * k + inner[None, :]
    places = inner[:, None] * n + columns[None, :]
    gate = tl.zeros((BM, BN), tl.float32)
    up = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, k, BK):
        x = tl.load(x_ptrs)
        gate = tl.dot(x, tl.load(gate_ptr + places), gate)
        up = tl.dot(x, tl.load(up_ptr + places), up)
        x_ptrs += BK
        places += BK * n
    h = gate * tl.sigmoid(gate) * up
    tl.store(h_ptr + rows[:, None] * n + columns[None, :], h.to(h_ptr.dtype.element_ty))


@triton.jit
def mlp(x_ptr, up_ptr, down_ptr, y_ptr, m, hidden, BM: tl.constexpr, BH: tl.constexpr, D: tl.constexpr):
    """y = relu(x @ up) @ down, rows of D numbers, both matmuls in one program: the hidden numbers stay in registers."""
    rows, features, inner = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D), tl.arange(0, BH)
    x = tl.load(x_ptr + rows[:, None] * D + features[None, :])
    up_ptrs = up_ptr + features[:, None] * hidden + inner[None, :]
    down_ptrs = down_ptr + inner[:, None] * D + features[None, :]
    total = tl.zeros((BM, D), tl.float32)
    for _ in range(0, hidden, BH):
        h = tl.maximum(tl.dot(x, tl.load(up_ptrs)), 0.0)
        total = tl.dot(h.to(x.dtype), tl.load(down_ptrs), total)
        up_ptrs += BH
        down_ptrs += BH * D
    tl.store(y_ptr + rows[:, None] * D + features[None, :], total.to(x.dtype))


@triton.jit
def rope(x_ptr, cos_ptr, sin_ptr, out_ptr, tokens, heads, ROWS: tl.constexpr, HALF: tl.constexpr):
    """Rotates the halves of ROWS rows of `x[token, head, :]`."""
    rows, i = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, HALF)
    mask = rows[:, None] < tokens * heads
    angles = (rows // heads)[:, None] * HALF + i[None, :]
    cos = tl.load(cos_ptr + angles, mask=mask, other=0.0).to(tl.float32)
    sin = tl.load(sin_ptr + angles, mask=mask, other=0.0).to(tl.float32)
    at = rows[:, None] * (2 * HALF) + i[None, :]
    a = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + at + HALF, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + at, (a * cos - b * sin).to(out_ptr.dtype.element_ty), mask=mask)
    tl.store(out_ptr + at + HALF, (b * cos + a * sin).to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def swiglu(x_ptr, y_ptr, out_ptr, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """out = silu(x) * y, a tile of ROWS x COLUMNS a program."""
    at = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + at, (x * tl.sigmoid(x) * y).to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def column_sum(x_ptr, out_ptr, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Sums of COLUMNS columns a program, ROWS rows at a time."""
    j = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for first in range(0, rows, ROWS):
        i = first + tl.arange(0, ROWS)
        total += tl.load(x_ptr + i[:, None] * columns + j[None, :]).to(tl.float32)
    tl.store(out_ptr + j, tl.sum(total, 0))


@triton.jit
def cumulative_sum(x_ptr, out_ptr, columns, COLUMNS: tl.constexpr):
    """Running sums of a row of COLUMNS numbers."""
    at = tl.program_id(0) * columns + tl.arange(0, COLUMNS)
    tl.store(out_ptr + at, tl.cumsum(tl.load(x_ptr + at).to(tl.float32), 0).to(out_ptr.dtype.element_ty))

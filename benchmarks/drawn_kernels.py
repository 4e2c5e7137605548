"""Kernels of the families that `drawn.py` draws launches of, written plainly, as one finds them in programs."""

import triton
import triton.language as tl


@triton.jit
def axpby(x_ptr, y_ptr, out_ptr, n, a, b, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask).to(tl.float32)
    y = tl.load(y_ptr + at, mask=mask).to(tl.float32)
    tl.store(out_ptr + at, a * x + b * y, mask=mask)


@triton.jit
def gelu(x_ptr, out_ptr, n, BLOCK: tl.constexpr, TANH: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask).to(tl.float32)
    if TANH:
        inner = 0.7978845608 * (x + 0.044715 * x * x * x)
        y = x * tl.sigmoid(2 * inner)
    else:
        y = 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))
    tl.store(out_ptr + at, y, mask=mask)


@triton.jit
def silu_and_mul(x_ptr, out_ptr, half, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = at < half
    gate = tl.load(x_ptr + row * 2 * half + at, mask=mask).to(tl.float32)
    up = tl.load(x_ptr + row * 2 * half + half + at, mask=mask).to(tl.float32)
    tl.store(out_ptr + row * half + at, gate * tl.sigmoid(gate) * up, mask=mask)


@triton.jit
def dequantize(x_ptr, scale_ptr, out_ptr, columns, ROWS: tl.constexpr, COLS: tl.constexpr, rows):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    scale = tl.load(scale_ptr + r, mask=r < rows)
    x = tl.load(x_ptr + r[:, None] * columns + c[None, :], mask=mask, other=0)
    tl.store(out_ptr + r[:, None] * columns + c[None, :], x.to(tl.float32) * scale[:, None], mask=mask)


@triton.jit
def unpack_int4(x_ptr, scale_ptr, out_ptr, n, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    packed = tl.load(x_ptr + at // 2, mask=mask, other=0)
    nibble = (packed >> ((at % 2) * 4)) & 0xF
    scale = tl.load(scale_ptr + at // GROUP, mask=mask)
    tl.store(out_ptr + at, (nibble.to(tl.float32) - 8) * scale, mask=mask)


@triton.jit
def row_statistics(x_ptr, mean_ptr, var_ptr, rows, columns, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS, COLS), tl.float32)
    squares = tl.zeros((ROWS, COLS), tl.float32)
    for start in range(0, columns, COLS):
        c = start + tl.arange(0, COLS)
        mask = (r < rows)[:, None] & (c < columns)[None, :]
        x = tl.load(x_ptr + r[:, None] * columns + c[None, :], mask=mask, other=0).to(tl.float32)
        total += x
        squares += x * x
    mean = tl.sum(total, 1) / columns
    tl.store(mean_ptr + r, mean, mask=r < rows)
    tl.store(var_ptr + r, tl.sum(squares, 1) / columns - mean * mean, mask=r < rows)


@triton.jit
def row_softmax(x_ptr, out_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    x = tl.load(x_ptr + r[:, None] * columns + c[None, :], mask=mask, other=float("-inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, 1)[:, None])
    tl.store(out_ptr + r[:, None] * columns + c[None, :], e / tl.sum(e, 1)[:, None], mask=mask)


@triton.jit
def online_softmax(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + c, mask=c < columns, other=float("-inf")).to(tl.float32)
        now = tl.maximum(largest, x)
        total = total * tl.exp(tl.where(now == float("-inf"), 0.0, largest - now)) + tl.exp(
            tl.where(now == float("-inf"), float("-inf"), x - now)
        )
        largest = now
    most = tl.max(largest, 0)
    total = tl.sum(total * tl.exp(largest - most), 0)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + c, mask=c < columns).to(tl.float32)
        tl.store(out_ptr + row * columns + c, tl.exp(x - most) / total, mask=c < columns)


@triton.jit
def argmax(x_ptr, out_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    x = tl.load(x_ptr + r[:, None] * columns + c[None, :], mask=mask, other=float("-inf"))
    tl.store(out_ptr + r, tl.argmax(x, 1), mask=r < rows)


@triton.jit
def column_sums(x_ptr, out_ptr, rows, columns, ROWS: tl.constexpr, COLS: tl.constexpr, SQUARES: tl.constexpr):
    c = tl.program_id(0) * COLS + tl.arange(0, COLS)
    total = tl.zeros((ROWS, COLS), tl.float32)
    for start in range(0, rows, ROWS):
        r = start + tl.arange(0, ROWS)
        mask = (r < rows)[:, None] & (c < columns)[None, :]
        x = tl.load(x_ptr + r[:, None] * columns + c[None, :], mask=mask, other=0).to(tl.float32)
        total += x * x if SQUARES else x
    tl.store(out_ptr + c, tl.sum(total, 0), mask=c < columns)


@triton.jit
def column_max(x_ptr, out_ptr, rows, columns, ROWS: tl.constexpr, COLS: tl.constexpr):
    c = tl.program_id(0) * COLS + tl.arange(0, COLS)
    most = tl.full((COLS,), float("-inf"), tl.float32)
    for start in range(0, rows, ROWS):
        r = start + tl.arange(0, ROWS)
        mask = (r < rows)[:, None] & (c < columns)[None, :]
        x = tl.load(x_ptr + r[:, None] * columns + c[None, :], mask=mask, other=float("-inf")).to(tl.float32)
        most = tl.maximum(most, tl.max(x, 0))
    tl.store(out_ptr + c, most, mask=c < columns)


@triton.jit
def scan_rows(x_ptr, out_ptr, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr, REVERSE: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    at = r[:, None] * columns + c[None, :]
    mask = (c < columns)[None, :]
    x = tl.load(x_ptr + at, mask=mask, other=0)
    tl.store(out_ptr + at, tl.cumsum(x, 1, reverse=REVERSE), mask=mask)


@triton.jit
def _then(a, x, b, y):
    return a * b, x * b + y


@triton.jit
def recurrence(a_ptr, x_ptr, out_ptr, columns, BLOCK: tl.constexpr, COLS: tl.constexpr, steps):
    c = tl.program_id(0) * COLS + tl.arange(0, COLS)
    carried = tl.zeros((COLS,), tl.float32)
    for start in range(0, steps, BLOCK):
        t = start + tl.arange(0, BLOCK)
        mask = (t < steps)[:, None] & (c < columns)[None, :]
        at = t[:, None] * columns + c[None, :]
        a = tl.load(a_ptr + at, mask=mask, other=0).to(tl.float32) * 0.01
        x = tl.load(x_ptr + at, mask=mask, other=0).to(tl.float32)
        decays, states = tl.associative_scan((a, x), 0, _then)
        states += decays * carried[None, :]
        tl.store(out_ptr + at, states, mask=mask)
        last = (tl.arange(0, BLOCK) == BLOCK - 1)[:, None]
        carried = tl.sum(tl.where(last, states, 0.0), 0)


@triton.jit
def rope(x_ptr, cos_ptr, sin_ptr, out_ptr, rows, HEADS: tl.constexpr, HALF: tl.constexpr, ROWS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, HALF)
    mask = (r < rows)[:, None]
    token = r // HEADS
    cos = tl.load(cos_ptr + token[:, None] * HALF + c[None, :], mask=mask).to(tl.float32)
    sin = tl.load(sin_ptr + token[:, None] * HALF + c[None, :], mask=mask).to(tl.float32)
    at = r[:, None] * 2 * HALF + c[None, :]
    x = tl.load(x_ptr + at, mask=mask).to(tl.float32)
    y = tl.load(x_ptr + at + HALF, mask=mask).to(tl.float32)
    tl.store(out_ptr + at, x * cos - y * sin, mask=mask)
    tl.store(out_ptr + at + HALF, x * sin + y * cos, mask=mask)


@triton.jit
def rope_of_pairs(x_ptr, cos_ptr, sin_ptr, out_ptr, rows, HEADS: tl.constexpr, HALF: tl.constexpr, ROWS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, 2 * HALF)
    token = r // HEADS
    mask = (r < rows)[:, None]
    at = r[:, None] * 2 * HALF + c[None, :]
    x, y = tl.split(tl.reshape(tl.load(x_ptr + at, mask=mask, other=0).to(tl.float32), (ROWS, HALF, 2)))
    f = token[:, None] * HALF + tl.arange(0, HALF)[None, :]
    cos = tl.load(cos_ptr + f, mask=mask).to(tl.float32)
    sin = tl.load(sin_ptr + f, mask=mask).to(tl.float32)
    turned = tl.reshape(tl.join(x * cos - y * sin, x * sin + y * cos), (ROWS, 2 * HALF))
    tl.store(out_ptr + at, turned, mask=mask)


@triton.jit
def cross_entropy(x_ptr, label_ptr, loss_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    largest = float("-inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + c, mask=c < columns, other=float("-inf")).to(tl.float32)
        now = tl.maximum(largest, tl.max(x, 0))
        total = total * tl.exp(largest - now) + tl.sum(tl.exp(x - now), 0)
        largest = now
    label = tl.load(label_ptr + row)
    wanted = tl.load(x_ptr + row * columns + label).to(tl.float32)
    tl.store(loss_ptr + row, largest + tl.log(total) - wanted)


@triton.jit
def transpose(x_ptr, out_ptr, rows, columns, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    x = tl.load(x_ptr + r[:, None] * columns + c[None, :], mask=mask)
    tl.store(out_ptr + c[:, None] * rows + r[None, :], tl.trans(x), mask=tl.trans(mask))


@triton.jit
def strided_copy(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at * stride, mask=at < n), mask=at < n)


@triton.jit
def embedding(table_ptr, index_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.load(index_ptr + tl.program_id(0)).to(tl.int64)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(table_ptr + row * columns + c, mask=c < columns)
        tl.store(out_ptr + tl.program_id(0).to(tl.int64) * columns + c, x, mask=c < columns)


@triton.jit
def gather(x_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(index_ptr + at, mask=at < n, other=0)
    tl.store(out_ptr + at, tl.load(x_ptr + index, mask=at < n), mask=at < n)


@triton.jit
def scatter_add(x_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.atomic_add(out_ptr + tl.load(index_ptr + at, mask=mask, other=0), tl.load(x_ptr + at, mask=mask), mask=mask)


@triton.jit
def histogram(x_ptr, out_ptr, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x_ptr + at, mask=at < n, other=0), BINS, mask=at < n)
    tl.atomic_add(out_ptr + tl.arange(0, BINS), counts)


@triton.jit
def layer_norm(x_ptr, w_ptr, b_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    mask = c < columns
    x = tl.load(x_ptr + row * columns + c, mask=mask, other=0).to(tl.float32)
    mean = tl.sum(x, 0) / columns
    apart = tl.where(mask, x - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(apart * apart, 0) / columns + 1e-5)
    w = tl.load(w_ptr + c, mask=mask).to(tl.float32)
    b = tl.load(b_ptr + c, mask=mask).to(tl.float32)
    tl.store(out_ptr + row * columns + c, apart * scale * w + b, mask=mask)


@triton.jit
def add_rms_norm(x_ptr, residual_ptr, w_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + c, mask=c < columns, other=0).to(tl.float32)
        x += tl.load(residual_ptr + row * columns + c, mask=c < columns, other=0).to(tl.float32)
        squares += x * x
    scale = tl.rsqrt(tl.sum(squares, 0) / columns + 1e-6)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + c, mask=c < columns, other=0).to(tl.float32)
        x += tl.load(residual_ptr + row * columns + c, mask=c < columns, other=0).to(tl.float32)
        w = tl.load(w_ptr + c, mask=c < columns).to(tl.float32)
        tl.store(out_ptr + row * columns + c, x * scale * w, mask=c < columns)


@triton.jit
def rms_norm_backward(x_ptr, w_ptr, dy_ptr, dx_ptr, dw_ptr, rows, columns, PER: tl.constexpr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mask = c < columns
    w = tl.load(w_ptr + c, mask=mask, other=0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    for row in range(program * PER, min(program * PER + PER, rows)):
        x = tl.load(x_ptr + row * columns + c, mask=mask, other=0).to(tl.float32)
        dy = tl.load(dy_ptr + row * columns + c, mask=mask, other=0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(x * x, 0) / columns + 1e-6)
        normal = x * scale
        dw += dy * normal
        m = dy * w
        dx = scale * (m - normal * (tl.sum(m * normal, 0) / columns))
        tl.store(dx_ptr + row * columns + c, dx, mask=mask)
    tl.store(dw_ptr + program * columns + c, dw, mask=mask)


@triton.jit
def quantize_rows(x_ptr, out_ptr, scale_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + c, mask=c < columns, other=0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), 0), 1e-10) / 127
    tl.store(scale_ptr + row, scale)
    y = x / scale
    tl.store(out_ptr + row * columns + c, tl.where(y >= 0, y + 0.5, y - 0.5).to(tl.int8), mask=c < columns)


@triton.jit
def depthwise_conv(x_ptr, w_ptr, out_ptr, length, channels, TAPS: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    t = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)
    total = tl.zeros((ROWS, COLS), tl.float32)
    for tap in tl.static_range(TAPS):
        before = t - (TAPS - 1) + tap
        mask = ((before >= 0) & (before < length))[:, None] & (c < channels)[None, :]
        x = tl.load(x_ptr + before[:, None] * channels + c[None, :], mask=mask, other=0).to(tl.float32)
        w = tl.load(w_ptr + tap * channels + c, mask=c < channels, other=0).to(tl.float32)
        total += x * w[None, :]
    mask = (t < length)[:, None] & (c < channels)[None, :]
    tl.store(out_ptr + t[:, None] * channels + c[None, :], total * tl.sigmoid(total), mask=mask)


@triton.jit
def max_pool(x_ptr, out_ptr, height, width, BLOCK: tl.constexpr, WINDOW: tl.constexpr):
    plane, row = tl.program_id(0).to(tl.int64), tl.program_id(1)
    c = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    out_width = width // WINDOW
    most = tl.full((BLOCK,), float("-inf"), tl.float32)
    for i in tl.static_range(WINDOW):
        for j in tl.static_range(WINDOW):
            at = (plane * height + row * WINDOW + i) * width + c * WINDOW + j
            most = tl.maximum(most, tl.load(x_ptr + at, mask=c < out_width, other=float("-inf")).to(tl.float32))
    tl.store(out_ptr + (plane * (height // WINDOW) + row) * out_width + c, most, mask=c < out_width)


@triton.jit
def matrix_vector(a_ptr, x_ptr, out_ptr, rows, columns, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS, COLS), tl.float32)
    for start in range(0, columns, COLS):
        c = start + tl.arange(0, COLS)
        mask = (r < rows)[:, None] & (c < columns)[None, :]
        a = tl.load(a_ptr + r[:, None] * columns + c[None, :], mask=mask, other=0).to(tl.float32)
        total += a * tl.load(x_ptr + c, mask=c < columns, other=0).to(tl.float32)[None, :]
    tl.store(out_ptr + r, tl.sum(total, 1), mask=r < rows)


@triton.jit
def pairwise(x_ptr, y_ptr, out_ptr, m, n, K: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), tl.float32)
    for k in range(K):
        apart = tl.load(x_ptr + i * K + k, mask=i < m)[:, None] - tl.load(y_ptr + j * K + k, mask=j < n)[None, :]
        total += tl.abs(apart)
    tl.store(out_ptr + i[:, None] * n + j[None, :], total, mask=(i < m)[:, None] & (j < n)[None, :])


@triton.jit
def sort_rows(x_ptr, out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    at = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None] * COLS + tl.arange(0, COLS)[None, :]
    tl.store(out_ptr + at, tl.sort(tl.load(x_ptr + at), 1))


@triton.jit
def complex_multiply(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * 2 * BLOCK + tl.arange(0, 2 * BLOCK)
    a, b = tl.split(tl.reshape(tl.load(x_ptr + at, mask=at < 2 * n, other=0), (BLOCK, 2)))
    c, d = tl.split(tl.reshape(tl.load(y_ptr + at, mask=at < 2 * n, other=0), (BLOCK, 2)))
    product = tl.reshape(tl.join(a * c - b * d, a * d + b * c), (2 * BLOCK,))
    tl.store(out_ptr + at, product, mask=at < 2 * n)


@triton.jit
def dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, tl.where(tl.rand(seed, at) > p, x / (1 - p), 0.0), mask=at < n)


@triton.jit
def batched_matmul(
    a_ptr, b_ptr, c_ptr, m, n, k, stride_bk, stride_bn, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.program_id(1) * N + tl.arange(0, N)
    batch = tl.program_id(2).to(tl.int64)
    inner = tl.arange(0, K)
    a = a_ptr + batch * m * k + i[:, None] * k + inner[None, :]
    b = b_ptr + batch * k * n + inner[:, None] * stride_bk + j[None, :] * stride_bn
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        left = k - start
        x = tl.load(a, mask=(i < m)[:, None] & (inner < left)[None, :], other=0.0)
        y = tl.load(b, mask=(inner < left)[:, None] & (j < n)[None, :], other=0.0)
        total = tl.dot(x, y, total)
        a += K
        b += K * stride_bk
    c = c_ptr + batch * m * n + i[:, None] * n + j[None, :]
    tl.store(c, total.to(c_ptr.dtype.element_ty), mask=(i < m)[:, None] & (j < n)[None, :])


@triton.jit
def int4_matmul(
    a_ptr, b_ptr, scale_ptr, c_ptr, m, n, k, GROUP: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    """B packed along K: byte (k // 2, n) holds k even in its low four bits; a scale for each GROUP of K and column."""
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        at = start + tl.arange(0, K)
        a = tl.load(a_ptr + i[:, None] * k + at[None, :], mask=(i < m)[:, None], other=0.0)
        packed = tl.load(b_ptr + (at // 2)[:, None] * n + j[None, :])
        values = ((packed >> ((at % 2) * 4)[:, None]) & 0xF) - 8
        scale = tl.load(scale_ptr + (start // GROUP) * n + j)
        b = values.to(tl.float32) * scale.to(tl.float32)[None, :]
        total = tl.dot(a, b.to(a.dtype), total)
    tl.store(c_ptr + i[:, None] * n + j[None, :], total.to(c_ptr.dtype.element_ty), mask=(i < m)[:, None])


@triton.jit
def decode_attention(
    q_ptr, k_ptr, v_ptr, out_ptr, length, scale, D: tl.constexpr, HEADS: tl.constexpr, BLOCK: tl.constexpr
):
    """One query for each of HEADS heads that share keys and values."""
    batch = tl.program_id(0).to(tl.int64)
    h = tl.arange(0, HEADS)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + batch * HEADS * D + h[:, None] * D + d[None, :])
    largest = tl.full((HEADS,), float("-inf"), tl.float32)
    total = tl.zeros((HEADS,), tl.float32)
    result = tl.zeros((HEADS, D), tl.float32)
    for start in range(0, length, BLOCK):
        n = start + tl.arange(0, BLOCK)
        at = batch * length * D + n[:, None] * D + d[None, :]
        k = tl.load(k_ptr + at, mask=(n < length)[:, None], other=0.0)
        scores = tl.dot(q, tl.trans(k)) * scale
        scores = tl.where((n < length)[None, :], scores, float("-inf"))
        now = tl.maximum(largest, tl.max(scores, 1))
        p = tl.exp2(scores - now[:, None])
        shrunk = tl.exp2(largest - now)
        total = total * shrunk + tl.sum(p, 1)
        v = tl.load(v_ptr + at, mask=(n < length)[:, None], other=0.0)
        result = result * shrunk[:, None] + tl.dot(p.to(v.dtype), v)
        largest = now
    tl.store(out_ptr + batch * HEADS * D + h[:, None] * D + d[None, :], result / total[:, None])


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, out_ptr, length, scale, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr, CAUSAL: tl.constexpr
):
    head = tl.program_id(1).to(tl.int64) * length * D
    i = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + head + i[:, None] * D + d[None, :], mask=(i < length)[:, None], other=0.0)
    largest = tl.full((M,), float("-inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    result = tl.zeros((M, D), tl.float32)
    end = tl.minimum((tl.program_id(0) + 1) * M, length) if CAUSAL else length
    for start in range(0, end, N):
        n = start + tl.arange(0, N)
        inside = (n < length)[:, None]
        k = tl.load(k_ptr + head + n[:, None] * D + d[None, :], mask=inside, other=0.0)
        scores = tl.dot(q, tl.trans(k)) * scale
        seen = (n < length)[None, :]
        if CAUSAL:
            seen = seen & (n[None, :] <= i[:, None])
        scores = tl.where(seen, scores, float("-inf"))
        now = tl.maximum(largest, tl.max(scores, 1))
        p = tl.exp2(scores - now[:, None])
        shrunk = tl.exp2(largest - now)
        total = total * shrunk + tl.sum(p, 1)
        v = tl.load(v_ptr + head + n[:, None] * D + d[None, :], mask=inside, other=0.0)
        result = tl.dot(p.to(v.dtype), v, result * shrunk[:, None])
        largest = now
    tl.store(out_ptr + head + i[:, None] * D + d[None, :], result / total[:, None], mask=(i < length)[:, None])


@triton.jit
def gated_mlp(x_ptr, gate_ptr, up_ptr, out_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.program_id(1) * N + tl.arange(0, N)
    gate = tl.zeros((M, N), tl.float32)
    up = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        at = start + tl.arange(0, K)
        x = tl.load(x_ptr + i[:, None] * k + at[None, :], mask=(i < m)[:, None], other=0.0)
        gate = tl.dot(x, tl.load(gate_ptr + at[:, None] * n + j[None, :]), gate)
        up = tl.dot(x, tl.load(up_ptr + at[:, None] * n + j[None, :]), up)
    y = gate * tl.sigmoid(gate) * up
    tl.store(out_ptr + i[:, None] * n + j[None, :], y.to(out_ptr.dtype.element_ty), mask=(i < m)[:, None])

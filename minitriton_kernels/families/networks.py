"""Kernels of neural networks."""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, i32, integers, normal, uniform

CASES, case = collector(__file__)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@case(
    inputs=lambda rng: [normal(rng, 20, 300), integers(rng, 0, 300, 20), f32(20), f32(20, 300), 300],
    expected=lambda x, label, *_: {
        2: -np.log(softmax(x)[np.arange(20), label]), 3: softmax(x) - np.eye(300)[label],
    },
    tolerance=1e-4,
    exact_order=False,  # the logarithm is a polynomial of our own
    grid=(20,),
    BLOCK=512,
)  # fmt: skip
@triton.jit
def cross_entropy(x_ptr, label_ptr, loss_ptr, gradient_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + c, mask=c < columns, other=-float("inf"))
    label = tl.load(label_ptr + row)
    top = tl.max(x, 0)
    e = tl.exp(x - top)
    total = tl.sum(e, 0)
    tl.store(loss_ptr + row, tl.log(total) + top - tl.load(x_ptr + row * columns + label))
    gradient = e / total - tl.where(c == label, 1.0, 0.0)
    tl.store(gradient_ptr + row * columns + c, gradient, mask=c < columns)


@case(
    inputs=lambda rng: [normal(rng, 10, 4, 64), uniform(rng, -1, 1, 10, 32), uniform(rng, -1, 1, 10, 32), f32(10, 4, 64)],
    expected=lambda x, cos, sin, _: {
        3: np.concatenate(
            [
                x[..., :32] * cos[:, None] - x[..., 32:] * sin[:, None],
                x[..., 32:] * cos[:, None] + x[..., :32] * sin[:, None],
            ],
            -1,
        ),
    },
    grid=(10, 4),
    num_warps=1,
    HALF=32,
)  # fmt: skip
@triton.jit
def rotary_embedding(x_ptr, cos_ptr, sin_ptr, out_ptr, HALF: tl.constexpr):
    position = tl.program_id(0)
    start = (position * tl.num_programs(1) + tl.program_id(1)) * 2 * HALF
    at = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + position * HALF + at)
    sin = tl.load(sin_ptr + position * HALF + at)
    first = tl.load(x_ptr + start + at)
    second = tl.load(x_ptr + start + HALF + at)
    tl.store(out_ptr + start + at, first * cos - second * sin)
    tl.store(out_ptr + start + HALF + at, second * cos + first * sin)


def layer_norm_gradient(x: np.ndarray, w: np.ndarray, dy: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    rstd = 1 / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    normed = (x - x.mean(1, keepdims=True)) * rstd
    g = dy * w
    return (g - normed * (g * normed).mean(1, keepdims=True) - g.mean(1, keepdims=True)) * rstd


@case(
    inputs=lambda rng: [normal(rng, 15, 400), normal(rng, 400), normal(rng, 15, 400), f32(15, 400), 400],
    expected=lambda x, w, dy, *_: {3: layer_norm_gradient(x, w, dy)},
    tolerance=1e-4,
    grid=(15,),
    BLOCK=512,
)
@triton.jit
def layer_norm_backward(x_ptr, w_ptr, dy_ptr, dx_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    c = tl.arange(0, BLOCK)
    mask = c < columns
    x = tl.load(x_ptr + row + c, mask=mask, other=0.0)
    g = tl.load(w_ptr + c, mask=mask, other=0.0) * tl.load(dy_ptr + row + c, mask=mask, other=0.0)
    mean = tl.sum(x, 0) / columns
    centred = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, 0) / columns + 1e-5)
    normed = centred * rstd
    shift = tl.sum(normed * g, 0) / columns
    tl.store(dx_ptr + row + c, (g - normed * shift - tl.sum(g, 0) / columns) * rstd, mask=mask)


@case(
    inputs=lambda rng: [normal(rng, 30, 200), normal(rng, 30, 200), f32(200), f32(200), 30, 200],
    expected=lambda x, dy, *_: {2: (x * dy).astype(np.float64).sum(0), 3: dy.astype(np.float64).sum(0)},
    tolerance=1e-4,
    exact_order=False,
    grid=(4,),
    ROWS=8,
    COLUMNS=64,
)
@triton.jit
def parameter_gradients(x_ptr, dy_ptr, dw_ptr, db_ptr, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    c = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    dw = tl.zeros([ROWS, COLUMNS], tl.float32)
    db = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, rows, ROWS):
        r = (start + tl.arange(0, ROWS))[:, None]
        inside = (r < rows) & (c[None, :] < columns)
        dy = tl.load(dy_ptr + r * columns + c[None, :], mask=inside, other=0.0)
        dw += dy * tl.load(x_ptr + r * columns + c[None, :], mask=inside, other=0.0)
        db += dy
    tl.store(dw_ptr + c, tl.sum(dw, 0), mask=c < columns)
    tl.store(db_ptr + c, tl.sum(db, 0), mask=c < columns)


@case(
    inputs=lambda rng: [normal(rng, 12, 256), f32(12, 128)],
    expected=lambda x, _: {1: x[:, :128] / (1 + np.exp(-x[:, :128].astype(np.float64))) * x[:, 128:]},
    grid=(12,),
    HALF=128,
)
@triton.jit
def swiglu(x_ptr, out_ptr, HALF: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, HALF)
    gate = tl.load(x_ptr + row * 2 * HALF + at)
    tl.store(out_ptr + row * HALF + at, gate * tl.sigmoid(gate) * tl.load(x_ptr + row * 2 * HALF + HALF + at))


@case(
    inputs=lambda rng: [normal(rng, 700), normal(rng, 700), normal(rng, 700), uniform(rng, 0, 1, 700), 700, 0.01],
    expected=lambda p, g, m, v, n, rate: {
        0: p - rate * (0.9 * m + 0.1 * g) / (np.sqrt(0.99 * v + 0.01 * g * g) + 1e-8), 2: 0.9 * m + 0.1 * g,
        3: 0.99 * v + 0.01 * g * g,
    },
    grid=(3,),
    BLOCK=256,
)  # fmt: skip
@triton.jit
def adam_step(p_ptr, g_ptr, m_ptr, v_ptr, n, rate, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    g = tl.load(g_ptr + at, mask=mask)
    m = 0.9 * tl.load(m_ptr + at, mask=mask) + 0.1 * g
    v = 0.99 * tl.load(v_ptr + at, mask=mask) + 0.01 * g * g
    tl.store(m_ptr + at, m, mask=mask)
    tl.store(v_ptr + at, v, mask=mask)
    tl.store(p_ptr + at, tl.load(p_ptr + at, mask=mask) - rate * m / (tl.sqrt(v) + 1e-8), mask=mask)


@case(
    inputs=lambda rng: [normal(rng, 16, 128), np.zeros((16, 128), np.int8), f32(16)],
    expected=lambda x, *_: {
        1: np.floor(x / (np.abs(x).max(1, keepdims=True) / np.float32(127)) + np.float32(0.5)),
        2: np.abs(x).max(1) / 127,
    },
    grid=(16,),
    N=128,
)  # fmt: skip
@triton.jit
def quantize_rows(x_ptr, q_ptr, scale_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, N)
    x = tl.load(x_ptr + row * N + at)
    scale = tl.div_rn(tl.max(tl.abs(x), 0), 127.0)
    tl.store(q_ptr + row * N + at, tl.floor(tl.div_rn(x, tl.broadcast_to(scale, [N])) + 0.5).to(tl.int8))
    tl.store(scale_ptr + row, scale)


@case(
    inputs=lambda rng: [integers(rng, 0, 256, 256, dtype=np.uint8), uniform(rng, 0.1, 2, 8), f32(512)],
    expected=lambda q, scale, _: {
        2: (np.stack([q & 15, q >> 4], 1).ravel().astype(np.float32) - 8) * np.repeat(scale, 64),
    },
    N=256,
)  # fmt: skip
@triton.jit
def unpack_nibbles(q_ptr, scale_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    q = tl.load(q_ptr + at)
    both = tl.interleave(q & 15, q >> 4).to(tl.float32) - 8
    wide = tl.arange(0, 2 * N)
    tl.store(out_ptr + wide, both * tl.load(scale_ptr + wide // 64))


@case(
    inputs=lambda rng: [normal(rng, 6, 1000), f32(6), 1000],
    expected=lambda x, *_: {1: np.log(np.exp(x.astype(np.float64)).sum(1))},
    exact_order=False,  # the logarithm is a polynomial of our own
    grid=(6,),
    BLOCK=128,
)
@triton.jit
def online_log_sum_exp(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = -float("inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + c, mask=c < columns, other=-float("inf"))
        higher = tl.maximum(top, tl.max(x, 0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(x - higher), 0)
        top = higher
    tl.store(out_ptr + row, top + tl.log(total))


@case(
    inputs=lambda rng: [normal(rng, 2, 8, 64), f32(2, 8, 64)],
    expected=lambda x, _: {
        1: (x - x.reshape(2, 4, 128).mean(2).repeat(2, 1)[..., None])
        / np.sqrt(x.reshape(2, 4, 128).var(2).repeat(2, 1)[..., None] + 1e-5),
    },
    tolerance=1e-4,
    grid=(2, 4),
    N=128,
)  # fmt: skip
@triton.jit
def group_norm(x_ptr, out_ptr, N: tl.constexpr):
    at = (tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)) * N + tl.arange(0, N)
    x = tl.load(x_ptr + at)
    centred = x - tl.sum(x, 0) / N
    tl.store(out_ptr + at, centred * tl.rsqrt(tl.sum(centred * centred, 0) / N + 1e-5))


@case(
    inputs=lambda rng: [softmax(normal(rng, 9, 100)).astype(np.float32), normal(rng, 9, 100), f32(9, 100), 100],
    expected=lambda y, dy, *_: {2: y * (dy - (y * dy).sum(1, keepdims=True))},
    grid=(9,),
    BLOCK=128,
)
@triton.jit
def softmax_backward(y_ptr, dy_ptr, dx_ptr, columns, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    at = tl.program_id(0) * columns + c
    y = tl.load(y_ptr + at, mask=c < columns, other=0.0)
    dy = tl.load(dy_ptr + at, mask=c < columns, other=0.0)
    tl.store(dx_ptr + at, y * (dy - tl.sum(y * dy, 0)), mask=c < columns)


@case(
    inputs=lambda rng: [normal(rng, 3, 16, 16), f32(3, 8, 8), 16],
    expected=lambda x, *_: {1: x.reshape(3, 8, 2, 8, 2).max((2, 4))},
    grid=(3,),
    H=8,
)
@triton.jit
def max_pool(x_ptr, out_ptr, width, H: tl.constexpr):
    start = tl.program_id(0) * width * width
    r = tl.arange(0, H)[:, None]
    c = tl.arange(0, H)[None, :]
    best = tl.full([H, H], -float("inf"), tl.float32)
    for i in tl.static_range(2):
        for j in tl.static_range(2):
            best = tl.maximum(best, tl.load(x_ptr + start + (2 * r + i) * width + 2 * c + j))
    tl.store(out_ptr + tl.program_id(0) * H * H + r * H + c, best)


@case(
    inputs=lambda rng: [normal(rng, 32, 16), normal(rng, 32, 16), normal(rng, 32, 16), f32(32, 16)],
    expected=lambda q, k, v, _: {
        3: softmax(np.where(np.tri(32, dtype=bool), q.astype(np.float64) @ k.T * 0.25, -1e30)) @ v,
    },
    tolerance=1e-4,
    N=32,
    D=16,
)  # fmt: skip
@triton.jit
def exact_attention(q_ptr, k_ptr, v_ptr, out_ptr, N: tl.constexpr, D: tl.constexpr):
    n = tl.arange(0, N)
    at = n[:, None] * D + tl.arange(0, D)[None, :]
    scores = tl.dot(tl.load(q_ptr + at), tl.trans(tl.load(k_ptr + at)), input_precision="ieee") * 0.25
    scores = tl.where(n[:, None] >= n[None, :], scores, -float("inf"))
    weights = tl.exp(scores - tl.max(scores, 1)[:, None])
    weights = weights / tl.sum(weights, 1)[:, None]
    tl.store(out_ptr + at, tl.dot(weights, tl.load(v_ptr + at), input_precision="ieee"))


@case(
    inputs=lambda rng: [normal(rng, 100), f32(1), f32(1), i32(1), 100],
    expected=lambda x, *_: {
        1: x.astype(np.float64).mean()[None], 2: x.astype(np.float64).std()[None], 3: (x > 0).sum()[None],
    },
    BLOCK=128,
)  # fmt: skip
@triton.jit
def statistics(x_ptr, mean_ptr, deviation_ptr, positive_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    mean = tl.sum(x, 0) / n
    centred = tl.where(at < n, x - mean, 0.0)
    tl.store(mean_ptr, mean)
    tl.store(deviation_ptr, tl.sqrt(tl.sum(centred * centred, 0) / n))
    tl.store(positive_ptr, tl.sum((x > 0).to(tl.int32), 0))

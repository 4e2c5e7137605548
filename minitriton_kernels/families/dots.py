"""Matrix products that need no tensor core, and random numbers."""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, i32, integers, normal

CASES, case = collector(__file__)


@case(
    inputs=lambda rng: [normal(rng, 32, 16), normal(rng, 16, 32), f32(32, 32)],
    expected=lambda a, b, _: {2: a.astype(np.float64) @ b},
    tolerance=1e-4,
    M=32,
    N=32,
    K=16,
)
@triton.jit
def exact_dot(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    a = tl.load(a_ptr + m * K + tl.arange(0, K)[None, :])
    b = tl.load(b_ptr + tl.arange(0, K)[:, None] * N + n)
    tl.store(c_ptr + m * N + n, tl.dot(a, b, input_precision="ieee"))


@case(
    inputs=lambda rng: [normal(rng, 40, 70), normal(rng, 70, 24), f32(40, 24), 40, 24, 70],
    expected=lambda a, b, *_: {2: np.maximum(a.astype(np.float64) @ b, 0)},
    tolerance=1e-4,
    grid=(3, 2),
    M=16,
    N=16,
    K=32,
)
@triton.jit
def tiled_dot(a_ptr, b_ptr, c_ptr, rows, columns, inner, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = (tl.program_id(0) * M + tl.arange(0, M))[:, None]
    n = (tl.program_id(1) * N + tl.arange(0, N))[None, :]
    total = tl.zeros([M, N], tl.float32)
    for k in range(0, inner, K):
        across = k + tl.arange(0, K)
        a = tl.load(a_ptr + m * inner + across[None, :], mask=(m < rows) & (across[None, :] < inner), other=0.0)
        b = tl.load(b_ptr + across[:, None] * columns + n, mask=(across[:, None] < inner) & (n < columns), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.store(c_ptr + m * columns + n, tl.maximum(total, 0.0), mask=(m < rows) & (n < columns))


@case(
    inputs=lambda rng: [normal(rng, 128, 64), normal(rng, 64), f32(128)],
    expected=lambda a, x, _: {2: a.astype(np.float64) @ x},
    tolerance=1e-4,
    grid=(4,),
    M=32,
    K=64,
)
@triton.jit
def matrix_vector(a_ptr, x_ptr, out_ptr, M: tl.constexpr, K: tl.constexpr):
    m = tl.program_id(0) * M + tl.arange(0, M)
    k = tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    tl.store(out_ptr + m, tl.sum(a * tl.load(x_ptr + k)[None, :], 1))


@case(
    inputs=lambda rng: [normal(rng, 2, 16, 16), normal(rng, 2, 16, 16), f32(2, 16, 16)],
    expected=lambda a, b, _: {2: a.astype(np.float64) @ b},
    tolerance=1e-4,
    B=2,
    N=16,
)
@triton.jit
def batched_dot(a_ptr, b_ptr, c_ptr, B: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, B)[:, None, None] * (N * N)
    at = i + tl.arange(0, N)[None, :, None] * N + tl.arange(0, N)[None, None, :]
    tl.store(c_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at), input_precision="ieee"))


def philox(seed: int, offsets: np.ndarray) -> np.ndarray:
    """First word of Philox-4x32-10 (Salmon et al., SC 2011) for each counter."""
    c = [offsets.astype(np.uint64), *(np.zeros(len(offsets), np.uint64) for _ in range(3))]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    word = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [
            (b >> np.uint64(32)) ^ c[1] ^ np.uint64(key[0]), b & word,
            (a >> np.uint64(32)) ^ c[3] ^ np.uint64(key[1]), a & word,
        ]  # fmt: skip
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[0].astype(np.uint32)


@case(
    inputs=lambda rng: [np.zeros(700, np.uint32), 700, 1234],
    expected=lambda out, n, seed: {0: philox(seed, np.arange(n))},
    grid=(3,),
    BLOCK=256,
)
@triton.jit
def random_words(out_ptr, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.randint(seed, at).to(tl.uint32, bitcast=True), mask=at < n)


def philox_uniform(seed: int, offsets: np.ndarray) -> np.ndarray:
    words = philox(seed, offsets).view(np.int32).astype(np.int64)
    return (np.where(words < 0, -words - 1, words).astype(np.float32) * np.float32(4.6566127342e-10)).astype(np.float32)


@case(
    inputs=lambda rng: [normal(rng, 700), f32(700), 700, 99, 0.3],
    expected=lambda x, out, n, seed, p: {1: np.where(philox_uniform(seed, np.arange(n)) > p, x / (1 - p), 0)},
    grid=(3,),
    BLOCK=256,
)
@triton.jit
def seeded_dropout(x_ptr, out_ptr, n, seed, p, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, tl.where(tl.rand(seed, at) > p, x / (1 - p), 0.0), mask=at < n)


@case(inputs=lambda rng: [integers(rng, 0, 100, 512), i32(512)], expected=lambda x, _: {1: x * 3 + 1}, N=512)
@triton.jit
def inline_ptx(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    y = tl.inline_asm_elementwise("mad.lo.s32 $0, $1, 3, 1;", "=r,r", [x], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out_ptr + at, y)

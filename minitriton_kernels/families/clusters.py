"""Programs of several CTAs, where Triton has them too: each CTA has what it needs, nothing crosses."""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, i32, integers, normal
from minitriton_kernels.families.shapes import gather_in_rows

CASES, case = collector(__file__)


@case(
    inputs=lambda rng: [normal(rng, 3000), normal(rng, 3000), f32(3000), 3000],
    expected=lambda x, y, *_: {2: x + y},
    grid=(3,),
    num_ctas=4,
    BLOCK=1024,
)
@triton.jit
def added_by_clusters(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@case(inputs=lambda rng: [normal(rng, 64, 32), f32(64)], expected=lambda x, _: {1: x.sum(1)}, num_ctas=2, R=64, C=32)
@triton.jit
def row_sums_of_clusters(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    rows, cols = tl.arange(0, R), tl.arange(0, C)
    tl.store(out_ptr + rows, tl.sum(tl.load(x_ptr + rows[:, None] * C + cols[None, :]), 1))


def _softmax(x, *_):
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return {1: e / e.sum(1, keepdims=True)}


@case(inputs=lambda rng: [normal(rng, 64, 32), f32(64, 32)], expected=_softmax, num_ctas=4, R=64, C=32)
@triton.jit
def softmax_of_clusters(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    x = tl.load(x_ptr + at)
    e = tl.exp(x - tl.max(x, 1)[:, None])
    tl.store(out_ptr + at, e / tl.sum(e, 1)[:, None])


@case(
    inputs=lambda rng: [normal(rng, 64, 32), i32(64)],
    expected=lambda x, _: {1: x.argmax(1)},
    num_ctas=2,
    num_warps=8,
    R=64,
    C=32,
)
@triton.jit
def largest_of_clusters(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    rows, cols = tl.arange(0, R), tl.arange(0, C)
    tl.store(out_ptr + rows, tl.argmax(tl.load(x_ptr + rows[:, None] * C + cols[None, :]), 1))


@case(
    inputs=lambda rng: [integers(rng, -999, 999, 32, 64), i32(32, 64)],
    expected=lambda x, _: {1: np.sort(x, 1)},
    num_ctas=2,
    R=32,
    C=64,
)
@triton.jit
def sorted_by_clusters(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(out_ptr + at, tl.sort(tl.load(x_ptr + at)))


case(
    name="gathered_by_clusters",
    inputs=lambda rng: [normal(rng, 64, 32), integers(rng, 0, 32, 64, 32), f32(64, 32)],
    expected=lambda x, at, _: {2: np.take_along_axis(x, at, 1)},
    num_ctas=4,
    R=64,
    C=32,
)(gather_in_rows)


@case(
    inputs=lambda rng: [normal(rng, 64, 96), normal(rng, 96, 128), f32(64, 128), 96],
    expected=lambda a, b, *_: {2: a.astype(np.float64) @ b},
    tolerance=1e-4,
    num_ctas=2,
    M=64,
    N=128,
    K=32,
)
@triton.jit
def tiled_dot_of_clusters(a_ptr, b_ptr, out_ptr, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros([M, N], tl.float32)
    for start in range(0, depth, K):
        a = tl.load(a_ptr + m[:, None] * depth + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * N + n[None, :])
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.store(out_ptr + m[:, None] * N + n[None, :], total)

"""Atomic operations on global memory."""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, i32, integers

CASES, case = collector(__file__)


def scattered(x: np.ndarray, index: np.ndarray, size: int) -> np.ndarray:
    out = np.zeros(size, x.dtype)
    np.add.at(out, index, x)
    return out


@case(
    inputs=lambda rng: [integers(rng, 0, 50, 900), integers(rng, 0, 30, 900), i32(30), 900],
    expected=lambda x, index, *_: {2: scattered(x, index, 30)},
    grid=(4,),
    BLOCK=256,
)
@triton.jit
def scatter_add(x_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    index = tl.load(index_ptr + at, mask=at < n, other=0)
    tl.atomic_add(out_ptr + index, x, mask=at < n)


@case(
    inputs=lambda rng: [integers(rng, 0, 50, 512).astype(np.float32), integers(rng, 0, 16, 512), f32(16)],
    expected=lambda x, index, _: {2: scattered(x, index, 16)},
    tolerance=0,
    grid=(2,),
    BLOCK=256,
)
@triton.jit
def scatter_add_floats(x_ptr, index_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr + tl.load(index_ptr + at), tl.load(x_ptr + at), sem="relaxed")


@case(
    inputs=lambda rng: [integers(rng, -1000, 1000, 1024), i32(1) - 5000, i32(1) + 5000],
    expected=lambda x, *_: {1: x.max()[None], 2: x.min()[None]},
    grid=(4,),
    BLOCK=256,
)
@triton.jit
def atomic_extremes(x_ptr, max_ptr, min_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_max(max_ptr, tl.max(x, 0))
    tl.atomic_min(min_ptr, tl.min(x, 0))


@case(
    inputs=lambda rng: [integers(rng, 0, 2**31, 256), i32(8) - 1, i32(8), i32(8)],
    expected=lambda x, *_: {
        1: np.bitwise_and.reduce(x.reshape(32, 8)), 2: np.bitwise_or.reduce(x.reshape(32, 8)),
        3: np.bitwise_xor.reduce(x.reshape(32, 8)),
    },
    BLOCK=256,
)  # fmt: skip
@triton.jit
def atomic_bits(x_ptr, and_ptr, or_ptr, xor_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.atomic_and(and_ptr + at % 8, x)
    tl.atomic_or(or_ptr + at % 8, x)
    tl.atomic_xor(xor_ptr + at % 8, x)


@case(
    inputs=lambda rng: [integers(rng, 0, 4, 256), integers(rng, 0, 9, 256), i32(256)],
    expected=lambda x, y, _: {0: np.where(x == 2, y, x), 2: x.copy()},
    BLOCK=256,
)
@triton.jit
def compare_and_swap(x_ptr, y_ptr, old_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    two = tl.full([BLOCK], 2, tl.int32)
    tl.store(old_ptr + at, tl.atomic_cas(x_ptr + at, two, tl.load(y_ptr + at)))


@case(
    inputs=lambda rng: [integers(rng, 0, 9, 8, 64), i32(64), i32(1)],
    expected=lambda x, *_: {1: x.sum(0)},
    grid=(8,),
    N=64,
)
@triton.jit
def spin_lock(x_ptr, out_ptr, lock_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + tl.program_id(0) * N + at)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(out_ptr + at, tl.load(out_ptr + at) + x)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@case(
    inputs=lambda rng: [i32(1), i32(128)],
    expected=lambda counter, out: {0: np.array([128]), 1: np.ones(128)},
    grid=(4,),
    BLOCK=32,
)
@triton.jit
def tickets(counter_ptr, out_ptr, BLOCK: tl.constexpr):
    ticket = tl.atomic_add(counter_ptr + tl.zeros([BLOCK], tl.int32), 1)
    tl.atomic_add(out_ptr + ticket, 1)


@case(
    inputs=lambda rng: [integers(rng, 0, 8, 512).astype(np.float16), np.zeros(32, np.float16)],
    expected=lambda x, _: {1: x.astype(np.float32).reshape(16, 32).sum(0)},
    tolerance=0,
    BLOCK=512,
)
@triton.jit
def add_halves(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr + at % 32, tl.load(x_ptr + at))

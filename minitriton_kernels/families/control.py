"""Loops, branches, calls, tuples."""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, i32, integers, normal

CASES, case = collector(__file__)


def collatz_steps(x: int) -> int:
    steps = 0
    while x != 1:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        steps += 1
    return steps


@case(
    inputs=lambda rng: [integers(rng, 1, 200, 40), i32(40)],
    expected=lambda x, _: {1: np.array([collatz_steps(int(v)) for v in x])},
    grid=(40,),
    num_warps=1,
)
@triton.jit
def scalar_while(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.program_id(0))
    steps = 0
    while x != 1:
        if x % 2 == 0:
            x = x // 2
        else:
            x = 3 * x + 1
        steps += 1
    tl.store(out_ptr + tl.program_id(0), steps)


@case(inputs=lambda rng: [integers(rng, 0, 50, 256), i32(256)], expected=lambda x, _: {1: np.minimum(x, 20)}, N=256)
@triton.jit
def tensor_while(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    left = tl.load(x_ptr + at)
    count = tl.zeros([N], tl.int32)
    rounds = 0
    while (rounds < 20) & (tl.max(left, 0) > 0):
        count += (left > 0).to(tl.int32)
        left -= (left > 0).to(tl.int32)
        rounds += 1
    tl.store(out_ptr + at, count)


@case(
    inputs=lambda rng: [normal(rng, 10, 64), f32(64), 10, 3],
    expected=lambda x, out, n, step: {1: x[1:n:step].sum(0)},
    N=64,
)
@triton.jit
def strided_for(x_ptr, out_ptr, n, step, N: tl.constexpr):
    at = tl.arange(0, N)
    total = tl.zeros([N], tl.float32)
    for i in range(1, n, step):
        total += tl.load(x_ptr + i * N + at)
    tl.store(out_ptr + at, total)


@case(
    inputs=lambda rng: [integers(rng, -9, 9, 6, 7, 32), i32(32), 6, 7],
    expected=lambda x, out, a, b: {
        1: sum((x[i, j] for i in range(a) for j in range(i, b)), np.zeros(32, np.int64)),
    },
    N=32,
)  # fmt: skip
@triton.jit
def nested_for(x_ptr, out_ptr, a, b, N: tl.constexpr):
    at = tl.arange(0, N)
    total = tl.zeros([N], tl.int32)
    for i in range(a):
        for j in range(i, b):
            total += tl.load(x_ptr + (i * b + j) * N + at)
    tl.store(out_ptr + at, total)


@case(
    inputs=lambda rng: [normal(rng, 4, 128), f32(4, 128)],
    expected=lambda x, _: {1: np.stack([x[0] + 1, x[1] * 2, x[2] + 1, x[3] * 2])},
    grid=(4,),
    N=128,
)
@triton.jit
def branch_on_program(x_ptr, out_ptr, N: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * N + tl.arange(0, N)
    x = tl.load(x_ptr + at)
    if pid % 2 == 0:
        x = x + 1
    else:
        x = x * 2
    tl.store(out_ptr + at, x)


@case(
    inputs=lambda rng: [normal(rng, 4, 128), f32(4, 128), 3],
    expected=lambda x, out, n: {1: np.where(np.arange(4)[:, None] < n, x, 0)},
    grid=(4,),
    N=128,
)
@triton.jit
def early_return(x_ptr, out_ptr, n, N: tl.constexpr):
    pid = tl.program_id(0)
    if pid >= n:
        return
    at = pid * N + tl.arange(0, N)
    tl.store(out_ptr + at, tl.load(x_ptr + at))


@triton.jit
def larger_and_smaller(a, b):
    return tl.maximum(a, b), tl.minimum(a, b)


@triton.jit
def apply_pair(pair, scale=2.0):
    return pair[0] * scale - pair[1]


@case(
    inputs=lambda rng: [normal(rng, 128), normal(rng, 128), f32(128)],
    expected=lambda x, y, _: {2: np.maximum(x, y) * 2 - np.minimum(x, y)},
    N=128,
)
@triton.jit
def tuples_and_defaults(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    pair = larger_and_smaller(tl.load(x_ptr + at), tl.load(y_ptr + at))
    tl.store(out_ptr + at, apply_pair(pair))


@case(
    inputs=lambda rng: [normal(rng, 4, 64), f32(64)],
    expected=lambda x, _: {1: x[0] * 1 + x[1] * 2 + x[2] * 3 + x[3] * 4},
    N=64,
)
@triton.jit
def unrolled(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    total = tl.zeros([N], tl.float32)
    for i in tl.static_range(4):
        total += tl.load(x_ptr + i * N + at) * (i + 1)
    tl.store(out_ptr + at, total)


@case(
    inputs=lambda rng: [integers(rng, 0, 9, 100), i32(1), 100, 7],
    expected=lambda x, out, n, wanted: {1: np.append(np.flatnonzero(x == wanted), n)[:1]},
    num_warps=1,
)
@triton.jit
def search(x_ptr, out_ptr, n, wanted):
    i = 0
    found = n
    while (i < n) & (found == n):
        if tl.load(x_ptr + i) == wanted:
            found = i
        i += 1
    tl.store(out_ptr, found)


@triton.jit(noinline=True)
def squared_distance(a, b):
    return (a - b) * (a - b)


@case(
    inputs=lambda rng: [normal(rng, 40), normal(rng, 40), f32(40)],
    expected=lambda x, y, _: {2: (x - y) ** 2 + (y - 1) ** 2},
    grid=(40,),
    num_warps=1,
)
@triton.jit
def real_calls(x_ptr, y_ptr, out_ptr):
    at = tl.program_id(0)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    tl.store(out_ptr + at, squared_distance(x, y) + squared_distance(y, 1.0))


@case(inputs=lambda rng: [normal(rng, 64), f32(64), 5], expected=lambda x, out, n: {1: x * 5 + 10}, N=64)
@triton.jit
def loop_with_branch(x_ptr, out_ptr, n, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    total = tl.zeros([N], tl.float32)
    for i in range(n):
        total += x
        if i % 2 == 1:
            total += 5.0
    tl.store(out_ptr + at, total)

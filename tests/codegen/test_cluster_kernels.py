"""Kernels whose programs are 1, 2 and 4 CTAs, beside NumPy, with nothing found by the emulator: no race, no early read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton_kernels.cases import load_kernels

Array = np.ndarray
RNG = np.random.default_rng(7)
CORPUS = load_kernels("families/clusters", "minitriton")


@triton.jit
def sums(x, o, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    t = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(o + tl.arange(0, N if AXIS == 0 else M), tl.sum(t, AXIS))


@triton.jit
def sums_of_both_axes(x, o, p, M: tl.constexpr, N: tl.constexpr):
    t = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(o + tl.arange(0, N), tl.sum(t, 0))
    tl.store(p + tl.arange(0, M), tl.sum(t, 1))


@triton.jit
def total(x, o, M: tl.constexpr, N: tl.constexpr):
    t = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(o, tl.sum(t))


@triton.jit
def places_of_largest(x, o, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    t = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(o + tl.arange(0, N if AXIS == 0 else M), tl.argmax(t, AXIS))


@triton.jit
def column_sums_in_a_loop(x, o, rows, M: tl.constexpr, N: tl.constexpr):
    total = tl.zeros([N], tl.float32)
    for start in range(0, rows, M):
        at = start + tl.arange(0, M)
        t = tl.load(x + at[:, None] * N + tl.arange(0, N)[None, :], mask=at[:, None] < rows, other=0.0)
        total += tl.sum(t, 0)
    tl.store(o + tl.arange(0, N), total)


@triton.jit
def softmax_of_a_row(x, o, N: tl.constexpr):
    row = tl.program_id(0)
    t = tl.load(x + row * N + tl.arange(0, N))
    e = tl.exp(t - tl.max(t, 0))
    tl.store(o + row * N + tl.arange(0, N), e / tl.sum(e, 0))


@triton.jit
def transposed(x, o, M: tl.constexpr, N: tl.constexpr):
    t = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(o + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :], t.T)


@triton.jit
def running_sums(x, o, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(o + at, tl.cumsum(tl.load(x + at), AXIS, reverse=REVERSE))


@triton.jit
def running_sums_of_a_row(x, o, N: tl.constexpr):
    tl.store(o + tl.arange(0, N), tl.cumsum(tl.load(x + tl.arange(0, N)), 0))


@triton.jit
def histogram(x, o, n, N: tl.constexpr, BINS: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(o + tl.arange(0, BINS), tl.histogram(tl.load(x + at), BINS, mask=at < n))


@triton.jit
def gathered(x, i, o, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(o + at, tl.gather(tl.load(x + at), tl.load(i + at), AXIS))


@triton.jit
def product(a, b, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x, y = tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :])
    tl.store(o + m[:, None] * N + n[None, :], tl.dot(x, y, input_precision="ieee"))


@triton.jit
def other_shapes(x, y, o, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    joined = tl.join(tl.load(x + at), tl.load(y + at))
    first, second = tl.split(tl.reshape(tl.permute(joined, (2, 0, 1)), (M, N, 2)))
    flat = tl.arange(0, M * N)
    tl.store(o + flat, tl.reshape(first - 2 * second, (M * N,)))


@triton.jit
def flipped_and_joined(x, o, N: tl.constexpr):
    t = tl.load(x + tl.arange(0, N))
    both = tl.cat(t, tl.flip(t, 0), can_reorder=True)
    tl.store(o + tl.arange(0, 16), tl.histogram(both, 16))


@triton.jit
def halved_until_small(x, o, N: tl.constexpr):
    t = tl.load(x + tl.arange(0, N))
    while tl.max(t, 0) > 1.0:
        t = t / 2
    tl.store(o + tl.arange(0, N), t)


@triton.jit
def columns_of_a_branch(x, o, flag, M: tl.constexpr, N: tl.constexpr):
    t = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    s = tl.sum(t, 0)
    if flag > 0:
        s = s + tl.max(t, 0)
    tl.store(o + tl.arange(0, N), s)


@triton.jit
def tickets(counter, o, N: tl.constexpr):
    ticket = tl.atomic_add(counter, 1)
    tl.store(o + ticket * N + tl.arange(0, N), ticket + tl.arange(0, N))


@triton.jit
def old_values(x, o, p, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(p + at, tl.atomic_max(x + at, at))
    swapped = tl.atomic_cas(x + N, 0, 7)
    tl.store(o + at, at + swapped)


@dataclass(frozen=True)
class Case:
    kernel: Any
    inputs: tuple[Array, ...]
    outputs: Callable[..., tuple[Array, ...]]
    constants: dict[str, Any]
    scalars: tuple[int, ...] = ()
    grid: int = 1
    tolerance: float = 0.0


def integers(*shape: int, high: int = 50, dtype: Any = np.float32) -> Array:
    return RNG.integers(0, high, shape).astype(dtype)


def softmax(x: Array) -> tuple[Array]:
    e = np.exp(x - x.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True),)


def of_axis(axis: int, what: Callable[..., Array]) -> Callable[..., tuple[Array, ...]]:
    return lambda x: (what(x, axis=axis),)


def shapes_of(x: Array, y: Array) -> tuple[Array]:
    flat = np.stack([x, y]).reshape(*x.shape, 2)
    return ((flat[..., 0] - 2 * flat[..., 1]).reshape(-1),)


def halved(x: Array) -> tuple[Array]:
    while x.max() > 1:
        x = x / 2
    return (x,)


TILE, WIDE = integers(64, 32), integers(16, 256)
DISTINCT = RNG.permutation(64 * 32).reshape(64, 32).astype(np.float32)
A, B = integers(64, 32, high=9), integers(32, 128, high=9)

CASES: dict[str, Case] = {
    "sums of columns": Case(sums, (TILE,), of_axis(0, np.sum), {"M": 64, "N": 32, "AXIS": 0}),
    "sums of rows": Case(sums, (TILE,), of_axis(1, np.sum), {"M": 64, "N": 32, "AXIS": 1}),
    "sums of few columns": Case(sums, (integers(256, 2),), of_axis(0, np.sum), {"M": 256, "N": 2, "AXIS": 0}),
    "sums of one row": Case(sums, (integers(1, 512),), of_axis(1, np.sum), {"M": 1, "N": 512, "AXIS": 1}),
    "sums of halves": Case(
        sums, (integers(64, 32, high=8, dtype=np.float16),), of_axis(0, np.sum), {"M": 64, "N": 32, "AXIS": 0}
    ),
    "sums of long integers": Case(
        sums, (integers(64, 32, dtype=np.int64),), of_axis(1, np.sum), {"M": 64, "N": 32, "AXIS": 1}
    ),
    "sums of both axes": Case(sums_of_both_axes, (TILE,), lambda x: (x.sum(0), x.sum(1)), {"M": 64, "N": 32}),
    "total": Case(total, (TILE,), lambda x: (x.sum()[None],), {"M": 64, "N": 32}),
    "argmax of columns": Case(
        places_of_largest, (DISTINCT,), lambda x: (x.argmax(0).astype(np.int32),), {"M": 64, "N": 32, "AXIS": 0}
    ),
    "argmax of rows": Case(
        places_of_largest, (DISTINCT,), lambda x: (x.argmax(1).astype(np.int32),), {"M": 64, "N": 32, "AXIS": 1}
    ),
    "sums in a loop": Case(
        column_sums_in_a_loop, (integers(100, 64),), of_axis(0, np.sum), {"M": 32, "N": 64}, scalars=(100,)
    ),
    "softmax of rows": Case(CORPUS.softmax_of_clusters, (TILE / 9,), softmax, {"R": 64, "C": 32}, tolerance=1e-6),
    "softmax of wide rows": Case(CORPUS.softmax_of_clusters, (WIDE / 9,), softmax, {"R": 16, "C": 256}, tolerance=1e-6),
    "softmax of a row": Case(softmax_of_a_row, (WIDE / 9,), softmax, {"N": 256}, grid=16, tolerance=1e-6),
    "transpose": Case(transposed, (TILE,), lambda x: (x.T.copy(),), {"M": 64, "N": 32}),
    "transpose of bytes": Case(
        transposed, (integers(64, 128, dtype=np.int8),), lambda x: (x.T.copy(),), {"M": 64, "N": 128}
    ),
    "transpose of truths": Case(
        transposed, (integers(64, 64, high=2, dtype=np.bool_),), lambda x: (x.T.copy(),), {"M": 64, "N": 64}
    ),
    "running sums of columns": Case(
        running_sums, (TILE,), of_axis(0, np.cumsum), {"M": 64, "N": 32, "AXIS": 0, "REVERSE": False}
    ),
    "running sums of rows": Case(
        running_sums, (TILE,), of_axis(1, np.cumsum), {"M": 64, "N": 32, "AXIS": 1, "REVERSE": False}
    ),
    "running sums backwards": Case(
        running_sums,
        (TILE,),
        lambda x: (np.cumsum(x[::-1], 0)[::-1].copy(),),
        {"M": 64, "N": 32, "AXIS": 0, "REVERSE": True},
    ),
    "running sums of a row": Case(running_sums_of_a_row, (integers(1024),), of_axis(0, np.cumsum), {"N": 1024}),
    "histogram": Case(
        histogram,
        (integers(1024, high=16, dtype=np.int32),),
        lambda x: (np.bincount(x[:1000], minlength=16).astype(np.int32),),
        {"N": 1024, "BINS": 16},
        scalars=(1000,),
    ),
    "histogram of many bins": Case(
        histogram,
        (integers(256, high=512, dtype=np.int32),),
        lambda x: (np.bincount(x, minlength=512).astype(np.int32),),
        {"N": 256, "BINS": 512},
        scalars=(256,),
    ),
    "gather from columns": Case(
        gathered,
        (TILE, integers(64, 32, high=64, dtype=np.int32)),
        lambda x, i: (np.take_along_axis(x, i, 0),),
        {"M": 64, "N": 32, "AXIS": 0},
    ),
    "gather from rows": Case(
        gathered,
        (TILE, integers(64, 32, high=32, dtype=np.int32)),
        lambda x, i: (np.take_along_axis(x, i, 1),),
        {"M": 64, "N": 32, "AXIS": 1},
    ),
    "sorted rows": Case(
        CORPUS.sorted_by_clusters, (DISTINCT.reshape(32, 64),), of_axis(1, np.sort), {"R": 32, "C": 64}
    ),
    "one sorted row": Case(
        CORPUS.sorted_by_clusters, (integers(1, 256, dtype=np.int32),), of_axis(1, np.sort), {"R": 1, "C": 256}
    ),
    "product": Case(product, (A, B), lambda a, b: (a @ b,), {"M": 64, "N": 128, "K": 32}),
    "product, tall": Case(product, (B.T.copy(), A.T.copy()), lambda a, b: (a @ b,), {"M": 128, "N": 64, "K": 32}),
    "product of small tiles": Case(
        product, (A[:16, :16].copy(), B[:16, :16].copy()), lambda a, b: (a @ b,), {"M": 16, "N": 16, "K": 16}
    ),
    "product in a loop": Case(
        CORPUS.tiled_dot_of_clusters,
        (integers(64, 96, high=9), integers(96, 64, high=9)),
        lambda a, b: (a @ b,),
        {"M": 64, "N": 64, "K": 32},
        scalars=(96,),
    ),
    "other shapes": Case(other_shapes, (TILE, integers(64, 32)), shapes_of, {"M": 64, "N": 32}),
    "flip and cat": Case(
        flipped_and_joined,
        (integers(256, high=16, dtype=np.int32),),
        lambda x: (2 * np.bincount(x, minlength=16).astype(np.int32),),
        {"N": 256},
    ),
    "while": Case(halved_until_small, (integers(512),), halved, {"N": 512}),
    "branch": Case(columns_of_a_branch, (TILE,), lambda x: (x.sum(0) + x.max(0),), {"M": 64, "N": 32}, scalars=(1,)),
}


@pytest.mark.parametrize("ctas", [1, 2, 4])
def test_every_cta_of_a_program_draws_the_same_ticket(ctas: int) -> None:
    counter, out = np.zeros(1, np.int32), np.zeros((4, 32), np.int32)
    tickets[(4,)](counter, out, N=32, num_ctas=ctas)
    np.testing.assert_array_equal(out, np.arange(4)[:, None] + np.arange(32))
    assert counter[0] == 4


@pytest.mark.parametrize("ctas", [1, 2, 4])
@pytest.mark.parametrize("n", [2, 64, 1024])
def test_old_values_reach_every_cta(n: int, ctas: int) -> None:
    x, out, old = integers(n + 1, dtype=np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32)
    x[n] = 0
    before = x.copy()
    old_values[(1,)](x, out, old, N=n, num_ctas=ctas)
    np.testing.assert_array_equal(old, before[:n])
    np.testing.assert_array_equal(x, [*np.maximum(before[:n], np.arange(n)), 7])
    np.testing.assert_array_equal(out, np.arange(n))


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ctas", [1, 2, 4])
@pytest.mark.parametrize("name", CASES)
def test_a_kernel_of_several_ctas_gives_what_numpy_gives(name: str, ctas: int) -> None:
    case = CASES[name]
    inputs = tuple(np.ascontiguousarray(x) for x in case.inputs)
    wanted = tuple(np.asarray(w, inputs[0].dtype if w.dtype.kind == inputs[0].dtype.kind else w.dtype)
                   for w in case.outputs(*inputs))  # fmt: skip
    got = tuple(np.zeros_like(w) for w in wanted)
    compiled = case.kernel[(case.grid,)](*inputs, *got, *case.scalars, **case.constants, num_ctas=ctas)
    if compiled.last_report is not None:
        assert compiled.last_report.ok, compiled.last_report.findings
    for one, expected in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, expected, rtol=case.tolerance, atol=case.tolerance)

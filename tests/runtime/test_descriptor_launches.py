"""Block pointers and descriptors, from the host and made in the kernel: right numbers on sm_80 and sm_90, and nothing to report."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.errors import MinitritonError
from minitriton.tools.tensor_descriptor import TensorDescriptor

M, N = 100, 128
X = np.arange(M * N, dtype=np.float32).reshape(M, N)
Pair = namedtuple("Pair", "src dst")


@pytest.fixture(params=["sm80", "sm90", "interpreter"], autouse=True)
def runs_on(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where launches run: on the emulator for one of the targets, or on the interpreter."""
    if request.param == "interpreter":
        monkeypatch.setenv("MINITRITON_INTERPRET", "1")
    else:
        monkeypatch.setenv("TRITON_OVERRIDE_ARCH", request.param)
    return request.param


def fresh(kernel: Any) -> Any:
    """The kernel without what it remembers of launches: where it runs is read at the first."""
    return triton.jit(kernel.fn)


@triton.jit
def transpose(src, dst, rows: tl.constexpr, cols: tl.constexpr):
    i, j = tl.program_id(0) * rows, tl.program_id(1) * cols
    dst.store([j, i], src.load([i, j]).trans() + src.shape[0])


@triton.jit
def transpose_pair(pair, rows: tl.constexpr, cols: tl.constexpr):
    i, j = tl.program_id(0) * rows, tl.program_id(1) * cols
    pair.dst.store([j, i], pair[0].load([i, j]).trans() + pair.src.shape[0])


@pytest.mark.parametrize("as_pair", [False, True])
def test_descriptors_from_the_host(as_pair: bool) -> None:
    y = np.zeros((N, M), np.float32)
    pair = Pair(TensorDescriptor.from_tensor(X.copy(), [32, 64]), TensorDescriptor.from_tensor(y, [64, 32]))
    if as_pair:
        fresh(transpose_pair)[(4, 2)](pair, 32, 64)
    else:
        fresh(transpose)[(4, 2)](*pair, 32, 64)
    np.testing.assert_array_equal(y, X.T + M)


@triton.jit(noinline=True)
def sum_of_two(pair, i, j):
    return pair[0].load([i, j]) + pair[1].load([i, j])


@triton.jit
def swapping(a, b, o, m, n, rows: tl.constexpr, cols: tl.constexpr):
    d = tl.make_tensor_descriptor(a, [m, n], [n, 1], [rows, cols])
    e = tl.make_tensor_descriptor(b, [m, n], [n, 1], [rows, cols])
    out = tl.make_tensor_descriptor(o, [m, n], [n, 1], [rows, cols])
    i = 0
    while i < m:
        for j in range(0, n, cols):
            out.store([i, j], sum_of_two((d, e), i, j) + e.load([i, j]))
        d, e = e, d
        i += rows


def test_descriptors_that_change_places_in_a_loop_and_go_to_a_function() -> None:
    ones, out = np.ones_like(X), np.zeros_like(X)
    fresh(swapping)[(1,)](X.copy(), ones, out, M, N, 32, 64)
    second = (np.arange(M) // 32 % 2 == 1)[:, None]
    np.testing.assert_array_equal(out, X + ones + np.where(second, X, ones))


@triton.jit
def chosen(a, host, o, m, n, rows: tl.constexpr, cols: tl.constexpr):
    own = tl.make_tensor_descriptor(a, [m, n], [n, 1], [rows, cols])
    out = tl.make_tensor_descriptor(o, [m, n], [n, 1], [rows, cols])
    for i in range(0, m, rows):
        desc = own
        if i % (2 * rows) == 0:
            desc = host
        out.store([i, 0], desc.load([i, 0]))


def test_a_descriptor_that_is_chosen_at_run_time() -> None:
    twos, out = np.full_like(X, 2), np.zeros_like(X)
    fresh(chosen)[(1,)](X.copy(), TensorDescriptor.from_tensor(twos, [16, 128]), out, M, N, 16, 128)
    even = (np.arange(M) // 16 % 2 == 0)[:, None]
    np.testing.assert_array_equal(out, np.where(even, twos, X))


@triton.jit(noinline=True)
def described(x, m, n, rows: tl.constexpr, cols: tl.constexpr):
    return tl.make_tensor_descriptor(x, [m, n], [n, 1], [rows, cols])


@triton.jit
def through_a_function(x, o, m, n, rows: tl.constexpr, cols: tl.constexpr):
    desc, out = described(x, m, n, rows, cols), described(o, m, n, rows, cols)
    i = tl.program_id(0) * rows
    out.store([i, 0], desc.load([i, 0]) + desc.shape[1])


def test_a_function_that_makes_descriptors() -> None:
    out = np.zeros_like(X)
    fresh(through_a_function)[(4,)](X.copy(), out, M, N, 32, 128)
    np.testing.assert_array_equal(out, X + N)


@triton.jit
def padded(x, o, m, n, padding: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [m, n], [n, 1], [16, 16], padding_option=padding)
    offsets = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(o + offsets, d.load([-4, 8]))


@pytest.mark.parametrize("padding", ["zero", "nan"])
def test_what_lies_outside_of_a_descriptor(padding: str) -> None:
    x, out = np.ones((8, 16), np.float16), np.full((16, 16), 5, np.float16)
    fresh(padded)[(1,)](x, out, 8, 16, padding)
    expected = np.full((16, 16), 0 if padding == "zero" else np.nan, np.float16)
    expected[4:12, :8] = 1
    np.testing.assert_array_equal(out, expected)


@triton.jit
def padded_by_the_host(d, o):
    offsets = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(o + offsets, d.load([-4, 8]))


class HalfPrecision(str):
    """A dtype as torch's: it prints its name and knows its bytes."""

    itemsize = 2


class HostTensor:
    """A CPU tensor of torch, as far as launches ask."""

    device = "cpu"
    dtype = HalfPrecision("torch.float16")

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.shape = array, array.shape

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def element_size(self) -> int:
        return self.array.itemsize

    def stride(self) -> tuple[int, ...]:
        return tuple(s // self.array.itemsize for s in self.array.strides)


@pytest.mark.parametrize("wrapped", [np.asarray, HostTensor], ids=["array", "tensor"])
@pytest.mark.parametrize("padding", ["zero", "nan"])
def test_what_lies_outside_of_a_descriptor_from_the_host(padding: str, wrapped: Any) -> None:
    x, out = np.ones((8, 16), np.float16), np.full((16, 16), 5, np.float16)
    fresh(padded_by_the_host)[(1,)](TensorDescriptor.from_tensor(wrapped(x), [16, 16], padding), out)
    expected = np.full((16, 16), 0 if padding == "zero" else np.nan, np.float16)
    expected[4:12, :8] = 1
    np.testing.assert_array_equal(out, expected)


@triton.jit
def reductions(x, total, largest, bits, m):
    rows = tl.program_id(0) * 8 + tl.arange(0, 8)[:, None]
    v = tl.load(x + rows * 32 + tl.arange(0, 32)[None, :], mask=rows < m, other=0)
    tl.make_tensor_descriptor(total, [8, 32], [32, 1], [8, 32]).atomic_add([0, 0], v)
    tl.make_tensor_descriptor(largest, [8, 32], [32, 1], [8, 32]).atomic_max([0, 0], v)
    tl.make_tensor_descriptor(bits, [8, 32], [32, 1], [8, 32]).atomic_or([0, 0], v)


def test_reductions_through_descriptors() -> None:
    x = np.random.default_rng(0).integers(-1000, 1000, (24, 32), dtype=np.int32)
    total, largest, bits = np.zeros((8, 32), np.int32), np.full((8, 32), -5000, np.int32), np.zeros((8, 32), np.int32)
    fresh(reductions)[(3,)](x, total, largest, bits, 24)
    parts = x.reshape(3, 8, 32)
    np.testing.assert_array_equal(total, parts.sum(0))
    np.testing.assert_array_equal(largest, parts.max(0))
    np.testing.assert_array_equal(bits, parts[0] | parts[1] | parts[2])


@triton.jit
def chosen_pointer(a, b, o, m, n, rows: tl.constexpr, cols: tl.constexpr):
    if tl.program_id(0) == 0:
        p = tl.make_block_ptr(a, (m, n), (n, 1), (0, 0), (rows, cols), (1, 0))
    else:
        p = tl.make_block_ptr(b, (m, n), (n, 1), (0, 0), (rows, cols), (1, 0))
    acc = tl.zeros((rows, cols), tl.float32)
    i = 0
    while i < n:
        acc += tl.load(p, boundary_check=(0, 1), padding_option="zero")
        p = tl.advance(p, (0, cols))
        i += cols
    q = tl.make_block_ptr(o, (2 * rows, cols), (cols, 1), (tl.program_id(0) * rows, 0), (rows, cols), (1, 0))
    tl.store(q, acc, boundary_check=(0,))


def test_a_block_pointer_that_is_chosen_and_then_moved_in_a_loop() -> None:
    out = np.zeros((64, 32), np.float32)
    fresh(chosen_pointer)[(2,)](X.copy(), np.ones_like(X), out, M, N, 32, 32)
    np.testing.assert_array_equal(out[:32], X[:32].reshape(32, 4, 32).sum(1))
    np.testing.assert_array_equal(out[32:], np.full((32, 32), 4))


@triton.jit
def rows_of(desc, rows, out):
    block = desc.gather(tl.load(rows + tl.arange(0, 8)), 16)
    tl.store(out + tl.arange(0, 8)[:, None] * 32 + tl.arange(0, 32)[None, :], block)
    desc.scatter(block + 1, tl.load(rows + tl.arange(0, 8)), 64)


def test_rows_by_number(runs_on: str) -> None:
    x, out = X.copy(), np.zeros((8, 32), np.float32)
    rows = np.array([3, 99, 0, 7, 5, 41, 100, 2], np.int32)
    launch = fresh(rows_of)[(1,)]
    if runs_on == "sm90":
        with pytest.raises(MinitritonError, match="gather rows by number from sm_100 on"):
            launch(TensorDescriptor.from_tensor(x, [1, 32]), rows, out)
        return
    launch(TensorDescriptor.from_tensor(x, [1, 32]), rows, out)
    expected = np.where(rows[:, None] < M, X[np.minimum(rows, M - 1), 16:48], 0)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(x[rows[rows < M], 64:96], expected[rows < M] + 1)

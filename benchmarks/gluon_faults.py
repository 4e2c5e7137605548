"""Planted faults in the kernels of `gluon_fault_kernels.py`: each must be refused, or found by the emulator, at the kernel's line.

    python benchmarks/gluon_faults.py [PART OF A NAME]        runs all kernels and faults, prints what was found, counts them

A fault replaces text in one kernel. Of each: what the message must say, and a text of the line that it must name.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

from minitriton.errors import MinitritonError, SourceLocation
from minitriton.experimental.gluon import language as gl
from minitriton.experimental.gluon.nvidia.hopper import TensorDescriptor
from minitriton.knobs import emulator as emulator_knobs

SOURCE = Path(__file__).parent / "gluon_fault_kernels.py"
DROPPED = "pass"


@dataclass(frozen=True)
class Fault:
    """`old` in the function `inside` becomes `new`. The error `says` something (a regular expression) at the line that has `at`, of the
    changed text, or one of several between `|`; of `old` without one."""

    kernel: str
    name: str
    old: str
    new: str
    says: str
    at: str = ""
    inside: str = ""

    @property
    def id(self) -> str:
        return f"{self.kernel}: {self.name}"


def numbers(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def described(array: np.ndarray, block: list[int]) -> TensorDescriptor:
    strides = [step // array.itemsize for step in array.strides]
    return TensorDescriptor(
        array, list(array.shape), strides, block, gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    )


def _scaled(kernel):
    x, out = numbers(200), np.zeros(200, np.float32)
    kernel[(1,)](x, out, 200, 256)
    return out, 2 * x


def _row_sums(kernel):
    x, out = numbers(16, 32), np.zeros(16, np.float32)
    kernel[(1,)](x, out, 16, 32)
    return out, x.sum(1)


def _reversed_rows(kernel):
    x = numbers(16, 32)
    out = np.zeros_like(x)
    kernel[(1,)](x, out, 16, 32)
    return out, x[::-1]


def _swapped(kernel):
    x = numbers(128)
    out = np.zeros_like(x)
    kernel[(1,)](x, np.zeros_like(x), out, 128)
    return out, 2 * x[::-1]


def _dot(m: int, n: int, k: int, **sizes: int):
    def launch(kernel):
        steps = sizes.get("STEPS", 1)
        a, b, c = (
            numbers(m, k * steps, dtype=np.float16),
            numbers(k * steps, n, dtype=np.float16),
            np.zeros((m, n), np.float32),
        )
        kernel[(1,)](a, b, c, m, n, k, **sizes)
        return c, a.astype(np.float32) @ b.astype(np.float32)

    return launch


def _transposed(kernel):
    x, out = numbers(32, 32), np.zeros((32, 32), np.float32)
    kernel[(1,)](x, out, 32, 32)
    return out, x.T


def _halves(kernel):
    x, out = numbers(2, 16, 32), np.zeros((16, 32), np.float32)
    kernel[(1,)](x, out, 16, 32)
    return out, x.sum(0)


def _copied(kernel):
    x, out = numbers(100), np.zeros(100, np.float32)
    kernel[(1,)](x, out, 100, 128)
    return out, 2 * x


def _ring(kernel):
    x, out = numbers(512), np.zeros(512, np.float32)
    kernel[(1,)](x, out, 128, 4)
    return out, 3 * x


def _copied_to_barrier(kernel):
    x, out = numbers(128), np.zeros(128, np.float32)
    kernel[(1,)](x, out, 128)
    return out, x + 1


def _tma_copied(kernel):
    a, c = numbers(32, 32, dtype=np.float16), np.zeros((32, 32), np.float16)
    kernel[(1,)](described(a, [32, 32]), described(c, [32, 32]))
    return c, 2 * a


def _tma_stored(kernel):
    c = np.full((128, 32), -1, np.float16)
    kernel[(1,)](described(c, [32, 32]), 32, 32, 4)
    return c, np.repeat(np.arange(4), 32)[:, None] + np.zeros((1, 32))


def _tiles_added(kernel):
    a, out = numbers(128, 32, dtype=np.float16), np.zeros((32, 32), np.float32)
    kernel[(1,)](described(a, [32, 32]), out, 32, 32, 4)
    return out, a.astype(np.float32).reshape(4, 32, 32).sum(0)


def _matmul(kernel):
    a, b, c = numbers(64, 96, dtype=np.float16), numbers(96, 32, dtype=np.float16), np.zeros((64, 32), np.float16)
    kernel[(1,)](described(a, [64, 32]), described(b, [32, 32]), described(c, [64, 32]), 32, 3)
    return c, a.astype(np.float32) @ b.astype(np.float32)


def _two_consumers(kernel):
    x, out = numbers(384), np.zeros(384, np.float32)
    kernel[(1,)](x, out, 3)
    return out, x


def _views(kernel):
    x, out = numbers(256), np.zeros(128, np.float32)
    kernel[(1,)](x, out)
    return out, x[:128] + x[128:]


LAUNCHES: dict[str, Callable[..., tuple[np.ndarray, np.ndarray]]] = {
    "scaled": _scaled,
    "row_sums": _row_sums,
    "reversed_rows": _reversed_rows,
    "swapped": _swapped,
    "dot_by_mma": _dot(32, 32, 32),
    "dot_by_fma": _dot(16, 32, 16),
    "transposed": _transposed,
    "padded": _transposed,
    "views": _views,
    "halves": _halves,
    "copied": _copied,
    "ring": _ring,
    "copied_to_barrier": _copied_to_barrier,
    "tma_copied": _tma_copied,
    "tma_stored": _tma_stored,
    "tma_ring": _tiles_added,
    "dot_of_stored": _dot(64, 32, 32),
    "dot_of_registers": _dot(64, 32, 32),
    "dot_of_copied": _dot(64, 32, 32, STEPS=3),
    "dots_in_flight": _dot(64, 32, 32, STEPS=3),
    "tma_matmul": _matmul,
    "loaded_and_added": _tiles_added,
    "stored_and_multiplied": _dot(64, 64, 32),
    "specialized_matmul": _matmul,
    "two_consumers": _two_consumers,
}
"""By kernel: what launches it, and gives its result and the right one."""

_WRITTEN = """x.store(gl.load(a + i * K + k0))
    y.store(gl.load(b + k1 * N + j))
    fence_async_shared()"""
_CONVERT = r"ttgl\.convert_layout\("
_TABLE: dict[str, list[tuple[str, ...]]] = {
    "scaled": [
        ("too few warps", "[2], [32], [4], [0]", "[2], [32], [2], [0]", "warps", "i = gl.arange"),
        ("half a warp", "[2], [32], [4], [0]", "[2], [16], [4], [0]", "threads", "i = gl.arange"),
        ("another rank", "layout=layout)", "layout=gl.BlockedLayout([1, 1], [4, 8], [4, 1], [1, 0]))", "rank"),
        ("a layout of shared memory", "layout=layout)", "layout=gl.SwizzledSharedLayout(1, 1, 1, [0]))", "DistributedLayout"),
        ("not a power of two", "gl.arange(0, BLOCK, layout=layout)", "gl.arange(0, 200, layout=layout)", "power of (2|two)"),
        ("not converted", "w = gl.convert_layout(v, other)", "w = v", _CONVERT, "gl.store(out"),
        ("no mask", ", mask=i < n, other=0.0", "", "out-of-bounds"),
        ("a mask of another layout", "mask=i < n", "mask=gl.arange(0, BLOCK, layout=other) < n", _CONVERT),
        ("two threads store one element", "gl.store(out + j,", "gl.store(out + j // 2,", "thread-race"),
        (
            "two layouts for one that is left open", "w = gl.convert_layout(v, other)",
            "k = gl.arange(0, BLOCK)\n    w = gl.convert_layout(v + (i + k), other) + k", "conflicting|convert_layout", "k = |w = ",
        ),
    ],
    "row_sums": [
        (
            "a slice of the other dimension", "layout=gl.SliceLayout(1, layout)", "layout=gl.SliceLayout(0, layout)", "SliceLayout\\(1",
            "[:, None]",
        ),
        ("no slice", "layout=gl.SliceLayout(1, layout)", "layout=gl.BlockedLayout([1], [32], [4], [0])", "SliceLayout\\(1", "[:, None]"),
        ("expanded along the other dimension", "j[None, :]", "j[:, None]", "SliceLayout\\(1"),
        ("a slice that the parent lacks", "gl.SliceLayout(1, layout)", "gl.SliceLayout(2, layout)", "slice"),
        ("summed along the other dimension", "gl.sum(v, 1)", "gl.sum(v, 0)", "shape|ayout", "gl.store("),
        (
            "a conversion that moves elements", "sums = gl.sum(v, 1)",
            "sums = gl.convert_layout(gl.sum(v, 1), gl.BlockedLayout([1], [32], [4], [0]), assert_trivial=True)", "not trivial",
        ),
    ],
    "reversed_rows": [
        ("indices in another layout", "gl.int32, layout)", "gl.int32, gl.BlockedLayout([1, 1], [4, 8], [4, 1], [1, 0]))", _CONVERT),
        ("gathered along no dimension", "index, 0)", "index, 2)", "axis"),
    ],
    "swapped": [
        ("no barrier", "gl.thread_barrier()", DROPPED, "thread-race", "v = gl.load"),
    ],
    "dot_by_mma": [
        ("not an operand", "x = gl.convert_layout(x, gl.DotOperandLayout(0, mma, 2))", DROPPED, _CONVERT, "acc ="),
        ("an operand of another layout", "gl.DotOperandLayout(1, mma, 2)", "gl.DotOperandLayout(1, blocked, 0)", _CONVERT, "acc ="),
        ("the operand of the other side", "gl.DotOperandLayout(1, mma, 2)", "gl.DotOperandLayout(0, mma, 2)", _CONVERT, "acc ="),
        ("a blocked accumulator", "gl.float32, layout=mma)", "gl.float32, layout=blocked)", "NVMMADistributedLayout", "acc ="),
        (
            "the version of wgmma", "mma: gl.constexpr = gl.NVMMADistributedLayout([2, 0]",
            "mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0]", "version|opIdx", "y = gl.convert_layout",
        ),
        ("another width along K", "gl.DotOperandLayout(1, mma, 2)", "gl.DotOperandLayout(1, mma, 4)", "k_?[wW]idth", "acc ="),
        ("an instruction that is not there", "[16, 8])", "[16, 16])", "instr_shape"),
    ],
    "transposed": [
        ("another shape", "[M, N], shared", "[M, 2 * N], shared", "shape", "buffer.store"),
        ("another dtype", "(gl.float32, [M, N]", "(gl.float16, [M, N]", "dtype", "buffer.store"),
        ("loaded as shared", "buffer.load(columns)", "buffer.load(shared)", "DistributedLayout"),
        ("loaded in the rows' layout", "buffer.load(columns)", "buffer.load(rows)", _CONVERT, "gl.store(out"),
        (
            "a swizzle wider than the rows", "gl.SwizzledSharedLayout(4, 1, 8, [1, 0])", "gl.NVMMASharedLayout(128, 16)", "swizzle",
            "buffer =",
        ),
        ("the rank of one row", "8, [1, 0])", "8, [0])", "rank", "buffer"),
    ],
    "halves": [
        ("a buffer that is not there", "buffers.index(1)", "buffers.index(2)", "index 2"),
        ("never written", "second.store(gl.load(x + M * N + i * N + j))", DROPPED, "uninitialised", "gl.store(out"),
        ("slots in the swizzle", "gl.NVMMASharedLayout(128, 32)", "gl.NVMMASharedLayout(128, 32, rank=3)", "rank", "first = "),
    ],
    "copied": [
        ("no wait", "async_copy.wait_group(0)", DROPPED, "async-read", "v = "),
        ("no group", "async_copy.commit_group()", DROPPED, "async-read", "v = "),
        ("a wait for too few", "wait_group(0)", "wait_group(1)", "async-read", "v = "),
        ("another shape", "[BLOCK], gl.Swiz", "[2 * BLOCK], gl.Swiz", "shape", "async_copy.async_copy_global"),
        ("no mask", "x + i, mask=i < n)", "x + i)", "out-of-bounds"),
        ("pointers to another dtype", "(gl.float32, [BLOCK]", "(gl.float16, [BLOCK]", "dtype", "async_copy.async_copy_global"),
        (
            "a wait before the group ends", "async_copy.commit_group()\n    async_copy.wait_group(0)",
            "async_copy.wait_group(0)\n    async_copy.commit_group()", "async-read", "v =",
        ),
        ("a wait for fewer than none", "wait_group(0)", "wait_group(-1)", "from 0"),
        ("a wait for a value", "wait_group(0)", "wait_group(n)", "from 0"),
    ],
    "ring": [
        ("a slot that is still read", "(step + 1) % 2", "step % 2", "async-read", "v ="),
        ("a wait for too few", "wait_group(1)", "wait_group(2)", "async-read", "v = "),
        (
            "one slot past the end", "buffers.index((step + 1) % 2)", "buffers.index(step + 1)", "out-of-bounds",
            "async_copy.async_copy_global_to_shared(following",
        ),
    ],
    "copied_to_barrier": [
        ("too many arrivals expected", "count=128", "count=129", "deadlock", "mbarrier.wait"),
        ("too few arrivals expected", "count=128", "count=1", "deadlock", "mbarrier.wait"),
        ("arrivals that are not counted", "increment_count=False", "increment_count=True", "deadlock", "mbarrier.wait"),
    ],
    "tma_copied": [
        ("no mbarrier", "mbarrier.init(bar, count=1)", DROPPED, "uninitialised", "mbarrier.expect"),
        ("no bytes expected", "mbarrier.expect(bar, a.block_type.nbytes)", DROPPED, "deadlock", "mbarrier.wait"),
        (
            "too few bytes expected", "expect(bar, a.block_type.nbytes)", "expect(bar, a.block_type.nbytes // 2)", "deadlock",
            "mbarrier.wait",
        ),
        (
            "too many bytes expected", "expect(bar, a.block_type.nbytes)", "expect(bar, 2 * a.block_type.nbytes)", "deadlock",
            "mbarrier.wait",
        ),
        ("no wait", "mbarrier.wait(bar, 0)", DROPPED, "async-write|async-read", "v =|mbarrier.invalidate"),
        ("the other phase", "mbarrier.wait(bar, 0)", "mbarrier.wait(bar, 1)", "deadlock"),
        ("two arrivals expected", "count=1", "count=2", "deadlock", "mbarrier.wait"),
        ("no fence", "fence_async_shared()", DROPPED, "proxy-fence", "tma.async_copy_shared_to_global"),
        ("no wait for the store", "tma.store_wait(0)", DROPPED, "async-write", "tma.async_copy_shared_to_global"),
        (
            "another swizzle than the descriptor's", "shape, a.layout)", "shape, gl.NVMMASharedLayout(32, 16))", "layout",
            "tma.async_copy_global",
        ),
        ("another shape than the descriptor's", "a.block_type.shape, a.layout", "[64, 32], a.layout", "shape", "tma.async_copy_global"),
        ("another dtype than the descriptor's", "(gl.float16, a.", "(gl.bfloat16, a.", "dtype|type", "tma.async_copy_global"),
        ("too few coordinates", "(a, [0, 0], bar", "(a, [0], bar", "coord|dimension"),
        ("an mbarrier of 32 bits", "gl.int64, [1]", "gl.int32, [1]", "i?64", "mbarrier.init"),
        (
            "an mbarrier that has ended", "mbarrier.wait(bar, 0)", "mbarrier.invalidate(bar)", "async-write|uninitialised",
            "    mbarrier.invalidate(bar)",
        ),
        ("no arrivals expected", "count=1", "count=0", "1 to"),
        ("bytes of a tensor", "a.block_type.nbytes)", "a)", "integer"),
        (
            "a second copy waited for in the first phase", "mbarrier.invalidate(bar)",
            "mbarrier.expect(bar, a.block_type.nbytes)\n    tma.async_copy_global_to_shared(a, [0, 0], bar, buffer)\n    mbarrier.wait(bar, 0)",
            "deadlock", "mbarrier.wait(bar",
        ),
        (
            "a wait that is left out at run time", "mbarrier.wait(bar, 0)", "mbarrier.wait(bar, 0, pred=False)", "async-write",
            "mbarrier.invalidate",
        ),
    ],
    "tma_stored": [
        ("a wait for too few", "tma.store_wait(1)", "tma.store_wait(2)", "async-write", "buffers.index(step % 2).store"),
        ("one slot for two", "buffers.index(step % 2).store", "buffers.index(0).store", "async-write|uninitialised"),
        ("no fence", "fence_async_shared()", DROPPED, "proxy-fence", "tma.async_copy_shared_to_global"),
        ("no wait at the end", "    tma.store_wait(0)", "    pass", "async-write", "tma.async_copy_shared_to_global"),
    ],
    "tma_ring": [
        ("a phase that never changes", "step // 2 % 2)", "0)", "deadlock"),
        ("phases swapped", "step // 2 % 2)", "(step // 2 + 1) % 2)", "deadlock"),
        ("refilled before it is read", "total += buffers.index(slot)", "total += buffers.index(1 - slot)", "async-read|shared-race"),
        (
            "a byte count of both slots", "a.block_type.nbytes, pred=more", "2 * a.block_type.nbytes, pred=more", "deadlock",
            "mbarrier.wait",
        ),
    ],
    "dot_of_copied": [
        ("no fence", "fence_async_shared()", DROPPED, "proxy-fence", "acc = warpgroup_mma("),
        (
            "a fence before the wait", "async_copy.wait_group(1)\n        fence_async_shared()",
            "fence_async_shared()\n        async_copy.wait_group(1)", "proxy-fence", "acc = warpgroup_mma(",
        ),
        ("a wait for too few", "wait_group(1)", "wait_group(2)", "async-read", "acc = warpgroup_mma("),
    ],
    "dot_of_stored": [
        ("no fence", "fence_async_shared()", DROPPED, "proxy-fence", "acc = warpgroup_mma("),
        ("no wait", "acc = warpgroup_mma_wait(0, deps=(acc,))", DROPPED, "warpgroup_mma_wait", "gl.store(c"),
        ("a wait for too few", "warpgroup_mma_wait(0", "warpgroup_mma_wait(1", "async-read", "gl.store(c"),
        (
            "rewritten while it is read", "acc = warpgroup_mma_wait(0, deps=(acc,))",
            "x.store(gl.zeros([M, K], gl.float16, rows)); acc = warpgroup_mma_wait(0, deps=(acc,))", "async-write", "x.store(gl.zeros",
        ),
        ("a blocked accumulator", "gl.float32, mma)", "gl.float32, rows)", "NVMMA", "acc = warpgroup_mma("),
        ("an instruction wider than the tile", "[16, 32, 16]", "[16, 64, 16]", "instruction", "acc = warpgroup_mma("),
        ("another K", "[K, N], shared", "[2 * K, N], shared", "shape", "y.store("),
        (
            "operands without a swizzle that wgmma knows", "gl.NVMMASharedLayout(64, 16)", "gl.SwizzledSharedLayout(8, 1, 4, [1, 0])",
            "NVMMASharedLayout", "acc = warpgroup_mma(",
        ),
        ("B in registers", "warpgroup_mma(x, y,", "warpgroup_mma(x, y.load(rows),", "shared_memory_descriptor"),
        ("waits for nothing", "warpgroup_mma_wait(0, deps=(acc,))", "warpgroup_mma_wait(0)", "deps"),
        ("a layout for 8 bits", "gl.NVMMASharedLayout(64, 16)", "gl.NVMMASharedLayout(32, 8)", "8 bits", "acc = warpgroup_mma("),
        ("warps along N", "[4, 1], [16, 32, 16]", "[2, 2], [16, 32, 16]", "warps", "acc = warpgroup_mma("),
        ("32 rows a warp", "[16, 32, 16]", "[32, 32, 16]", "16 rows"),
        ("an accumulator of integers", "gl.float32, mma)", "gl.int32, mma)", "accumulator", "acc = warpgroup_mma("),
        (
            "a fence between the stores", "y.store(gl.load(b + k1 * N + j))\n    fence_async_shared()",
            "fence_async_shared()\n    y.store(gl.load(b + k1 * N + j))", "proxy-fence", "acc = warpgroup_mma(",
        ),
        ("a slice of K", "warpgroup_mma(x, y,", "warpgroup_mma(x.slice(0, 16, 1), y,", "shape"),
    ],
    "dot_of_registers": [
        (
            "A as a blocked tensor", "gl.convert_layout(gl.load(a + i * K + k0), gl.DotOperandLayout(0, mma, 2))",
            "gl.load(a + i * K + k0)", _CONVERT, "acc = warpgroup_mma(",
        ),
        (
            "another width along K", "gl.DotOperandLayout(0, mma, 2)", "gl.DotOperandLayout(0, mma, 4)", "k_?[wW]idth",
            "acc = warpgroup_mma(",
        ),
        (
            "A changed while it is read", "acc = warpgroup_mma_wait(0, deps=(acc,))", "acc = warpgroup_mma_wait(1, deps=(acc,))",
            "async-read", "gl.store(c",
        ),
    ],
    "dots_in_flight": [
        ("a wait for too few", "warpgroup_mma_wait(1, deps", "warpgroup_mma_wait(2, deps", "async-write", "x.index(step % 2).store"),
        ("one slot for two", "x.index(step % 2).store", "x.index(0).store", "async-write|uninitialised"),
        (
            "no wait at the end", "acc = warpgroup_mma_wait(0, deps=(acc,))", "acc = warpgroup_mma_wait(1, deps=(acc,))", "async-read",
            "gl.store(c",
        ),
    ],
    "loaded_and_added": [
        (
            "a slot that is never given back", "mbarrier.arrive(empty.index(slot), count=1)", DROPPED, "deadlock",
            "mbarrier.wait(empty", "add_tiles",
        ),
        (
            "a slot that is not waited for", "mbarrier.wait(full.index(slot), step // 2 % 2)", DROPPED,
            "async-read|shared-race|uninitialised", "total +=", "add_tiles",
        ),
        (
            "overwritten before it is given back", "mbarrier.wait(empty.index(slot), (step // 2 + 1) % 2)", DROPPED,
            "shared-race|async-write", "tma.async_copy", "load_tiles",
        ),
        ("the producer's first phase", "(step // 2 + 1) % 2", "step // 2 % 2", "deadlock", "mbarrier.wait(", "load_tiles"),
        ("the consumer's first phase", "step // 2 % 2", "(step // 2 + 1) % 2", "deadlock", "mbarrier.wait(", "add_tiles"),
        (
            "given back before it is read",
            "total += buffers.index(slot).load(layout).to(gl.float32)\n        mbarrier.arrive(empty.index(slot), count=1)",
            "mbarrier.arrive(empty.index(slot), count=1)\n        total += buffers.index(slot).load(layout).to(gl.float32)",
            "async-read|shared-race", "total +=|tma.async_copy", "add_tiles",
        ),
        (
            "given back twice", "mbarrier.arrive(empty.index(slot), count=1)", "mbarrier.arrive(empty.index(slot), count=2)", "arriv",
            "", "add_tiles",
        ),
        ("bytes that are never copied", "a.block_type.nbytes)", "2 * a.block_type.nbytes)", "deadlock", "mbarrier.wait(", "load_tiles"),
        ("fewer registers than a thread can have", "[24]", "[16]", "24 to 256", "gl.warp_specialize("),
        ("more registers than a thread can have", "[24]", "[264]", "24 to 256", "gl.warp_specialize("),
        ("counts for other partitions", "[24]", "[24, 24]", "partition", "gl.warp_specialize("),
        ("a partition of three warps", "[1],\n", "[3],\n", "power of (2|two)", "gl.warp_specialize("),
        ("a layout for the warps of another partition", "[gl.num_warps(), 1]", "[8, 1]", "warps", "total = gl.zeros", "add_tiles"),
        ("more warps than a CTA has", "[1],\n        [24]", "[32],\n        [24]", "at most 32", "gl.warp_specialize("),
    ],
    "stored_and_multiplied": [
        ("no fence", "fence_async_shared()", DROPPED, "proxy-fence", "acc = warpgroup_mma(", "store_operands"),
        ("no arrival", "mbarrier.arrive(full, count=1)", DROPPED, "deadlock", "mbarrier.wait(full", "store_operands"),
        ("no wait", "mbarrier.wait(full, 0)", DROPPED, "shared-race|uninitialised", "acc = warpgroup_mma(", "multiply"),
        (
            "arrived at before it is written", f"{_WRITTEN}\n    mbarrier.arrive(full, count=1)",
            f"mbarrier.arrive(full, count=1)\n    {_WRITTEN}", "shared-race|uninitialised|async-write", "acc =|x.store",
            "store_operands",
        ),
        (
            "a layout of another partition's warps", "[4, 8], [4, 1], [1, 0]", "[4, 8], [1, 1], [1, 0]", "warps", "i = gl.arange",
            "store_operands",
        ),
        ("an accumulator over the registers", "[4], [80]", "[4], [24]", "24", "acc = warpgroup_mma("),
        ("a dot of two warps", "[4], [80]", "[2], [80]", "2 warps", "acc = warpgroup_mma("),
        ("a row for all rows", "gl.load(a + i * K + k0)", "gl.load(a + k0)", "shape", "x.store(", "store_operands"),
        (
            "initialised next to its use", "mbarrier.wait(full, 0)", "mbarrier.init(full, count=1)\n    mbarrier.wait(full, 0)",
            "shared-race|uninitialised", "mbarrier.init(full|mbarrier.arrive|mbarrier.wait", "multiply",
        ),
        (
            "initialised by the producer", "x.store(gl.load(a + i * K + k0))",
            "mbarrier.init(full, count=1)\n    x.store(gl.load(a + i * K + k0))", "shared-race|uninitialised|deadlock", "mbarrier.",
            "store_operands",
        ),
    ],
    "dot_by_fma": [
        (
            "an operand of tensor cores", "gl.DotOperandLayout(1, blocked, 0)",
            "gl.DotOperandLayout(1, gl.NVMMADistributedLayout([2, 0], [4, 1], [16, 8]), 2)", _CONVERT, "acc =",
        ),
        (
            "an accumulator in another layout", "gl.float32, blocked)", "gl.float32, gl.BlockedLayout([1, 1], [4, 8], [4, 1], [1, 0]))",
            _CONVERT, "acc =",
        ),
        ("a width along K", "gl.DotOperandLayout(1, blocked, 0)", "gl.DotOperandLayout(1, blocked, 2)", "kWidth"),
        ("two element types", "x.to(gl.float32)", "x", "dtype|type", "acc ="),
    ],
    "padded": [
        ("a basis too few", "[[8, 0], [16, 0]], [], [M, N]", "[[8, 0]], [], [M, N]", "warps", "i = "),
        ("a basis outside", "[8, 0], [16, 0]]", "[8, 0], [32, 0]]", "shape|basis|bases|layout", "i = |rows:"),
        ("padding for another shape", "[[32, 4]], [M, N]", "[[32, 4]], [M, 2 * N]", "shape", "buffer = |buffer.store"),
        ("padding of 3 elements", "[[32, 4]]", "[[32, 3]]", "power of two"),
        ("dimensions that are not there", "permute([1, 0])", "permute([1, 2])", "order|dim"),
        ("loaded by rows", "buffer.permute([1, 0]).load(rows)", "buffer.permute([1, 0]).load(gl.SliceLayout(0, rows))", "rank"),
    ],
    "views": [
        ("past the end", "buffer.slice(128, 128)", "buffer.slice(192, 128)", "offset"),
        ("overlapping", "high = buffer.slice(128, 128)", "high = buffer.slice(0, 128)", "uninitialised", "v ="),
        ("not a power of two", "buffer.slice(128, 128)", "buffer.slice(128, 96)", "power|shape", "high"),
        ("more than there is", "gl.int32, [256], flat", "gl.int32, [512], flat", "bytes"),
    ],
    "tma_matmul": [
        (
            "copied over what wgmma reads", "acc = warpgroup_mma_init(warpgroup_mma_wait(0, deps=(acc,)))",
            "acc = warpgroup_mma_init(warpgroup_mma_wait(1, deps=(acc,)))", "async-write", "tma.async_copy_global_to_shared(",
        ),
        (
            "never waited in the loop", "acc = warpgroup_mma_init(warpgroup_mma_wait(0, deps=(acc,)))", DROPPED, "async-write",
            "tma.async_copy_global_to_shared(",
        ),
        (
            "bytes of one operand", "b.block_type.nbytes, pred=more", "0, pred=more", "async-read|deadlock",
            "mbarrier.wait|acc = warpgroup_mma(",
        ),
        ("no wait for the copies", "mbarrier.wait(bars.index(step % 2), step // 2 % 2)", DROPPED, "async-read", "acc = warpgroup_mma("),
        (
            "the barrier of the next slot", "mbarrier.wait(bars.index(step % 2)", "mbarrier.wait(bars.index((step + 1) % 2)",
            "async-read|deadlock", "acc = warpgroup_mma(|mbarrier.wait",
        ),
        (
            "an operand of the next slot", "warpgroup_mma(x.index(step % 2)", "warpgroup_mma(x.index((step + 1) % 2)", "async-read",
            "acc = warpgroup_mma(",
        ),
        ("copied without the condition", "x.index(following % 2), pred=more)", "x.index(following % 2))", "async-write"),
        ("both copies to one buffer", "bar, y.index(following % 2)", "bar, x.index(following % 2)", "shape"),
        (
            "the result before its wait", "total = warpgroup_mma_wait(0, deps=(acc,))", "total = warpgroup_mma_wait(1, deps=(acc,))",
            "async-read", "z.store",
        ),
        ("no fence", "fence_async_shared()", DROPPED, "proxy-fence", "tma.async_copy_shared_to_global"),
        (
            "a fence before the store", "z.store(total.to(gl.float16))\n    fence_async_shared()",
            "fence_async_shared()\n    z.store(total.to(gl.float16))", "proxy-fence", "tma.async_copy_shared_to_global",
        ),
    ],
    "specialized_matmul": [
        (
            "given back before wgmma is over",
            "acc = warpgroup_mma_wait(0, deps=(token,))\n        mbarrier.arrive(empty.index(slot), count=1)",
            "mbarrier.arrive(empty.index(slot), count=1)\n        acc = warpgroup_mma_wait(0, deps=(token,))",
            "async-write|shared-race", "tma.async_copy_global", "multiply_tiles",
        ),
        (
            "a wait for too few", "warpgroup_mma_wait(0, deps=(token,))", "warpgroup_mma_wait(1, deps=(token,))",
            "async-write|async-read|shared-race", "tma.async_copy_global|acc|token =", "multiply_tiles",
        ),
        (
            "no fence before the arrival", "fence_async_shared()", DROPPED, "proxy-fence", "tma.async_copy_shared_to_global",
            "multiply_tiles",
        ),
        (
            "arrived before the store", "z.store(acc.to(gl.float16))\n    fence_async_shared()\n    mbarrier.arrive(ready, count=1)",
            "mbarrier.arrive(ready, count=1)\n    z.store(acc.to(gl.float16))\n    fence_async_shared()",
            "shared-race|uninitialised|async-write", "tma.async_copy_shared|z.store", "multiply_tiles",
        ),
        (
            "the result is not waited for", "mbarrier.wait(ready, 0)", DROPPED, "shared-race|uninitialised|async-write",
            "tma.async_copy_shared|z.store", "store_result",
        ),
        (
            "the result's other phase", "mbarrier.wait(ready, 0)", "mbarrier.wait(ready, 1)",
            "shared-race|uninitialised|async-write|deadlock", "tma.async_copy_shared|z.store|mbarrier.wait(ready", "store_result",
        ),
        ("no wait at the end", "tma.store_wait(0)", DROPPED, "async-write", "tma.async_copy_shared", "store_result"),
        ("an mbarrier too few", "mbarrier.init(ready, count=1)", DROPPED, "uninitialised", "mbarrier.wait(ready|mbarrier.arrive(ready"),
        (
            "an mbarrier for two", "mbarrier.wait(full.index(slot), step // 2 % 2)", "mbarrier.wait(full.index(0), step % 2)",
            "async-read|deadlock|shared-race", "mbarrier.wait(|token =", "multiply_tiles",
        ),
        (
            "arrives at the wrong one", "mbarrier.arrive(empty.index(slot), count=1)", "mbarrier.arrive(full.index(slot), count=1)",
            "deadlock|async-read|barrier", "mbarrier.", "multiply_tiles",
        ),
        (
            "a slot too far", "x.index(slot), y.index(slot), acc", "x.index(slot + 1), y.index(slot), acc",
            "async-read|shared-race|uninit|out-of", "token =", "multiply_tiles",
        ),
    ],
    "two_consumers": [
        (
            "one arrival for two", "mbarrier.init(empty, count=2)", "mbarrier.init(empty, count=1)", "shared-race|barrier|deadlock",
            "buffer.store|mbarrier.|v =",
        ),
        (
            "overlapping halves", "mbarrier.arrive(empty, count=1)\n",
            "mbarrier.arrive(empty, count=1)\n        buffer.slice(first, 64).store(v)\n", "shared-race", "buffer.", "half_of_tile",
        ),
        (
            "given back before it is read", "v = buffer.slice(first, 64).load(layout)\n        mbarrier.arrive(empty, count=1)",
            "mbarrier.arrive(empty, count=1)\n        v = buffer.slice(first, 64).load(layout)", "shared-race", "v =|buffer.store",
            "half_of_tile",
        ),
        (
            "no wait for the slot", "mbarrier.wait(empty, (step + 1) % 2)", DROPPED, "shared-race|deadlock",
            "v =|buffer.store|mbarrier.wait(", "stores_in_turn",
        ),
        ("no wait for the data", "mbarrier.wait(full, step % 2)", DROPPED, "shared-race|uninit", "v =", "half_of_tile"),
        (
            "two arrivals a store", "mbarrier.arrive(full, count=1)",
            "mbarrier.arrive(full, count=1)\n        mbarrier.arrive(full, count=1)", "deadlock|shared-race",
            "mbarrier.wait(|v =|buffer.store", "stores_in_turn",
        ),
        ("registers for all of the SM", "[2, 2],\n        [32, 32]", "[4, 4],\n        [256, 256]", "registers", "gl.warp_specialize("),
        ("both halves to one place", "out + step * 128 + first + i", "out + step * 128 + i", "thread-race", "gl.store(", "half_of_tile"),
        ("an arrival for two", "mbarrier.init(full, count=1)", "mbarrier.init(full, count=2)", "deadlock", "mbarrier.wait("),
    ],
}  # fmt: skip
FAULTS = [Fault(kernel, *row) for kernel, rows in _TABLE.items() for row in rows]


def kernels(folder: Path, text: str) -> ModuleType:
    """The kernels of `text`, a module of its own."""
    path = folder / f"faulty_{abs(hash(text)):x}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def planted(fault: Fault) -> tuple[str, set[int]]:
    """The text with the fault, and the lines that may be named. Raises `ValueError` where a text is not there or is there twice."""
    text = SOURCE.read_text()
    inside = fault.inside or fault.kernel
    start = text.index(f"def {inside}(")
    end = text.find("\n@gluon.jit", start)
    body = text[start : None if end < 0 else end]
    at = body.find(fault.old)
    if at < 0:
        raise ValueError(f"{fault.id}: {inside} lacks {fault.old!r}")
    changed = text[: start + at] + fault.new + text[start + at + len(fault.old) :]
    if not fault.at:
        return changed, {changed.count("\n", 0, start + at) + 1}
    found: set[int] = set()
    for name in {fault.kernel, *PARTITIONS.get(fault.kernel, ())}:
        begin = changed.index(f"def {name}(")
        stop = changed.find("\n@gluon.jit", begin)
        line = changed.count("\n", 0, begin) + 1
        part = changed[begin : None if stop < 0 else stop].split("\n")
        found |= {
            line + number for number, each in enumerate(part) if any(text in each for text in fault.at.split("|"))
        }
    if not found:
        raise ValueError(f"{fault.id}: no line has {fault.at!r}")
    return changed, found


PARTITIONS = {
    "specialized_matmul": ("load_operands", "multiply_tiles", "store_result"),
    "two_consumers": ("half_of_tile", "stores_in_turn"),
    "loaded_and_added": ("load_tiles", "add_tiles"),
    "stored_and_multiplied": ("store_operands", "multiply"),
}


def complaint(kernel: str, text: str, folder: Path) -> MinitritonError | None:
    """What a launch of `kernel` in the module `text` is refused with, or the emulator found; None for a right result without any."""
    module = kernels(folder, text)
    try:
        with emulator_knobs.scope(), warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            emulator_knobs.check = "1"
            found, expected = LAUNCHES[kernel](getattr(module, kernel))
    except MinitritonError as error:
        return error
    except RuntimeWarning as warning:
        file, line, _ = str(warning).split(":", 2)
        return MinitritonError(str(warning), SourceLocation(file, int(line)))
    np.testing.assert_allclose(found, expected, rtol=2e-2, atol=2e-2)
    return None


def verdict(fault: Fault, folder: Path) -> tuple[bool, str]:
    """Whether a fault is found as it should be, and what was found."""
    text, lines = planted(fault)
    try:
        error = complaint(fault.kernel, text, folder)
    except AssertionError:
        return False, "not found: a wrong result"
    except Exception as error:
        return False, f"{type(error).__name__}: {error}"
    if error is None:
        return False, "not found"
    cause = error
    while isinstance(cause.__cause__, MinitritonError) and cause.__cause__.location is not None:
        cause = cause.__cause__
    line = cause.location.line if cause.location else None
    text = f"{error.message} {error.help or ''}"
    problems = [] if line in lines else [f"line {sorted(lines)} expected"]
    problems += [] if re.search(fault.says, text) else [f"/{fault.says}/ expected"]
    return not problems, f"{line}: {text}" + (f"   ({', '.join(problems)})" if problems else "")


def main(part: str = "") -> int:
    found = clean = 0
    faults = [fault for fault in FAULTS if part in fault.id]
    names = [name for name in LAUNCHES if part in name]
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            error = complaint(name, SOURCE.read_text(), Path(folder))
            clean += error is None
            print(
                f"{'clean' if error is None else 'WRONG'}  {name}" + (f"\n       {error}" if error else ""), flush=True
            )
        for fault in faults:
            good, what = verdict(fault, Path(folder))
            found += good
            print(f"{'found' if good else 'MISSED'}  {fault.id}\n        {what[:300]}", flush=True)
    print(f"{clean} of {len(names)} right kernels clean, {found} of {len(faults)} faults found at their line")
    return 0 if (clean, found) == (len(names), len(faults)) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

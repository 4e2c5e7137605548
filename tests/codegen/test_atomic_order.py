"""What orders the instructions of an atomic: one fence for many of them, none where a tile is gathered and nothing is read after, and then
`red`; single numbers and what is exchanged, counters and locks, as the kernel says."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl


@triton.jit
def last(x, out, N: tl.constexpr, SEM: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_add(out + i, tl.load(x + i), sem=SEM)


@triton.jit
def then_read(x, out, N: tl.constexpr, SEM: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_add(out + i, tl.load(x + i), sem=SEM)
    tl.store(x + i, tl.load(x + i + N))


@triton.jit
def wanted(x, out, N: tl.constexpr, SEM: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tl.atomic_add(out + i, tl.load(x + i), sem=SEM))


@triton.jit
def exchanged(x, out, N: tl.constexpr, SEM: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_xchg(out + i, tl.load(x + i), sem=SEM)


@triton.jit
def counted(x, out, N: tl.constexpr, SEM: tl.constexpr):
    tl.atomic_add(out, tl.load(x), sem=SEM)


@triton.jit
def unlocked(x, out, N: tl.constexpr, SEM: tl.constexpr):
    tl.store(x + tl.arange(0, N), 1)
    tl.debug_barrier()
    tl.atomic_xchg(out, 0, sem=SEM)


@triton.jit
def locked(x, out, N: tl.constexpr, SEM: tl.constexpr):
    tl.atomic_cas(out, 0, 1, sem=SEM)


def ordered(kernel: Any, n: int, sem: str) -> list[str]:
    """The opcodes of atomics and fences; neighbours that are equal once."""
    x = np.arange(2 * n, dtype=np.int32)
    ptx = kernel.warmup(x, x, N=n, SEM=sem, grid=(1,)).asm["ptx"]
    found = re.findall(r"\b((?:atom|red)\.[\w.]+|fence\.\w+\.\w+)", ptx)
    return [op for i, op in enumerate(found) if i == 0 or op != found[i - 1]]


FENCE = "fence.acq_rel.gpu"


@pytest.mark.parametrize(
    ("kernel", "n", "sem", "expected"),
    [
        (last, 512, "acq_rel", [FENCE, "red.relaxed.gpu.global.add.u32"]),
        (last, 512, "relaxed", ["red.relaxed.gpu.global.add.u32"]),
        (last, 512, "acquire", ["red.relaxed.gpu.global.add.u32"]),
        (last, 128, "acq_rel", ["red.release.gpu.global.add.u32"]),
        (then_read, 512, "acq_rel", [FENCE, "red.relaxed.gpu.global.add.u32", FENCE]),
        (then_read, 512, "release", [FENCE, "red.relaxed.gpu.global.add.u32"]),
        (then_read, 128, "acq_rel", ["atom.global.gpu.acq_rel.add.u32"]),
        (wanted, 512, "acq_rel", [FENCE, "atom.global.gpu.relaxed.add.u32", FENCE]),
        (wanted, 128, "acq_rel", ["atom.global.gpu.acq_rel.add.u32"]),
        (exchanged, 512, "release", [FENCE, "atom.global.gpu.relaxed.exch.b32"]),
        (exchanged, 512, "acq_rel", [FENCE, "atom.global.gpu.relaxed.exch.b32", FENCE]),
        *[
            (kernel, 128, sem, [f"atom.global.{order}"])
            for sem in ("acq_rel", "acquire", "release", "relaxed")
            for kernel, order in (
                (counted, f"gpu.{sem}.add.u32"),
                (unlocked, f"gpu.{sem}.exch.b32"),
                (locked, f"{sem}.gpu.cas.b32"),
            )
        ],
    ],
)
def test_atomics_are_ordered_by_as_few_fences_as_can_be(kernel: Any, n: int, sem: str, expected: list[str]) -> None:
    assert ordered(kernel, n, sem) == expected


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float16])
def test_each_element_is_added_once(dtype: type[np.generic]) -> None:
    x = np.arange(1024).astype(dtype)
    out = np.ones(512, dtype)
    last[(3,)](x, out, N=512, SEM="acq_rel")
    np.testing.assert_array_equal(out, 3 * x[:512] + 1)

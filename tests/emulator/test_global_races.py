"""Threads that use a place of global memory with nothing to order them are found, within a CTA as between CTAs; copies of one store are not."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton import emulator
from minitriton.emulator.memory.device_shadow import GlobalShadow
from minitriton.runtime.on_cpu.emulation import KernelFault

Run = Callable[..., emulator.Report]

OTHER_WARP = "xor.b32 %r4, %r100, 32; mul.wide.u32 %rd1, %r4, 4; add.s64 %rd1, %rd100, %rd1;\n"
NEIGHBOUR = "xor.b32 %r4, %r100, 1; mul.wide.u32 %rd1, %r4, 4; add.s64 %rd1, %rd100, %rd1;\n"
ONE = "setp.eq.u32 %p1, %r100, 0; setp.eq.u32 %p2, %r100, 40;\n"
KEEP = "st.global.b32 [%rd92], %r9;\n"

RACES = {
    "a neighbour's store": NEIGHBOUR + "st.global.b32 [%rd91], %r100; ld.global.b32 %r9, [%rd1];" + KEEP,
    "a store of another warp": OTHER_WARP + "st.global.b32 [%rd91], %r100; ld.global.b32 %r9, [%rd1];" + KEEP,
    "a store of another warp after a warp barrier": OTHER_WARP
    + "st.global.b32 [%rd91], %r100; bar.warp.sync -1; ld.global.b32 %r9, [%rd1];"
    + KEEP,
    "overwritten while another warp reads": OTHER_WARP + "ld.global.b32 %r9, [%rd1]; st.global.b32 [%rd91], %r9;",
    "overwritten while a neighbour reads": NEIGHBOUR + "ld.global.b32 %r9, [%rd1]; st.global.b32 [%rd91], %r9;",
    "all threads store at one address": "st.global.b32 [%rd100], %r100;",
    "two threads store at one address": ONE + "@%p1 st.global.b32 [%rd100], 5; @%p2 st.global.b32 [%rd100], 6;",
    "a histogram without atomics": "and.b32 %r5, %r100, 7; mul.wide.u32 %rd1, %r5, 4; add.s64 %rd1, %rd101, %rd1;"
    "ld.global.b32 %r6, [%rd1]; add.s32 %r6, %r6, 1; st.global.b32 [%rd1], %r6;",
    "the word that all have read": ONE + "ld.global.b32 %r9, [%rd100]; bar.sync 0; ld.global.b32 %r10, [%rd100+4];"
    "@%p1 st.global.b32 [%rd100+4], 77; @%p2 st.global.b32 [%rd100+4], 78;" + KEEP,
    "read by one instruction, overwritten through another": ONE
    + "@%p1 ld.global.b32 %r9, [%rd100]; @%p2 ld.global.b32 %r9, [%rd100]; @%p1 st.global.b32 [%rd100], 9;"
    + KEEP,
    "an atomic beside a store": ONE + "@%p1 red.global.add.u32 [%rd100], 5; @%p2 st.global.b32 [%rd100], 6;",
    "a second round without a barrier": OTHER_WARP
    + "mov.b32 %r7, 0; LOOP: add.s32 %r8, %r7, %r100; st.global.b32 [%rd91], %r8; bar.sync 0; ld.global.b32 %r9, [%rd1];"
    "add.s32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, 3; @%p1 bra LOOP;" + KEEP,
    "halves of a word": "and.b32 %r5, %r100, 62; mul.wide.u32 %rd1, %r5, 2; add.s64 %rd1, %rd101, %rd1; cvt.u16.u32 %rs1, %r100;"
    "st.global.b16 [%rd1], %rs1;",
}

SOUND = {
    "a barrier between": OTHER_WARP + "st.global.b32 [%rd91], %r100; bar.sync 0; ld.global.b32 %r9, [%rd1];" + KEEP,
    "a warp barrier between": NEIGHBOUR
    + "st.global.b32 [%rd91], %r100; bar.warp.sync -1; ld.global.b32 %r9, [%rd1];"
    + KEEP,
    "the same value from all": "st.global.b32 [%rd100], 7;",
    "the same value from two": ONE + "@%p1 st.global.b32 [%rd100], 5; @%p2 st.global.b32 [%rd100], 5;",
    "own words": "ld.global.b32 %r9, [%rd91]; add.s32 %r9, %r9, 1; st.global.b32 [%rd91], %r9; ld.global.b32 %r9, [%rd91];" + KEEP,
    "bytes of a word": "cvt.u64.u32 %rd1, %r100; add.s64 %rd1, %rd100, %rd1; cvt.u16.u32 %rs1, %r100; st.global.b8 [%rd1], %rs1;",
    "a histogram with atomics": "and.b32 %r5, %r100, 7; mul.wide.u32 %rd1, %r5, 4; add.s64 %rd1, %rd101, %rd1; red.global.add.u32 [%rd1], 1;",
    "atomics, then a barrier, then loads": "red.global.add.u32 [%rd100], 1; bar.sync 0; ld.global.b32 %r9, [%rd100];" + KEEP,
    "copies of one thread": ONE + "ld.global.b32 %r9, [%rd100]; add.s32 %r9, %r9, 1; @%p1 st.global.b32 [%rd100], %r9;",
    "a tile smaller than the CTA, in place": "and.b32 %r5, %r100, 31; mul.wide.u32 %rd1, %r5, 4; add.s64 %rd1, %rd100, %rd1;"
    "ld.global.b32 %r9, [%rd1]; add.s32 %r9, %r9, 1; setp.lt.u32 %p1, %r100, 32; @%p1 st.global.b32 [%rd1], %r9;",
    "shuffled to the lane that stores": NEIGHBOUR
    + "ld.global.b32 %r9, [%rd1]; shfl.sync.bfly.b32 %r9, %r9, 1, 31, -1; st.global.b32 [%rd91], %r9;",
    "rounds with two barriers": OTHER_WARP
    + "mov.b32 %r7, 0; LOOP: add.s32 %r8, %r7, %r100; st.global.b32 [%rd91], %r8; bar.sync 0; ld.global.b32 %r9, [%rd1]; bar.sync 0;"
    "add.s32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, 3; @%p1 bra LOOP;" + KEEP,
    "a volatile flag": ONE + "@%p1 st.volatile.global.b32 [%rd100], 6; ld.volatile.global.b32 %r9, [%rd100];",
}  # fmt: skip


def findings(emulate: Run, body: str, **launch: object) -> list[str]:
    arrays = np.arange(64, dtype=np.uint32), np.full(64, 3, np.uint32)
    return sorted({f.kind for f in emulate(body, *arrays, threads=64, **launch).findings})


@pytest.mark.parametrize("name", RACES)
def test_threads_of_a_cta_that_race_are_found(name: str, emulate: Run) -> None:
    assert findings(emulate, RACES[name]) == ["thread-race"]


@pytest.mark.parametrize("name", SOUND)
def test_ordered_and_harmless_accesses_are_not_reported(name: str, emulate: Run) -> None:
    assert findings(emulate, SOUND[name]) == []


LOCK = """
    setp.ne.u32 %p1, %r100, 0; @%p1 bra TAKEN;
    SPIN: atom.global.acquire.gpu.cas.b32 %r9, [%rd101], 3, 1; setp.ne.u32 %p2, %r9, 3; @%p2 bra SPIN;
    TAKEN: bar.sync 0;
    ld.global.b32 %r10, [%rd91]; add.s32 %r10, %r10, 1; st.global.b32 [%rd91], %r10;
    bar.sync 0;
    @!%p1 atom.global.release.gpu.exch.b32 %r9, [%rd101], 3;
"""


def test_a_lock_orders_ctas(emulate: Run) -> None:
    assert findings(emulate, LOCK, grid=(4,)) == []


def test_a_lock_released_before_all_threads_have_stored_is_found(emulate: Run) -> None:
    early = re.sub(r"bar\.sync 0;\s+@!%p1 atom", "@!%p1 atom", LOCK)
    assert early != LOCK
    assert findings(emulate, early, grid=(4,)) == ["global-race"]


def test_a_fence_before_a_relaxed_atomic_orders_as_a_release(emulate: Run) -> None:
    fenced = LOCK.replace("atom.global.acquire.gpu.cas", "atom.global.relaxed.gpu.cas").replace(
        "atom.global.release", "atom.global.relaxed"
    )
    assert findings(emulate, fenced, grid=(4,)) == ["global-race"]
    fenced = fenced.replace("TAKEN: bar.sync 0;", "TAKEN: bar.sync 0; membar.gl;").replace(
        "@!%p1 atom", "fence.acq_rel.gpu; @!%p1 atom"
    )
    assert findings(emulate, fenced.replace("SPIN:", "membar.gl; SPIN:"), grid=(4,)) == []


def test_a_race_names_the_other_thread_s_kind_of_access_and_the_place(emulate: Run) -> None:
    report = emulate(RACES["a store of another warp"], np.zeros(64, np.uint32), np.zeros(64, np.uint32), threads=64)
    (finding,) = report.findings
    assert "reads what another thread of the CTA writes, and no barrier orders the two" in finding.message
    assert "byte 128 of `argument 0`" in finding.message


def test_only_arrays_that_are_read_and_written_are_followed(emulate: Run) -> None:
    followed: list[set[int]] = []
    original = GlobalShadow.__init__

    def watch(self: GlobalShadow, size: int, granule: int, starts: list[int], reads: set[int], *sizes: int) -> None:
        followed.append(set(reads))
        original(self, size, granule, starts, reads, *sizes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GlobalShadow, "__init__", watch)
        findings(emulate, "ld.global.b32 %r9, [%rd91];" + KEEP)
        assert followed == [set()]
        findings(emulate, "ld.global.b32 %r9, [%rd91]; st.global.b32 [%rd91], %r9; ld.global.b32 %r9, [%rd92];")
        assert [len(reads) for reads in followed[1:]] == [0, 1]


@triton.jit
def histogram(x_ptr, counts_ptr, BLOCK: tl.constexpr):
    value = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(counts_ptr + value, tl.load(counts_ptr + value) + 1)


@triton.jit
def scalar_counter(p_ptr):
    tl.store(p_ptr, tl.load(p_ptr) + 1)


@triton.jit
def in_place(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(x_ptr + offsets, x - tl.sum(x), mask=offsets < n)


@triton.jit
def shifted_in_place(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets + 1))


def test_a_histogram_without_atomics_is_a_fault_of_the_kernel() -> None:
    x, counts = np.zeros(128, np.int32), np.zeros(4, np.int32)
    with pytest.raises(KernelFault, match="thread-race"):
        histogram[(1,)](x, counts, BLOCK=128)


@pytest.mark.parametrize("size", [1, 16, 64, 128, 1024])
def test_kernels_in_place_are_sound_whatever_their_tile(size: int) -> None:
    x = np.arange(size, dtype=np.float32)
    in_place[(1,)](x, size, BLOCK=size)
    np.testing.assert_allclose(x, np.arange(size) - np.arange(size).sum(dtype=np.float32))


def test_a_scalar_counter_is_sound() -> None:
    count = np.zeros(1, np.int32)
    scalar_counter[(1,)](count)
    assert count[0] == 1


def test_a_shift_in_place_is_a_fault() -> None:
    with pytest.raises(KernelFault, match="thread-race"):
        shifted_in_place[(1,)](np.arange(257, dtype=np.float32), BLOCK=256)

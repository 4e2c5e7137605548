"""Stores to shared memory that copies and products see only by luck: every `fence.proxy.async` that a kernel needs is missed."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minitriton import emulator

sys.path.insert(0, str(Path(__file__).parent))
from matrix_cases import MATRIX_CASES, our_ptx, triton_ptx

Run = Callable[..., emulator.Report]

STORE = """
    mov.b32 %r1, buffer; shl.b32 %r2, %r100, 2; add.s32 %r3, %r1, %r2; setp.eq.u32 %p1, %r100, 0; setp.ne.u32 %p2, %r100, 0;
    st.shared.b32 [%r3], %r100;
    {before}
    bar.sync 0;
    {after}
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd101], [%r1], 256;
    @%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group.read 0;"""

SOUND = {
    "the threads that wrote, before the barrier": ("fence.proxy.async.shared::cta;", ""),
    "in every space": ("fence.proxy.async;", ""),
    "from generic to async only": ("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;", ""),
    "the thread that copies, after the barrier": ("", "@%p1 fence.proxy.async;"),
}

FAULTS = {
    "none": ("", ""),
    "of global memory only": ("fence.proxy.async.global;", ""),
    "of one of the threads that wrote": ("@%p1 fence.proxy.async;", ""),
    "of all but one thread": ("@%p2 fence.proxy.async;", ""),
    "before the last store": ("fence.proxy.async; st.shared.b32 [%r3], 7;", ""),
    "after the barrier, by threads that do not copy": ("", "@%p2 fence.proxy.async;"),
    "of another proxy": ("fence.proxy.alias;", ""),
}


def run(emulate: Run, before: str, after: str, threads: int = 64) -> emulator.Report:
    body = STORE.format(before=before, after=after)
    return emulate(body, np.zeros(64, np.uint32), np.zeros(64, np.uint32), shared=256, threads=threads)


@pytest.mark.parametrize("fence", SOUND)
def test_a_fence_of_writer_or_copier_is_enough(fence: str, emulate: Run) -> None:
    report = run(emulate, *SOUND[fence])
    assert report.ok, report.findings


@pytest.mark.parametrize("fence", FAULTS)
def test_a_fence_that_misses_its_purpose_is_found_out(fence: str, emulate: Run) -> None:
    assert {f.kind for f in run(emulate, *FAULTS[fence]).findings} == {"proxy-fence"}


def test_the_finding_names_the_copy_the_store_and_the_byte(emulate: Run) -> None:
    (finding,) = run(emulate, "@!%p2 fence.proxy.async;", "").findings
    assert finding.text.startswith("@%p1 cp.async.bulk.global")
    assert "a bulk copy reads byte 4 of shared memory, which thread 1 has written (ptx:" in finding.message
    assert "`st.shared.b32 [%r3], %r100`), after which it executed no fence.proxy.async" in finding.message
    (other,) = run(emulate, *FAULTS["of all but one thread"]).findings
    assert "byte 0 of shared memory, which thread 0 has written" in other.message


LOAD = """
    mov.b32 %r1, buffer; shl.b32 %r2, %r100, 2; add.s32 %r3, %r1, %r2; add.s32 %r4, %r1, 256;
    setp.eq.u32 %p1, %r100, 0; @%p1 mbarrier.init.shared::cta.b64 [%r4], 1;
    {use}
    {fence} bar.sync 0;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 256;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd100], 256, [%r4];
    WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r4], 0; @!%p2 bra WAIT;
    ld.shared.b32 %r5, [%r3]; st.shared.b32 [%r3], %r5; ld.shared.b32 %r6, [%r3]; st.global.b32 [%rd92], %r6;"""


@pytest.mark.parametrize(
    ("use", "fence", "found"),
    [
        ("st.shared.b32 [%r3], 5;", "", {"proxy-fence"}),
        ("st.shared.b32 [%r3], 5;", "fence.proxy.async;", set()),
        ("atom.shared.add.u32 %r9, [%r3], 5;", "", {"proxy-fence"}),
        ("", "", set()),
    ],
)
def test_a_copy_into_what_threads_wrote_needs_a_fence_and_what_it_brought_none(
    use: str, fence: str, found: set[str], emulate: Run
) -> None:
    source, out = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    report = emulate(LOAD.format(use=use, fence=fence), source, out, shared=264, threads=64)
    assert {f.kind for f in report.findings} == found
    np.testing.assert_array_equal(out, source)


def test_kernels_without_such_copies_need_no_fence(emulate: Run) -> None:
    body = "mov.b32 %r1, buffer; shl.b32 %r2, %r100, 2; add.s32 %r3, %r1, %r2; st.shared.b32 [%r3], 5; ld.shared.b32 %r4, [%r3];"
    assert emulate(body, np.zeros(1, np.uint32), np.zeros(1, np.uint32), shared=256, threads=64).ok


NEEDED = {
    ("matmul_descriptors", "ours"): 1, ("matmul_persistent", "ours"): 2, ("matmul_specialized", "ours"): 2,
    ("matmul_descriptors", "triton"): 1, ("matmul_persistent", "triton"): 2, ("matmul_persistent_flat", "triton"): 2,
    ("matmul_specialized", "triton"): 2, ("causal_attention", "triton"): 1, ("matmul_widened", "triton"): 1,
}  # fmt: skip
"""How many fences of a kernel order something in the launch of its case: the others guard paths that it does not take."""
FENCE = re.compile(r"fence\.proxy\.async[^;]*;")


@pytest.mark.sampled(3)
@pytest.mark.oracle
@pytest.mark.parametrize(("name", "compiler"), NEEDED)
def test_a_fence_taken_out_of_a_real_kernel_is_missed(name: str, compiler: str) -> None:
    if compiler == "triton":
        pytest.importorskip("triton")
    ptx, shared = (triton_ptx if compiler == "triton" else our_ptx)(name, 90)
    case = next(m.case for m in MATRIX_CASES if m.case.name == name)
    missed = []
    for fence in FENCE.finditer(ptx):
        arguments = case.inputs(np.random.default_rng(0))
        report = emulator.run(
            ptx[: fence.start()] + ptx[fence.end() :], None, case.grid, arguments, shared, scratch=1 << 20
        )
        assert {f.kind for f in report.findings} <= {"proxy-fence"}
        for finding in report.findings:
            assert finding.line and finding.source is not None
            assert re.search(
                r"byte \d+ of shared memory, which thread \d+ has written \(ptx:\d+, .*\.py:\d+", finding.message
            )
        missed.append(bool(report.findings))
    assert sum(missed) == NEEDED[name, compiler]

"""Stores and reductions that complete on an mbarrier in the shared memory of another CTA, against NumPy; what they race with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from minitriton import emulator

Run = Callable[..., emulator.Report]
TO = "shared::cluster.mbarrier::complete_tx::bytes"

START = """
    mov.b32 %r1, buffer; add.s32 %r2, %r1, 512; shl.b32 %r3, %r100, 2; add.s32 %r4, %r1, %r3; add.s32 %r20, %r4, %r3;
    setp.eq.u32 %p1, %r100, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r2], 1;
    st.shared.b64 [%r20], OLD; st.shared.b32 [%r20+256], %r100; st.shared.b32 [%r20+260], 0;
    FENCE
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], BYTES;
    mov.u32 %r5, %cluster_ctarank; xor.b32 %r6, %r5, 1;
    mapa.shared::cluster.u32 %r7, %r4, %r6; mapa.shared::cluster.u32 %r8, %r2, %r6; add.s32 %r21, %r7, %r3;
    mapa.shared::cluster.u32 %r22, %r1, %r6; add.s32 %r23, %r1, 256;
    mad.lo.s32 %r9, %r101, 100, %r100; cvt.u64.u32 %rd1, %r9; """
END = """
    WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0; @!%p2 bra WAIT;
    READ
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"""
NARROW = (
    "ld.shared.b32 %r10, [%r4]; mul.wide.u32 %rd2, %r101, 128; add.s64 %rd3, %rd91, %rd2; st.global.b32 [%rd3], %r10;"
)
WIDE = (
    "ld.shared.b64 %rd4, [%r20]; mul.wide.u32 %rd2, %r101, 256; add.s64 %rd3, %rd91, %rd2; add.s64 %rd3, %rd3, %rd90; "
    "st.global.b64 [%rd3], %rd4;"
)


def run(
    emulate: Run, body: str, wide: bool = False, old: int = 5, bytes_: int = 128, start: str = START, end: str = END
) -> tuple[np.ndarray, emulator.Report]:
    out = np.zeros((2, 32), np.uint64 if wide else np.uint32)
    begin = start.replace("OLD", str(old)).replace("BYTES", str(bytes_)).replace("FENCE", "fence.proxy.async;")
    report = emulate(
        begin + body + end.replace("READ", WIDE if wide else NARROW), out, grid=(2,), cluster=2, shared=520
    )
    return out, report


SENT = 100 * np.array([[1], [0]]) + np.arange(32)
"""What each CTA gets from the other."""


def test_words_reach_the_neighbour_with_the_phase(emulate: Run) -> None:
    out, report = run(emulate, f"st.async.weak.{TO}.b32 [%r7], %r9, [%r8];")
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, SENT)


def test_vectors_and_double_words_count_their_bytes(emulate: Run) -> None:
    out, report = run(emulate, f"st.async.{TO}.b64 [%r21], %rd1, [%r8];", wide=True, bytes_=256)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, SENT)
    out, report = run(
        emulate, f"mov.b32 %r11, 7; st.async.{TO}.v2.b32 [%r21], {{%r9, %r11}}, [%r8];", wide=True, bytes_=256
    )
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, SENT + (7 << 32))


OPERATIONS = {
    ("add", "u32"): np.add, ("add", "s32"): np.add, ("min", "u32"): np.minimum, ("max", "s32"): np.maximum, ("and", "b32"): np.bitwise_and,
    ("or", "b32"): np.bitwise_or, ("xor", "b32"): np.bitwise_xor, ("inc", "u32"): lambda old, new: np.where(old >= new, 0, old + 1),
    ("dec", "u32"): lambda old, new: np.where((old == 0) | (old > new), new, old - 1),
}  # fmt: skip


@pytest.mark.parametrize(("operation", "element"), OPERATIONS)
def test_reductions_combine_with_what_is_there(operation: str, element: str, emulate: Run) -> None:
    start = START.replace("st.shared.b64 [%r20], OLD", "st.shared.b32 [%r4], 40")
    body = f"red.async.relaxed.cluster.{TO}.{operation}.{element} [%r7], %r9, [%r8];"
    out, report = run(emulate, body, start=start)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, OPERATIONS[operation, element](np.full((2, 32), 40), SENT))


def test_double_words_are_added(emulate: Run) -> None:
    out, report = run(emulate, f"red.async.{TO}.add.u64 [%r21], %rd1, [%r8];", wide=True, old=1 << 40, bytes_=256)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, SENT + (1 << 40))


def test_reductions_at_one_place_do_not_race(emulate: Run) -> None:
    body = f"red.async.{TO}.add.u32 [%r22], 1, [%r8]; st.async.{TO}.b32 [%r7+128], 0, [%r8];"
    out, report = run(emulate, body, bytes_=256)
    assert report.ok, report.findings
    assert out[:, 0].tolist() == [5 + 32, 5 + 32]


BULK = "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"


@pytest.mark.parametrize(
    ("operation", "element", "wanted"),
    [
        ("add", "u64", lambda old, new: old + new),
        ("max", "s32", None),
        ("xor", "b64", lambda old, new: old ^ new),
        ("min", "u64", np.minimum),
    ],
)
def test_bulk_reductions_into_the_neighbour(
    operation: str, element: str, wanted: Callable[..., np.ndarray] | None, emulate: Run
) -> None:
    out, report = run(
        emulate, f"@%p1 {BULK}.{operation}.{element} [%r22], [%r23], 256, [%r8];", wide=True, bytes_=256, old=9
    )
    assert report.ok, report.findings
    new = np.tile(np.arange(32, dtype=np.uint64), (2, 1))
    old = np.full((2, 32), 9, np.uint64)
    np.testing.assert_array_equal(out, np.maximum(old, new) if wanted is None else wanted(old, new))


FAULTS = {
    "read before the wait": (f"st.async.{TO}.b32 [%r7], %r9, [%r8];", "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0; @!%p2 bra WAIT;", "", "async-read"),
    "fewer bytes than awaited": (f"@%p1 st.async.{TO}.b32 [%r7], %r9, [%r8];", "", "", "deadlock"),
    "two stores to one place": (f"st.async.{TO}.b32 [%r22], %r9, [%r8];", "", "", "shared-race"),
    "a store beside a reduction": (f"red.async.{TO}.add.u32 [%r22], 1, [%r8]; st.shared.b32 [%r4], 0;", "", "", "async-write"),
    "an odd place": (f"add.s32 %r7, %r7, 2; st.async.{TO}.b32 [%r7], %r9, [%r8];", "", "", "misaligned"),
    "beyond shared memory": (f"st.async.{TO}.b32 [%r7+512], %r9, [%r8];", "", "", "out-of-bounds"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, emulate: Run) -> None:
    body, old, new, kind = FAULTS[fault]
    assert old in END
    _, report = run(emulate, body, end=END.replace(old, new, 1) if old else END)
    assert kind in {f.kind for f in report.findings}, report.findings


def test_a_bulk_reduction_of_what_threads_wrote_needs_the_fence(emulate: Run) -> None:
    body = f"@%p1 {BULK}.add.u64 [%r22], [%r23], 256, [%r8];"
    _, report = run(emulate, body, wide=True, bytes_=256, start=START.replace("FENCE", ""))
    assert {f.kind for f in report.findings} == {"proxy-fence"}


def test_a_reduction_into_what_nothing_has_written_is_found(emulate: Run) -> None:
    start = START.replace("st.shared.b64 [%r20], OLD;", "")
    _, report = run(emulate, f"red.async.{TO}.add.u32 [%r7], 1, [%r8];", start=start)
    assert "uninitialised" in {f.kind for f in report.findings}

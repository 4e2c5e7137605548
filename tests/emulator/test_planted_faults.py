"""Faults planted in sound kernels are found, each by its kind; the kernels themselves report nothing."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minitriton import emulator
from minitriton.emulator.report import KINDS
from minitriton_kernels.cases import CASES

Edit = Callable[[str], str]
Run = Callable[..., emulator.Report]


def nth(pattern: str, replacement: str, position: int = 0) -> Edit:
    """Replaces the match number `position` (from the end if negative) of a pattern."""

    def edit(text: str) -> str:
        found = list(re.finditer(pattern, text))
        chosen = found[position]
        return text[: chosen.start()] + chosen.expand(replacement) + text[chosen.end() :]

    return edit


def without_barrier(position: int) -> Edit:
    return nth(r"bar\.sync\s+0;", "", position)


def everywhere(pattern: str, replacement: str) -> Edit:
    return lambda text: re.sub(pattern, replacement, text)


DROP_LOAD_MASK = everywhere(r"@%p\d+ (ld\.global)", r"\1")
DROP_STORE_MASK = everywhere(r"@%p\d+ (st\.global)", r"\1")

KERNEL_FAULTS: dict[str, tuple[str, Edit, str]] = {
    "softmax: no barrier between writing and reading the maximum": ("softmax", without_barrier(0), "shared-race"),
    "softmax: no barrier between writing and reading the sum": ("softmax", without_barrier(1), "shared-race"),
    "layer_norm: no barrier before the scratch is reused": ("layer_norm", without_barrier(1), "shared-race"),
    "layer_norm: no barrier before the exchange": ("layer_norm", without_barrier(3), "shared-race"),
    "layer_norm: no barrier within the exchange": ("layer_norm", without_barrier(4), "shared-race"),
    "softmax: a warp's partial result is never stored": (
        "softmax",
        nth(r"@%p\d+ (st\.shared)", r"@%p99 \1", 0),
        "uninitialised",
    ),
    "transpose: no barrier": ("transpose", without_barrier(0), "shared-race"),
    "small_matmul: a shared vector shifted by a word": (
        "small_matmul",
        nth(r"(ld\.shared\.v4\.b32[^\[]*\[%r\d+)\+16\]", r"\1+20]", 0),
        "misaligned",
    ),
    "small_matmul: no barrier before the tile is read": ("small_matmul", without_barrier(1), "shared-race"),
    "small_matmul: no barrier before the last exchange": ("small_matmul", without_barrier(-1), "shared-race"),
    "sum_columns: no barrier": ("sum_columns", without_barrier(0), "shared-race"),
    "max_columns: no barrier": ("max_columns", without_barrier(0), "shared-race"),
    "argmax_columns: no barrier": ("argmax_columns", without_barrier(0), "shared-race"),
    "layer_norm: no barrier in the reduction": ("layer_norm", without_barrier(2), "shared-race"),
    "vector_add: load mask dropped": ("vector_add", DROP_LOAD_MASK, "out-of-bounds"),
    "vector_add: store mask dropped": ("vector_add", DROP_STORE_MASK, "out-of-bounds"),
    "dropout: store mask dropped": ("dropout", DROP_STORE_MASK, "out-of-bounds"),
    "masked_gather: load mask dropped": ("masked_gather", DROP_LOAD_MASK, "out-of-bounds"),
    "softmax: store mask dropped, so that rows overlap": ("softmax", DROP_STORE_MASK, "global-race"),
    "vector_add: vector shifted by a word": (
        "vector_add",
        nth(r"(ld\.global\.v4\.b32[^\[]*\[ ?%rd\d+) \+ 0", r"\1 + 4", 0),
        "misaligned",
    ),
    "softmax: rows stored one element too far": (
        "softmax",
        nth(r"(st\.global\.b32 \[ ?%rd\d+) \+ 0", r"\1 + 4", -2),
        "global-race",
    ),
    "softmax: half of the threads skip a barrier": (
        "softmax",
        nth(r"bar\.sync\s+0;", "setp.lt.u32 %p99, %r1, 64;\n@%p99 bar.sync 0;", 1),
        "barrier",
    ),
    "softmax: a barrier counts more threads than there are": (
        "softmax",
        nth(r"bar\.sync\s+0;", "bar.sync 0, 160;", 1),
        "barrier",
    ),
    "softmax: a shuffle names lanes that have left": (
        "softmax",
        nth(r"(shfl\.sync\.bfly\.b32[^;]*;)", r"setp.lt.u32 %p99, %r1, 16;\n@%p99 \1", 0),
        "inactive-lane",
    ),
}


def plant(ptx: str, edit: Edit) -> str:
    edited = edit(ptx).replace(".reg .pred ", ".reg .pred %p99;\n\t.reg .pred ", 1)
    assert edited.count("\n") and edit(ptx) != ptx
    return edited


@pytest.mark.sampled(3)
@pytest.mark.parametrize("fault", KERNEL_FAULTS)
def test_a_fault_planted_in_a_kernel_is_found(fault: str, compiled: Callable) -> None:
    name, edit, kind = KERNEL_FAULTS[fault]
    case = next(c for c in CASES if c.name == name)
    ptx, shared = compiled(name, "minitriton", 90)
    report = emulator.run(plant(ptx, edit), case.kernel, case.grid, case.inputs(np.random.default_rng(0)), shared)
    assert kind in {f.kind for f in report.findings}, report.findings
    assert all(f.line > 0 and f.text for f in report.findings)


SHARED_WORD = "mov.b32 %r1, buffer; shl.b32 %r2, %r100, 2; add.s32 %r3, %r1, %r2;"

SMALL_FAULTS = {
    "reading beyond an array": ("ld.global.b32 %r1, [%rd91+64];", "out-of-bounds"),
    "reading before an array": ("ld.global.b32 %r1, [%rd91+-4];", "out-of-bounds"),
    "reading through a null pointer": ("mov.b64 %rd1, 0; ld.global.b32 %r1, [%rd1];", "out-of-bounds"),
    "beyond shared memory": (SHARED_WORD + "st.shared.b32 [%r3+512], %r100;", "out-of-bounds"),
    "a misaligned shared vector": (
        SHARED_WORD + "st.shared.b32 [%r3], 1; bar.sync 0; ld.shared.v2.b32 {%r4, %r5}, [%r3];",
        "misaligned",
    ),
    "shared memory nothing has written": (SHARED_WORD + "ld.shared.b32 %r4, [%r3];", "uninitialised"),
    "two threads write one word": (SHARED_WORD + "st.shared.b32 [%r1], %r100;", "shared-race"),
    "a neighbour's word without a barrier": (
        SHARED_WORD + "st.shared.b32 [%r3], %r100; xor.b32 %r4, %r3, 4; ld.shared.b32 %r5, [%r4];",
        "shared-race",
    ),
    "a word overwritten while another thread reads it": (
        SHARED_WORD + "st.shared.b32 [%r3], %r100; bar.sync 0; ld.shared.b32 %r5, [%r1];"
        "add.s32 %r6, %r100, 5; st.shared.b32 [%r3], %r6;",
        "shared-race",
    ),
    "a barrier that some threads skip": (
        "setp.lt.u32 %p1, %r100, 32; @%p1 bra END; bar.sync 0; END:",
        "barrier",
    ),
    "a loop whose counter does not change": (
        "mov.b32 %r1, 0; AGAIN: add.s32 %r2, %r2, %r100; add.s32 %r1, %r1, 0;"
        "setp.lt.s32 %p1, %r1, 8; @%p1 bra AGAIN; st.global.b32 [%rd91], %r2;",
        "endless",
    ),
    "two barriers that wait for each other": (
        "setp.lt.u32 %p1, %r100, 32; @%p1 bra ELSE; bar.sync 1; bra END; ELSE: bar.sync 2; END:",
        "deadlock",
    ),
    "a trap": ("setp.eq.u32 %p1, %r100, 3; @%p1 trap;", "trap"),
    "all threads of a CTA store at one address": ("st.global.b32 [%rd100], %r100;", "thread-race"),
    "two CTAs write one word": ("mov.b32 %r1, %ctaid.x; st.global.b32 [%rd91], %r1;", "global-race"),
    "a CTA reads what another writes": (
        "setp.eq.u32 %p1, %r101, 0; @%p1 st.global.b32 [%rd91], %r100; @!%p1 ld.global.b32 %r1, [%rd91];",
        "global-race",
    ),
}


@pytest.mark.parametrize("fault", SMALL_FAULTS)
def test_a_small_faulty_kernel_is_found_out(fault: str, emulate: Run) -> None:
    body, kind = SMALL_FAULTS[fault]
    grid = (1,) if kind == "thread-race" else (2,)
    report = emulate(body, np.zeros(64, np.uint32), np.zeros(64, np.uint32), threads=64, shared=256, grid=grid)
    assert {f.kind for f in report.findings} == {kind}


HALF_A_VECTOR = "mov.b32 %r1, buffer; shl.b32 %r2, %r100, 3; add.s32 %r3, %r1, %r2; st.shared.b32 [%r3], %r100; ld.shared.v2.b32 {%r4, %r5}, [%r3];"


@pytest.mark.parametrize(("read", "kinds"), [("%r4", set[str]()), ("%r5", {"uninitialised"})])
def test_an_element_of_a_vector_that_nobody_reads_needs_no_value(read: str, kinds: set[str], emulate: Run) -> None:
    body = f"{HALF_A_VECTOR} st.global.b32 [%rd91], {read};"
    report = emulate(body, np.zeros(64, np.uint32), threads=64, shared=512)
    assert {f.kind for f in report.findings} == kinds


PIPELINE = """
    mov.b32 %r1, buffer; shl.b32 %r2, %r100, 2; add.s32 %r3, %r1, %r2; xor.b32 %r4, %r3, 128;
    cp.async.ca.shared.global [%r3 + 0], [%rd91 + 0], 0x4; cp.async.commit_group;
    cp.async.ca.shared.global [%r3 + 256], [%rd91 + 256], 0x4; cp.async.commit_group;
    cp.async.wait_group 1;
    bar.sync 0;
    ld.shared.b32 %r5, [%r4];
    bar.sync 0;
    cp.async.ca.shared.global [%r3 + 0], [%rd91 + 512], 0x4; cp.async.commit_group;
    cp.async.wait_group 1;
    bar.sync 0;
    ld.shared.b32 %r6, [%r4 + 256];
    cp.async.wait_group 0;
    bar.sync 0;
    ld.shared.b32 %r7, [%r4];
    add.s32 %r5, %r5, %r6; add.s32 %r5, %r5, %r7;
    st.global.b32 [%rd92], %r5;"""

PIPELINE_FAULTS: dict[str, tuple[Edit, str]] = {
    "the first wait one group short": (nth(r"wait_group 1", "wait_group 2", 0), "async-read"),
    "the second wait one group short": (nth(r"wait_group 1", "wait_group 2", 1), "async-read"),
    "the last wait one group short": (nth(r"wait_group 0", "wait_group 1", 0), "async-read"),
    "no wait": (nth(r"cp\.async\.wait_group 1;", "", 0), "async-read"),
    "no commit": (nth(r"cp\.async\.commit_group;", "", 1), "async-read"),
    "no barrier after the wait": (nth(r"bar\.sync 0;", "", 0), "shared-race"),
    "no barrier before the stage is filled again": (nth(r"bar\.sync 0;", "", 1), "shared-race"),
    "no barrier after the last wait": (nth(r"bar\.sync 0;", "", 3), "shared-race"),
    "the stage of another group": (nth(r"(ld\.shared\.b32 %r5, \[%r4)", r"\1 + 256", 0), "async-read"),
    "a store where a copy is under way": (
        nth(r"(cp\.async\.wait_group 1;)", r"st.shared.b32 [%r3], 7; \1", 0),
        "async-write",
    ),
    "a copy to an odd place": (nth(r"%r3 \+ 256", "%r3 + 258", 0), "misaligned"),
    "a copy beyond shared memory": (nth(r"%r3 \+ 256", "%r3 + 512", 0), "out-of-bounds"),
    "a copy from beyond the array": (nth(r"%rd91 \+ 512", "%rd91 + 600", 0), "out-of-bounds"),
}


def run_pipeline(emulate: Run, body: str) -> tuple[np.ndarray, emulator.Report]:
    out = np.zeros(64, np.uint32)
    return out, emulate(body, np.arange(192, dtype=np.uint32), out, threads=64, shared=512)


def test_the_sound_pipeline_reports_nothing(emulate: Run) -> None:
    out, report = run_pipeline(emulate, PIPELINE)
    assert out.tolist() == [3 * (t ^ 32) + 64 + 128 for t in range(64)]
    assert report.ok


@pytest.mark.parametrize("fault", PIPELINE_FAULTS)
def test_a_fault_planted_in_a_pipeline_is_found(fault: str, emulate: Run) -> None:
    edit, kind = PIPELINE_FAULTS[fault]
    _, report = run_pipeline(emulate, edit(PIPELINE))
    assert kind in {f.kind for f in report.findings}


def test_a_finding_names_instruction_thread_and_place(emulate: Run) -> None:
    report = emulate("ld.global.b32 %r1, [%rd91+64];", np.zeros(64, np.uint32), np.zeros(1, np.uint32), threads=64)
    (finding,) = report.findings
    assert finding.count == 16
    assert finding.text == "ld.global.b32 %r1, [%rd91+64]"
    assert "byte 256 of `argument 0` (256 bytes) (CTA (0, 0, 0), thread 48)" in finding.message


def test_threads_that_write_the_same_value_do_not_race(emulate: Run) -> None:
    report = emulate(SHARED_WORD + "st.shared.b32 [%r1], 7;", np.zeros(1, np.uint32), np.zeros(1, np.uint32), shared=64)
    assert report.ok


def test_a_warp_barrier_orders_lanes_but_not_warps(emulate: Run) -> None:
    body = SHARED_WORD + "st.shared.b32 [%r3], %r100; bar.warp.sync -1; xor.b32 %r4, %r3, {}; ld.shared.b32 %r5, [%r4];"
    arrays = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    assert emulate(body.format(4), *arrays, threads=64, shared=256).ok
    assert [f.kind for f in emulate(body.format(128), *arrays, threads=64, shared=256).findings] == ["shared-race"]


def test_a_store_to_what_the_host_keeps_read_only_is_found(emulate: Run) -> None:
    kept = np.zeros(32, np.uint32)
    kept.flags.writeable = False
    report = emulate("st.global.b32 [%rd91], %r100;", kept, np.zeros(1, np.uint32))
    assert [f.kind for f in report.findings] == ["read-only"]
    assert not kept.any()


def test_every_kind_of_finding_has_a_planted_fault() -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    import test_bulk_copies
    import test_clusters
    import test_matrix_kernels
    import test_remote_operations

    tables = [KERNEL_FAULTS, SMALL_FAULTS, PIPELINE_FAULTS, test_bulk_copies.FAULTS, test_bulk_copies.MAP_FAULTS]
    tables += [test_clusters.FAULTS, test_matrix_kernels.FAULTS, test_remote_operations.FAULTS]
    kinds = [fault[-1] for table in tables for fault in table.values()]
    assert len(kinds) >= 75
    assert {*kinds, "assert", "read-only", "poison"} == set(
        KINDS
    )  # those of `poison` are planted in kernels, tests/lab/test_poison.py

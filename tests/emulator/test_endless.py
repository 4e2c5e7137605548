"""Loops that never end are found where nothing changes that they depend on, others by the time they take; loops that do end are let run."""

import time
from collections.abc import Callable

import numpy as np
import pytest
from ptx_text import ptx_of

from minitriton import emulator
from minitriton.errors import MinitritonError

Run = Callable[..., emulator.Report]

NEVER = {
    "a counter that stays": "mov.b32 %r1, 0; L: add.s32 %r1, %r1, 0; setp.lt.s32 %p1, %r1, 8; @%p1 bra L;",
    "a sum that grows beside it": "mov.b32 %r1, 0; L: add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r1, 8; @%p1 bra L;",
    "a cycle of three": (
        "mov.b32 %r1, 0; L: add.s32 %r1, %r1, 1; rem.u32 %r1, %r1, 3; setp.lt.s32 %p1, %r1, 8; @%p1 bra L;"
    ),
    "a jump to itself": "L: bra L;",
    "barriers in it": "L: bar.sync 0; setp.ge.s32 %p1, %r100, 0; @%p1 bra L;",
    "some threads that leave": "L: setp.lt.s32 %p1, %r100, 8; @%p1 bra L;",
    "an asynchronous copy in it": (
        "mov.b32 %r1, buffer; L: cp.async.ca.shared.global [%r1], [%rd100], 4; cp.async.commit_group;"
        "cp.async.wait_group 0; mov.b32 %r2, 0; setp.lt.s32 %p1, %r2, 8; @%p1 bra L;"
    ),
}


@pytest.mark.parametrize("name", NEVER)
def test_a_loop_that_nothing_ends_is_found_at_once(name: str, emulate: Run) -> None:
    start = time.monotonic()
    report = emulate(NEVER[name], np.zeros(64, np.uint32), np.zeros(64, np.uint32), threads=64, shared=64, grid=(3,))
    assert [f.kind for f in report.findings if f.kind != "shared-race"] == ["endless"]
    assert "nothing that it depends on changes" in report.findings[-1].message
    assert time.monotonic() - start < 20


def test_waiting_for_memory_that_nothing_writes_is_a_deadlock(emulate: Run) -> None:
    body = "L: ld.volatile.global.b32 %r1, [%rd100]; setp.eq.s32 %p1, %r1, 0; @%p1 bra L;"
    report = emulate(body, np.zeros(32, np.uint32), np.zeros(32, np.uint32))
    assert [f.kind for f in report.findings] == ["deadlock"]


def test_a_program_may_wait_for_one_of_a_later_batch(emulate: Run) -> None:
    body = """
        setp.eq.s32 %p1, %r101, 299; @%p1 bra LAST;
        L: ld.relaxed.gpu.global.b32 %r1, [%rd100]; setp.eq.s32 %p1, %r1, 0; @%p1 bra L;
        bra END;
        LAST: mov.b32 %r1, 1; st.relaxed.gpu.global.b32 [%rd100], %r1;
        END:"""
    flag = np.zeros(1, np.uint32)
    report = emulate(body, flag, np.zeros(1, np.uint32), threads=128, grid=(300,))
    assert report.findings == []
    assert flag[0] == 1


def test_a_thread_may_wait_for_another_of_its_program(emulate: Run) -> None:
    body = """
        setp.ge.u32 %p1, %r100, 32; @%p1 bra OTHER;
        L: ld.relaxed.gpu.global.b32 %r1, [%rd100]; setp.eq.s32 %p2, %r1, 0; @%p2 bra L;
        bra END;
        OTHER: mov.b32 %r1, 1; st.relaxed.gpu.global.b32 [%rd100], %r1;
        END:"""
    flag = np.zeros(1, np.uint32)
    assert emulate(body, flag, np.zeros(1, np.uint32), threads=64).findings == []


def test_a_long_loop_that_ends_is_let_run(emulate: Run) -> None:
    body = """
        mov.b32 %r1, 0; mov.b32 %r3, 0;
        L: add.s32 %r1, %r1, 1; and.b32 %r2, %r1, 3; add.s32 %r3, %r3, %r2;
        setp.lt.s32 %p1, %r1, 20000; @%p1 bra L;
        st.global.b32 [%rd91], %r3;"""
    out = np.zeros(32, np.uint32)
    assert emulate(body, out, np.zeros(1, np.uint32)).findings == []
    assert set(out) == {30000}


def test_a_loop_that_takes_longer_than_it_may_is_ended_there() -> None:
    body = "mov.b32 %r1, 1; L: add.s32 %r1, %r1, 1; setp.gt.s32 %p1, %r1, 0; @%p1 bra L;"
    arrays = [np.zeros(32, np.uint32), np.zeros(32, np.uint32)]
    start = time.monotonic()
    report = emulator.run(ptx_of(body), "k", (400,), arrays, seconds=0.5)
    assert time.monotonic() - start < 10
    (found,) = report.findings
    assert found.kind == "endless" and "no end after 0.5 s" in found.message


@pytest.mark.parametrize("directive", ["0", "", "1025", "-1", "32, 32, 32", "9" * 30, "x", "1,1,1,1"])
def test_a_number_of_threads_that_no_program_has_is_an_error_at_its_line(directive: str) -> None:
    text = ptx_of("").replace(".reqntid 32", f".reqntid {directive}")
    with pytest.raises(MinitritonError) as refused:
        emulator.run(text, "k", (1,), [np.zeros(1, np.uint32)] * 2)
    assert refused.value.location is not None
    assert refused.value.location.line == 1 + next(i for i, line in enumerate(text.split("\n")) if "reqntid" in line)

"""printf, assertions, carries and locks: what library code and user kernels call for."""

from collections.abc import Callable

import numpy as np
import pytest

from minitriton import emulator

Run = Callable[..., emulator.Report]
NOTHING = np.zeros(32, np.uint32)


PARAMETERS = {
    "whole": "st.param.b64 [param0], %rd4;\nst.param.b64 [param1], %rd2;",
    "vectors": "st.param.v2.b32 [param0], {%r6, %r7};\nst.param.v4.b16 [param1], {%rs1, %rs2, %rs3, %rs4};",
    "pieces": "st.param.b32 [param0], %r6;\nst.param.b32 [param0+4], %r7;\nst.param.b64 [param1], %rd2;",
}


@pytest.mark.parametrize("way", PARAMETERS)
def test_printf_formats_each_threads_arguments(way: str) -> None:
    text = """
.version 8.7
.target sm_90a
.address_size 64
.global .align 1 .b8 format[16] = {105, 32, 37, 100, 32, 120, 32, 37, 46, 50, 102, 10, 0};
.visible .entry k()
.reqntid 32
{
.local .align 8 .b8 depot[16];
.reg .b16 %rs<5>;
.reg .b32 %r<8>;
.reg .b64 %rd<6>;
mov.b64 %rd1, depot;
cvta.local.u64 %rd2, %rd1;
cvt.u32.u64 %r1, %rd1;
mov.u32 %r2, %tid.x;
st.local.b32 [%r1], %r2;
st.local.b64 [%r1+8], 4611686018427387904;
{
.param .b64 param0;
.param .b64 param1;
.param .b32 retval0;
mov.b64 %rd3, format;
cvta.global.u64 %rd4, %rd3;
mov.b64 {%r6, %r7}, %rd4;
mov.b64 {%rs1, %rs2, %rs3, %rs4}, %rd2;
PASSED
call.uni (retval0), vprintf, (param0, param1);
ld.param.b32 %r3, [retval0];
}
ret;
}
"""
    printed = emulator.run(text.replace("PASSED", PARAMETERS[way]), "k", (1,), []).output
    assert printed == [f"i {t} x 2.00" for t in range(32)]


def test_carries_pass_from_word_to_word(emulate: Run) -> None:
    out = np.zeros(32, np.uint32)
    body = "mov.b32 %r1, -1; add.cc.u32 %r2, %r1, %r100; addc.u32 %r3, 5, 0; st.global.b32 [%rd91], %r3;"
    emulate(body, out, NOTHING.copy())
    assert out.tolist() == [5] + [6] * 31


def test_products_carry_into_their_upper_words(emulate: Run) -> None:
    out = np.zeros(32, np.uint32)
    body = (
        "mov.b32 %r1, -1; mad.lo.cc.u32 %r2, %r1, %r1, %r1; madc.hi.u32 %r3, %r1, %r1, 0; st.global.b32 [%rd91], %r3;"
    )
    emulate(body, out, NOTHING.copy())
    assert out.tolist() == [(0xFFFFFFFF * 0xFFFFFFFF + 0xFFFFFFFF) >> 32] * 32


LOCK = """
    setp.ne.u32 %p1, %r100, 0;
    @%p1 bra END;
    SPIN: atom.global.gpu.{acquire}.cas.b32 %r1, [%rd100], 0, 1;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra SPIN;
    ld.global.b32 %r2, [%rd101]; add.s32 %r2, %r2, 1; st.global.b32 [%rd101], %r2;
    atom.global.gpu.{release}.exch.b32 %r3, [%rd100], 0;
    END:"""


def test_ctas_that_take_a_lock_in_turn_do_not_race(emulate: Run) -> None:
    lock, total = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    report = emulate(LOCK.format(acquire="acquire", release="release"), lock, total, grid=(7,))
    assert total[0] == 7
    assert report.ok, report.findings


def test_a_relaxed_lock_orders_nothing(emulate: Run) -> None:
    lock, total = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    report = emulate(LOCK.format(acquire="relaxed", release="relaxed"), lock, total, grid=(7,))
    assert {f.kind for f in report.findings} == {"global-race"}

"""Loads, stores, atomics and asynchronous copies."""

from collections.abc import Callable

import numpy as np
import pytest

from minitriton import emulator
from minitriton.emulator import EmulationError

Run = Callable[..., emulator.Report]


def test_vectors_load_and_store_neighbouring_words(emulate: Run) -> None:
    source, out = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    report = emulate(
        """
        mul.wide.u32 %rd1, %r100, 16; add.s64 %rd2, %rd100, %rd1; add.s64 %rd3, %rd101, %rd1;
        ld.global.L1::evict_last.v4.b32 {%r1, %r2, %r3, %r4}, [%rd2];
        st.global.v4.b32 [%rd3], {%r4, %r3, %r2, %r1};""",
        source,
        out,
    )
    np.testing.assert_array_equal(out.reshape(-1, 4), source.reshape(-1, 4)[:, ::-1])
    assert report.total("global").bytes == 2 * 32 * 16


def test_bytes_and_half_words_extend_by_their_sign(emulate: Run) -> None:
    source, out = np.arange(-16, 16, dtype=np.int8), np.zeros(32, np.int32)
    emulate(
        "cvt.u64.u32 %rd1, %r100; add.s64 %rd2, %rd100, %rd1; ld.global.s8 %rs1, [%rd2]; cvt.s32.s16 %r1, %rs1;"
        "st.global.b32 [%rd92], %r1;",
        source,
        out,
    )
    np.testing.assert_array_equal(out, source)


def test_arrays_that_overlap_are_one_memory(emulate: Run) -> None:
    whole = np.arange(64, dtype=np.uint32)
    emulate("ld.global.b32 %r1, [%rd91]; st.global.b32 [%rd92], %r1;", whole[:32], whole[32:])
    np.testing.assert_array_equal(whole[32:], np.arange(32))


def test_strided_views_are_read_where_they_lie(emulate: Run) -> None:
    table, out = np.arange(64, dtype=np.uint32).reshape(32, 2), np.zeros(32, np.uint32)
    emulate(
        "mul.wide.u32 %rd1, %r100, 8; add.s64 %rd2, %rd100, %rd1; ld.global.b32 %r1, [%rd2]; st.global.b32 [%rd92], %r1;",
        table[:, 1],
        out,
    )
    np.testing.assert_array_equal(out, table[:, 1])


def test_numbers_are_passed_as_the_parameter_declares(emulate: Run) -> None:
    out = np.zeros(32, np.float32)
    emulate("ld.param.f32 %r1, [p2]; st.global.b32 [%rd91], %r1;", out, np.zeros(1, np.uint32), 1.5)
    assert (out == 1.5).all()


CHOSEN = """and.b32 %r1, %r100, 1; setp.eq.u32 %p1, %r1, 1; mov.b64 %rd1, p2; mov.b64 %rd2, p3;
    selp.b64 %rd3, %rd1, %rd2, %p1;"""


def test_each_thread_loads_the_parameter_that_it_chose(emulate: Run) -> None:
    """LLVM's `select` of two parameters of the same type: of their addresses, before one load."""
    out, other = np.zeros(32, np.float32), np.zeros(1, np.uint32)
    emulate(CHOSEN + "ld.param.b32 %r2, [%rd3]; st.global.b32 [%rd91], %r2;", out, other, 1.5, 2.5)
    np.testing.assert_array_equal(out, np.where(np.arange(32) % 2 == 1, 1.5, 2.5))
    emulate(CHOSEN + "ld.param.v2.b32 {%r2, %r3}, [%rd1]; st.global.b32 [%rd91], %r3;", out, other, 1.5, 2.5)
    assert (out == 2.5).all()


@pytest.mark.parametrize("guard", ["", "@%p1 "])
def test_a_load_behind_the_last_parameter_is_an_error_at_its_line(emulate: Run, guard: str) -> None:
    out, other = np.zeros(32, np.float32), np.zeros(1, np.uint32)
    body = f"{guard}ld.param.b32 %r2, [%rd1+64]; st.global.b32 [%rd91], %r100;"
    with pytest.raises(
        EmulationError, match=r"reads 4 bytes at byte \d+ of the kernel's \d+ bytes of parameters"
    ) as error:
        emulate(CHOSEN + body, out, other, 1.5, 2.5)
    assert error.value.source_line is not None and "ld.param" in error.value.source_line
    nobody = "setp.gt.u32 %p1, %r100, 99; @%p1 "
    emulate(CHOSEN + nobody + body.removeprefix(guard), out.view(np.uint32), other, 1.5, 2.5)
    np.testing.assert_array_equal(out.view(np.uint32), np.arange(32))


def test_atomics_on_one_place_act_in_turn(emulate: Run) -> None:
    total, old = np.zeros(1, np.uint32), np.zeros(32, np.uint32)
    report = emulate("atom.global.gpu.acq_rel.add.u32 %r1, [%rd100], 3; st.global.b32 [%rd92], %r1;", total, old)
    assert total[0] == 96
    assert sorted(old.tolist()) == list(range(0, 96, 3))
    assert report.ok


@pytest.mark.parametrize(
    ("operation", "start", "wanted"),
    [
        ("max.s32", 5, 31),
        ("min.s32", 5, 0),
        ("xor.b32", 0, 0),
        ("or.b32", 64, 95),
        ("exch.b32", 0, 31),
        ("inc.u32", 0, None),
    ],
)
def test_atomic_operations(operation: str, start: int, wanted: int | None, emulate: Run) -> None:
    cell = np.array([start], np.uint32)
    emulate(f"atom.global.{operation} %r1, [%rd100], %r100;", cell, np.zeros(1, np.uint32))
    assert wanted is None or cell[0] == wanted


def test_compare_and_swap_succeeds_once(emulate: Run) -> None:
    cell, old = np.zeros(1, np.uint32), np.zeros(32, np.uint32)
    emulate("add.s32 %r2, %r100, 1; atom.global.cas.b32 %r1, [%rd100], 0, %r2; st.global.b32 [%rd92], %r1;", cell, old)
    assert cell[0] == 1
    assert old.tolist() == [0] + [1] * 31


def test_float_atomics_add_in_float(emulate: Run) -> None:
    total = np.zeros(1, np.float32)
    emulate("mov.b32 %r1, 0f3F000000; red.global.add.f32 [%rd100], %r1;", total, np.zeros(1, np.uint32))
    assert total[0] == 16


COPY = """
    mov.b32 %r1, buffer; shl.b32 %r2, %r100, 2; add.s32 %r3, %r1, %r2;
    cp.async.ca.shared.global [%r3], [%rd91], 4, {valid};
    cp.async.commit_group;
    {wait}
    ld.shared.b32 %r4, [%r3];
    st.global.b32 [%rd92], %r4;"""


def test_an_asynchronous_copy_arrives_with_its_wait(emulate: Run) -> None:
    source, out = np.arange(32, dtype=np.uint32), np.zeros(32, np.uint32)
    report = emulate(COPY.format(wait="cp.async.wait_group 0;", valid=4), source, out, shared=128)
    np.testing.assert_array_equal(out, source)
    assert report.ok


def test_an_asynchronous_copy_of_nothing_writes_zeros(emulate: Run) -> None:
    source, out = np.arange(32, dtype=np.uint32), np.ones(32, np.uint32)
    emulate(COPY.format(wait="cp.async.wait_all;", valid=0), source, out, shared=128)
    assert not out.any()


def test_without_the_wait_the_data_is_not_there(emulate: Run) -> None:
    source, out = np.arange(32, dtype=np.uint32), np.zeros(32, np.uint32)
    report = emulate(COPY.format(wait="cp.async.wait_group 1;", valid=4), source, out, shared=128)
    assert (out != source).all()
    assert [f.kind for f in report.findings] == ["async-read"]


def test_generic_addresses_reach_shared_memory(emulate: Run) -> None:
    out = np.zeros(32, np.uint32)
    report = emulate(
        """
        mov.b32 %r1, buffer; shl.b32 %r2, %r100, 2; add.s32 %r3, %r1, %r2;
        cvt.u64.u32 %rd1, %r3; cvta.shared.u64 %rd2, %rd1;
        st.b32 [%rd2], %r100; ld.shared.b32 %r4, [%r3]; st.global.b32 [%rd91], %r4;""",
        out,
        np.zeros(1, np.uint32),
        shared=128,
    )
    assert out.tolist() == list(range(32))
    assert report.ok


def test_local_memory_belongs_to_one_thread(emulate: Run) -> None:
    out = np.zeros(32, np.uint32)
    emulate(
        ".local .align 4 .b8 mine[8]; mov.b32 %r1, mine; st.local.b32 [%r1+4], %r100; ld.local.b32 %r2, [%r1+4];"
        "st.global.b32 [%rd91], %r2;",
        out,
        np.zeros(1, np.uint32),
    )
    assert out.tolist() == list(range(32))


def test_float_atomics_flush_subnormals_in_global_but_not_in_shared_memory(emulate: Run) -> None:
    tiny = np.float32(2.0**-140)
    total, out = np.array([tiny]), np.zeros(32, np.float32)
    body = """
    mov.b32 %r1, 0f00000200; setp.eq.u32 %p1, %r100, 0; mov.b32 %r2, buffer;
    @%p1 st.shared.b32 [%r2], %r1; bar.sync 0;
    @%p1 red.global.add.f32 [%rd100], %r1; @%p1 red.shared.add.f32 [%r2], %r1; bar.sync 0;
    ld.shared.b32 %r3, [%r2]; st.global.b32 [%rd92], %r3;"""
    assert emulate(body, total, out, shared=16).ok
    assert total[0] == 0
    assert (out == 2 * tiny).all()


def test_generic_atomics_act_where_their_address_lies(emulate: Run) -> None:
    total, out = np.zeros(1, np.uint32), np.zeros(32, np.uint32)
    body = """
    mov.b32 %r1, buffer; cvt.u64.u32 %rd1, %r1; cvta.shared.u64 %rd2, %rd1; setp.lt.u32 %p1, %r100, 16;
    setp.eq.u32 %p2, %r100, 0; @%p2 st.shared.b32 [%r1], 0; bar.sync 0;
    selp.b64 %rd3, %rd2, %rd100, %p1; atom.add.u32 %r2, [%rd3], 2; bar.sync 0;
    ld.shared.b32 %r3, [%r1]; st.global.b32 [%rd92], %r3;"""
    assert emulate(body, total, out, shared=16).ok
    assert total[0] == 32
    assert (out == 32).all()


def test_constant_memory_holds_what_the_module_says() -> None:
    text = """
    .version 8.7
    .target sm_90a
    .address_size 64
    .const .align 4 .b32 table[4] = {10, 20, 30, 40};
    .visible .entry k(.param .u64 p0)
    .reqntid 32
    {
    .reg .b32 %r<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [p0]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 3;
    mul.wide.u32 %rd2, %r2, 4; mov.b64 %rd3, table; add.s64 %rd4, %rd3, %rd2; ld.const.b32 %r3, [%rd4];
    ld.const.b32 %r4, [table+8]; add.s32 %r3, %r3, %r4;
    mul.wide.u32 %rd5, %r1, 4; add.s64 %rd6, %rd1, %rd5; st.global.b32 [%rd6], %r3;
    ret;
    }"""
    out = np.zeros(32, np.uint32)
    assert emulator.run(text, "k", (1,), [out]).ok
    assert out.tolist() == [10 * (t % 4 + 1) + 30 for t in range(32)]

"""Branches part threads and bring them together again; barriers hold them."""

from collections.abc import Callable

import numpy as np

Run = Callable[..., object]


def words(count: int = 32) -> np.ndarray:
    return np.zeros(count, np.uint32)


def test_both_sides_of_a_branch_run_and_the_result_merges(emulate: Run) -> None:
    out = words()
    emulate(
        """
        setp.lt.u32 %p1, %r100, 10;
        @%p1 bra LOW;
        mov.b32 %r1, 100;
        bra END;
        LOW: mov.b32 %r1, 7;
        END: add.s32 %r1, %r1, %r100;
        st.global.b32 [%rd91], %r1;""",
        out,
        words(),
    )
    assert out.tolist() == [t + (7 if t < 10 else 100) for t in range(32)]


def test_threads_leave_a_loop_at_different_times(emulate: Run) -> None:
    out = words()
    emulate(
        """
        mov.b32 %r1, 0; mov.b32 %r2, 0;
        LOOP: add.s32 %r2, %r2, %r1;
        add.s32 %r1, %r1, 1;
        setp.le.u32 %p1, %r1, %r100;
        @%p1 bra LOOP;
        st.global.b32 [%rd91], %r2;""",
        out,
        words(),
    )
    assert out.tolist() == [t * (t + 1) // 2 for t in range(32)]


def test_threads_reconverge_right_after_a_nested_branch(emulate: Run) -> None:
    out = words()
    emulate(
        """
        and.b32 %r1, %r100, 1; setp.eq.u32 %p1, %r1, 0;
        and.b32 %r2, %r100, 2; setp.eq.u32 %p2, %r2, 0;
        @%p1 bra JOIN;
        @%p2 bra INNER;
        mov.b32 %r3, 5;
        INNER: activemask.b32 %r4;
        JOIN: activemask.b32 %r5;
        xor.b32 %r6, %r4, %r5;
        st.global.b32 [%rd91], %r6;""",
        out,
        words(),
    )
    assert out.tolist() == [0xFFFFFFFF if t % 2 == 0 else 0x55555555 for t in range(32)]


def test_a_guard_keeps_the_old_value(emulate: Run) -> None:
    out = words()
    emulate(
        "mov.b32 %r1, 3; setp.gt.u32 %p1, %r100, 4; @!%p1 mov.b32 %r1, 9; st.global.b32 [%rd91], %r1;", out, words()
    )
    assert out.tolist() == [9 if t <= 4 else 3 for t in range(32)]


def test_early_return_stops_only_the_threads_that_take_it(emulate: Run) -> None:
    out = words()
    emulate("setp.gt.u32 %p1, %r100, 4; @%p1 ret; mov.b32 %r1, 1; st.global.b32 [%rd91], %r1;", out, words())
    assert out.sum() == 5


def test_a_barrier_makes_other_warps_see_what_was_written(emulate: Run) -> None:
    out = words(64)
    report = emulate(
        """
        mov.b32 %r1, buffer; shl.b32 %r2, %r100, 2; add.s32 %r3, %r1, %r2;
        st.shared.b32 [%r3], %r100;
        bar.sync 0;
        xor.b32 %r4, %r2, 252; add.s32 %r4, %r1, %r4;
        ld.shared.b32 %r5, [%r4];
        st.global.b32 [%rd91], %r5;""",
        out,
        words(64),
        threads=64,
        shared=256,
    )
    assert out.tolist() == list(range(63, -1, -1))
    assert report.ok


def test_named_barriers_join_only_the_warps_they_count(emulate: Run) -> None:
    out = words(96)
    report = emulate(
        """
        mov.b32 %r1, buffer; shl.b32 %r2, %r100, 2; add.s32 %r3, %r1, %r2;
        setp.ge.u32 %p1, %r100, 64;
        @%p1 bra END;
        st.shared.b32 [%r3], %r100;
        bar.sync 1, 64;
        xor.b32 %r4, %r2, 128; add.s32 %r4, %r1, %r4;
        ld.shared.b32 %r5, [%r4];
        st.global.b32 [%rd91], %r5;
        END:""",
        out,
        words(96),
        threads=96,
        shared=256,
    )
    assert out[:64].tolist() == [t ^ 32 for t in range(64)]
    assert report.ok


def test_bar_arrive_lets_a_producer_go_on(emulate: Run) -> None:
    out = words(64)
    report = emulate(
        """
        mov.b32 %r1, buffer; and.b32 %r2, %r100, 31; shl.b32 %r2, %r2, 2; add.s32 %r3, %r1, %r2;
        setp.ge.u32 %p1, %r100, 32;
        @%p1 bra CONSUMER;
        st.shared.b32 [%r3], %r100;
        bar.arrive 2, 64;
        bra END;
        CONSUMER: bar.sync 2, 64;
        ld.shared.b32 %r5, [%r3];
        st.global.b32 [%rd91], %r5;
        END:""",
        out,
        words(64),
        threads=64,
        shared=128,
    )
    assert out[32:].tolist() == list(range(32))
    assert report.ok


def test_ctas_have_their_own_shared_memory_and_number(emulate: Run) -> None:
    out = words(4 * 32)
    report = emulate(
        """
        shl.b32 %r2, %r100, 2; mov.b32 %r1, buffer; add.s32 %r3, %r1, %r2;
        mad.lo.s32 %r4, %r101, 32, %r100;
        st.shared.b32 [%r3], %r4; ld.shared.b32 %r5, [%r3];
        mad.wide.u32 %rd1, %r4, 4, %rd100;
        st.global.b32 [%rd1], %r5;""",
        out,
        words(),
        shared=128,
        grid=(4,),
    )
    assert out.tolist() == list(range(128))
    assert report.ok

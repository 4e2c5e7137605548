"""Shuffles, votes, matches and reductions within a warp."""

from collections.abc import Callable

import numpy as np
import pytest

Run = Callable[..., object]
LANES = range(32)
VALUES = np.random.default_rng(1).integers(0, 2**32, 32, dtype=np.uint32)

SHUFFLES = {
    ("bfly", 5, 31): lambda t: t ^ 5,
    ("up", 3, 0): lambda t: t - 3 if t >= 3 else t,
    ("down", 3, 31): lambda t: t + 3 if t + 3 < 32 else t,
    ("idx", 9, 31): lambda t: 9,
    ("idx", 1, 0x1C1F): lambda t: (t & 28) | 1,
    ("down", 1, 0x1C1F): lambda t: t + 1 if t % 4 < 3 else t,
}


@pytest.mark.parametrize("mode", SHUFFLES, ids=str)
def test_shuffles_take_the_value_of_the_named_lane(mode: tuple[str, int, int], emulate: Run) -> None:
    out = np.zeros(32, np.uint32)
    body = f"ld.global.b32 %r1, [%rd91]; shfl.sync.{mode[0]}.b32 %r2|%p1, %r1, {mode[1]}, {mode[2]}, -1;"
    report = emulate(body + "st.global.b32 [%rd92], %r2;", VALUES, out)
    assert out.tolist() == [int(VALUES[SHUFFLES[mode](t)]) for t in LANES]
    assert report.ok


def run_words(emulate: Run, body: str) -> list[int]:
    out = np.zeros(32, np.uint32)
    emulate(f"ld.global.b32 %r1, [%rd91]; {body} st.global.b32 [%rd92], %r2;", VALUES % 7, out)
    return out.tolist()


def test_the_shuffle_predicate_says_whether_the_source_is_in_the_segment(emulate: Run) -> None:
    found = run_words(emulate, "shfl.sync.up.b32 %r3|%p1, %r1, 2, 0, -1; selp.b32 %r2, 1, 0, %p1;")
    assert found == [int(t >= 2) for t in LANES]


def test_ballot_collects_predicates(emulate: Run) -> None:
    found = run_words(emulate, "setp.lt.u32 %p1, %r1, 3; vote.sync.ballot.b32 %r2, %p1, -1;")
    assert found == [sum(1 << t for t in LANES if VALUES[t] % 7 < 3)] * 32


def test_vote_all_and_any(emulate: Run) -> None:
    body = "setp.lt.u32 %p1, %r1, 3; vote.sync.all.pred %p2, %p1, -1; vote.sync.any.pred %p3, %p1, -1;"
    assert (
        run_words(emulate, body + "selp.b32 %r4, 2, 0, %p2; selp.b32 %r5, 1, 0, %p3; or.b32 %r2, %r4, %r5;") == [1] * 32
    )


def test_match_any_finds_lanes_with_the_same_value(emulate: Run) -> None:
    found = run_words(emulate, "match.any.sync.b32 %r2, %r1, -1;")
    assert found == [sum(1 << s for s in LANES if VALUES[s] % 7 == VALUES[t] % 7) for t in LANES]


@pytest.mark.parametrize(("operation", "wanted"), [("add.u32", sum), ("max.s32", max), ("min.u32", min)])
def test_redux_reduces_over_the_warp(operation: str, wanted: Callable, emulate: Run) -> None:
    assert run_words(emulate, f"redux.sync.{operation} %r2, %r1, -1;") == [wanted((VALUES % 7).tolist())] * 32


def test_elect_chooses_the_lowest_lane(emulate: Run) -> None:
    assert run_words(emulate, "elect.sync %r3|%p1, -1; selp.b32 %r2, 1, 0, %p1;") == [1] + [0] * 31


def test_lane_masks_and_numbers(emulate: Run) -> None:
    found = run_words(emulate, "mov.u32 %r3, %laneid; mov.u32 %r4, %lanemask_lt; add.s32 %r2, %r3, %r4;")
    assert found == [t + (1 << t) - 1 for t in LANES]

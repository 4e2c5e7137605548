"""Every exercise is not solved as it is given, and can be solved; every stop of the tour is there."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from minitriton.explorer.compile_request import CompileRequest, EditedState
from minitriton.explorer.lessons.exercises import EXERCISES, LESSON_KERNELS, Exercise, Grade, find, grade, recorded
from minitriton.explorer.lessons.tour import GLUON_EXAMPLES, TOUR, Stop, Walk
from minitriton.explorer.recording import Recording
from minitriton.explorer.session import ExplorerSession
from minitriton.lab.corpus.case import KERNELS

TEXT = (LESSON_KERNELS / "exercises.py").read_text()
PROMISE = "{tt.divisibility = dense<16> : tensor<1xi32>}"


@pytest.fixture(scope="module")
def session() -> ExplorerSession:
    return ExplorerSession()


def edited(old: str, new: str) -> Callable[[CompileRequest, ExplorerSession], tuple[CompileRequest, str]]:
    assert old in TEXT
    return lambda asked, session: (replace(asked, kernel_text=TEXT.replace(old, new)), "")


def words(text: str) -> Callable[[CompileRequest, ExplorerSession], tuple[CompileRequest, str]]:
    return lambda asked, session: (asked, text)


def options(*given: str) -> Callable[[CompileRequest, ExplorerSession], tuple[CompileRequest, str]]:
    return lambda asked, session: (replace(asked, options=given), "")


def promised(asked: CompileRequest, session: ExplorerSession) -> tuple[CompileRequest, str]:
    state = session.opened(asked).recording.steps[0].after.text
    edited = "\n".join(
        line.replace(" : i32", f" {PROMISE} : i32") if "arith.muli" in line and line.endswith(" : i32") else line
        for line in state.split("\n")
    )
    return replace(asked, states=(EditedState(0, edited),)), ""


SOLUTIONS: dict[str, Callable[[CompileRequest, ExplorerSession], tuple[CompileRequest, str]]] = {
    "wide-load": edited("row = tl.program_id(0)\n    columns = tl.arange(0, BLOCK)", "row = tl.program_id(0)\n    tl.assume(stride % 16 == 0)\n    columns = tl.arange(0, BLOCK)"),
    "wide-mask": edited("mask = offsets >= n\n    x = tl.load(x_ptr", "mask = offsets >= n\n    tl.assume(n % 16 == 0)\n    x = tl.load(x_ptr"),
    "along-the-rows": edited("at = outer[:, None] * N + inner[None, :]", "at = inner[:, None] * N + outer[None, :]"),
    "once": edited("mean = tl.sum(tl.load(x_ptr + row * N + columns), axis=0) / N\n    squares = tl.load(x_ptr + row * N + columns, volatile=True) - mean", "x = tl.load(x_ptr + row * N + columns)\n    mean = tl.sum(x, axis=0) / N\n    squares = x - mean"),
    "no-barrier": options("num_warps=1"),
    "race": edited("tl.store(out_ptr, tl.load(out_ptr) + part)", "tl.atomic_add(out_ptr, part)"),
    "tensor-cores": edited('input_precision="ieee"', 'input_precision="tf32"'),
    "which-pass": words("exercise-tidy-quotients"),
    "order": lambda asked, session: (replace(asked, edits=(*asked.edits, ("move", "tritongpu-coalesce after convert-triton-to-tritongpu"))), ""),
    "swizzle": words("swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 32, order = [1, 0]}>"),
    "edit-the-ir": promised,
    "ahead": edited("inner = tl.arange(0, STEP)\n    accumulator", "inner = tl.arange(0, STEP)\n    tl.assume(K % 16 == 0)\n    accumulator"),
    "pairs": edited("left = tl.load(x_ptr + 2 * at)\n    right = tl.load(x_ptr + 2 * at + 1)", "both = tl.load(x_ptr + tl.program_id(0) * 2 * N + tl.arange(0, 2 * N))\n    left, right = tl.split(tl.reshape(both, (N, 2)))"),
}  # fmt: skip


def graded(
    name: str, session: ExplorerSession, answer: Callable[[CompileRequest, ExplorerSession], tuple[CompileRequest, str]]
) -> Grade:
    exercise = find(name)
    asked, text = answer(exercise.asked, session)
    return grade(exercise, session, asked, text)


def test_there_are_exercises_of_every_grade() -> None:
    assert len(EXERCISES) >= 10 and {one.grade for one in EXERCISES} == {1, 2, 3}
    assert [one.grade for one in EXERCISES] == sorted(one.grade for one in EXERCISES)
    assert {one.name for one in EXERCISES} == set(SOLUTIONS)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SOLUTIONS)
def test_an_exercise_is_not_solved_as_it_is_given(name: str, session: ExplorerSession) -> None:
    assert not graded(name, session, lambda asked, session: (asked, "")).ok


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SOLUTIONS)
def test_an_exercise_can_be_solved(name: str, session: ExplorerSession) -> None:
    found = graded(name, session, SOLUTIONS[name])
    assert found.ok, "\n".join(found.said)


@pytest.mark.parametrize("exercise", [one for one in EXERCISES if one.choices], ids=lambda one: one.name)
def test_of_the_answers_to_choose_from_one_is_right(exercise: Exercise, session: ExplorerSession) -> None:
    found = recorded(exercise, session)
    assert [one["ok"] for one in found].count(True) == 1 and len(found) >= 4
    assert all(one["said"] for one in found)


def test_an_answer_that_breaks_the_kernel_is_no_answer(session: ExplorerSession) -> None:
    found = graded("wide-load", session, edited("x * factor", "x"))
    assert not found.ok and "differ" in found.said[0]
    found = graded(
        "race",
        session,
        edited("tl.store(out_ptr, tl.load(out_ptr) + part)", "tl.store(out_ptr + tl.program_id(0), part)"),
    )
    assert not found.ok


@pytest.mark.sampled(3)
@pytest.mark.parametrize("walk", TOUR, ids=lambda walk: walk.name)
def test_every_stop_shows_what_it_says(walk: Walk, session: ExplorerSession) -> None:
    recording = session.opened(walk.asked).recording
    assert recording.steps[-1].error is None
    source = source_of(walk)
    for stop in walk.stops:
        assert stop.op in shown_at(stop, recording), (stop.title, stop.op)
        assert stop.line in source, stop.title


def test_the_change_that_the_first_walk_asks_for_does_what_it_says(session: ExplorerSession) -> None:
    walk = TOUR[0]
    stop = walk.stops[-1]
    _, old, new, gone, left = re.findall("`([^`]+)`", stop.text)
    assert source_of(walk).count(old) == 1 and old in next(
        line for line in source_of(walk).splitlines() if stop.line in line
    )
    changed = replace(walk.asked, kernel_text=source_of(walk).replace(old, new))
    before, after = (shown_at(stop, session.opened(asked).recording) for asked in (walk.asked, changed))
    assert gone in before and left not in before and gone not in after and left in after
    requests = [session.answer("run", {"asked": asked.plain()})["total"]["requests"] for asked in (walk.asked, changed)]
    assert "{} requests of warps become {}".format(*requests) in stop.text


@pytest.mark.parametrize("at", ["load", "store"])
def test_what_the_first_exercise_explains_solves_it(at: str, session: ExplorerSession) -> None:
    promised, assumed = re.findall("with `([^`]+)`, or `([^`]+)`", find("wide-load").explains)[0]
    assert graded(
        "wide-load",
        session,
        edited(
            f"tl.{at}({'x' if at == 'load' else 'out'}_ptr + row * stride",
            f"tl.{at}({'x' if at == 'load' else 'out'}_ptr + {promised}",
        ),
    ).ok
    assert graded(
        "wide-load",
        session,
        edited(
            "columns = tl.arange(0, BLOCK)\n    x = tl.load(x_ptr + row * stride",
            f"{assumed}\n    columns = tl.arange(0, BLOCK)\n    x = tl.load(x_ptr + row * stride",
        ),
    ).ok


def source_of(walk: Walk) -> str:
    return Path(walk.asked.source.rpartition(":")[0]).read_text()


def shown_at(stop: Stop, recording: Recording) -> str:
    """The text that a stop shows at the right."""
    steps = recording.steps
    if stop.step:
        return next(step for step in steps if step.name == stop.step).after.text
    return next(step for step in reversed(steps) if step.after.level == stop.level).after.text


def test_each_example_in_gluon_is_a_walk() -> None:
    smaller = {"transpose", "async_matmul"}  # the tour has a kernel of its own for what these show
    examples = {path.stem for path in (KERNELS / "gluon").glob("*.py")}
    assert {walk.name.removeprefix("gluon_") for walk in GLUON_EXAMPLES} == examples - smaller


@pytest.mark.parametrize("walk", GLUON_EXAMPLES, ids=lambda walk: walk.name)
def test_what_a_stop_quotes_stands_in_what_it_shows(walk: Walk, session: ExplorerSession) -> None:
    recording, source = session.opened(walk.asked).recording, source_of(walk)
    assert recording.steps[-1].error is None
    for stop in walk.stops:
        text = shown_at(stop, recording)
        quoted = re.findall("`([^`]+)`", stop.text)
        assert quoted and stop.op in text and stop.line in source, stop.title
        missing = [one for one in quoted if one not in text and one not in source]
        assert not missing and any(one in text for one in quoted), (stop.title, missing)

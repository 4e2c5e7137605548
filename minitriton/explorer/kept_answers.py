"""Everything that a page asks of its server, answered beforehand: what a file holds that opens without one.

compile_with_answers(session, asked)["kept"]["inspect"]["6"]["values"]["12"]
lessons_with_answers(session)                  the tour, its kernels with their answers; exercises, some with answers to choose from; `deflated`: what is seldom looked at

What is deflated is JSON, in base64: Triton's side of an attention is 2.0 MB as it is and 0.27 MB deflated (2026-11-22).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from minitriton.errors import MinitritonError
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.failures import answered, as_error
from minitriton.explorer.lessons.exercises import EXERCISES, LESSON_KERNELS, recorded
from minitriton.explorer.lessons.tour import SHORT_TOUR
from minitriton.explorer.packing import deflated, packed
from minitriton.explorer.session import (
    ExplorerSession,
    buffers,
    compiled,
    inspect_compile,
    lessons,
    patterns,
    run,
    sass,
    tiles,
    time_of_warps,
)
from minitriton.explorer.values import held_values
from minitriton.explorer.wire import (
    CompileJson,
    DistancesJson,
    Failure,
    HeldJson,
    InspectionJson,
    KeptJson,
    PatternJson,
    Question,
    ValueJson,
)
from minitriton.explorer.worker import Worker
from minitriton.runtime.cache import KernelCache, compiler_fingerprint

_MOST_PATTERN = 4096
"""Offsets that a file keeps of an access."""


def lessons_with_answers(session: ExplorerSession, progress: Callable[[str], None] = lambda text: None) -> str:
    """The lessons, with the compiles of the tour, deflated. They are the same for every file, and cached between commands."""
    cache, key = KernelCache(), _key_of_lessons()
    if have_lessons():
        return (cache.load(key) or {})[_LESSONS].decode()
    found_lessons = lessons(session, {})
    found_lessons["tour"] = [walk.plain() for walk in SHORT_TOUR]
    compiles = [
        compile_with_answers(
            session, walk.asked, lambda text, of=walk.name: progress(f"the tour's {of}: {text}"), triton=False
        )
        for walk in SHORT_TOUR
    ]
    for exercise, plain in zip(EXERCISES, found_lessons["exercises"], strict=True):
        if exercise.choices:
            progress(f"answers to the exercise {exercise.title!r}")
            plain["recorded"] = recorded(exercise, session)
    text = deflated({**found_lessons, "compiles": [packed(one) for one in compiles]})
    cache.store(key, {_LESSONS: text.encode()})
    return text


_LESSONS = "lessons.txt"


def have_lessons() -> bool:
    """Whether they are cached."""
    return _LESSONS in (KernelCache().load(_key_of_lessons()) or {})


def _key_of_lessons() -> str:
    kernels = [path.read_text() for path in sorted(LESSON_KERNELS.glob("*.py"))]
    return hashlib.sha256(f"lessons {compiler_fingerprint()} {kernels}".encode()).hexdigest()


def compile_with_answers(
    session: ExplorerSession,
    asked: CompileRequest,
    progress: Callable[[str], None] = lambda text: None,
    *,
    triton: bool = True,
    against: CompileRequest | None = None,
) -> CompileJson:
    """The compile as `session.compiled` gives it, with `kept`: what is known of values, a run, machine code, verdicts, and what
    `triton`'s wheel makes of the same program, or why it makes nothing. What the run gave is compared with that of `against`."""
    question: Question = {"asked": asked.plain()}
    progress("compiling")
    answer = compiled(session, question)
    with ThreadPoolExecutor(2) as pool, Worker(keeps=False) as checker, Worker(keeps=False) as other:
        # Processes of their own check, and compile by Triton, meanwhile.
        checking = pool.submit(checker.ask, "check", question)
        compiling = pool.submit(other.ask, "triton", question) if triton else None
        kept = _kept(session, asked, progress, checking, against)
        if compiling is not None:
            progress("compiling by Triton")
            found = json.loads(compiling.result())
            if _have_other_arrays(found.get("ok"), kept):
                progress("comparing with Triton")
                _note_distances(found["ok"], json.loads(other.ask("apart", question)))
            kept["triton"] = deflated(found.get("ok", found))
    return {**answer, "kept": kept}


def _have_other_arrays(theirs: CompileJson | None, kept: KeptJson) -> bool:
    """Whether arrays after a run of Triton's side are not, bit by bit, those of ours."""
    if theirs is None or "kept" not in theirs:
        return False
    other, ours = theirs["kept"]["run"], kept["run"]
    if "arrays" not in other or "arrays" not in ours:
        return False
    digests = {name: one["digest"] for name, one in ours["arrays"].items()}
    return any(digests.get(name, one["digest"]) != one["digest"] for name, one in other["arrays"].items())


def _note_distances(theirs: CompileJson, answer: dict[str, DistancesJson]) -> None:
    """Puts them into Triton's run; where they could not be found out nothing."""
    if "ok" in answer and "kept" in theirs and "arrays" in (run := theirs["kept"]["run"]):
        for name, one in answer["ok"]["distances"].items():
            run["arrays"][name]["apart"] = one


def _kept(
    session: ExplorerSession,
    asked: CompileRequest,
    progress: Callable[[str], None],
    checking: Future[bytes],
    against: CompileRequest | None,
) -> KeptJson:
    question: Question = {"asked": asked.plain()}
    progress("looking into values")
    inspections = _inspections(session, asked)
    progress("running")
    ran = answered(lambda: run(session, {**question, **({"against": against.plain()} if against else {})}))
    progress("disassembling")
    machine = answered(lambda: sass(session, question))
    progress("placing buffers")
    placed = answered(lambda: buffers(session, question))
    progress("watching accesses")
    patterns = _patterns(session, asked, inspections)
    progress("looking at values")
    held = deflated(answered(lambda: _held(session, asked)))
    progress("timing warps")
    timelines = {
        data: answered(lambda data=data: time_of_warps(session, {**question, "data": data}))
        for data in ("l2", "memory")
    }
    tiled = answered(lambda: tiles(session, question))
    tables = session.opened(asked).tables
    progress("checking every pass")
    checked = json.loads(checking.result())
    return {
        "inspect": inspections, "run": ran, "sass": machine, "buffers": placed, "check": checked.get("ok", checked), "patterns": patterns, "tiles": tiled, "timelines": timelines,
        "types": tables.types, "layouts": tables.layouts, "held": held,
    }  # fmt: skip


def _held(session: ExplorerSession, asked: CompileRequest) -> HeldJson:
    """What tensors of the last TTGIR, or TTIR, hold."""
    opened = session.opened(asked)
    last = [step.after.kept for step in opened.recording.steps if step.after.kept is not None][-1]
    return held_values(last, opened.program.launch())


def _inspections(session: ExplorerSession, asked: CompileRequest) -> dict[str, InspectionJson]:
    """By step, what is known of the state that it left; of values only what is not the same as in the state before."""
    opened = session.opened(asked)
    found: dict[str, InspectionJson] = {}
    before: dict[str, ValueJson] = {}
    for step, one in enumerate(opened.recording.steps):
        if (step and not one.changed) or one.after.kept is None:
            continue
        whole = inspect_compile(opened, step)
        values = {name: fact for name, fact in whole["values"].items() if before.get(name) != fact}
        before.update(values)
        found[str(step)] = {**whole, "values": values}
    return found


def _patterns(
    session: ExplorerSession, asked: CompileRequest, inspections: dict[str, InspectionJson]
) -> dict[str, PatternJson | Failure]:
    """Those of the accesses of the last TTGIR."""
    found: dict[str, PatternJson | Failure] = {}
    for step in [step for step, one in inspections.items() if one["accesses"]][-1:]:
        ops = [int(op) for op in inspections[step]["accesses"]]
        for op, answer in patterns(session, asked, int(step), ops).items():
            if isinstance(answer, MinitritonError):
                found[f"{step}:{op}"] = as_error(answer)
                continue
            for one in answer["programs"]:
                one["offsets"], one["warps"] = one["offsets"][:_MOST_PATTERN], one["warps"][:_MOST_PATTERN]
            most = max(1, 4 * _MOST_PATTERN // max(1, len(answer["programs"][0]["offsets"])))
            answer["programs"] = answer["programs"][:most]
            found[f"{step}:{op}"] = answer
    return found

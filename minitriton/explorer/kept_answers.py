"""Everything that a page asks of its server, answered beforehand: what a file holds that opens without one.

compile_with_answers(workshop, asked)["kept"]["inspect"]["6"]["values"]["12"]
lessons_with_answers(workshop)                  the tour, its kernels with their answers; exercises, some with answers to choose from; `deflated`: what is seldom looked at

What is deflated is JSON, in base64: Triton's side of an attention is 2.0 MB as it is and 0.27 MB deflated (2026-11-22).
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable
from typing import TypeVar

from minitriton.explorer.asked import Asked
from minitriton.explorer.lessons.exercise import recorded
from minitriton.explorer.lessons.exercises import EXERCISES
from minitriton.explorer.lessons.tour import TOUR
from minitriton.explorer.packing import packed
from minitriton.explorer.wire import (
    CompilePlain,
    Failure,
    InspectionPlain,
    KeptPlain,
    PatternPlain,
    Question,
    ValuePlain,
)
from minitriton.explorer.worker import as_error
from minitriton.explorer.workshop import Workshop, buffers, check, compiled, inspect_opened, lessons, pattern, run, sass
from minitriton.explorer.workshop import triton as by_triton
from minitriton.runtime.cache import KernelCache, compiler_fingerprint

_MOST_PATTERN = 4096
"""Offsets that a file keeps of an access."""


def deflated(value: object) -> str:
    """`value` as text that takes little room."""
    return base64.b64encode(zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 9)).decode()


def lessons_with_answers(workshop: Workshop, progress: Callable[[str], None] = lambda text: None) -> str:
    """The lessons, with the compiles of the tour, deflated. They are the same for every file, and kept between commands."""
    cache, name = KernelCache(), "lessons.txt"
    key = hashlib.sha256(f"lessons {compiler_fingerprint()}".encode()).hexdigest()
    found = cache.load(key)
    if found is not None and name in found:
        return found[name].decode()
    found_lessons = lessons(workshop, {})
    compiles = [
        compile_with_answers(
            workshop, walk.asked, lambda text, of=walk.name: progress(f"the tour's {of}: {text}"), triton=False
        )
        for walk in TOUR
    ]
    for exercise, plain in zip(EXERCISES, found_lessons["exercises"], strict=True):
        if exercise.choices:
            progress(f"answers to the exercise {exercise.title!r}")
            plain["recorded"] = recorded(exercise, workshop)
    text = deflated({**found_lessons, "compiles": [packed(one) for one in compiles]})
    cache.store(key, {name: text.encode()})
    return text


def compile_with_answers(
    workshop: Workshop, asked: Asked, progress: Callable[[str], None] = lambda text: None, *, triton: bool = True
) -> CompilePlain:
    """The compile as `workshop.compiled` gives it, with `kept`: what is known of values, a run, machine code, verdicts, and what
    `triton`'s wheel makes of the same program, or why it makes nothing."""
    question: Question = {"asked": asked.plain()}
    progress("compiling")
    answer = compiled(workshop, question)
    inspections = _inspections(workshop, asked)
    progress("running")
    ran = _answered(run, workshop, question)
    progress("disassembling")
    machine = _answered(sass, workshop, question)
    progress("placing buffers")
    placed = _answered(buffers, workshop, question)
    progress("checking every pass")
    verdicts = _answered(lambda workshop, question: check(workshop, question, progress), workshop, question)
    progress("watching accesses")
    patterns = _patterns(workshop, asked, inspections)
    tables = workshop.opened(asked).tables
    kept: KeptPlain = {
        "inspect": inspections, "run": ran, "sass": machine, "buffers": placed, "check": verdicts, "patterns": patterns,
        "types": tables.types, "layouts": tables.layouts,
    }  # fmt: skip
    if triton:
        progress("compiling by Triton")
        found = _answered(by_triton, workshop, question)
        kept["triton"] = deflated(packed(found) if "states" in found else found)
    return {**answer, "kept": kept}


_T = TypeVar("_T")


def _answered(service: Callable[[Workshop, Question], _T], workshop: Workshop, question: Question) -> _T | Failure:
    try:
        return service(workshop, question)
    except Exception as error:
        return as_error(error)


def _inspections(workshop: Workshop, asked: Asked) -> dict[str, InspectionPlain]:
    """By step, what is known of the state that it left; of values only what is not the same as in the state before."""
    opened = workshop.opened(asked)
    found: dict[str, InspectionPlain] = {}
    before: dict[str, ValuePlain] = {}
    for step, one in enumerate(opened.recording.steps):
        if (step and not one.changed) or one.after.kept is None:
            continue
        whole = inspect_opened(opened, step)
        values = {name: fact for name, fact in whole["values"].items() if before.get(name) != fact}
        before.update(values)
        found[str(step)] = {**whole, "values": values}
    return found


def _patterns(
    workshop: Workshop, asked: Asked, inspections: dict[str, InspectionPlain]
) -> dict[str, PatternPlain | Failure]:
    """Those of the accesses of the last TTGIR."""
    laid_out = [step for step, one in inspections.items() if one["accesses"]]
    found: dict[str, PatternPlain | Failure] = {}
    for step in laid_out[-1:]:
        for op in inspections[step]["accesses"]:
            answer = _answered(pattern, workshop, {"asked": asked.plain(), "step": int(step), "op": int(op)})
            if "programs" in answer:
                for one in answer["programs"]:
                    one["offsets"], one["warps"] = one["offsets"][:_MOST_PATTERN], one["warps"][:_MOST_PATTERN]
                most = max(1, 4 * _MOST_PATTERN // max(1, len(answer["programs"][0]["offsets"])))
                answer["programs"] = answer["programs"][:most]
            found[f"{step}:{op}"] = answer
    return found

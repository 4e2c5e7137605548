"""Everything that a page asks of its server, answered beforehand: what a file holds that opens without one.

compile_with_answers(workshop, asked)["kept"]["inspect"]["6"]["values"]["12"]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from minitriton.explorer.asked import Asked
from minitriton.explorer.worker import as_error
from minitriton.explorer.workshop import Workshop, inspect_opened

_WHOLE = ("run", "sass", "buffers", "check")
_MOST_PATTERN = 4096
"""Offsets that a file keeps of an access."""


def compile_with_answers(
    workshop: Workshop, asked: Asked, progress: Callable[[str], None] = lambda text: None
) -> dict[str, Any]:
    """The compile as `workshop.compiled` gives it, with `kept`: what is known of values, a run, machine code, verdicts."""
    question = {"asked": asked.plain()}
    progress("compiling")
    answer = workshop.answer("compile", question)
    opened = workshop.opened(asked)
    kept: dict[str, Any] = {"inspect": _inspections(workshop, asked)}
    for name in _WHOLE:
        progress(
            {"run": "running", "sass": "disassembling", "buffers": "placing buffers", "check": "checking every pass"}[
                name
            ]
        )
        kept[name] = _answered(workshop, name, question)
    progress("watching accesses")
    kept["patterns"] = _patterns(workshop, asked, kept["inspect"])
    kept["types"], kept["layouts"] = opened.tables.types, opened.tables.layouts
    return {**answer, "kept": kept}


def _answered(workshop: Workshop, name: str, question: dict[str, Any]) -> dict[str, Any]:
    try:
        return workshop.answer(name, question)
    except Exception as error:
        return as_error(error)


def _inspections(workshop: Workshop, asked: Asked) -> dict[str, Any]:
    """By step, what is known of the state that it left; of values only what is not the same as in the state before."""
    opened = workshop.opened(asked)
    found: dict[str, Any] = {}
    before: dict[str, Any] = {}
    for step, one in enumerate(opened.recording.steps):
        if (step and not one.changed) or one.after.kept is None:
            continue
        whole = inspect_opened(opened, step)
        values = {name: fact for name, fact in whole["values"].items() if before.get(name) != fact}
        before.update(values)
        found[str(step)] = {**whole, "values": values}
    return found


def _patterns(workshop: Workshop, asked: Asked, inspections: dict[str, Any]) -> dict[str, Any]:
    """Those of the accesses of the last TTGIR."""
    laid_out = [step for step, one in inspections.items() if one["accesses"]]
    found: dict[str, Any] = {}
    for step in laid_out[-1:]:
        for op in inspections[step]["accesses"]:
            answer = _answered(workshop, "pattern", {"asked": asked.plain(), "step": int(step), "op": int(op)})
            for one in answer.get("programs", ()):
                one["offsets"], one["warps"] = one["offsets"][:_MOST_PATTERN], one["warps"][:_MOST_PATTERN]
            if "programs" in answer:
                answer["programs"] = answer["programs"][
                    : max(1, 4 * _MOST_PATTERN // max(1, len(answer["programs"][0]["offsets"])))
                ]
            found[f"{step}:{op}"] = answer
    return found


def say(text: str) -> None:
    """Shows progress, where somebody looks."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}…", end="", file=sys.stderr, flush=True)

"""What may be done to a pipeline beside leaving passes out and moving them, by what it is about: for samplers that choose by numbers.

    alternatives(candidates)    {"layout of access 0": [change, ...], "optimize-llvm-ir{level}": [change, ...], "insert cse": [...]}

Each change makes one pipeline of another; of those under one name at most one is made.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from minitriton.lab.sweeping.candidates import Candidates, with_layout_step
from minitriton.lab.sweeping.memory_choices import with_memory_step
from minitriton.lab.sweeping.point import Value
from minitriton.lab.sweeping.space import LLVM_PASSES, is_fixed, with_llvm_pass, with_option
from minitriton.pass_manager import Pipeline
from minitriton.pass_registry import Step

Change = Callable[[Pipeline], Pipeline]


def alternatives(candidates: Candidates) -> dict[str, list[Change]]:
    """What the space of `candidates` says of passes put in, options of passes, LLVM's own passes, layouts and memory."""
    space, found = candidates.space, dict[str, list[Change]]()
    steps = candidates.first.pipeline.steps
    movable = [index for index, step in enumerate(steps) if not is_fixed(step)]
    for text in space.insert:
        (step,) = Pipeline.parse(text).steps
        found[f"insert {text}"] = [
            partial(_inserted, step=step, before=steps[i], count=_nth(steps, i)) for i in movable
        ]
    for (name, option), values in space.pass_options:
        found[f"{name}{{{option}}}"] = [partial(_with_option, name=name, option=option, value=v) for v in values]
    if space.llvm:
        for name in LLVM_PASSES:
            found[f"llvm {name}"] = [partial(_with_llvm, name=name, first=first) for first in (True, False)]
    if space.layouts:
        for step in candidates.layout_steps():
            about = f"layout of access {getattr(step, 'access', 0)}"
            found.setdefault(about, []).append(partial(with_layout_step, step=step))
    for number, group in enumerate(candidates.memory_steps()):
        found[f"memory {number}"] = [partial(with_memory_step, step=step) for step in group]
    return found


def _nth(steps: tuple[Step, ...], index: int) -> int:
    """How many steps before `index` are equal to the one there."""
    return steps[:index].count(steps[index])


def _inserted(pipeline: Pipeline, *, step: Step, before: Step, count: int) -> Pipeline:
    """With `step` before the `count`th step that equals `before`, wherever that has moved to; as it is where that is gone."""
    places = [index for index, one in enumerate(pipeline.steps) if one == before]
    if count >= len(places):
        return pipeline
    at = places[count]
    return Pipeline((*pipeline.steps[:at], step, *pipeline.steps[at:]))


def _with_option(pipeline: Pipeline, *, name: str, option: str, value: Value) -> Pipeline:
    return Pipeline(tuple(with_option(s, option, value) if s.name == name else s for s in pipeline.steps))


def _with_llvm(pipeline: Pipeline, *, name: str, first: bool) -> Pipeline:
    """With one more of LLVM's passes, before or behind those that are chosen, or those of the level."""
    return Pipeline(
        tuple(with_llvm_pass(s, name, first=first) if s.name == "optimize-llvm-ir" else s for s in pipeline.steps)
    )

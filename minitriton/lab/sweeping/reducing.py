"""The smallest pipeline that still shows something: what is left when every pass that does not matter is gone.

    smallest_pipeline(evaluator, bad_pipeline)
    smallest_pipeline(evaluator, slow_pipeline, shows=lambda record: record.metrics.get("sectors", 0) > 2000)

Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input" (2002): ddmin over the passes that stay within their level.
"""

from __future__ import annotations

from collections.abc import Callable

from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.correctness import Class, CorrectnessChecker, Evaluation
from minitriton.lab.sweeping.evaluation import Evaluator
from minitriton.lab.sweeping.space import is_fixed
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Step

BROKEN = (Class.WRONG, Class.UNSOUND, Class.FAILED)


def is_broken(record: Evaluation) -> bool:
    """Wrong numbers, an unsound program, or a pass that failed."""
    return record.result in BROKEN


def smallest_pipeline(
    evaluator: CorrectnessChecker | Evaluator, pipeline: Pipeline, shows: Callable[[Evaluation], bool] = is_broken
) -> Pipeline:
    """`pipeline` less every pass without which `shows` is still true of the record. Raises `MinitritonError` if it is not true at first."""
    if not shows(evaluator.record(pipeline)):
        record = evaluator.record(pipeline)
        raise MinitritonError(
            f"the pipeline does not show it: {evaluator.task.name!r} is {record.result}"
            + (f": {record.reason}" if record.reason else ""),
            help="begin with one that does",
        )
    steps = list(pipeline.steps)
    parts = 2
    while movable := [index for index, step in enumerate(steps) if not is_fixed(step)]:
        size = -(-len(movable) // parts)
        for at in range(0, len(movable), size):
            less = _without(steps, set(movable[at : at + size]))
            if shows(evaluator.record(Pipeline(tuple(less)))):
                steps, parts = less, max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(2 * parts, len(movable))
    return Pipeline(tuple(steps))


def _without(steps: list[Step], left_out: set[int]) -> list[Step]:
    return [step for index, step in enumerate(steps) if index not in left_out]

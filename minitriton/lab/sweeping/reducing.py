"""The smallest pipeline that still shows something: what is left when every pass that does not matter is gone.

    smallest_pipeline(evaluator, bad_pipeline)
    smallest_pipeline(evaluator, slow_pipeline, shows=lambda record: record.metrics.get("sectors", 0) > 2000)

Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input" (2002): ddmin over the passes that stay within their level.

And the smallest kernel, after the smallest pipeline:

    found = smallest(Evaluator(corpus.task("running_sums"), []), bad_pipeline)
    print(found.pipeline); print(found.ir)

The kernel is its TTIR: a step drops a store, an op that nothing uses, or an op in favour of one of its operands (`lab.reduction`). A smaller
kernel counts if what it gives by its own meaning and what the pipeline makes of it still differ as the whole one's did.
"""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects.text import print_module
from minitriton.errors import MinitritonError
from minitriton.lab.reduction import reduce, size
from minitriton.lab.sweeping.configuration import Configuration
from minitriton.lab.sweeping.correctness import Class, CorrectnessChecker, Evaluation
from minitriton.lab.sweeping.evaluation import Evaluator
from minitriton.lab.sweeping.space import movable_indices
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
    while movable := movable_indices(steps):
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


SECONDS = 20.0


@dataclass(frozen=True)
class Smallest:
    """What is left: the configuration, the kernel's TTIR as text, how many ops it had and has, and the record of it."""

    pipeline: str
    ir: str
    ops_before: int
    ops_after: int
    record: Evaluation


def smallest(
    evaluate: Evaluator,
    configuration: Configuration | str,
    shows: Callable[[Evaluation], bool] = is_broken,
    still: Callable[[Evaluation, Evaluation], bool] | None = None,
    *,
    seconds: float = SECONDS,
) -> Smallest:
    """Reduces the pipeline, then the kernel, for at most `seconds` more.

    `shows`: of the record of the configuration. `still`: of a smaller kernel, its records with the configuration's pipeline and with its own (default: `shows`,
    and the own one is right). Raises `MinitritonError` if the configuration does not show it.
    """
    configuration = Configuration.of(configuration)
    variant = evaluate.task.variant(configuration.settings) if configuration.settings else evaluate.task
    first = Evaluator(variant, evaluate.metrics)
    pipeline = smallest_pipeline(first, configuration.pipeline, shows)
    whole = variant.make_ir()

    def shows_alone(found: Evaluation, own: Evaluation) -> bool:
        return shows(found) and own.result is Class.RIGHT

    wanted = still or shows_alone

    def is_kept(module: ModuleOp) -> bool:
        reduced = Evaluator(variant.with_ir(module), evaluate.metrics)
        try:
            found = reduced.record(pipeline)
            return found.result is not Class.REFUSED and wanted(found, reduced.record(variant.pipeline()))
        except MinitritonError:
            return False

    left = reduce(whole, is_kept, seconds)
    record = Evaluator(variant.with_ir(left), evaluate.metrics).record(pipeline)
    text = str(Configuration(pipeline, configuration.settings))
    return Smallest(text, print_module(left), size(whole), size(left), record)

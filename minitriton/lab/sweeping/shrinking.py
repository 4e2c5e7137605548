"""The smallest kernel that still shows something, after the smallest pipeline.

    found = smallest(Evaluator(corpus.task("running_sums"), []), bad_pipeline)
    print(found.pipeline); print(found.ir)

The kernel is its TTIR: a step drops a store, an op that nothing uses, or an op in favour of one of its operands (`lab.reduction`). A smaller
kernel counts if what it gives by its own meaning and what the pipeline makes of it still differ as the whole one's did.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects.text import print_module
from minitriton.errors import MinitritonError
from minitriton.lab.reduction import reduce, size
from minitriton.lab.sweeping.configuration import Configuration
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.evaluation import Evaluator
from minitriton.lab.sweeping.reducing import is_broken, smallest_pipeline

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

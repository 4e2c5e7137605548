"""`minitriton bisect`: the smallest pipeline, and the smallest kernel, that still show wrong numbers, a slowdown or more of a metric.

minitriton bisect running_sums --pipeline '...' --load my_pass.py
minitriton bisect running_sums --pipeline '...' --more sectors=2000
minitriton bisect running_sums --pipeline '...' --more cycles --kernel-to small.ttir          than the default pipeline has
minitriton bisect running_sums --against ../minitriton-main --more instructions               than another version of minitriton has
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from minitriton.commands.output import add_json, print_json
from minitriton.errors import MinitritonError
from minitriton.host.subcommands import Subcommands, check_writable, write_output
from minitriton.lab.sweeping.command_arguments import add_kernel_arguments, references_of
from minitriton.lab.sweeping.configuration import Configuration
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.evaluation import Evaluator
from minitriton.lab.sweeping.other_version import OtherVersion
from minitriton.lab.sweeping.reducing import is_broken, smallest_pipeline
from minitriton.lab.sweeping.space import is_fixed
from minitriton.pipeline.pipeline_spec import format_step

APART = 1.02
"""More than this times as much is more."""

Shows = Callable[[Evaluation], bool]


def add_bisect_command(commands: Subcommands) -> None:
    """Adds the subcommand to an `argparse` set of them."""
    bisect = commands.add_parser(
        "bisect", help="the smallest pipeline, and kernel, that still break it or have more of a metric"
    )
    bisect.add_argument("kernel", help="a name of the corpus, or FILE.py:kernel")
    bisect.add_argument("--pipeline", help="the configuration that shows it (default: the kernel's own)")
    bisect.add_argument(
        "--more",
        metavar="METRIC[=N]",
        help="a right program with more than N shows it; without N, than the default pipeline's",
    )
    bisect.add_argument(
        "--against",
        type=Path,
        metavar="DIR",
        help="another version's checkout: what is broken here and right there, or more here",
    )
    bisect.add_argument(
        "--kernel-to", type=Path, metavar="FILE.ttir", help="reduce the kernel, too, and write it there"
    )
    bisect.add_argument("--seconds", type=float, default=20.0, help="for reducing the kernel (default: %(default)s)")
    add_kernel_arguments(bisect)
    add_json(bisect)
    bisect.set_defaults(run=run_bisect)


def run_bisect(given: argparse.Namespace) -> int:
    """Prints the passes that are left, and the configuration; writes the kernel that is left."""
    from minitriton.lab.sweeping.reducing import smallest

    if given.kernel_to is not None:
        check_writable(given.kernel_to)
    reference = references_of(given, [given.kernel])[0]
    metric, _, most = (given.more or "").partition("=")
    evaluate = Evaluator(reference.task(), [metric] if metric else [])
    own = Configuration(evaluate.task.pipeline())
    if given.pipeline is None and given.against is None:
        raise MinitritonError("nothing to reduce", help="give --pipeline, or --against another version")
    configuration = Configuration.parse(given.pipeline) if given.pipeline else own
    with ExitStack() as stack:
        other = stack.enter_context(OtherVersion(given.against, reference, evaluate.metrics)) if given.against else None
        shows = _shows(metric, most, evaluate.record(own), other)
        variant = (
            Evaluator(evaluate.task.variant(configuration.settings), evaluate.metrics)
            if configuration.settings
            else evaluate
        )
        if metric and not shows(first := variant.record(configuration.pipeline)):
            raise MinitritonError(
                f"the pipeline does not show it: {reference.name!r} is {first.result}, {_number_of(first, metric)}",
                help=f"its default pipeline has {_number_of(evaluate.record(own), metric)}; begin with one that has more, by 2 % at least",
            )
        pipeline = smallest_pipeline(variant, configuration.pipeline, shows)
    passes = [format_step(step) for step in pipeline.steps if not is_fixed(step)]
    left = configuration.with_pipeline(pipeline)
    record = evaluate.record(left)
    if not given.json:
        print("\n".join(passes))
        print(f"\n{left}\n{record.result}: {record.reason or _number_of(record, metric)}")
    kernel = None
    if given.kernel_to is not None:
        still = _still(metric, record, evaluate.record(own)) if metric else None
        found = smallest(evaluate, left, lambda _: True if metric else is_broken(_), still, seconds=given.seconds)
        write_output(given.kernel_to, found.ir)
        kernel = {"file": given.kernel_to, "ops_before": found.ops_before, "ops": found.ops_after}
        if not given.json:
            print(f"\nthe kernel, {found.ops_before} ops before and {found.ops_after} now: {given.kernel_to}")
    if given.json:
        print_json({"passes": passes, "pipeline": str(left), "record": record, "kernel": kernel})
    return 0


def _shows(metric: str, most: str, own: Evaluation, other: OtherVersion | None) -> Shows:
    """What a record must be to show it."""
    if other is not None:
        return _worse_than_there(metric, other)
    if not metric:
        return is_broken
    limit = _number(most) if most else APART * own.all_metrics.get(metric, float("inf"))
    return lambda record: record.result is Class.RIGHT and record.all_metrics.get(metric, 0) > limit


def _worse_than_there(metric: str, other: OtherVersion) -> Shows:
    own = other.record(None)

    def shows(record: Evaluation) -> bool:
        try:
            there = other.record(record.pipeline)
        except MinitritonError:
            there = own  # a pass that the other version does not have
        if there.result is Class.REFUSED:
            there = own
        if metric and record.result is Class.RIGHT and there.result is Class.RIGHT:
            return record.all_metrics[metric] > APART * there.all_metrics[metric]
        return is_broken(record) and there.result is Class.RIGHT

    return shows


def _still(metric: str, shown: Evaluation, own: Evaluation) -> Callable[[Evaluation, Evaluation], bool]:
    """Whether a smaller kernel has at least half as much more of the metric than with its default pipeline."""
    excess = shown.all_metrics[metric] / max(own.all_metrics[metric], 1e-9) - 1

    def still(found: Evaluation, by_itself: Evaluation) -> bool:
        if found.result is not Class.RIGHT or by_itself.result is not Class.RIGHT:
            return False
        before = by_itself.all_metrics.get(metric, 0.0)
        return before > 0 and found.all_metrics[metric] / before - 1 >= excess / 2 > 0

    return still


def _number_of(record: Evaluation, metric: str) -> str:
    return f"{metric} {record.all_metrics[metric]:g}" if metric in record.all_metrics else ""


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise MinitritonError(f"--more takes METRIC=NUMBER, not {text!r}") from None

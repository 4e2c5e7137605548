"""`minitriton sweep`, `measure`, `corpus`, `search`, `ablate`, `report` and `bisect`: many configurations for kernels, more numbers of what a store
holds, the kernels that have names, the best configuration, ablation of passes, a page about a store.

minitriton sweep running_sums @reducing --count 500 --jobs 2 --store sweep.db
minitriton sweep @train --count 50 --constants --vary 'optimize-llvm-ir{level}=1,2,3' --metrics cycles,registers --store tuning.db
minitriton sweep softmax.py:softmax --signature '*fp32:16,*fp32:16,i32,i32,i32,i32,BLOCK=1024' --count 200
minitriton measure tuning.db --metrics microseconds
minitriton search bench_matmul --objective microseconds,registers --sampler nsga2 --constants --prune 2
minitriton ablate @reducing --metric barriers
minitriton report tuning.db --html tuning.html
minitriton bisect running_sums --pipeline '...' --more cycles --kernel-to small.ttir          than the default pipeline has
minitriton bisect running_sums --against ../minitriton-main --more instructions               than another version of minitriton has
"""

import argparse
import sys
from collections.abc import Callable
from contextlib import ExitStack
from math import isfinite
from pathlib import Path

from minitriton.commands.shared_options import add_json, count_from, print_json, seconds_of
from minitriton.errors import MinitritonError
from minitriton.host.subcommands import Subcommands, check_writable, write_output
from minitriton.lab.sweeping.command_arguments import (
    add_kernel_arguments,
    add_space_arguments,
    names_of,
    progress_shown,
    references_of,
    space_of,
)
from minitriton.lab.sweeping.configuration import Configuration
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.evaluation import Evaluator
from minitriton.lab.sweeping.other_version import OtherVersion
from minitriton.lab.sweeping.reducing import is_broken, smallest_pipeline
from minitriton.lab.sweeping.space import is_fixed
from minitriton.pipeline.pass_registry import load_own_passes
from minitriton.pipeline.pipeline_spec import format_step


def add_sweep_commands(commands: Subcommands) -> None:
    """Adds the subcommands to an `argparse` set of them."""
    sweep = commands.add_parser("sweep", help="evaluate many pipelines of kernels: legal, right, and what each gives")
    sweep.add_argument(
        "kernels", nargs="+", help="names of the corpus, @family, all, FILE.py:kernel, or folders of recorded launches"
    )
    sweep.add_argument("--count", type=int, default=100, metavar="N", help="pipelines a kernel (default: %(default)s)")
    sweep.add_argument(
        "--neighbours", action="store_true", help="and every removal, swap of neighbours and duplication"
    )
    sweep.add_argument(
        "--metrics",
        default="",
        metavar="NAME,...",
        help="what to measure in addition to counts: cycles, registers, sass, microseconds, ...",
    )
    sweep.add_argument("--illegal", action="store_true", help="draw pipelines whose contracts do not hold, too")
    sweep.add_argument("--seed", type=int, default=0)
    sweep.add_argument("--jobs", type=int, default=1, metavar="J", help="processes (default: %(default)s)")
    sweep.add_argument(
        "--store", type=Path, metavar="FILE", help="where records are kept; a sweep that stopped goes on"
    )
    sweep.add_argument("--compile-only", action="store_true", help="run nothing: only whether it compiles")
    sweep.add_argument(
        "--limit", type=float, default=60.0, metavar="SECONDS", help="for one configuration (default: %(default)s)"
    )
    sweep.add_argument(
        "--best", metavar="METRIC", help="measure it, and print the right pipeline of each kernel with the best of it"
    )
    add_space_arguments(sweep)
    add_kernel_arguments(sweep)
    add_json(sweep)
    sweep.set_defaults(run=run_sweep)
    _add_measure(commands)
    add_search_commands(commands)
    corpus = commands.add_parser("corpus", help="list the kernels that sweeps know by name")
    corpus.add_argument(
        "which",
        nargs="?",
        metavar="FAMILY|@OP+OP|KERNEL",
        help="those of a family, those with ops, or the ops of one kernel",
    )
    add_json(corpus)
    corpus.set_defaults(run=run_corpus)


def _add_measure(commands: Subcommands) -> None:
    measure = commands.add_parser("measure", help="measure the programs that a store holds, on this machine")
    measure.add_argument("store", type=Path, metavar="FILE", help="what `minitriton sweep --store` wrote")
    measure.add_argument(
        "--metrics", required=True, metavar="NAME,...", help="microseconds, registers, sass, cycles, ..."
    )
    measure.add_argument("--kernel", action="append", metavar="NAME", help="only this one; may be given again")
    measure.add_argument("--jobs", type=count_from(1), default=1, metavar="J", help="processes (default: %(default)s)")
    measure.add_argument("--again", action="store_true", help="what is known of them, too")
    add_json(measure)
    measure.set_defaults(run=run_measure)


def run_sweep(given: argparse.Namespace) -> int:
    """Prints the table. 1 if a configuration was wrong, unsound, crashed or failed inside a pass, or all were refused, else 0."""
    from minitriton.lab.sweeping.evaluation import Evaluator
    from minitriton.lab.sweeping.metrics import METRICS, unknown_metric_help
    from minitriton.lab.sweeping.search import minimised
    from minitriton.lab.sweeping.sweep import sweep

    if given.best is not None and given.best not in METRICS:
        raise MinitritonError(f"no metric is called {given.best!r}", help=unknown_metric_help(given.best))
    kernels, best = references_of(given, given.kernels), names_of(given.best or "")
    try:
        table = sweep(
            kernels,
            space_of(given, legal=not given.illegal),
            count=given.count,
            seed=given.seed,
            jobs=given.jobs,
            store=given.store,
            run=not given.compile_only,
            neighbours=given.neighbours,
            limit=given.limit,
            metrics=[*names_of(given.metrics), *best],
            progress=progress_shown(),
        )
    except KeyboardInterrupt:
        kept = (
            f"{given.store} keeps what was evaluated, and the same command goes on"
            if given.store
            else "--store keeps records"
        )
        print(f"\nstopped: {kept}", file=sys.stderr)
        return 130
    if given.json:
        best = table.best(given.best) if given.best else {}
        print_json({"seconds": table.seconds, "best": best, "configurations": table.records})
        return 1 if table.not_right() or table.refused_all() else 0
    print(table.text())
    if table.refused_all():
        print(f"nothing was evaluated: all of {len(table)} configurations were refused", file=sys.stderr)
        return 1
    if given.best:
        by_name = {reference.name: reference for reference in kernels}
        for kernel, record in table.best(given.best).items():
            task = by_name[kernel].task()
            record, options = minimised(task.default_of, record, given.best, Evaluator(task, [given.best]))
            print(
                f"\n{kernel}: {given.best} {record.all_metrics[given.best]:g}\n    {options or 'the default pipeline'}"
            )
    return 1 if table.not_right() else 0


def run_measure(given: argparse.Namespace) -> int:
    """Prints the best configuration of each kernel by the metrics asked for."""
    from minitriton.lab.sweeping.measuring import measure
    from minitriton.lab.sweeping.metrics import METRICS

    names = names_of(given.metrics)
    table = measure(
        given.store, names, kernels=given.kernel, jobs=given.jobs, again=given.again, progress=progress_shown()
    )
    if given.json:
        print_json({"best": {n: table.best(n) for n in names if n in METRICS}, "configurations": table.records})
        return 0
    print(table.text())
    for name in names:
        if name in METRICS:
            for kernel, record in table.best(name).items():
                print(f"\n{kernel}: {name} {record.all_metrics[name]:g}\n    {record.pipeline}")
    return 0


def run_corpus(given: argparse.Namespace) -> int:
    """A line a family, or the kernels of one; the kernels with some ops; the ops of one kernel."""
    from minitriton.lab import corpus
    from minitriton.lab.sweeping.references import references

    which = given.which or ""
    if which.startswith("@"):
        found = [one.kernel for one in references([which])]
        print_json(found) if given.json else print("\n".join(found))
        return 0
    if which and which not in corpus.families() and which in corpus.names():
        ops = corpus.ops(which)
        print_json(dict(ops)) if given.json else print("\n".join(f"{n:6} {op}" for op, n in ops.most_common()))
        return 0
    families = [which] if which else corpus.families()
    if given.json:
        print_json({family: [case.name for case in corpus.cases(family)] for family in families})
        return 0
    for family in families:
        print(f"{family}: " + ", ".join(case.name for case in corpus.cases(family)))
    return 0


def add_search_commands(commands: Subcommands) -> None:
    """Adds the subcommands to an `argparse` set of them."""
    _add_search(commands)
    _add_ablation(commands)
    add_bisect_command(commands)
    _add_report(commands)


def _add_report(commands: Subcommands) -> None:
    report = commands.add_parser("report", help="what a store holds, as one HTML page")
    report.add_argument("store", type=Path, metavar="FILE", help="what `minitriton sweep --store` wrote")
    report.add_argument("--html", type=Path, required=True, metavar="OUT", help="where to write the page")
    report.add_argument(
        "--metric", help="what configurations are best by (default: the first it has of time, cycles, instructions)"
    )
    report.add_argument(
        "--no-passes", action="store_true", help="compile nothing anew: leave out the ablation of passes"
    )
    add_json(report)
    report.set_defaults(run=run_report)


def _add_search(commands: Subcommands) -> None:
    search = commands.add_parser("search", help="look for the pipeline that gives the least of a metric")
    search.add_argument("kernel", help="a name of the corpus, or FILE.py:kernel")
    search.add_argument(
        "--objective",
        default="instructions",
        metavar="METRIC",
        help="what to lower, or several with commas between (default: %(default)s)",
    )
    search.add_argument(
        "--sampler",
        default="evolutionary",
        help="random, exhaustive, hill-climb, evolutionary (the default); with Optuna tpe, cma-es, nsga2",
    )
    search.add_argument("--budget", type=int, default=200, metavar="N", help="configurations (default: %(default)s)")
    search.add_argument("--patience", type=int, metavar="N", help="configurations without a gain after which to stop")
    search.add_argument(
        "--prune",
        type=float,
        metavar="X",
        help="do not time what the cost model expects to take X times the best (only with a time as objective)",
    )
    search.add_argument("--seed", type=int, default=0)
    search.add_argument(
        "--store",
        type=Path,
        metavar="FILE",
        help="where configurations are kept; a search that stopped goes on (not by time)",
    )
    add_space_arguments(search)
    add_kernel_arguments(search)
    add_json(search)
    search.set_defaults(run=run_search)


def _add_ablation(commands: Subcommands) -> None:
    ablation = commands.add_parser("ablate", help="ablation of passes: a metric of kernels without each of them")
    ablation.add_argument("kernels", nargs="+", help="names of the corpus, @family, all, or FILE.py:kernel")
    ablation.add_argument("--metric", default="instructions", help="(default: %(default)s)")
    add_kernel_arguments(ablation)
    add_json(ablation)
    ablation.set_defaults(run=run_ablation)


def run_search(given: argparse.Namespace) -> int:
    """Prints the best pipeline and how it differs from the target's own."""
    from minitriton.lab.sweeping.search import search

    found = search(
        references_of(given, [given.kernel])[0],
        space_of(given),
        names_of(given.objective),
        sampler=given.sampler,
        budget=given.budget,
        patience=given.patience,
        seed=given.seed,
        prune=given.prune,
        store=given.store,
        progress=progress_shown(),
    )
    if given.json:
        print_json({
            "kernel": found.kernel, "objectives": found.objectives, "first": found.first, "best": found.best, "options": found.options, "evaluations": len(found.records),
            "convergence": [one if isfinite(one) else None for one in found.convergence()], "pareto_front": found.pareto_front(),
        })  # fmt: skip
        return 0
    print(found.text())
    return 0


def run_report(given: argparse.Namespace) -> int:
    """Writes the page and says where."""
    load_own_passes()
    from minitriton.lab.sweeping.page import write_page

    written = write_page(
        given.store, given.html, metric=given.metric, passes=not given.no_passes, progress=progress_shown()
    )
    print_json({"page": written}) if given.json else print(written)
    return 0


def run_ablation(given: argparse.Namespace) -> int:
    """Prints a row a pass, a column a kernel."""
    from minitriton.lab.sweeping.ablation import leave_one_out

    ablation = leave_one_out(references_of(given, given.kernels), [given.metric])
    if given.json:
        changes = {n: {k: ablation.change(k, n, given.metric) for k in ablation.whole} for n in ablation.passes()}
        print_json({"metric": given.metric, "change_without": changes})
    else:
        print(ablation.text(given.metric))
    return 0


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
    bisect.add_argument(
        "--seconds", type=seconds_of, default=20.0, help="for reducing the kernel (default: %(default)s)"
    )
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

"""`minitriton sweep`: many configurations about kernels, from the command line; `minitriton measure`, more numbers of what a store holds;
and `minitriton corpus`, the kernels that have names.

minitriton sweep running_sums @reducing --count 500 --jobs 2 --store sweep.db
minitriton sweep all --count 0 --neighbours
minitriton sweep @train --count 50 --constants --vary 'optimize-llvm-ir{level}=1,2,3' --metrics cycles,registers --store tuning.db
minitriton measure tuning.db --metrics microseconds
minitriton sweep softmax.py:softmax --signature '*fp32:16,*fp32:16,i32,i32,i32,i32,BLOCK=1024' --count 200
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from minitriton.commands.output import add_json, print_json
from minitriton.errors import MinitritonError
from minitriton.host.subcommands import Subcommands
from minitriton.lab.sweeping.command_arguments import (
    add_kernel_arguments,
    add_space_arguments,
    names_of,
    progress_shown,
    references_of,
    space_of,
)
from minitriton.lab.sweeping.search_command import add_search_commands


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
    measure.add_argument("--jobs", type=int, default=1, metavar="J", help="processes (default: %(default)s)")
    measure.add_argument("--again", action="store_true", help="what is known of them, too")
    add_json(measure)
    measure.set_defaults(run=run_measure)


def run_sweep(given: argparse.Namespace) -> int:
    """Prints the table. 1 if a configuration was wrong, unsound, crashed or failed inside a pass, else 0."""
    from minitriton.lab.sweeping.metrics import METRICS, unknown_metric_help
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
        return 1 if table.not_right() else 0
    print(table.text())
    if given.best:
        for kernel, record in table.best(given.best).items():
            print(f"\n{kernel}: {given.best} {record.all_metrics[given.best]:g}\n    {record.pipeline}")
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

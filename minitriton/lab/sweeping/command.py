"""`minitriton sweep`: many pipelines over kernels, from the command line, and `minitriton corpus`, the kernels that have names.

minitriton sweep running_sums @reducing --orders 500 --jobs 2 --store orders.db
minitriton sweep all --orders 0 --neighbours
minitriton search log_sum_exp --objective sectors --budget 300
minitriton worth @reducing --metric barriers
minitriton bisect running_sums --pipeline '...' --load my_pass.py
minitriton sweep softmax.py:softmax --signature '*fp32:16,*fp32:16,i32,i32,i32,i32,BLOCK=1024' --orders 200
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minitriton.errors import MinitritonError
from minitriton.pass_registry import load_own_passes

if TYPE_CHECKING:
    from minitriton.lab.sweeping.references import Reference
    from minitriton.lab.sweeping.space import Space


def add_sweep_commands(commands: Any) -> None:
    """Adds the subcommands to an `argparse` set of them."""
    sweep = commands.add_parser("sweep", help="judge many pipelines of kernels: legal, right, and what each gives")
    sweep.add_argument("kernels", nargs="+", help="names of the corpus, @family, all, or FILE.py:kernel")
    sweep.add_argument("--orders", type=int, default=100, metavar="N", help="pipelines a kernel (default: %(default)s)")
    sweep.add_argument(
        "--neighbours", action="store_true", help="and every removal, swap of neighbours and duplication"
    )
    sweep.add_argument(
        "--insert", default="", metavar="PASS,...", help="passes that may be put in; `all`: any that fits"
    )
    sweep.add_argument("--illegal", action="store_true", help="draw pipelines whose contracts do not hold, too")
    sweep.add_argument("--seed", type=int, default=0)
    sweep.add_argument("--jobs", type=int, default=1, metavar="J", help="processes (default: %(default)s)")
    sweep.add_argument(
        "--store", type=Path, metavar="FILE", help="where records are kept; a sweep that stopped goes on"
    )
    sweep.add_argument("--compile-only", action="store_true", help="run nothing: only whether it compiles")
    sweep.add_argument(
        "--limit", type=float, default=60.0, metavar="SECONDS", help="for one point (default: %(default)s)"
    )
    sweep.add_argument("--best", metavar="METRIC", help="print the right pipeline of each kernel with the least of it")
    _add_kernel_arguments(sweep)
    sweep.set_defaults(run=run_sweep)
    _add_search(commands)
    _add_worth(commands)
    _add_bisect(commands)
    corpus = commands.add_parser("corpus", help="list the kernels that sweeps know by name")
    corpus.add_argument("family", nargs="?", help="only those of one family")
    corpus.set_defaults(run=run_corpus)


def _add_search(commands: Any) -> None:
    search = commands.add_parser("search", help="look for the pipeline that gives the least of a metric")
    search.add_argument("kernel", help="a name of the corpus, or FILE.py:kernel")
    search.add_argument(
        "--objective", default="instructions", metavar="METRIC", help="what to lower (default: %(default)s)"
    )
    search.add_argument(
        "--sampler", default="evolutionary", help="random, exhaustive, hill-climb or evolutionary (the default)"
    )
    search.add_argument("--budget", type=int, default=200, metavar="N", help="points (default: %(default)s)")
    search.add_argument("--patience", type=int, metavar="N", help="points without a gain after which to stop")
    search.add_argument(
        "--insert", default="", metavar="PASS,...", help="passes that may be put in; `all`: any that fits"
    )
    search.add_argument("--seed", type=int, default=0)
    _add_kernel_arguments(search)
    search.set_defaults(run=run_search)


def _add_worth(commands: Any) -> None:
    worth = commands.add_parser("worth", help="what each pass is worth: a metric of kernels without it")
    worth.add_argument("kernels", nargs="+", help="names of the corpus, @family, all, or FILE.py:kernel")
    worth.add_argument("--metric", default="instructions", help="(default: %(default)s)")
    _add_kernel_arguments(worth)
    worth.set_defaults(run=run_worth)


def _add_bisect(commands: Any) -> None:
    bisect = commands.add_parser(
        "bisect", help="the smallest pipeline that still breaks a kernel, or has more of a metric"
    )
    bisect.add_argument("kernel", help="a name of the corpus, or FILE.py:kernel")
    bisect.add_argument("--pipeline", required=True, help="the pipeline that shows it")
    bisect.add_argument("--more", metavar="METRIC=N", help="it shows if a right program has more than N of the metric")
    _add_kernel_arguments(bisect)
    bisect.set_defaults(run=run_bisect)


def _add_kernel_arguments(parser: argparse.ArgumentParser) -> None:
    """What says how a kernel is found and launched."""
    parser.add_argument("--arch", type=int, default=90, help="compute capability times ten (80, 86, 89, 90)")
    parser.add_argument("--corpus", action="append", default=[], metavar="FILE.py", help="a file of more kernels")
    parser.add_argument(
        "--load", action="append", default=[], metavar="FILE.py", help="a file that registers more passes"
    )
    for option, metavar, text in (
        ("--signature", "TYPES", "of FILE.py:kernel, as of `minitriton compile`"),
        ("--grid", "X[,Y[,Z]]", "of FILE.py:kernel (default: 2)"),
    ):
        parser.add_argument(option, default="", metavar=metavar, help=text)
    parser.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE", help="a number of FILE.py:kernel")
    parser.add_argument("--size", action="append", default=[], metavar="NAME=N", help="elements of an array of it")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="a compile option of it")


def _references(given: argparse.Namespace, kernels: list[str]) -> list[Reference]:
    load_own_passes()
    from minitriton.lab.command import grid_of, named
    from minitriton.lab.sweeping.references import references

    return references(
        kernels,
        signature=given.signature,
        grid=grid_of(given.grid or "2"),
        numbers=tuple(named(given.arg).items()),
        sizes=tuple(named(given.size).items()),
        options=tuple(named(given.option).items()),
        arch=given.arch,
        files=tuple(given.corpus),
        loads=tuple(given.load),
    )


def _space(given: argparse.Namespace, *, legal: bool = True) -> Space:
    from minitriton.lab.sweeping.space import Space, foreign_passes

    insert = foreign_passes() if given.insert == "all" else tuple(filter(None, given.insert.split(",")))
    return Space(insert=insert, legal=legal)


def run_sweep(given: argparse.Namespace) -> int:
    """Prints the table. 1 if a point was wrong, unsound, crashed or failed inside a pass, else 0."""
    from minitriton.lab.sweeping.sweep import sweep

    kernels = _references(given, given.kernels)
    table = sweep(
        kernels,
        _space(given, legal=not given.illegal),
        orders=given.orders,
        seed=given.seed,
        jobs=given.jobs,
        store=given.store,
        run=not given.compile_only,
        neighbours=given.neighbours,
        limit=given.limit,
        progress=_show if sys.stderr.isatty() else None,
    )
    print(table.text())
    if given.best:
        for kernel, record in table.best(given.best).items():
            print(f"\n{kernel}: {given.best} {record.metrics[given.best]:g}\n    {record.pipeline}")
    return 1 if table.not_right() else 0


def run_search(given: argparse.Namespace) -> int:
    """Prints the best pipeline and how it differs from the target's own."""
    from minitriton.lab.sweeping.search import search

    found = search(
        _references(given, [given.kernel])[0],
        _space(given),
        given.objective,
        sampler=given.sampler,
        budget=given.budget,
        patience=given.patience,
        seed=given.seed,
        progress=_show if sys.stderr.isatty() else None,
    )
    print(found.text())
    return 0


def run_worth(given: argparse.Namespace) -> int:
    """Prints a row a pass, a column a kernel."""
    from minitriton.lab.sweeping.worth import leave_one_out

    print(leave_one_out(_references(given, given.kernels)).text(given.metric))
    return 0


def run_bisect(given: argparse.Namespace) -> int:
    """Prints the passes that are left, and the pipeline."""
    from minitriton.compilation.pipeline_spec import format_step
    from minitriton.lab.sweeping.judging import Class, Judge, Record
    from minitriton.lab.sweeping.reducing import is_broken, smallest_pipeline
    from minitriton.lab.sweeping.space import is_fixed
    from minitriton.pass_manager import Pipeline

    shows = is_broken
    if given.more:
        metric, _, most = given.more.partition("=")
        limit = _number(most, "--more")

        def shows(record: Record) -> bool:
            return record.result is Class.RIGHT and record.metrics.get(metric, 0) > limit

    judge = Judge(_references(given, [given.kernel])[0].subject())
    smallest = smallest_pipeline(judge, Pipeline.parse(given.pipeline), shows)
    print("\n".join(format_step(step) for step in smallest.steps if not is_fixed(step)))
    print(f"\n{smallest}\n{judge.record(smallest).result}: {judge.record(smallest).reason}")
    return 0


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise MinitritonError(f"{option} takes METRIC=NUMBER, not {text!r}") from None


def run_corpus(given: argparse.Namespace) -> int:
    """A line a family, or the kernels of one."""
    from minitriton.lab import corpus

    for family in [given.family] if given.family else corpus.families():
        print(f"{family}: " + ", ".join(case.name for case in corpus.cases(family)))
    return 0


def _show(text: str) -> None:
    print(f"\r{text:<70}", end="", file=sys.stderr, flush=True)

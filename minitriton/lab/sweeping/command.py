"""`minitriton sweep`: many pipelines over kernels, from the command line, and `minitriton corpus`, the kernels that have names.

minitriton sweep running_sums @reducing --orders 500 --jobs 2 --store orders.db
minitriton sweep all --orders 0 --neighbours
minitriton sweep softmax.py:softmax --signature '*fp32:16,*fp32:16,i32,i32,i32,i32,BLOCK=1024' --orders 200
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from minitriton.errors import MinitritonError


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
    sweep.add_argument("--arch", type=int, default=90, help="compute capability times ten (80, 86, 89, 90)")
    sweep.add_argument("--corpus", action="append", default=[], metavar="FILE.py", help="a file of more kernels")
    sweep.add_argument(
        "--load", action="append", default=[], metavar="FILE.py", help="a file that registers more passes"
    )
    for option, metavar, text in (
        ("--signature", "TYPES", "of FILE.py:kernel, as of `minitriton compile`"),
        ("--grid", "X[,Y[,Z]]", "of FILE.py:kernel (default: 2)"),
    ):
        sweep.add_argument(option, default="", metavar=metavar, help=text)
    sweep.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE", help="a number of FILE.py:kernel")
    sweep.add_argument("--size", action="append", default=[], metavar="NAME=N", help="elements of an array of it")
    sweep.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="a compile option of it")
    sweep.set_defaults(run=run_sweep)
    corpus = commands.add_parser("corpus", help="list the kernels that sweeps know by name")
    corpus.add_argument("family", nargs="?", help="only those of one family")
    corpus.set_defaults(run=run_corpus)


def run_sweep(given: argparse.Namespace) -> int:
    """Prints the table. 1 if a point was wrong, unsound, crashed or failed inside a pass, else 0."""
    import minitriton.codegen.all_passes
    import minitriton.passes.all_passes  # noqa: F401
    from minitriton.lab.command import named
    from minitriton.lab.sweeping.references import references
    from minitriton.lab.sweeping.space import Space, foreign_passes
    from minitriton.lab.sweeping.sweep import sweep

    insert = foreign_passes() if given.insert == "all" else tuple(filter(None, given.insert.split(",")))
    kernels = references(
        given.kernels,
        signature=given.signature,
        grid=_grid(given.grid),
        numbers=tuple(named(given.arg).items()),
        sizes=tuple(named(given.size).items()),
        options=tuple(named(given.option).items()),
        arch=given.arch,
        files=tuple(given.corpus),
        loads=tuple(given.load),
    )
    table = sweep(
        kernels,
        Space(insert=insert, legal=not given.illegal),
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


def run_corpus(given: argparse.Namespace) -> int:
    """A line a family, or the kernels of one."""
    from minitriton.lab import corpus

    for family in [given.family] if given.family else corpus.families():
        print(f"{family}: " + ", ".join(case.name for case in corpus.cases(family)))
    return 0


def _grid(text: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(part) for part in text.split(",")) if text else (2,)
    except ValueError:
        sizes = ()
    if not 1 <= len(sizes) <= 3 or min(sizes) < 1:
        raise MinitritonError(f"{text!r} is no grid", help="give one to three positive numbers, as in --grid 4,2")
    return sizes


def _show(text: str) -> None:
    print(f"\r{text:<70}", end="", file=sys.stderr, flush=True)

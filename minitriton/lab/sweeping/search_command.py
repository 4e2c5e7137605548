"""`minitriton search`, `worth` and `bisect`: the best point, what passes are worth, the smallest pipeline that shows a fault.

minitriton search log_sum_exp --objective sectors --budget 300
minitriton search bench_matmul --objective microseconds,registers --sampler nsga2 --constants --prune 2
minitriton worth @reducing --metric barriers
minitriton bisect running_sums --pipeline '...' --load my_pass.py
"""

from __future__ import annotations

import argparse
from typing import Any

from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.command_arguments import (
    add_kernel_arguments,
    add_space_arguments,
    names_of,
    progress_shown,
    references_of,
    space_of,
)


def add_search_commands(commands: Any) -> None:
    """Adds the subcommands to an `argparse` set of them."""
    _add_search(commands)
    _add_worth(commands)
    _add_bisect(commands)


def _add_search(commands: Any) -> None:
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
    search.add_argument("--budget", type=int, default=200, metavar="N", help="points (default: %(default)s)")
    search.add_argument("--patience", type=int, metavar="N", help="points without a gain after which to stop")
    search.add_argument(
        "--prune", type=float, metavar="X", help="do not time what the cost model expects to take X times the best"
    )
    search.add_argument("--seed", type=int, default=0)
    add_space_arguments(search)
    add_kernel_arguments(search)
    search.set_defaults(run=run_search)


def _add_worth(commands: Any) -> None:
    worth = commands.add_parser("worth", help="what each pass is worth: a metric of kernels without it")
    worth.add_argument("kernels", nargs="+", help="names of the corpus, @family, all, or FILE.py:kernel")
    worth.add_argument("--metric", default="instructions", help="(default: %(default)s)")
    add_kernel_arguments(worth)
    worth.set_defaults(run=run_worth)


def _add_bisect(commands: Any) -> None:
    bisect = commands.add_parser(
        "bisect", help="the smallest pipeline that still breaks a kernel, or has more of a metric"
    )
    bisect.add_argument("kernel", help="a name of the corpus, or FILE.py:kernel")
    bisect.add_argument("--pipeline", required=True, help="the pipeline that shows it")
    bisect.add_argument("--more", metavar="METRIC=N", help="it shows if a right program has more than N of the metric")
    add_kernel_arguments(bisect)
    bisect.set_defaults(run=run_bisect)


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
        progress=progress_shown(),
    )
    print(found.text())
    return 0


def run_worth(given: argparse.Namespace) -> int:
    """Prints a row a pass, a column a kernel."""
    from minitriton.lab.sweeping.worth import leave_one_out

    print(leave_one_out(references_of(given, given.kernels)).text(given.metric))
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

    judge = Judge(references_of(given, [given.kernel])[0].subject())
    smallest = smallest_pipeline(judge, Pipeline.parse(given.pipeline), shows)
    print("\n".join(format_step(step) for step in smallest.steps if not is_fixed(step)))
    print(f"\n{smallest}\n{judge.record(smallest).result}: {judge.record(smallest).reason}")
    return 0


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise MinitritonError(f"{option} takes METRIC=NUMBER, not {text!r}") from None

"""`minitriton search`, `worth` and `report`: the best configuration, ablation of passes, a page about a store.

minitriton search log_sum_exp --objective sectors --budget 300
minitriton search bench_matmul --objective microseconds,registers --sampler nsga2 --constants --prune 2
minitriton ablate @reducing --metric barriers
minitriton report tuning.db --html tuning.html
"""

from __future__ import annotations

import argparse
from math import isfinite
from pathlib import Path

from minitriton.commands.output import add_json, print_json
from minitriton.host.subcommands import Subcommands
from minitriton.lab.sweeping.bisect_command import add_bisect_command
from minitriton.lab.sweeping.command_arguments import (
    add_kernel_arguments,
    add_space_arguments,
    names_of,
    progress_shown,
    references_of,
    space_of,
)
from minitriton.pipeline.pass_registry import load_own_passes


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
            "kernel": found.kernel, "objectives": found.objectives, "first": found.first, "best": found.best, "evaluations": len(found.records),
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

"""Checking kernels and passes without a GPU: the program runs after every pass, and a pass that changes its numbers is named.

report = check_call(kernel, [x, y, out, 4000], grid=(4,), BLOCK=1024)
report.ok        whether every pass kept the numbers
report.text()    a table, one row a pass, then what is known of each broken pass

Experiments with passes, their order, launches and layouts, from a laptop to a cluster (docs/lab.md):

table = sweep(["running_sums", "@reducing"], Space(), count=500, jobs=2, store="sweep.db")      many configurations about many kernels
found = search("bench_matmul", Space(constants=True), "cycles", sampler="tpe", budget=200)        the best of one
write_page("sweep.db", "sweep.html")                                                            what a store holds
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minitriton.lab.arguments import Arguments, generate_arguments
    from minitriton.lab.call import check_call, with_passes
    from minitriton.lab.checker import check
    from minitriton.lab.report import CheckReport, PassRow
    from minitriton.lab.sweeping import plots
    from minitriton.lab.sweeping.ablation import Ablation, commutation, leave_one_out
    from minitriton.lab.sweeping.candidates import Candidates
    from minitriton.lab.sweeping.configuration import Configuration
    from minitriton.lab.sweeping.correctness import Class, Evaluation
    from minitriton.lab.sweeping.environment import PassOrderEnvironment
    from minitriton.lab.sweeping.evaluation import Evaluator
    from minitriton.lab.sweeping.measuring import measure
    from minitriton.lab.sweeping.metrics import METRICS
    from minitriton.lab.sweeping.other_version import compare_versions
    from minitriton.lab.sweeping.page import write_page
    from minitriton.lab.sweeping.reducing import smallest, smallest_pipeline
    from minitriton.lab.sweeping.references import Reference
    from minitriton.lab.sweeping.search import Found, search
    from minitriton.lab.sweeping.space import Space
    from minitriton.lab.sweeping.store import Store
    from minitriton.lab.sweeping.sweep import sweep
    from minitriton.lab.sweeping.table import Table, agreed_order, ranking
    from minitriton.lab.sweeping.tuning_task import TuningTask

__all__ = [
    "METRICS", "Ablation", "Arguments", "Candidates", "CheckReport", "Class", "Configuration", "Evaluation",
    "Evaluator", "Found", "PassOrderEnvironment", "PassRow", "Reference", "Space", "Store", "Table", "TuningTask",
    "agreed_order", "check", "check_call", "commutation", "compare_versions", "generate_arguments", "leave_one_out",
    "measure", "plots", "ranking", "search", "smallest", "smallest_pipeline", "sweep", "with_passes", "write_page",
]  # fmt: skip

_NAMES = {
    "arguments": "Arguments generate_arguments",
    "call": "check_call with_passes",
    "checker": "check",
    "report": "CheckReport PassRow",
    "sweeping.ablation": "Ablation commutation leave_one_out",
    "sweeping.candidates": "Candidates",
    "sweeping.configuration": "Configuration",
    "sweeping.correctness": "Class Evaluation",
    "sweeping.environment": "PassOrderEnvironment",
    "sweeping.evaluation": "Evaluator",
    "sweeping.measuring": "measure",
    "sweeping.metrics": "METRICS",
    "sweeping.other_version": "compare_versions",
    "sweeping.page": "write_page",
    "sweeping.reducing": "smallest smallest_pipeline",
    "sweeping.references": "Reference",
    "sweeping.search": "Found search",
    "sweeping.space": "Space",
    "sweeping.store": "Store",
    "sweeping.sweep": "sweep",
    "sweeping.table": "Table agreed_order ranking",
    "sweeping.tuning_task": "TuningTask",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Loads on first use: pytest imports this package in every session that has the plugin installed."""
    if name == "plots":
        return importlib.import_module(f"{__name__}.sweeping.plots")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} lacks the attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Checking kernels and passes without a GPU: the program runs after every pass, and a pass that changes its numbers is named.

report = check_call(kernel, [x, y, out, 4000], grid=(4,), BLOCK=1024)
report.ok        whether every pass kept the numbers
report.text()    a table, one row a pass, then what is known of each broken pass

table = sweep(["running_sums", "@reducing"], Space(), orders=500, jobs=2, store="orders.db")      many pipelines of many kernels
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minitriton.lab.arguments import Arguments, generate_arguments
    from minitriton.lab.call import check_call
    from minitriton.lab.checker import check
    from minitriton.lab.pipeline import with_passes
    from minitriton.lab.report import CheckReport, PassRow
    from minitriton.lab.sweeping.judging import Class, Record
    from minitriton.lab.sweeping.reducing import smallest_pipeline
    from minitriton.lab.sweeping.references import Reference
    from minitriton.lab.sweeping.search import Found, search
    from minitriton.lab.sweeping.space import Space
    from minitriton.lab.sweeping.store import Store
    from minitriton.lab.sweeping.subject import Subject
    from minitriton.lab.sweeping.sweep import sweep
    from minitriton.lab.sweeping.table import Table
    from minitriton.lab.sweeping.worth import Worth, leave_one_out

__all__ = [
    "Arguments", "CheckReport", "Class", "Found", "PassRow", "Record", "Reference", "Space", "Store", "Subject", "Table", "Worth",
    "check", "check_call", "generate_arguments", "leave_one_out", "search", "smallest_pipeline", "sweep", "with_passes",
]  # fmt: skip

_MODULES = {
    "Arguments": "arguments",
    "CheckReport": "report",
    "PassRow": "report",
    "check": "checker",
    "check_call": "call",
    "generate_arguments": "arguments",
    "with_passes": "pipeline",
    "Class": "sweeping.judging",
    "Record": "sweeping.judging",
    "Reference": "sweeping.references",
    "Space": "sweeping.space",
    "Found": "sweeping.search",
    "Store": "sweeping.store",
    "Worth": "sweeping.worth",
    "leave_one_out": "sweeping.worth",
    "search": "sweeping.search",
    "smallest_pipeline": "sweeping.reducing",
    "Subject": "sweeping.subject",
    "Table": "sweeping.table",
    "sweep": "sweeping.sweep",
}


def __getattr__(name: str) -> Any:
    """Loads on first use: pytest imports this package in every session that has the plugin installed."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)

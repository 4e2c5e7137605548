"""Checking kernels and passes without a GPU: the program runs after every pass, and a pass that changes its numbers is named.

report = check_call(kernel, [x, y, out, 4000], grid=(4,), BLOCK=1024)
report.ok        whether every pass kept the numbers
report.text()    a table, one row a pass, then what is known of each broken pass
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

__all__ = ["Arguments", "CheckReport", "PassRow", "check", "check_call", "generate_arguments", "with_passes"]

_MODULES = {
    "Arguments": "arguments",
    "CheckReport": "report",
    "PassRow": "report",
    "check": "checker",
    "check_call": "call",
    "generate_arguments": "arguments",
    "with_passes": "pipeline",
}


def __getattr__(name: str) -> Any:
    """Loads on first use: pytest imports this package in every session that has the plugin installed."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)

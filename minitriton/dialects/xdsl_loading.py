"""Loads what a compile needs of xDSL, its classes defined as ours are: in half the time.

xDSL defines 260 dataclasses and, in `llvm`, `scf` and `cf`, 90 ops as it is imported: 0.2 of the 0.35 s that its import takes (2026-11-24). While it is imported here, `dataclass` is the
one of `host.records` and `irdl_op_definition` is `op_definition`: what is made of a class is the same, and made when the class is first used. Who imports
xDSL otherwise has it as it is, only later.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import sys
from collections.abc import Callable, Generator
from typing import Any

from minitriton.host import locks, records

_CORE = (
    "xdsl.ir", "xdsl.traits", "xdsl.irdl", "xdsl.context", "xdsl.dialects.builtin", "xdsl.irdl.declarative_assembly_format",
    "xdsl.irdl.declarative_assembly_format_parser", "xdsl.parser",
    "xdsl.printer", "xdsl.pattern_rewriter", "xdsl.rewriter", "xdsl.builder", "xdsl.passes", "xdsl.interfaces", "xdsl.dialects.utils",
)  # fmt: skip
_DIALECTS = ("xdsl.dialects.scf", "xdsl.dialects.cf", "xdsl.dialects.ub", "xdsl.dialects.llvm")

_OPTIONS = {"frozen", "eq", "repr", "init"}
"""Of `dataclasses.dataclass`, those that `host.records` knows."""


def load_xdsl() -> None:
    """Imports it, once. What has been imported before stays as it is."""
    if _DIALECTS[-1] in sys.modules:
        return
    with locks.XDSL:
        with _replaced(dataclasses, "dataclass", _dataclass):
            for module in _CORE:
                importlib.import_module(module)
        from xdsl import irdl

        from minitriton.dialects.op_definition import op_definition

        with (
            _replaced(dataclasses, "dataclass", _dataclass),
            _replaced(irdl, "irdl_op_definition", op_definition),
        ):
            for module in _DIALECTS:
                importlib.import_module(module)


@contextlib.contextmanager
def _replaced(module: Any, name: str, other: Callable[..., Any]) -> Generator[None]:
    """Within the `with`, `module` has `other` under `name`: for those that import it from there."""
    original = getattr(module, name)
    setattr(module, name, other)
    try:
        yield
    finally:
        setattr(module, name, original)


def _dataclass(cls: Any = None, /, **options: Any) -> Any:
    """`dataclass` of `host.records` where it knows the options, else the standard library's."""
    if not _OPTIONS.issuperset(options):
        return records.standard_dataclass(cls, **options)
    return records.dataclass(cls, **options)

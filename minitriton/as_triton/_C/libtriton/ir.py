"""The extension's `ir`: contexts, MLIR text, and views of the ops of a module (`minitriton.dialects.bindings`)."""

from __future__ import annotations

from pathlib import Path

from xdsl.context import Context

from minitriton.dialects.bindings import BlockView as block
from minitriton.dialects.bindings import FunctionView as function
from minitriton.dialects.bindings import ModuleView as module
from minitriton.dialects.bindings import OperationView as operation
from minitriton.dialects.bindings import RegionView as region
from minitriton.dialects.bindings import ValueView as value
from minitriton.dialects.context import make_context as context
from minitriton.dialects.text import parse_module

__all__ = [
    "block", "context", "function", "load_dialects", "module", "operation", "parse_mlir_module", "region", "value",
]  # fmt: skip


def load_dialects(context: Context) -> None:
    """A context has every dialect from the start."""


def parse_mlir_module(path: str | Path, context: Context) -> module:
    """The module in a file. Raises `IRError` with the location of what is wrong."""
    return module(parse_module(Path(path).read_text("utf-8"), str(path)), context)

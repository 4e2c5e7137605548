"""Imports every module of rules, which fills the table of `registry`."""

from minitriton.codegen.lowering import (
    async_copy,
    atomics,
    casts,
    control_flow,
    convert_layout,
    diagnostics,
    dot,
    elementwise,
    indexing,
    math,
    memory,
    program,
    reduce,
    scan,
    shared,
    views,
)

__all__ = [
    "async_copy",
    "atomics",
    "casts",
    "control_flow",
    "convert_layout",
    "diagnostics",
    "dot",
    "elementwise",
    "indexing",
    "math",
    "memory",
    "program",
    "reduce",
    "scan",
    "shared",
    "views",
]

"""Imports every module of rules, which fills the table of `registry`."""

from minitriton.codegen.lowering import (
    async_copy,
    casts,
    control_flow,
    convert_layout,
    elementwise,
    math,
    memory,
    program,
    reduce,
    shared,
    views,
)

__all__ = [
    "async_copy",
    "casts",
    "control_flow",
    "convert_layout",
    "elementwise",
    "math",
    "memory",
    "program",
    "reduce",
    "shared",
    "views",
]

"""Imports every module of rules, which fills the table of `registry`."""

from minitriton.codegen.lowering import (
    casts,
    control_flow,
    convert_layout,
    elementwise,
    math,
    memory,
    program,
    reduce,
    views,
)

__all__ = [
    "casts",
    "control_flow",
    "convert_layout",
    "elementwise",
    "math",
    "memory",
    "program",
    "reduce",
    "views",
]

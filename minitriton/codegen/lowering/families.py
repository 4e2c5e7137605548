"""Imports every module of rules, which fills the table of `registry`."""

from minitriton.codegen.lowering import control_flow, elementwise, memory, program, reduce, views

__all__ = ["control_flow", "elementwise", "memory", "program", "reduce", "views"]

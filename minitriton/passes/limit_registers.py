"""`limit-registers`: the option `maxnreg` of a kernel, on its module.

module {                =>      module attributes {ttg.maxnreg = 42 : i32} {

Triton sets the attribute where its layout stage begins; the lowering puts it on the kernel, and not on the functions it calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32

from minitriton.dialects.facts.launch import MAXNREG
from minitriton.pass_registry import EVERYTHING, Pass, Property, register_pass


@register_pass
@dataclass(frozen=True)
class LimitRegisters(Pass, origin="required"):
    """Notes how many registers a thread of the kernel may use."""

    name: ClassVar[str] = "limit-registers"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})
    keeps: ClassVar[frozenset[Property]] = EVERYTHING
    registers: int = 255
    """The limit."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Set the attribute."""
        op.attributes[MAXNREG] = IntegerAttr(self.registers, i32)

"""An insertion point in a block where ops are put one after the other, each with the same location.

at = Inserter.before(loop)                       %d = arith.subi %high, %low
d = at.value(arith.SubiOp(high, low))     =>     %c1 = arith.constant 1 : i32
one = at.integer(d.type, 1)                      scf.for ...
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from minitriton.rewriting.constants import constant_op, int_attr

OpT = TypeVar("OpT", bound=Operation)


@dataclass
class Inserter:
    """Inserts into `block` before `anchor`, or at the end if that is None."""

    block: Block
    anchor: Operation | None
    location: LocationAttr

    @classmethod
    def before(cls, op: Operation) -> Inserter:
        """Before `op`, with its location."""
        assert op.parent is not None
        return cls(op.parent, op, op.location)

    @classmethod
    def after(cls, op: Operation) -> Inserter:
        """After `op`, with its location."""
        assert op.parent is not None
        return cls(op.parent, op.next_op, op.location)

    def at_end(self, block: Block) -> Inserter:
        """At the end of `block`, with the location of this one."""
        return Inserter(block, None, self.location)

    def at(self, op: Operation) -> Inserter:
        """Before `op`, with the location of this one."""
        assert op.parent is not None
        return Inserter(op.parent, op, self.location)

    def insert(self, op: OpT) -> OpT:
        """Puts a new op here."""
        op.location = self.location
        self.place(op)
        return op

    def place(self, op: Operation) -> None:
        """Puts an op that has its location already here."""
        if self.anchor is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self.anchor)

    def value(self, op: Operation) -> SSAValue:
        """Puts a new op here; its first result."""
        return self.insert(op).results[0]

    def constant(self, attr: Attribute) -> SSAValue:
        """A new constant of value `attr`."""
        return self.value(constant_op(attr))

    def integer(self, type: Attribute, number: int) -> SSAValue:
        """A new integer constant of `type`."""
        return self.constant(int_attr(type, number))

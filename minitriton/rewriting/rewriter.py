"""Where new ops go: `Inserter`, a point in a block, and `Rewriter`, the hands of a pattern, through which every change during a greedy rewrite goes.

    at = Inserter.before(loop)                       %d = arith.subi %high, %low
    d = at.value(arith.SubiOp(high, low))     =>     %c1 = arith.constant 1 : i32
    one = at.integer(d.type, 1)                      scf.for ...

    def drop_zero_add(op, rewriter):                      # x + 0  =>  x
        if int_constant(op.rhs) != 0:
            return False
        rewriter.replace_op(op, op.lhs)
        return True

Ops of an inserter have the same location. Those of a rewriter go before the matched op (or to `insertion_point`) and take its location unless they have one; every
change puts the ops that it may have made simplifiable on the worklist.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar, cast

from xdsl.dialects.builtin import UNKNOWN_LOC, ArrayAttr, FusedLoc, LocationAttr, NoneAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from minitriton.dialects.fast_paths.op_access import next_use, operand_values, set_type
from minitriton.host.frozen import record
from minitriton.rewriting.constants import constant_op, int_attr
from minitriton.rewriting.settled import Settled

OpT = TypeVar("OpT", bound=Operation)


class Rewriter:
    """Changes the IR under `root` and keeps the worklist: a stack on which an op stands at most once."""

    def __init__(self, root: Operation, settled: Settled | None = None) -> None:
        """`settled`: what is not looked at unless it changes."""
        self.root = root
        self.settled = settled
        self.worklist: list[Operation] = []
        self.queued: set[int] = set()
        self.is_filling = True
        """Nothing was taken from the worklist yet, so that all ops around a queued one are queued too."""
        self.insertion_point: Operation | None = None
        self.location: LocationAttr = UNKNOWN_LOC
        self.changed = False

    # Worklist

    def add(self, op: Operation) -> None:
        """Puts `op` and the ops around it (inside the root) on the worklist, if they are not there yet."""
        if self.settled is not None:
            self.settled.disturb(op)
        root = self.root
        queued = self.queued
        stops_at_queued = self.is_filling
        chain: list[Operation] = []
        current: Operation | None = op
        while current is not root:
            if current is None:
                return
            if stops_at_queued and id(current) in queued:
                break
            chain.append(current)
            block = current.parent
            region = None if block is None else block.parent
            current = None if region is None else region.parent
        for current in chain:
            key = id(current)
            if key not in queued:
                queued.add(key)
                self.worklist.append(current)

    def _add_operands_of_erased(self, op: Operation) -> None:
        """An operand left with at most one other user may now be dead, or fold into that user."""
        for operand in operand_values(op):
            if type(operand) is not OpResult:
                continue
            other: Operation | None = None
            use = operand.first_use
            while use is not None:
                user = use.operation
                if user is not op and user is not other:
                    if other is not None:
                        break
                    other = user
                use = next_use(use)
            else:
                self.add(operand.op)

    # Changes

    def insert(self, op: OpT, before: Operation | None = None) -> OpT:
        """Inserts a new op (before `before`, else at the insertion point) and returns it."""
        anchor = before if before is not None else self.insertion_point
        assert anchor is not None and anchor.parent is not None
        if op.location is UNKNOWN_LOC:
            op.location = self.location
        anchor.parent.insert_op_before(op, anchor)
        self.add(op)
        return op

    def at(self, *ops: Operation) -> None:
        """New ops come from the locations of all of `ops`."""
        self.location = fused(*(op.location for op in ops))

    def constant(self, attr: Attribute) -> SSAValue:
        """A new constant of value `attr` at the insertion point."""
        return self.insert(constant_op(attr)).results[0]

    def modified(self, op: Operation) -> None:
        """Says that `op` was changed in place."""
        self.changed = True
        self.add(op)

    def set_operand(self, op: Operation, index: int, value: SSAValue) -> None:
        """Changes one operand."""
        op.operands[index] = value
        self.modified(op)

    def replace_all_uses(self, old: SSAValue, new: SSAValue) -> None:
        """All users of `old` use `new` instead, and are looked at again."""
        if old is new:
            return
        self.changed = True
        use = old.first_use
        while use is not None:
            following = next_use(use)
            user = use.operation
            user.operands[use.index] = new
            self.add(user)
            use = following

    def replace_op(self, op: Operation, *values: SSAValue) -> None:
        """Each result of `op` is replaced by the value at its position; `op` is erased."""
        for result, value in zip(op.results, values, strict=True):
            self.replace_all_uses(result, value)
        self.erase_op(op)

    def replace_with(self, op: Operation, new: OpT) -> OpT:
        """Inserts `new` before `op`, replaces the results one by one, erases `op`, returns `new`."""
        self.insert(new, op)
        self.replace_op(op, *new.results)
        return new

    def erase_op(self, op: Operation) -> None:
        """Erases `op`, which nothing may use any more, and all ops in its regions."""
        self.changed = True
        for region in op.regions:
            self._erase_contents(region)
        self._add_operands_of_erased(op)
        self._forget(op)
        block = op.parent
        assert block is not None
        block.detach_op(op)
        op.drop_all_references()

    def _erase_contents(self, region: Region) -> None:
        """Erases the ops of a region from the last to the first, whoever else inside uses them."""
        for block in reversed(region.blocks):
            op = block.last_op
            while op is not None:
                previous = op.prev_op
                for inner in op.regions:
                    self._erase_contents(inner)
                self._add_operands_of_erased(op)
                self._forget(op)
                block.detach_op(op)
                op.drop_all_references()
                op = previous

    def _forget(self, op: Operation) -> None:
        """An erased op stays on the stack (so that its id is not reused) but is no longer due."""
        self.queued.discard(id(op))

    def move_before(self, op: Operation, anchor: Operation) -> None:
        """Moves `op` to stand before `anchor`."""
        assert op.parent is not None and anchor.parent is not None
        op.parent.detach_op(op)
        anchor.parent.insert_op_before(op, anchor)
        self.changed = True
        self.add(op)

    def inline_block_before(self, block: Block, anchor: Operation, arguments: Sequence[SSAValue] = ()) -> None:
        """Moves the ops of `block` before `anchor`, with `arguments` for its arguments; the block is left empty."""
        for parameter, value in zip(block.args, arguments, strict=True):
            self.replace_all_uses(parameter, value)
        while (op := block.first_op) is not None:
            self.move_before(op, anchor)

    def set_type(self, value: SSAValue, type: Attribute) -> None:
        """Changes the type of a value; its users are looked at again."""
        set_type(value, type)
        self.changed = True
        for use in value.uses:
            self.add(use.operation)


# Where an op that stands for several comes from.


@lru_cache(maxsize=1024)
def fused(*locations: LocationAttr) -> LocationAttr:
    """`fused[a, b]`: each location once, unknown ones left out, fused ones split; a single location is itself."""
    parts: dict[LocationAttr, None] = {}
    for location in locations:
        if isinstance(location, FusedLoc) and isinstance(location.metadata, NoneAttr):
            inner = cast(ArrayAttr[LocationAttr], location.locations)
            parts.update(dict.fromkeys(inner.data))
        elif location != UNKNOWN_LOC:
            parts[location] = None
    if not parts:
        return UNKNOWN_LOC
    if len(parts) == 1:
        return next(iter(parts))
    return FusedLoc(ArrayAttr(parts), NoneAttr())


@record
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

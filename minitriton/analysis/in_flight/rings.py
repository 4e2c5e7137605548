"""Which slot of a ring of buffers an iteration reads or writes, relative to the number of the iteration.

    %ring = ttg.local_alloc : 3x128x128xf16
    scf.for ... iter_args(%fill = 1, %read = -1, %before = -1)
        %f = (%fill + 1) % 3       2 + i       modulo 3, in iteration i
        %r = (%read + 1) % 3       0 + i
        use %before               -1 + i       what the iteration before read
        yield %f, %r, %r

Two buffers whose positions differ modulo the length of the ring are never the same one in an iteration.
"""

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from minitriton.dialects import arith, ttg
from minitriton.dialects.fast_paths.op_access import last_op_of, operand_values
from minitriton.rewriting.constants import int_constant
from minitriton.rewriting.regions import is_defined_outside

VIEWS = (
    ttg.MemDescIndexOp, ttg.MemDescSubsliceOp, ttg.MemDescTransOp, ttg.MemDescReshapeOp, ttg.MemDescReinterpretOp,
)  # fmt: skip
"""Ops that give another view of a buffer and touch nothing."""

_SAME_BUFFER = (ttg.ConvertLayoutOp, ttg.MemDescTransOp, ttg.MemDescReshapeOp, ttg.MemDescSubsliceOp)


def ring_slot(buffer: SSAValue) -> tuple[SSAValue, SSAValue | None]:
    """The allocation that `buffer` is a view of, and the number of the buffer in it if it is a ring."""
    buffer = _viewed(buffer)
    if isinstance(buffer, OpResult) and isinstance(buffer.op, ttg.MemDescIndexOp):
        return _viewed(operand_values(buffer.op)[0]), operand_values(buffer.op)[1]
    return buffer, None


def views_of(buffer: SSAValue) -> set[SSAValue]:
    """`buffer` and all views of it."""
    found, pending = {buffer}, [buffer]
    while pending:
        for use in pending.pop().uses:
            if isinstance(use.operation, VIEWS):
                view = use.operation.results[0]
                if view not in found:
                    found.add(view)
                    pending.append(view)
    return found


def is_multi_buffered(operand: SSAValue, loop: scf.ForOp) -> bool:
    """Whether nothing in the loop writes to the buffer `operand` while a dot still reads it; true for registers."""
    if isinstance(operand.type, TensorType):
        return True
    seen: set[SSAValue] = set()
    while operand not in seen:
        seen.add(operand)
        if isinstance(operand, BlockArgument):
            if operand.block is not loop.body.block or operand.index == 0:
                break
            operand = operand_values(last_op_of(operand.block))[operand.index - 1]
        elif isinstance(operand, OpResult) and isinstance(operand.op, _SAME_BUFFER):
            operand = operand_values(operand.op)[0]
    if is_defined_outside(operand, loop):
        return True
    return isinstance(operand, OpResult) and isinstance(operand.op, ttg.MemDescIndexOp)


def _viewed(value: SSAValue) -> SSAValue:
    """What `value` is a view of, down to one buffer of a ring."""
    while isinstance(value, OpResult) and isinstance(value.op, VIEWS) and not isinstance(value.op, ttg.MemDescIndexOp):
        value = operand_values(value.op)[0]
    return value


def ring_length(ring: SSAValue) -> int | None:
    """How many buffers an allocation holds; None if `ring` is none."""
    type_ = ring.type
    return type_.get_shape()[0] if isinstance(ring, OpResult) and isinstance(type_, ttg.MemDescType) else None


def iterations_ago(written: SSAValue, read: SSAValue, loop: Operation | None) -> int | None:
    """How many iterations of `loop` ago the buffer `written` was last the buffer `read`, 0 if they are never the same; None if that is not known."""
    (first, index), (second, other) = ring_slot(written), ring_slot(read)
    if not isinstance(first, OpResult) or not isinstance(second, OpResult):
        return None
    if first is not second:
        return 0 if isinstance(first.op, ttg.LocalAllocOp) and isinstance(second.op, ttg.LocalAllocOp) else None
    length = ring_length(first)
    if index is None or other is None or length is None or not isinstance(loop, scf.ForOp):
        return None
    at, was = ring_position(index, length, loop), ring_position(other, length, loop)
    return None if at is None or was is None or at == was else (was - at) % length


def ring_position(value: SSAValue, length: int, loop: scf.ForOp) -> int | None:
    """p where `value` is (p + i) % `length` in iteration i of `loop`, 0 <= p < `length`; None where that is not known."""
    return _Positions(length, loop).of(value)


class _Positions:
    def __init__(self, length: int, loop: scf.ForOp) -> None:
        self.length = length
        self.body = loop.regions[0].block
        self.initial = operand_values(loop)[3:]

    def of(self, value: SSAValue) -> int | None:
        if isinstance(value, BlockArgument):
            return self._of_argument(value)
        before = self._is_next_of(value)
        position = None if before is None else self.of(before)
        return None if position is None else (position + 1) % self.length

    def _of_argument(self, argument: BlockArgument) -> int | None:
        """An argument that counts on its own, or has what the iteration before counted."""
        if argument.block is not self.body or argument.index == 0 or self.body.last_op is None:
            return None
        start = int_constant(self.initial[argument.index - 1])
        yielded = self.body.last_op.operands[argument.index - 1]
        if start is None:
            return None
        if self._is_next_of(yielded) is argument:
            return start % self.length
        position = None if isinstance(yielded, BlockArgument) else self.of(yielded)
        return start % self.length if position is not None and (position - 1 - start) % self.length == 0 else None

    def _is_next_of(self, value: SSAValue) -> SSAValue | None:
        """x for `select (x + 1 >= length), 0, x + 1`."""
        if not isinstance(value, OpResult) or not isinstance(value.op, arith.SelectOp):
            return None
        condition, zero, following = value.op.operands
        if not isinstance(following, OpResult) or not isinstance(following.op, arith.AddiOp):
            return None
        before, one = following.op.operands
        if int_constant(zero) != 0 or int_constant(one) != 1 or not isinstance(condition, OpResult):
            return None
        compare = condition.op
        if not isinstance(compare, arith.CmpiOp) or compare.operands[0] is not following:
            return None
        is_sge = compare.predicate.value.data == _SGE and int_constant(compare.operands[1]) == self.length
        return before if is_sge else None


_SGE = 5

"""Where in a ring of buffers an iteration reads or fills, relative to the number of the iteration.

    %ring = ttg.local_alloc : 3x128x128xf16
    scf.for ... iter_args(%fill = 1, %read = -1, %before = -1)
        %f = (%fill + 1) % 3       2 + i       modulo 3, in iteration i
        %r = (%read + 1) % 3       0 + i
        use %before               -1 + i       what the iteration before read
        yield %f, %r, %r

Two buffers whose positions differ modulo the length of the ring are never the same one in an iteration.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, OpResult, SSAValue

from minitriton.dialects import arith
from minitriton.dialects.fast_paths.op_access import operand_values
from minitriton.rewriting.constants import int_constant


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

"""Which of two ops of a block comes first, asked often while ops are put in.

    order = BlockOrder()
    order.comes_before(a, b)        # numbers the block once
    block.insert_op_before(new, b)
    order.comes_before(a, new)      # a number between those of its neighbours

xDSL's `Operation.is_before_in_block` goes through the block each time.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation


class BlockOrder:
    """A number for each op that was asked for, greater than those of the ops before it in its block.

    Ops may be inserted and erased meanwhile; one that is moved must be forgotten.
    """

    def __init__(self) -> None:
        self._numbers: dict[Operation, float] = {}

    def comes_before(self, a: Operation, b: Operation) -> bool:
        """Whether `a` stands before `b`, of one block."""
        self.number(a)
        second = self.number(b)
        return self.number(a) < second

    def number(self, op: Operation) -> float:
        """Where `op` stands in its block, as long as nothing new is asked for."""
        found = self._numbers.get(op)
        if found is None:
            found = self._between(op)
            if found is None:
                assert op.parent is not None
                self._number(op.parent)
                return self._numbers[op]
            self._numbers[op] = found
        return found

    def forget(self, op: Operation) -> None:
        """`op` is about to move."""
        self._numbers.pop(op, None)

    def _between(self, op: Operation) -> float | None:
        """A number for a new op among numbered ones; None if there is none."""
        before, after = op.prev_op, op.next_op
        low = self._numbers.get(before) if before is not None else None
        high = self._numbers.get(after) if after is not None else None
        if low is None or high is None:
            return None
        middle = (low + high) / 2
        return middle if low < middle < high else None

    def _number(self, block: Block) -> None:
        for index, op in enumerate(block.ops):
            self._numbers[op] = float(index)

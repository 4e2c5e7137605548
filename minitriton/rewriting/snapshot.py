"""Whether the IR is still what it was: all of an op and of what is inside, remembered and compared by identity.

    then = Snapshot(module)
    ...                                 passes that may change something, and may not
    then.matches(module)                True: ops, operands, types, attributes, blocks and places are the ones they were

What is remembered is kept alive, so that nothing new can be taken for something old. Comparing an op takes a tenth of what a pass takes
to look at it (2026-11-23).
"""

from __future__ import annotations

from operator import is_

from xdsl.ir import Attribute, Block, Operation, SSAValue

from minitriton.dialects.op_access import block_successors, next_op, operand_values

_OpState = tuple[
    Operation,
    tuple[SSAValue, ...],
    Attribute,
    dict[str, Attribute],
    dict[str, Attribute],
    tuple[Attribute, ...],
    tuple[Block, ...],
    int,
]
"""The op, its operands, its place, its properties and attributes, the types of its results, its successors, how many regions it has."""

_BlockState = tuple[Block, tuple[SSAValue, ...], tuple[Attribute, ...]]
"""The block, its arguments, their types and places."""


class Snapshot:
    """The state of `root` and of everything inside when this was made."""

    def __init__(self, root: Operation) -> None:
        self._ops: list[_OpState | None] = []
        """Ops in the order of the text; None ends a block."""
        self._blocks: list[_BlockState | None] = []
        """Blocks, each before those inside its ops; None ends a region."""
        self._add(root)

    def matches(self, root: Operation) -> bool:
        """Whether `root` has not changed since."""
        return _Comparison(self._ops, self._blocks).same(root)

    def _add(self, op: Operation) -> None:
        self._ops.append(
            (
                op,
                operand_values(op),
                op.location,
                dict(op.properties),
                dict(op.attributes),
                tuple([result.type for result in op.results]),
                block_successors(op),
                len(op.regions),
            )
        )
        for region in op.regions:
            block = region.first_block
            while block is not None:
                self._blocks.append((block, block.args, _about_arguments(block)))
                inner = block.first_op
                while inner is not None:
                    self._add(inner)
                    inner = next_op(inner)
                self._ops.append(None)
                block = block.next_block
            self._blocks.append(None)


class _Comparison:
    """One walk through the IR beside what was remembered of it."""

    def __init__(self, ops: list[_OpState | None], blocks: list[_BlockState | None]) -> None:
        self._next_op = iter(ops).__next__
        self._next_block = iter(blocks).__next__

    def same(self, op: Operation) -> bool:
        known = self._next_op()
        if known is None or known[0] is not op or known[1] is not operand_values(op) or known[2] is not op.location:
            return False
        if not (_are_same(known[3], op.properties) and _are_same(known[4], op.attributes)):
            return False
        if known[6] is not block_successors(op):
            return False
        for type_, result in zip(known[5], op.results, strict=True):
            if type_ is not result.type:
                return False
        return len(op.regions) == known[7] and (not known[7] or self._same_regions(op))

    def _same_regions(self, op: Operation) -> bool:
        for region in op.regions:
            block = region.first_block
            while block is not None:
                known = self._next_block()
                if known is None or known[0] is not block or known[1] is not block.args:
                    return False
                if block.args and not all(map(is_, known[2], _about_arguments(block))):
                    return False
                inner = block.first_op
                while inner is not None:
                    if not self.same(inner):
                        return False
                    inner = next_op(inner)
                if self._next_op() is not None:
                    return False
                block = block.next_block
            if self._next_block() is not None:
                return False
        return True


def _are_same(then: dict[str, Attribute], now: dict[str, Attribute]) -> bool:
    """Whether these are the very attributes: 0.0 and -0.0 are equal, but not the same."""
    return not (then or now) or (len(then) == len(now) and then == now and all(map(is_, then.values(), now.values())))


def _about_arguments(block: Block) -> tuple[Attribute, ...]:
    return tuple([part for argument in block.args for part in (argument.type, argument.location)])

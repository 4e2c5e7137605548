"""A copy of a whole module, made without the checks of `Operation.clone`, and whether a module is still what it was.

    copy_of(module)            ops, operands, attributes, types, names and locations as they are; attributes are shared
    parts_of(module)           what tells whether a pass has changed anything a pass can see, lists of uses too
    then = IRSnapshot(module)
    then.matches(module)       whether ops, operands, types, attributes, blocks and locations are the very ones they were

What a pass does may follow the order in which a value lists its uses. A copy lists them last use first, whatever the order was in the
original, so that a pass does the same to every copy. What is remembered is kept alive, so that nothing new can be taken for something old.
"""

# This file is one of those that touch what xDSL keeps private (see `dialects.fast_paths.op_access`).
# pyright: reportPrivateUsage=false
# This file is one of those that touch what xDSL keeps private (see `dialects.fast_paths.op_access`): reading a field costs a third of calling its property.

from __future__ import annotations

from collections.abc import Callable
from operator import is_

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.core import SSAValues

from minitriton.dialects.narrowing import instance_of

Values = dict[int, SSAValue]
"""What stands for a value in the copy, by the `id` of the original, which is alive as long as it is copied."""

Pairs = list[tuple[Operation, Operation]]
"""Originals and copies, in the order in which they are walked."""


def copy_of(module: ModuleOp) -> ModuleOp:
    """A copy that shares nothing that a pass may change."""
    values: Values = {}
    blocks: dict[int, Block] = {}
    pairs: Pairs = []
    copied = _operation(module, values, blocks, pairs)
    for old, new in pairs:
        if old._operands:
            _use(new, [values.get(id(operand), operand) for operand in old._operands])
        if old._successors:
            new.successors = [blocks.get(id(block), block) for block in old._successors]
    assert isinstance(copied, ModuleOp)
    return copied


def _operation(old: Operation, values: Values, blocks: dict[int, Block], pairs: Pairs) -> Operation:
    """A copy without operands and successors, which `pairs` says where to take from."""
    new = old.__class__.__new__(old.__class__)
    pairs.append((old, new))
    new._operands = _NO_OPERANDS
    new._operand_uses = new._successors = new._successor_uses = new.regions = ()
    new.properties = old.properties.copy()
    new.attributes = old.attributes.copy()
    new.location = old.location
    new.parent = new._next_op = new._prev_op = None
    results = old.results
    if results:
        made: list[OpResult] = []
        for index, result in enumerate(results):
            copied = OpResult(result._type, new, index)
            copied._name = result._name
            values[id(result)] = copied
            made.append(copied)
        new.results = SSAValues(made)
    else:
        new.results = _NO_RESULTS
    if old.regions:
        new.regions = tuple([_region(region, new, values, blocks, pairs) for region in old.regions])
    return new


_NO_OPERANDS: SSAValues[SSAValue] = SSAValues()
_NO_RESULTS: SSAValues[OpResult] = SSAValues()


def _region(old: Region, parent: Operation, values: Values, blocks: dict[int, Block], pairs: Pairs) -> Region:
    made: list[tuple[Block, Block]] = []
    for block in old.blocks:
        copied = blocks[id(block)] = Block()
        copied._name = block._name
        made.append((block, copied))
    for block, copied in made:
        copied._args = tuple([_argument(argument, copied, values) for argument in block._args])
        last: Operation | None = None
        op = block._first_op
        while op is not None:
            new = _operation(op, values, blocks, pairs)
            new.parent, new._prev_op = copied, last
            if last is None:
                copied._first_op = new
            else:
                last._next_op = new
            last, op = new, op._next_op
        copied._last_op = last
    region = Region([copied for _, copied in made])
    region.parent = parent
    return region


def _argument(old: BlockArgument, block: Block, values: Values) -> BlockArgument:
    new = BlockArgument(old._type, block, old.index, old.location)
    new._name = old._name
    values[id(old)] = new
    return new


def _use(op: Operation, operands: list[SSAValue]) -> None:
    """Gives a new op its operands."""
    op._operands = SSAValues(operands)
    uses = tuple([Use(op, index) for index in range(len(operands))])
    op._operand_uses = uses
    for operand, use in zip(operands, uses, strict=True):
        first = operand.first_use
        use._next_use = first
        if first is not None:
            first._prev_use = use
        operand.first_use = use


def parts_of(module: ModuleOp) -> list[object]:
    """All that a pass can change about `module`, and where each value's list of uses begins: `parts_of(module) == before` after a pass
    that has changed nothing, and hardly ever after another one. Not locations and names.

    An operand that is set to another value and set back is first of that value's uses then, so that lists of uses are in the order of a
    copy still, unless that is done twice over.
    """
    parts: list[object] = []
    _parts_of_op(module, parts)
    return parts


_DICT: type[dict[str, Attribute]] = dict


def frozen(parts: list[object]) -> list[object]:
    """`parts` as they are now: with copies of what changes in place."""
    return [part.copy() if instance_of(part, _DICT) else part for part in parts]


def _parts_of_op(op: Operation, parts: list[object]) -> None:
    parts += (op, op._operands, op.properties, op.attributes)
    for result in op.results:
        parts += (result._type, result.first_use)
    if op._successors:
        parts.append(op._successors)
    for region in op.regions:
        block = region._first_block
        while block is not None:
            parts += (block, block.first_use)
            for argument in block._args:
                parts += (argument, argument._type, argument.first_use)
            inner = block._first_op
            while inner is not None:
                _parts_of_op(inner, parts)
                inner = inner._next_op
            block = block._next_block


_ATTRIBUTES, _BLOCK_END, _REGION_END = "attributes", "end of block", "end of region"


class IRSnapshot:
    """The state of `root` and of everything inside when this was made."""

    def __init__(self, root: Operation) -> None:
        state: list[object] = []
        _add(root, state, state.append)
        self._state = state

    def matches(self, root: Operation) -> bool:
        """Whether `root` has not changed since."""
        return self.is_same(IRSnapshot(root))

    def is_same(self, other: IRSnapshot) -> bool:
        """Whether nothing changed between the two."""
        return len(other._state) == len(self._state) and all(map(is_, other._state, self._state))


def _add(op: Operation, state: list[object], append: Callable[[object], None]) -> None:
    """Adds all that `op` is, in an order that can be read in one way only: what may be of any number stands between marks or strings."""
    append(op)
    append(op._operands)
    append(op.location)
    append(op._successors)
    append(op.results)
    for result in op.results:
        append(result._type)
    properties, attributes = op.properties, op.attributes
    if properties:
        state += properties
        state += properties.values()
    if attributes:
        append(_ATTRIBUTES)
        state += attributes
        state += attributes.values()
    for region in op.regions:
        _add_region(region, state, append)


def _add_region(region: Region, state: list[object], append: Callable[[object], None]) -> None:
    block = region._first_block
    while block is not None:
        append(block)
        append(block._args)
        for argument in block._args:
            append(argument._type)
            append(argument.location)
        inner = block._first_op
        while inner is not None:
            _add(inner, state, append)
            inner = inner._next_op
        append(_BLOCK_END)
        block = block._next_block
    append(_REGION_END)

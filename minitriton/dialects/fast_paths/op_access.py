"""Operands of any op at the price of an index: what passes read of ops whose class they do not know.

`op.operands` makes a view at each read and its items go through two more calls. An op whose class is known is read by
its fields (`op.ptr`), which cost as little (`op_fields`). These two files, those that make ops (`dialects.fast_paths.copying`, `codegen.op_making`) and those that go over all
ops of a module (`dialects.fast_paths.operations`, `analysis.dataflow`, `rewriting.greedy`, `dialects.fast_paths.snapshot`) are all that touch what xDSL keeps private.
"""

# This file is one of those that touch what xDSL keeps private (see `dialects.fast_paths.op_access`).
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FileLineColLoc, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue, Use

OpT = TypeVar("OpT", bound=Operation)

operand_values = cast(Callable[[Operation], tuple[SSAValue, ...]], attrgetter("_operands"))
"""All operands of an op, as they are now."""

block_successors = cast(Callable[[Operation], tuple[Block, ...]], attrgetter("_successors"))
"""The blocks that an op goes on to."""

next_op = cast(Callable[[Operation], "Operation | None"], attrgetter("_next_op"))
"""The op after `op` in its block."""

entry_of = cast(Callable[[Region], "Block | None"], attrgetter("_first_block"))
"""The first block of a region, if it has any."""

end_of = cast(Callable[[Block], "Operation | None"], attrgetter("_last_op"))
"""The last op of a block, if it has any."""

value_type = cast(Callable[[SSAValue], Attribute], attrgetter("_type"))
"""The type of a value."""

next_use = cast(Callable[[Use], "Use | None"], attrgetter("_next_use"))
"""The use of the same value after `use`; read before `use` changes."""

_Values: type[tuple[SSAValue, ...]] = tuple
_item: Callable[[tuple[SSAValue, ...], int], SSAValue] = _Values.__getitem__


def block_of(op: Operation, region: int = 0) -> Block:
    """The first block of a region of `op` that has one."""
    block = op.regions[region]._first_block
    assert block is not None
    return block


def last_op_of(block: Block) -> Operation:
    """What ends a block that has ops: its terminator."""
    last = block._last_op
    assert last is not None
    return last


def operand_at(op: Operation, index: int) -> SSAValue:
    """Operand number `index` of `op`. Raises `IndexError` if it has fewer."""
    return _item(operand_values(op), index)


def operand_use(op: Operation, index: int) -> Use:
    """The use of operand `index` by `op`."""
    return op._operand_uses[index]


def set_type(value: SSAValue, type_: Attribute) -> None:
    """Changes the type of `value` where it stands; its uses stay."""
    value._type = type_


def set_arguments(block: Block, arguments: Sequence[BlockArgument]) -> None:
    """Makes `arguments`, which know their `block` and index, all that `block` has."""
    block._args = tuple(arguments)


def forward_name(old: SSAValue, new: SSAValue) -> None:
    """Gives `new` the name that `old` has in text, which need not be checked again."""
    new._name = old._name


def defining(value: SSAValue, *classes: type[OpT]) -> OpT | None:
    """The op that defines `value`, if it is of one of these very classes."""
    return cast(OpT, value.op) if type(value) is OpResult and value.op.__class__ in classes else None


# Hashes of types and constants, computed once for each object.
#
# xDSL's attributes are frozen dataclasses, whose hash goes through all that is in them at each look into a dictionary. The classes that the compiler looks
# up most keep theirs. What is equal and which hash it has stay as they are.

_HASH = "_minitriton_hash"


def keep_hash(kind: type[Attribute]) -> None:
    """Has attributes of class `kind` keep their hash once it was asked for."""
    computed: Callable[[Attribute], int] = kind.__hash__

    def __hash__(self: Any) -> int:
        try:
            return self._minitriton_hash
        except AttributeError:
            value = computed(self)
            object.__setattr__(self, _HASH, value)
            return value

    def __getstate__(self: Attribute) -> dict[str, object]:
        """Without the hash, which another process would not agree with."""
        return {name: value for name, value in vars(self).items() if name != _HASH}

    kind.__hash__ = __hash__  # pyright: ignore[reportAttributeAccessIssue]
    kind.__getstate__ = __getstate__  # pyright: ignore[reportAttributeAccessIssue]


for each in (TensorType, DenseIntOrFPElementsAttr, IntegerType, IntegerAttr, FileLineColLoc):
    keep_hash(each)

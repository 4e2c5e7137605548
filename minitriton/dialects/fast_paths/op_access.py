"""What xDSL keeps private, where a compile cannot wait for its checks: ops read, made and listed.

    BlockOrder().comes_before(a, b)                     numbers a block once; `Operation.is_before_in_block` goes through it each time
    operand_values(op)                                  the operands of any op: `op.operands` makes a view at each read
    make(llvm.AddOp, (x, y), (i32,), {}, location)      a detached `llvm.add`; nothing is checked
    ops_in(module)                                      the module and all ops in it, in a tenth of the time of `Operation.walk`; the IR may change meanwhile

An op whose class is known is read by its fields (`op.ptr`), which cost as little (`op_definition`). This module, `copying`, `snapshot`, `analysis.dataflow` and
`rewriting.greedy` are all that touch what xDSL keeps private.
"""

# pyright: reportPrivateUsage=false
# This file is one of those that touch what xDSL keeps private (see `dialects.fast_paths.op_access`): reading a field costs a third of calling its property.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    TensorType,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.core import SSAValues

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


def make(
    cls: type[Operation],
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    properties: Mapping[str, Attribute],
    location: LocationAttr,
) -> Operation:
    """A detached op, made without checks (`Operation.__init__` minus what is default here)."""
    op = cls.__new__(cls)
    op._operands = SSAValues(operands)
    uses = tuple([Use(op, index) for index in range(len(operands))])
    for operand, use in zip(operands, uses, strict=True):
        operand.add_use(use)
    op._operand_uses = uses
    op.results = SSAValues([OpResult(type_, op, index) for index, type_ in enumerate(result_types)])
    op.properties = dict(properties)
    op.attributes = {}
    op.location = location
    op.regions = ()
    op.parent = None
    op._next_op = op._prev_op = None
    op._successors = ()
    op._successor_uses = ()
    return op


def append(block: Block, op: Operation) -> None:
    """Adds a detached op at the end of `block` (`Block.add_op` without its checks: no block is in an op just made)."""
    last = block._last_op
    op.parent = block
    if last is None:
        block._first_op = op
    else:
        last._next_op = op
        op._prev_op = last
    block._last_op = op


def ops_in(root: Operation) -> list[Operation]:
    """`root` and all ops inside, in the order of the text: each before what is in it."""
    found = [root]
    _add_inside(root, found)
    return found


def classes_in(root: Operation) -> frozenset[type[Operation]]:
    """The classes of `root` and of all ops inside."""
    return frozenset([op.__class__ for op in ops_in(root)])


def _add_inside(op: Operation, found: list[Operation]) -> None:
    for region in op.regions:
        block = region._first_block
        while block is not None:
            inner = block._first_op
            while inner is not None:
                found.append(inner)
                if inner.regions:
                    _add_inside(inner, found)
                inner = inner._next_op
            block = block._next_block


def ops_of(root: Operation, *classes: type[OpT]) -> list[OpT]:
    """Of `ops_in` those whose class is one of `classes` (not derived from it): `isinstance` asks the metaclass of ops, at ten times the
    price of a look into a set."""
    found: list[OpT] = []
    wanted: frozenset[type[Operation]] = frozenset(classes)
    if root.__class__ in wanted:
        found.append(root)  # pyright: ignore[reportArgumentType]
    _add_of(root, wanted, found)  # pyright: ignore[reportArgumentType]
    return found


def _add_of(op: Operation, wanted: frozenset[type[Operation]], found: list[Operation]) -> None:
    for region in op.regions:
        block = region._first_block
        while block is not None:
            inner = block._first_op
            while inner is not None:
                if inner.__class__ in wanted:
                    found.append(inner)
                if inner.regions:
                    _add_of(inner, wanted, found)
                inner = inner._next_op
            block = block._next_block


def ops_in_inner_first(root: Operation) -> list[Operation]:
    """`root` and all ops inside, each after what is in it."""
    found: list[Operation] = []
    _add_inner_first(root, found)
    return found


def _add_inner_first(op: Operation, found: list[Operation]) -> None:
    for region in op.regions:
        block = region._first_block
        while block is not None:
            inner = block._first_op
            while inner is not None:
                if inner.regions:
                    _add_inner_first(inner, found)
                else:
                    found.append(inner)
                inner = inner._next_op
            block = block._next_block
    found.append(op)


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

"""The ops inside an op, as lists: what a pass that looks for some kind of op begins with.

In: an op, usually the module or a function. Out: the op itself and everything in it. xDSL's `Operation.walk` makes three generators for
each level and op; a list takes a tenth of the time, and may be gone through while the IR changes.
"""

# This file is one of those that touch what xDSL keeps private (see `dialects.fast_paths.op_access`): reading a field costs a third of calling its property.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TypeVar

from xdsl.ir import Operation

OpT = TypeVar("OpT", bound=Operation)


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

"""Whether the IR is still what it was: all of an op and of what is inside, remembered and compared by identity.

    then = IRSnapshot(module)
    ...                                 passes that may change something, and may not
    then.matches(module)                True: ops, operands, types, attributes, blocks and locations are the very ones they were

What is remembered is kept alive, so that nothing new can be taken for something old.
"""

# This file is one of those that touch what xDSL keeps private (see `dialects.fast_paths.op_access`): reading a field costs a third of calling its property.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from operator import is_

from xdsl.ir import Operation, Region

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

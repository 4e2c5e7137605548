"""Whether the IR is still what it was: all of an op and of what is inside, remembered and compared by identity.

    then = IRSnapshot(module)
    ...                                 passes that may change something, and may not
    then.matches(module)                True: ops, operands, types, attributes, blocks and places are the very ones they were

What is remembered is kept alive, so that nothing new can be taken for something old. An op takes half a microsecond (2026-11-23), a
tenth of what a pass takes to look at it.
"""

from __future__ import annotations

from operator import attrgetter, is_

from xdsl.ir import Attribute, Operation, Region

from minitriton.dialects.op_access import op_parts, value_type

_place = attrgetter("location")
_ATTRIBUTES, _BLOCK_END, _REGION_END = "attributes", "end of block", "end of region"


class IRSnapshot:
    """The state of `root` and of everything inside when this was made."""

    def __init__(self, root: Operation) -> None:
        state: list[object] = []
        _add(root, state)
        self._state = state

    def matches(self, root: Operation) -> bool:
        """Whether `root` has not changed since."""
        return self.is_same(IRSnapshot(root))

    def is_same(self, other: IRSnapshot) -> bool:
        """Whether nothing changed between the two."""
        return len(other._state) == len(self._state) and all(map(is_, other._state, self._state))


def _add(op: Operation, state: list[object]) -> Operation | None:
    """Adds all that `op` is, in an order that can be read in one way only: what may be of any number stands between marks or strings. The op behind it."""
    operands, place, successors, results, properties, attributes, regions, following = op_parts(op)
    state += (op, operands, place, successors, results)
    for result in results:
        state.append(value_type(result))
    if properties:
        _add_named(properties, state)
    if attributes:
        state.append(_ATTRIBUTES)
        _add_named(attributes, state)
    for region in regions:
        _add_region(region, state)
    return following


def _add_region(region: Region, state: list[object]) -> None:
    block = region.first_block
    while block is not None:
        arguments = block.args
        state += (block, arguments)
        if arguments:
            state += map(value_type, arguments)
            state += map(_place, arguments)
        inner = block.first_op
        while inner is not None:
            inner = _add(inner, state)
        state.append(_BLOCK_END)
        block = block.next_block
    state.append(_REGION_END)


def _add_named(attributes: dict[str, Attribute], state: list[object]) -> None:
    state += attributes
    state += attributes.values()

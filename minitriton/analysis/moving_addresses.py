"""Addresses that a loop moves along: whether what one iteration stores can be what a later one loads.

    scf.for %i = %c0 to %n step %c1024                  in iteration t
        %at = splat(%p) + splat(%i) + range(1024)       p + 0 .. 1023 + 1024 t
        tt.load %at; tt.store %at, ...                  the next iteration loads 1024 .. 2047: none of these

An address is a sum of numbers that the loop leaves alone (`start`), of a range (`low` to `high`) and of a number that is added in every
iteration (`step`). Index arithmetic is taken not to overflow, as in `axis_info.lattice`.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from minitriton.dialects import arith, tt
from minitriton.dialects.facts import MovesElements
from minitriton.dialects.fast_paths.op_access import operand_values
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.op_rules import OpRules
from minitriton.dialects.ttg import ConvertLayoutOp
from minitriton.rewriting.constants import int_constant

_Sum: TypeAlias = Mapping[SSAValue, int]
"""Numbers that are not known, and how often each is added."""


class Moving(NamedTuple):
    """`start + [low, high] + t * (step + step_number)` in iteration t."""

    start: _Sum
    low: int
    high: int
    step: _Sum
    step_number: int

    @property
    def number(self) -> int | None:
        """The number it is, if it is the same known one in all iterations."""
        return self.low if self.low == self.high and not (self.start or self.step or self.step_number) else None

    @property
    def is_still(self) -> bool:
        """Whether it is one number, the same in all iterations."""
        return self.low == self.high and not self.step and not self.step_number


def meets_later(load: tt.LoadOp, store: tt.StoreOp, loop: scf.ForOp) -> bool:
    """Whether `load` may read what `store` has written: in an iteration of `loop` before, or earlier in its own. So it is unless both
    addresses can be followed, and show that it is not."""
    if load.ptr.type != store.ptr.type:
        return True
    addresses = _Addresses(loop)
    loaded, stored = addresses.of(load.ptr), addresses.of(store.ptr)
    if loaded is None or stored is None:
        return True
    if (loaded.start, loaded.step, loaded.step_number) != (stored.start, stored.step, stored.step_number):
        return True
    if _is_before(store, load, loop) and loaded.low <= stored.high and stored.low <= loaded.high:
        return True
    least = _least(loaded.step, loaded.step_number)
    if least is not None and least > 0:
        return loaded.low + least <= stored.high
    most = _least({value: -times for value, times in loaded.step.items()}, -loaded.step_number)
    return most is None or most <= 0 or loaded.high - most >= stored.low


def _is_before(store: Operation, load: Operation, loop: scf.ForOp) -> bool:
    """Whether an iteration comes to `store` first, or may do so."""
    body = loop.regions[0].block
    accesses = (body.find_ancestor_op_in_block(store), body.find_ancestor_op_in_block(load))
    return next((op for op in body.ops if op in accesses), None) is not accesses[1] or accesses[0] is accesses[1]


def _least(unknown: _Sum, number: int) -> int | None:
    """The least that a sum may be: of what is not known, the number of programs is at least 1."""
    for value, times in unknown.items():
        if times < 0 or not isinstance(value, OpResult) or not isinstance(value.op, tt.GetNumProgramsOp):
            return None
        number += times
    return number


class _Addresses:
    """What is known of the integers and pointers of a loop, each looked at once."""

    def __init__(self, loop: scf.ForOp) -> None:
        self.loop = loop
        self.body = loop.regions[0].block
        self._known: dict[SSAValue, Moving | None] = {}

    def of(self, value: SSAValue) -> Moving | None:
        if value not in self._known:
            self._known[value] = None  # What leads back to itself is not known.
            self._known[value] = self._found(value)
        return self._known[value]

    def _found(self, value: SSAValue) -> Moving | None:
        if isinstance(value, BlockArgument):
            return self._of_argument(value) if value.block is self.body else self._unknown(value)
        number = int_constant(value)
        if number is not None:
            return _still({}, number)
        assert isinstance(value, OpResult)
        rule = _RULES.of(value.op)
        found = rule(self, value.op) if rule is not None else None
        return found if found is not None else self._unknown(value)

    def _unknown(self, value: SSAValue) -> Moving | None:
        """A number that is not known, but is the same in all iterations."""
        if instance_of(value.type, TensorType) or self.body.is_ancestor(value.owner):
            return None
        return _still({value: 1})

    def _of_argument(self, argument: BlockArgument) -> Moving | None:
        """The loop's own counter, or what it adds the same to in every iteration."""
        operands = operand_values(self.loop)
        if argument.index == 0:
            return _moved(self.of(operands[0]), self.of(operands[2]))
        end = self.body.last_op
        if end is None:
            return None
        self._known[argument] = _still({argument: 1})
        following = self.of(end.operands[argument.index - 1])
        self._known = {value: known for value, known in self._known.items() if not _rests_on(known, argument)}
        if following is None or following.start.get(argument) != 1:
            return None
        step = Moving(
            _without(following.start, argument), following.low, following.high, following.step, following.step_number
        )
        return _moved(self.of(operands[argument.index + 2]), step)


def _rests_on(known: Moving | None, value: SSAValue) -> bool:
    return known is None or value in known.start or value in known.step


def _without(unknown: _Sum, value: SSAValue) -> _Sum:
    return {each: times for each, times in unknown.items() if each is not value}


def _still(start: _Sum, number: int = 0) -> Moving:
    return Moving(start, number, number, {}, 0)


def _moved(start: Moving | None, step: Moving | None) -> Moving | None:
    if start is None or step is None or not step.is_still or start.step or start.step_number:
        return None
    return Moving(start.start, start.low, start.high, step.start, step.low)


def _added(a: _Sum, b: _Sum) -> _Sum:
    both = {value: a.get(value, 0) + b.get(value, 0) for value in (*a, *b)}
    return {value: times for value, times in both.items() if times}


def _total(a: Moving, b: Moving) -> Moving:
    return Moving(
        _added(a.start, b.start),
        a.low + b.low,
        a.high + b.high,
        _added(a.step, b.step),
        a.step_number + b.step_number,
    )


def _times(a: Moving, factor: int) -> Moving:
    low, high = sorted((a.low * factor, a.high * factor))
    start = {value: times * factor for value, times in a.start.items()} if factor else {}
    step = {value: times * factor for value, times in a.step.items()} if factor else {}
    return Moving(start, low, high, step, a.step_number * factor)


_Rule: TypeAlias = Callable[[_Addresses, Operation], "Moving | None"]
_RULES: OpRules[_Rule] = OpRules()


@_RULES.add(tt.MakeRangeOp)
def _range(addresses: _Addresses, op: tt.MakeRangeOp) -> Moving:
    return Moving({}, op.start.value.data, op.end.value.data - 1, {}, 0)


@_RULES.add(MovesElements, ConvertLayoutOp, arith.ExtSIOp, arith.IndexCastOp)
def _same(addresses: _Addresses, op: Operation) -> Moving | None:
    return addresses.of(op.operands[0])


@_RULES.add(arith.AddiOp, tt.AddPtrOp)
def _sum(addresses: _Addresses, op: Operation) -> Moving | None:
    a, b = addresses.of(op.operands[0]), addresses.of(op.operands[1])
    return None if a is None or b is None else _total(a, b)


@_RULES.add(arith.SubiOp)
def _difference(addresses: _Addresses, op: arith.SubiOp) -> Moving | None:
    a, b = addresses.of(op.operands[0]), addresses.of(op.operands[1])
    return None if a is None or b is None else _total(a, _times(b, -1))


@_RULES.add(arith.MuliOp)
def _product(addresses: _Addresses, op: arith.MuliOp) -> Moving | None:
    a, b = addresses.of(op.operands[0]), addresses.of(op.operands[1])
    if a is None or b is None:
        return None
    if b.number is not None:
        return _times(a, b.number)
    return None if a.number is None else _times(b, a.number)


@_RULES.add(arith.ShLIOp)
def _shift(addresses: _Addresses, op: arith.ShLIOp) -> Moving | None:
    a, bits = addresses.of(op.operands[0]), int_constant(op.operands[1])
    return None if a is None or bits is None or not 0 <= bits < 63 else _times(a, 1 << bits)

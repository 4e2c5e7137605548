"""Facts of an op: what passes, analyses, lowerings and interpreters ask instead of knowing its name.

A fact is a trait with a question. An op declares its own; ops of xDSL's dialects, which we do not declare, get theirs by `give`.

    class AddiOp: traits = traits_def(Pure(), Commutative(), Elementwise())       declared
    give(scf.ForOp, CountedLoop())                                                given
    Elementwise.of(op)       the fact of that kind that the class of `op` has, or None: nothing known

The answer is remembered for each class, so that asking costs one look-up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import AnyFloat, FixedBitwidthType, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import OpTrait
from xdsl.utils.type import get_element_type_or_self

from minitriton.dialects.narrowing import instance_of
from minitriton.host.frozen import frozen

_given: dict[type[Operation], tuple[OpTrait, ...]] = {}


class Fact(OpTrait):
    """Base of facts. A subclass of a fact is that fact too, with another answer."""

    _known: ClassVar[dict[type[Operation], Any]]
    _kinds: ClassVar[list[type[Fact]]] = []

    def __init_subclass__(cls) -> None:
        cls._known = {}
        Fact._kinds.append(cls)

    @classmethod
    def of(cls, op: Operation) -> Self | None:
        """The fact of this kind that the class of `op` has; None if nothing is known."""
        try:
            return cls._known[op.__class__]
        except KeyError:
            return cls.of_class(op.__class__)

    @classmethod
    def of_class(cls, op_class: type[Operation]) -> Self | None:
        """The fact of this kind that `op_class` has; None if nothing is known."""
        if op_class not in cls._known:
            declared = (*_given.get(op_class, ()), *getattr(op_class, "traits", ()))
            cls._known[op_class] = next((trait for trait in declared if isinstance(trait, cls)), None)
        return cls._known[op_class]

    @staticmethod
    def forget(op_class: type[Operation]) -> None:
        """Looks up again what facts `op_class` has, of every kind."""
        for kind in Fact._kinds:
            kind._known.pop(op_class, None)


def give(op_class: type[Operation], *facts: Fact) -> None:
    """Facts of an op that another package declares."""
    _given[op_class] = (*_given.get(op_class, ()), *facts)
    Fact.forget(op_class)


# What an op computes ----------------------------------------------------------------------------------------------------


class Widens(Fact):
    """The result has more bytes than the operand: what moves data is cheaper before it."""

    def holds(self, op: Operation) -> bool:
        """Whether this op does, by its types."""
        return True


class WidensByTypes(Widens):
    """A conversion that widens if the result's numbers have more bits."""

    def holds(self, op: Operation) -> bool:
        source, result = get_element_type_or_self(op.operands[0].type), get_element_type_or_self(op.results[0].type)
        return isinstance(source, FixedBitwidthType) and source.bitwidth < cast(FixedBitwidthType, result).bitwidth


class Expensive(Fact):
    """Computing an element takes several times as long as an addition."""


@frozen
class DeviceFunction(Fact):
    """The functions of CUDA's libdevice that compute an element in f32 and in f64: how the op is lowered if nothing better is known."""

    f32: str
    f64: str


class ViewOfTensor(Fact):
    """The result has the elements of the operands, each once, in another shape."""


class KeepsData(Fact):
    """Repeats, regroups or unpacks elements within what threads hold: the data may be converted before it as well."""


class MovesElements(Fact):
    """Every element of the result is an element of operand 0, whose number it does not depend on."""


class Contraction(Fact):
    """A matmul, with its factors first."""


@frozen
class Neutral(Fact):
    """As a combination of two numbers: what leaves any number as it is. `floats` for floating-point numbers.

    For integers of some width: all bits zero (`integers = 0`) or one (-1), 1, or the least or greatest signed number (`"least"`, `"greatest"`).
    """

    floats: float | None = None
    integers: int | str | None = None

    def element(self, type_: Attribute) -> float | int | None:
        """The neutral element of numbers of `type_`, as signed numbers; None if there is none, or for truth values."""
        if isinstance(type_, AnyFloat):
            return self.floats
        if not instance_of(type_, IntegerType) or type_.width.data == 1:
            return None
        if not isinstance(self.integers, str):
            return self.integers
        least = -(1 << (type_.width.data - 1))
        return least if self.integers == "least" else -least - 1


def neutral_element(combination: Operation, type_: Attribute) -> float | int | None:
    """What leaves any number of `type_` as it is when `combination` combines it with that; None if nothing is known."""
    fact = Neutral.of(combination)
    return None if fact is None else fact.element(type_)


@frozen
class IntegerExtremum(Neutral):
    """The greater or the lesser of two integers."""

    greatest: bool = False
    signed: bool = False


MAXIMUM = Neutral(floats=-math.inf)
MINIMUM = Neutral(floats=math.inf)
SUM = Neutral(floats=-0.0, integers=0)
"""-0.0 and not 0.0, for -0.0 + 0.0 is 0.0."""
PRODUCT = Neutral(floats=1.0, integers=1)


class Inexact(Fact):
    """A floating-point result may be rounded, or how it is computed is unknown."""


class OrderSensitive(Inexact):
    """Combines floating-point numbers inexactly, so that their order changes the last bits (not associative)."""


@frozen
class ForwardsOperands(Fact):
    """Results that are operands, unchanged: of operands `first`, ... the i-th, or any of them if there is one result (`choice`)."""

    first: int = 0
    choice: bool = False

    def flows(self, op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
        """Pairs (operand, result)."""
        operands = op.operands[self.first :]
        yield from (
            ((each, op.results[0]) for each in operands) if self.choice else zip(operands, op.results, strict=True)
        )


class MayNotReturn(Fact):
    """Control may end here, or stay for ever: what is promised after it need not hold before."""


class TruncationCommutes(Fact):
    """Truncating the operands gives the truncated result: its low bits depend only on as many low bits of the operands."""


class Bitwise(TruncationCommutes):
    """Each bit of the result depends on nothing but the same bit of the operands."""


class MayLoseContiguity(Fact):
    """The result of contiguous indices may not be contiguous: axis info may claim less of the result than is true."""


class Function(Fact):
    """A function: a body of its own, that only calls lead into."""


@frozen
class Division(Fact):
    """An integer division by operand 1."""

    signed: bool
    overflows: bool = False
    """Whether the least number divided by -1 has no result."""

"""What is known of an integer (or pointer) tensor along each of its axes: the fact of axis-info analysis, and its algebra.

    [[ 8,  9, 10, 11, 24, 25, 26, 27],      contiguity [1, 4], divisibility [8, 8], constancy [1, 1]
     [16, 17, 18, 19, 40, 41, 42, 43]]

An `AxisInfo` is a set of claims, and each must hold for every run of the program:

- `contiguity[d]` = C: split axis `d` into groups of C elements; inside a group each element is its predecessor plus 1
  (plus one *element* for pointers), modulo the width of the type.
- `divisibility[d]` = D: the first element of every such group is divisible by D (for pointers: in bytes).
- `constancy[d]` = K: split axis `d` into groups of K elements; all elements of a group are equal.
- `constant_value`: every element is this number (signed, except that an `i1` is 0 or 1).
- `non_negative`: every element is at least 0, read as a signed number.

All of C, D, K are powers of two, so the greatest common divisor of two of them is the smaller one. A scalar has rank 1.

Two assumptions stand after the claims, both of them Triton's:

1. Index arithmetic does not overflow: a `+`, `-`, `*`, `<<` or truncation whose mathematical result does not fit its
   type may make claims about contiguity and sign false. (Divisibility and constancy survive any overflow.)
2. A divisor that is not a constant is positive. Without this, `pid // cdiv(N, BLOCK)` would have no known sign.

The registry of axis-info rules, one for each op: how the fact of its first result follows from those of its operands.

    @RULES.add(tt.MakeRangeOp)
    def make_range(op: tt.MakeRangeOp, facts: Facts) -> AxisInfo: ...

An op without a rule claims nothing.

Shapes and widths of the types that axis-info rules ask about, and the fastest axis of a layout.

In: an xDSL type. Out: plain integers, so that the rules stay free of attribute handling; of a tensor type with an encoding an `AccessShape`.

    tensor<64x32x!tt.ptr<f16>, #blocked<sizePerThread = [1, 8], order = [1, 0]>>      fastest_dim 1, contiguous_per_thread 8
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FixedBitwidthType, IndexType, IntegerType, TensorType
from xdsl.ir import Attribute, Operation

from minitriton.dialects import ttg
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.op_rules import OpRules
from minitriton.dialects.tt.types import PointerType, element_type
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.layouts.properties import contig_per_thread, get_order


class AccessShape(NamedTuple):
    """`contiguous_per_thread` elements of a thread are next to each other along axis `fastest_dim`."""

    fastest_dim: int
    contiguous_per_thread: int


def access_shape(type_: TensorType) -> AccessShape:
    """The access shape of a tensor with a distributed encoding; without one, the last axis element by element."""
    encoding = ttg.layout_of(type_)
    if not isinstance(encoding, DistributedEncoding):
        return AccessShape(len(type_.shape.data) - 1, 1)
    return _access_shape(encoding, type_.get_shape())


@lru_cache(maxsize=4096)
def _access_shape(encoding: DistributedEncoding, shape: tuple[int, ...]) -> AccessShape:
    fastest = get_order(encoding, shape)[0]
    return AccessShape(fastest, contig_per_thread(encoding, shape)[fastest])


def axis_lengths(type_: Attribute) -> tuple[int, ...]:
    """The shape of a tensor type; `(1,)` for anything else. A block pointer has the shape of its block."""
    if instance_of(type_, TensorType):
        return tuple([dim.data for dim in type_.shape.data]) or (1,)
    if isinstance(type_, PointerType) and instance_of(type_.pointee_type, TensorType):
        return axis_lengths(type_.pointee_type)
    return (1,)


def rank_of(type_: Attribute) -> int:
    """Number of axes of a fact about a value of this type (1 for scalars)."""
    return len(axis_lengths(type_))


def integer_width(type_: Attribute) -> int:
    """Width in bits of an integer or index type, or of the elements of a tensor of them; 64 for the rest."""
    element = element_type(type_)
    return element.width.data if instance_of(element, IntegerType) else 64


def pointee_bits(type_: Attribute) -> int:
    """Bits of what a pointer (or a tensor of pointers) points to; 0 if it is not a pointer."""
    element = element_type(type_)
    if not isinstance(element, PointerType):
        return 0
    pointee = element_type(element.pointee_type)
    return pointee.bitwidth if isinstance(pointee, FixedBitwidthType) else 64


def pointee_bytes(type_: Attribute) -> int:
    """Bytes of what a pointer (or a tensor of pointers) points to; 1 for types below a byte, 0 if it is not a pointer."""
    bits = pointee_bits(type_)
    return max(1, bits // 8) if bits else 0


def normalised(value: int, width: int) -> int:
    """`value` wrapped to `width` bits: signed, but 0 or 1 for one bit."""
    value &= (1 << width) - 1
    return value - (1 << width) if width > 1 and value >> (width - 1) else value


def signed(value: int, width: int) -> int:
    """A normalised value read as signed (only `i1` differs)."""
    return -value if width == 1 else value


def unsigned(value: int, width: int) -> int:
    """A normalised value read as unsigned."""
    return value & ((1 << width) - 1)


def constant_result(op: Operation, value: int) -> AxisInfo:
    """The fact of an op whose only result is `value` everywhere, wrapped to its type."""
    type_ = op.results[0].type
    shape = axis_lengths(type_)
    width = integer_width(type_)
    fact = constant(normalised(value, width), tuple([power_of_two_part(size) for size in shape]))
    return fact._replace(non_negative=False) if width == 1 and fact.constant_value else fact


def is_integer(type_: Attribute) -> bool:
    """Whether the type is an integer or index, or a tensor of them."""
    return instance_of(element_type(type_), (IntegerType, IndexType))


def splat_integer(attribute: Attribute | None) -> int | None:
    """The integer that a dense attribute repeats (its data may hold it once only); None for anything else."""
    if not instance_of(attribute, DenseIntOrFPElementsAttr) or not is_splat(attribute):
        return None
    element = attribute.type.element_type
    if not instance_of(element, (IntegerType, IndexType)):
        return None
    return element.unpack(attribute.data.data[: element.compile_time_size], 1)[0]


def is_splat(attribute: DenseIntOrFPElementsAttr) -> bool:
    """Whether all elements of a dense attribute are the same."""
    data, size = attribute.data.data, attribute.type.element_type.compile_time_size
    return len(data) <= size or data == data[:size] * (len(data) // size)


MAX_DIVISOR = 1 << 62
"""The greatest claim, which zero (divisible by everything) and poison make."""

HINTS = ("tt.contiguity", "tt.divisibility", "tt.constancy")
"""Attributes by which a kernel says what it knows."""


class AxisInfo(NamedTuple):
    """The claims about one value; each tuple has one entry per axis. Immutable, compared by value."""

    contiguity: tuple[int, ...]
    divisibility: tuple[int, ...]
    constancy: tuple[int, ...]
    constant_value: int | None = None
    non_negative: bool = False

    @property
    def rank(self) -> int:
        """Number of axes (1 for a scalar)."""
        return len(self.contiguity)

    def __str__(self) -> str:
        constant = "<none>" if self.constant_value is None else self.constant_value
        return (
            f"contiguity = {list(self.contiguity)}, divisibility = {list(self.divisibility)}, "
            f"constancy = {list(self.constancy)}, constant_value = {constant}"
        )


def _unknown(rank: int) -> AxisInfo:
    ones = (1,) * rank
    return AxisInfo(ones, ones, ones)


_UNKNOWN = tuple(_unknown(rank) for rank in range(9))
_NON_NEGATIVE = tuple(fact._replace(non_negative=True) for fact in _UNKNOWN)


def unknown(rank: int, *, non_negative: bool = False) -> AxisInfo:
    """The fact that claims nothing (but, on request, a sign)."""
    return (_NON_NEGATIVE if non_negative else _UNKNOWN)[rank] if rank < 9 else _unknown(rank)


def anything(rank: int) -> AxisInfo:
    """The fact of a value that nobody may look at (poison): every claim holds."""
    most = (MAX_DIVISOR,) * rank
    return AxisInfo(most, most, most, None, True)


def power_of_two_part(value: int) -> int:
    """The largest power of two that divides `value`: 12 → 4; for 0 the greatest claim."""
    return min(value & -value, MAX_DIVISOR) if value else MAX_DIVISOR


def constant(value: int, shape: tuple[int, ...]) -> AxisInfo:
    """The fact of a tensor (`shape` `(1,)` for a scalar) all of whose elements are `value`."""
    rank = len(shape)
    return AxisInfo((1,) * rank, (power_of_two_part(value),) * rank, shape, value, value >= 0)


def divisibility_at(fact: AxisInfo, dim: int, step: int, unit: int = 1) -> int:
    """What divides the elements at every multiple of `step` along `dim`.

    The claimed divisibility holds where the groups of `fact` begin. Elements inside a group are a multiple of
    `step * unit` further (`unit` is the size of an element in bytes for pointers, else 1).
    """
    divisibility = fact.divisibility[dim]
    if step >= fact.contiguity[dim]:
        return divisibility
    return min(divisibility, step * unit)


def join(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    """What holds of a value that is either all of `a` or all of `b`."""
    if a == b:
        return a
    contiguity = tuple(map(min, a.contiguity, b.contiguity))
    return AxisInfo(
        contiguity,
        tuple(min(divisibility_at(a, d, c), divisibility_at(b, d, c)) for d, c in enumerate(contiguity)),
        tuple(map(min, a.constancy, b.constancy)),
        a.constant_value if a.constant_value == b.constant_value else None,
        a.non_negative and b.non_negative,
    )


def with_hints(
    fact: AxisInfo,
    *,
    contiguity: Iterable[int] | None = None,
    divisibility: Iterable[int] | None = None,
    constancy: Iterable[int] | None = None,
) -> AxisInfo:
    """`fact` with claims replaced by what the user promises (`tl.multiple_of` and its like).

    Hints are reduced to powers of two; one whose length is not the rank of the value is ignored.
    """
    new_contiguity = _hint(contiguity, fact.contiguity)
    new_divisibility = _hint(divisibility, fact.divisibility)
    if divisibility is None:
        new_divisibility = tuple(divisibility_at(fact, d, c) for d, c in enumerate(new_contiguity))
    return fact._replace(
        contiguity=new_contiguity, divisibility=new_divisibility, constancy=_hint(constancy, fact.constancy)
    )


def _hint(values: Iterable[int] | None, known: tuple[int, ...]) -> tuple[int, ...]:
    if values is None:
        return known
    promised = tuple(power_of_two_part(value) for value in values)
    return promised if len(promised) == len(known) else known


Facts = Sequence[AxisInfo]
Rule = Callable[[Any, Facts], AxisInfo]

RULES: OpRules[Rule] = OpRules()

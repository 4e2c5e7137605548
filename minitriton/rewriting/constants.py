"""Constants as Python numbers, and Python numbers as constants.

In: SSA values and attributes. Out: the number a value is known to be, one number for a whole tensor if it is a splat.

    %c = arith.constant dense<4> : tensor<128xi32>      int_constant(%c) == 4
    dialects.arith.splat_attr(tensor<128xi32>, 4)       the attribute of %c

Splats made so store their element once, however large the tensor; `constant_key` makes them equal to the expanded
form that xDSL's parser builds.

One op for each constant, at the top of the function.

At the start of each round the greedy driver shows every constant to the pool. The first op of a value is moved to the
start of the entry block of the innermost isolated op (the function), unless the constants before it are already the
pool's; later ops of the same value are replaced by it. So constants that were at the top keep their order, and those found
further down end up before them, in reverse order. The location of a constant is forgotten when it comes from another block, or
stands for several.

    tt.func @f() {                      tt.func @f() {
      %x = ...                            %c2 = arith.constant 2
      %c1 = arith.constant 1      =>      %c1 = arith.constant 1
      %c2 = arith.constant 2              %x = ...
"""

import math
import struct
from collections.abc import Callable, Hashable
from functools import lru_cache
from operator import attrgetter
from typing import cast

from xdsl.dialects import ub
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    AnyFloat,
    BFloat16Type,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FixedBitwidthType,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    PackableType,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue, TypedAttribute
from xdsl.traits import IsolatedFromAbove

from minitriton.dialects.arith import ConstantOp
from minitriton.dialects.attribute_values import dense_bytes
from minitriton.dialects.fast_paths.op_access import forward_name
from minitriton.dialects.narrowing import instance_of
from minitriton.rewriting.settled import is_used_less

FLOAT_BITS: dict[type[Attribute], tuple[int, int]] = {
    Float16Type: (11, 15),
    BFloat16Type: (8, 127),
    Float32Type: (24, 127),
    Float64Type: (53, 1023),
}
"""Of float types: significant bits, greatest exponent."""

INDEX_WIDTH = 64


def constant_attr(value: SSAValue) -> Attribute | None:
    """The attribute of the `arith.constant` that defines `value`, or None."""
    if type(value) is OpResult and value.op.__class__ is ConstantOp:
        return value.op.properties["value"]
    return None


@lru_cache(maxsize=4096)
def splat_bytes(attr: DenseIntOrFPElementsAttr) -> bytes | None:
    """The bytes of the one element that `attr` repeats, or None if its elements differ."""
    data = attr.data.data
    size = attr.type.element_type.compile_time_size
    if len(data) <= size:
        return data or None
    return data[:size] if data == data[:size] * (len(data) // size) else None


def number_of(attr: Attribute | None) -> int | float | None:
    """The number that an integer, float or splat attribute stands for (integers signed, `i1` as 0 or -1), or None."""
    if attr is None:
        return None
    if type(attr) is IntegerAttr or type(attr) is FloatAttr:
        return attr.value.data
    if type(attr) is DenseIntOrFPElementsAttr:
        return _splat_number(attr)
    return None


@lru_cache(maxsize=4096)
def _splat_number(attr: DenseIntOrFPElementsAttr) -> int | float | None:
    element = splat_bytes(attr)
    return None if element is None else packable(attr.type.element_type).unpack(element, 1)[0]


_PACKABLE: type[PackableType[int | float]] = PackableType


def packable(type: Attribute) -> PackableType[int | float]:
    """A type of numbers, which knows their bytes."""
    assert instance_of(type, _PACKABLE)
    return type


def int_constant(value: SSAValue) -> int | None:
    """The signed integer that `value` is known to be (each element of it, for a tensor), or None."""
    attr = constant_attr(value)
    if attr is None:
        return None
    number = number_of(attr)
    return number if type(number) is int else None


def float_constant(value: SSAValue) -> float | None:
    """The float that `value` is known to be (each element of it, for a tensor), or None."""
    attr = constant_attr(value)
    if attr is None:
        return None
    number = number_of(attr)
    return number if type(number) is float else None


_element_type = cast(Callable[[Attribute], Attribute], attrgetter("element_type"))
_SHAPED = frozenset({TensorType, VectorType})


def element_type(type: Attribute) -> Attribute:
    """The element type of a tensor or vector, else `type` itself."""
    return _element_type(type) if type.__class__ in _SHAPED else type


def width_of(type: Attribute) -> int:
    """Bits of an integer (or index, or float) type or of the elements of a tensor of these."""
    scalar = element_type(type)
    if instance_of(scalar, IntegerType):
        return scalar.width.data
    if isinstance(scalar, IndexType):
        return INDEX_WIDTH
    assert isinstance(scalar, FixedBitwidthType)
    return scalar.bitwidth


def to_signed(value: int, width: int) -> int:
    """`value` modulo 2**width, read as two's complement."""
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def to_unsigned(value: int, width: int) -> int:
    """`value` modulo 2**width."""
    return value & ((1 << width) - 1)


@lru_cache(maxsize=4096)
def int_attr(type: Attribute, value: int) -> Attribute:
    """`value` (wrapped to the type's width) as attribute of an integer type or a tensor of one."""
    scalar = element_type(type)
    wrapped = to_signed(value, width_of(scalar))
    if instance_of(type, (IntegerType, IndexType)):
        return IntegerAttr(wrapped, type)
    return _splat(type, wrapped)


def _splat(type: Attribute, number: int | float) -> DenseIntOrFPElementsAttr:
    """An attribute of a tensor or vector that stores one element for all."""
    assert instance_of(type, (TensorType, VectorType))
    return dense_bytes(type, BytesAttr(packable(type.element_type).pack((number,))))


def float_attr(type: Attribute, value: float) -> Attribute:
    """`value` (rounded to the type) as attribute of a float type or a tensor of one."""
    scalar = element_type(type)
    return _float_attr(type, struct.pack("<d", round_to(value, scalar)))


@lru_cache(maxsize=4096)
def _float_attr(type: Attribute, bits: bytes) -> Attribute:
    value = struct.unpack("<d", bits)[0]
    return FloatAttr(value, type) if isinstance(type, AnyFloat) else _splat(type, value)


def number_attr(type: Attribute, value: int | float) -> Attribute:
    """`value` as attribute of `type`, a scalar or a tensor."""
    return float_attr(type, value) if isinstance(value, float) else int_attr(type, value)


def splat_to(attr: Attribute, type: Attribute) -> Attribute | None:
    """The number of `attr` repeated (or not) as `type` wants it: how splats are reshaped. None if `attr` is no splat."""
    number = number_of(attr)
    return None if number is None else number_attr(type, number)


def constant_key(attr: Attribute) -> Hashable:
    """Equal exactly for attributes that denote the same constant, bit for bit and type for type."""
    if attr.__class__ is IntegerAttr:
        return attr
    if instance_of(attr, FloatAttr):
        return (attr.type, struct.pack("<d", attr.value.data))
    if instance_of(attr, DenseIntOrFPElementsAttr):
        element = splat_bytes(attr)
        return attr if element is None else (attr.type, element)
    return attr


def constant_op(attr: Attribute, type: Attribute | None = None) -> ConstantOp:
    """A new, unattached `arith.constant` of value `attr`."""
    if type is None:
        assert isinstance(attr, TypedAttribute)
        type = attr.get_type()
    return ConstantOp.create(result_types=(type,), properties={"value": attr})


# Rounding Python floats to the float types of the IR, to nearest even.
#
# round_to(0.1, f32) == 0.10000000149011612        round_to(1e6, f16) == inf


def _through(code: str, value: float) -> float:
    try:
        return struct.unpack(code, struct.pack(code, value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _to_bf16(value: float) -> float:
    """`value` must be a float32 already, or be where double rounding cannot matter."""
    if value == 0 or math.isnan(value) or math.isinf(value):
        return value
    mantissa, exponent = math.frexp(value)
    digits = 8 if exponent >= -125 else 8 - (-125 - exponent)
    if digits < 0:
        return math.copysign(0.0, value)
    rounded = math.copysign(math.ldexp(round(math.ldexp(mantissa, digits)), exponent - digits), value)
    return rounded if abs(rounded) < 2.0**128 else math.copysign(math.inf, value)


def round_to(value: float, type: Attribute) -> float:
    """`value` rounded to the nearest number of `type`; types not listed are left to their own packing."""
    match type:
        case Float32Type():
            return _through("<f", value)
        case Float64Type():
            return value
        case Float16Type():
            return _through("<e", value)
        case BFloat16Type():
            return _to_bf16(value)
        case _:
            return value


CONSTANT_CLASSES: frozenset[type[Operation]] = frozenset({ConstantOp, ub.PoisonOp})
"""Classes of the ops that the pool keeps: each gives a value that depends on nothing."""

_isolated: dict[type[Operation], bool] = {}


def is_isolated(op: Operation) -> bool:
    """True if ops inside `op` cannot use values from outside it (a function); unknown ops count as isolated."""
    cls = op.__class__
    known = _isolated.get(cls)
    if known is None:
        known = _isolated[cls] = op.has_trait(IsolatedFromAbove, value_if_unregistered=True)
    return known


class HomeBlocks:
    """Where the constants of a block are placed; each block is asked for once, as long as no region moves."""

    def __init__(self) -> None:
        self._known: dict[Block, Block] = {}

    def of(self, block: Block) -> Block:
        """The entry block of the innermost isolated op around `block`."""
        passed: list[Block] = []
        home = self._known.get(block)
        while home is None:
            passed.append(block)
            region = block.parent
            owner = None if region is None else region.parent
            if region is None:
                home = block
            elif owner is None or owner.parent is None or is_isolated(owner):
                home = region.first_block
                assert home is not None
            else:
                block = owner.parent
                home = self._known.get(block)
        for each in passed:
            self._known[each] = home
        return home


class ConstantPool:
    """The constants of one round, by home block and value."""

    def __init__(self, replace: Callable[[Operation, Operation], None], keep_most_used: bool = False) -> None:
        """`replace(old, new)` must replace the results of `old` by those of `new` and delete `old`. `keep_most_used`: of two equal
        constants the one with more uses replaces the other, so that as few operands as possible are changed."""
        self._replace = replace
        self._keep_most_used = keep_most_used
        self._scopes: dict[Block, dict[Hashable, Operation]] = {}
        self._owned: set[int] = set()
        self._homes = HomeBlocks()
        self.has_moved = False
        """Whether a constant stands elsewhere than before."""

    def insert(self, op: Operation) -> bool:
        """Makes `op` the constant of its value; False if there was one already, which has replaced it."""
        block = op.parent
        assert block is not None
        home = self._homes.of(block)
        scope = self._scopes.get(home)
        if scope is None:
            scope = self._scopes[home] = {}
        key = constant_key(op.properties["value"]) if op.__class__ is ConstantOp else (op.__class__, op.results[0].type)
        existing = scope.setdefault(key, op)
        if existing is not op:
            existing.location = UNKNOWN_LOC
            if not (self._keep_most_used and is_used_less(existing.results[0], op.results[0])):
                self._replace(op, existing)
                return False
            self._replace_first(op, existing)
            scope[key] = op
            return True
        before = op.prev_op
        if block is not home or (before is not None and id(before) not in self._owned):
            self.has_moved = True
            block.detach_op(op)
            first = home.first_op
            assert first is not None
            home.insert_op_before(op, first)
            if block is not home:
                op.location = UNKNOWN_LOC
        self._owned.add(id(op))
        return True

    def _replace_first(self, op: Operation, existing: Operation) -> None:
        """Puts `op` where `existing` stands, which is deleted."""
        assert op.parent is not None and existing.parent is not None
        op.parent.detach_op(op)
        existing.parent.insert_op_before(op, existing)
        op.location = existing.location
        forward_name(existing.results[0], op.results[0])
        self._replace(existing, op)
        self._owned.add(id(op))
        self.has_moved = True

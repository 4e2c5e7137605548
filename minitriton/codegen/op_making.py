"""Makes single ops, and the attributes they need, fast: nothing is checked, what can be is made once.

make(llvm.AddOp, (x, y), (i32,), {}, location)      a detached `llvm.add`
"""

# This file is one of those that touch what xDSL keeps private (see `dialects.fast_paths.op_access`).
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    StringAttr,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue, Use
from xdsl.ir.core import SSAValues

from minitriton.codegen.types import bit_width
from minitriton.dialects.attribute_values import dense_elements
from minitriton.dialects.narrowing import instance_of

_strings: dict[str, StringAttr] = {}
_segments: dict[tuple[int, ...], DenseArrayBase] = {}


def string_attr(text: str) -> StringAttr:
    """An interned `StringAttr`."""
    found = _strings.get(text)
    if found is None:
        found = _strings[text] = StringAttr(text)
    return found


@lru_cache(maxsize=4096)
def integer_attr(value: int, type_: IntegerType) -> IntegerAttr[IntegerType]:
    """An interned `IntegerAttr` of a value that its type holds."""
    return IntegerAttr(value, type_)


@lru_cache(maxsize=4096)
def integer_array(element: IntegerType, values: tuple[int, ...]) -> DenseArrayBase:
    """An interned `array<element: values>`: the lanes of a shuffle, the indices of an address."""
    return DenseArrayBase.from_list(element, values)


def segments(*sizes: int) -> DenseArrayBase:
    """An interned `operandSegmentSizes`."""
    found = _segments.get(sizes)
    if found is None:
        found = _segments[sizes] = DenseArrayBase.from_list(i32, sizes)
    return found


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
    """Adds a detached op at the end of `block` (`Block.add_op` without its checks: no block lies in an op just made)."""
    last = block._last_op
    op.parent = block
    if last is None:
        block._first_op = op
    else:
        last._next_op = op
        op._prev_op = last
    block._last_op = op


def constant_attr(type_: Attribute, value: int | float) -> Attribute:
    """The attribute of a scalar constant, or of a vector of equal lanes. Integers wrap around."""
    if instance_of(type_, VectorType):
        return dense_elements(type_, [value])
    if isinstance(value, float):
        assert isinstance(type_, AnyFloat)
        return FloatAttr(value, type_)
    width = bit_width(type_)
    wrapped = value & ((1 << width) - 1)
    if wrapped >> (width - 1):
        wrapped -= 1 << width
    assert instance_of(type_, IntegerType)
    return integer_attr(wrapped, type_)


def mangled(type_: Attribute) -> str:
    """The suffix by which LLVM names an overload: `v8f32`, `p1`, `i64`."""
    if instance_of(type_, VectorType):
        return f"v{type_.shape.data[0].data}{mangled(type_.element_type)}"
    if isinstance(type_, L.LLVMPointerType):
        space = type_.addr_space
        return f"p{getattr(space, 'data', 0)}"
    return str(type_)

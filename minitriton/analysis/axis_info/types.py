"""Shapes and widths of the types that axis-info rules ask about, and the fastest axis of a layout.

In: an xDSL type. Out: plain integers, so that the rules stay free of attribute handling; of a tensor type with an encoding an `AccessShape`.

    tensor<64x32x!tt.ptr<f16>, #blocked<sizePerThread = [1, 8], order = [1, 0]>>      fastest_dim 1, contiguous_per_thread 8
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FixedBitwidthType, IndexType, IntegerType, TensorType
from xdsl.ir import Attribute, Operation

from minitriton.analysis.axis_info.lattice import AxisInfo, constant, power_of_two_part
from minitriton.dialects import ttg
from minitriton.dialects.narrowing import instance_of
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
    """Bits of what a pointer (or a tensor of pointers) points to; 0 if it is no pointer."""
    element = element_type(type_)
    if not isinstance(element, PointerType):
        return 0
    pointee = element_type(element.pointee_type)
    return pointee.bitwidth if isinstance(pointee, FixedBitwidthType) else 64


def pointee_bytes(type_: Attribute) -> int:
    """Bytes of what a pointer (or a tensor of pointers) points to; 1 for types below a byte, 0 if it is no pointer."""
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

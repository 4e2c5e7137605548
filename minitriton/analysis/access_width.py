"""How many neighbouring elements one instruction of a thread moves, and what limits it: `AccessWidth`. Passes, lowering, remarks and the explorer ask here.

    tt.load %p, %m : tensor<1024x!tt.ptr<f32>, #blocked>        sizePerThread = [4], p begins at a multiple of 16 bytes
        %m = offsets < n, n divisible by 16                      4 of at most 4
        %m = offsets < n                                         1, limited by the mask; marked `split_mask`: 4, and single elements where %m ends within a vector

Limits are what the layout gives a thread in a row (`run_along`), the alignment of the pointers, the mask and the instruction. A mask does not limit where each
group of so many elements begins with its true ones (`is_prefix`): the last element of a group says whether all are true, the first whether all are false.
An atomic instruction changes several elements from sm_80 or sm_90 on (`most_at_once`; PTX ISA, "atom", "red").

    offsets = 0, 1, 2, ...     n = 6        mask of groups of 4:   1 1 1 1 | 1 1 0 0 | 0 0 0 0
    most_at_once("fadd", f32, sm_90)        4: `atom.add.v4.f32`
"""

from math import gcd
from typing import Literal, NamedTuple

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, IntegerAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.lattice import AxisInfo, access_shape, axis_lengths, pointee_bits, pointee_bytes
from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.arith.compare import SGE, SGT, SLE, SLT, predicate_of
from minitriton.dialects.attribute_values import is_true
from minitriton.dialects.facts.launch import features_of
from minitriton.dialects.facts.memory_access import MemoryAccess
from minitriton.dialects.facts.pass_attributes import SPLIT_MASK
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import element_type
from minitriton.layouts.encodings import DistributedEncoding, SharedEncoding
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.memory import registers_to_offsets
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.target.architectures import WIDEST_ACCESS_BITS, Architecture


def is_prefix(axis_info: AxisInfoAnalysis, mask: SSAValue, axis: int, length: int) -> bool:
    """Whether `mask` never changes from false to true within an aligned group of `length` along `axis`."""
    if not instance_of(mask.type, TensorType) or axis_lengths(mask.type)[axis] < length:
        return False
    if axis_info.get(mask).constancy[axis] >= length:
        return True
    op = mask.owner
    if not isinstance(op, Operation):
        return False
    if isinstance(op, ttg.ConvertLayoutOp | tt.BroadcastOp):
        return is_prefix(axis_info, op.operands[0], axis, length)
    if isinstance(op, tt.ExpandDimsOp):
        added = op.axis.value.data
        return axis != added and is_prefix(axis_info, op.operands[0], axis - (axis > added), length)
    if isinstance(op, arith.AndIOp):
        return all(is_prefix(axis_info, side, axis, length) for side in op.operands)
    return isinstance(op, arith.CmpiOp) and _is_below(axis_info, op, axis, length)


def _is_below(axis_info: AxisInfoAnalysis, op: arith.CmpiOp, axis: int, length: int) -> bool:
    """Whether a signed comparison says that numbers that rise along `axis` are below a bound that is constant."""
    predicate = predicate_of(op)
    if predicate in (SLT, SLE):
        rising, bound = op.operands
    elif predicate in (SGT, SGE):
        bound, rising = op.operands
    else:
        return False
    return axis_info.get(rising).contiguity[axis] >= length and axis_info.get(bound).constancy[axis] >= length


def most_at_once(kind: str, element: Attribute, architecture: Architecture) -> int:
    """Elements of type `element` that an atomic `kind` ("fadd", "max", ...) takes in one instruction."""
    if kind != "fadd" or (isinstance(element, BFloat16Type) and not architecture.has_bf16_atomics):
        return 1
    if architecture.has_vector_atomics and isinstance(element, (Float16Type, BFloat16Type, Float32Type)):
        return architecture.widest_access_bits // element.bitwidth
    return 2 if isinstance(element, Float16Type) else 1


Limit = Literal["", "pointers", "alignment", "mask", "layout", "buffer"]


class AccessWidth(NamedTuple):
    """`width` elements at a time, of the `most` that an instruction of this kind moves; "" where nothing else limits them."""

    width: int
    most: int
    limit: Limit = ""
    is_split: bool = False
    """Whether the mask ends within some of these vectors, whose elements a branch moves one by one."""


def access_width(facts: AxisInfoAnalysis, op: Operation) -> AccessWidth:
    """The width of an access through pointers, as its layout and its mask are now."""
    access = MemoryAccess.of(op)
    assert access is not None
    pointer, mask = access.pointer_of(op), access.mask_of(op)
    if isinstance(op, ttg.AsyncCopyGlobalToLocalOp):
        return _copy_width(facts, op)
    if access.atomic:
        return neighbours(facts, pointer, mask, most=_most_of_atomic(op))
    found = neighbours(facts, pointer, mask)
    if found.limit != "mask" or SPLIT_MASK not in op.attributes or is_true(op.properties.get("isVolatile")):
        return found
    assert mask is not None
    whole = neighbours(facts, pointer, None)
    if whole.width == found.width or not is_prefix(
        facts, mask, access_shape(_tensor(pointer)).fastest_dim, whole.width
    ):
        return found
    return whole._replace(is_split=True)


def neighbours(
    facts: AxisInfoAnalysis, pointer: SSAValue, mask: SSAValue | None, *, most: int = 0, held: int = 0
) -> AccessWidth:
    """What pointers and mask allow along the layout's fastest axis: at most `most` elements (0: of 16 bytes), of the `held` by a thread (0: as the
    layout says)."""
    type_ = pointer.type
    most = most or most_elements(pointee_bits(type_))
    if not instance_of(type_, TensorType):
        return AccessWidth(1, most, "layout" if most > 1 else "")
    fact, shape = facts.get(pointer), access_shape(type_)
    limits: dict[Limit, int] = {
        "pointers": fact.contiguity[shape.fastest_dim],
        "alignment": _aligned(fact, shape.fastest_dim, pointee_bytes(type_)),
        "mask": most if mask is None else facts.mask_alignment(mask),
        "layout": held or shape.contiguous_per_thread,
    }
    width = min(most, *limits.values())
    limit: Limit = "" if width >= most else next(name for name, value in limits.items() if value == width)
    return AccessWidth(width, most, limit)


def most_elements(bits: int) -> int:
    """How many elements of `bits` bits the widest access moves; in memory each takes a byte at least, a truth value too."""
    return max(1, WIDEST_ACCESS_BITS // max(8, bits))


def aligned_run(pointers: AxisInfo, dim: int, size: int) -> int:
    """How many elements of `size` bytes along `dim` are contiguous, at a multiple of their size."""
    return min(pointers.contiguity[dim], _aligned(pointers, dim, size))


def _aligned(pointers: AxisInfo, dim: int, size: int) -> int:
    return max(1, pointers.divisibility[dim] // max(1, size))


def _tensor(value: SSAValue) -> TensorType:
    assert instance_of(value.type, TensorType)
    return value.type


def _most_of_atomic(op: Operation) -> int:
    kind = str(op.atomic_rmw_op.data) if isinstance(op, tt.AtomicRMWOp) else "cas"
    return most_at_once(kind, element_type(op.results[0].type), features_of(op))


def _copy_width(facts: AxisInfoAnalysis, op: ttg.AsyncCopyGlobalToLocalOp) -> AccessWidth:
    """Neighbours in memory that are neighbours in the buffer too; what an earlier pass knew of the addresses (`contiguity`) counts."""
    found, source = neighbours(facts, op.src, op.mask), _tensor(op.src)
    hint = op.properties.get("contiguity")
    if instance_of(hint, IntegerAttr) and hint.value.data > found.width:
        width = min(hint.value.data, found.most)
        found = found._replace(width=width, limit=found.limit if width < found.most else "")
    run = run_in_buffer(source, op.destination.type)
    return found if found.width <= run else found._replace(width=run, limit="buffer")


def buffer_width(facts: AxisInfoAnalysis, pointer: SSAValue, offsets: SSAValue, mask: SSAValue | None) -> int:
    """How many neighbours an access of a buffer takes, at `offsets` elements from a scalar pointer."""
    bits, shape = pointee_bits(pointer.type), access_shape(_tensor(offsets))
    fact = facts.get(offsets)
    size = max(1, bits // 8)
    aligned = gcd(facts.get(pointer).divisibility[0], fact.divisibility[shape.fastest_dim] * size) // size
    allowed = most_elements(bits) if mask is None else facts.mask_alignment(mask)
    return max(
        1,
        min(fact.contiguity[shape.fastest_dim], aligned, allowed, shape.contiguous_per_thread, most_elements(bits)),
    )


def run_in_buffer(source: TensorType, buffer: object) -> int:
    """How many of a thread's neighbours along the fastest axis follow each other in the buffer."""
    assert isinstance(buffer, ttg.MemDescType)
    encoding, shared = ttg.layout_of(source), ttg.layout_of(buffer)
    assert isinstance(encoding, DistributedEncoding) and isinstance(shared, SharedEncoding)
    registers_of = to_linear_layout(encoding, source.get_shape())
    whole = buffer.get_alloc_shape()[-buffer.get_num_dims() :]
    offsets = registers_to_offsets(registers_of, to_linear_layout(shared, whole))
    return run_along(registers_of, access_shape(source).fastest_dim, offsets)


def run_along(registers_of: LinearLayout, dim: int, offsets: LinearLayout) -> int:
    """How many of a thread's neighbours along `dim`, along which its addresses follow each other, follow each other in the buffer too."""
    steps = zip(registers_of.bases["register"], offsets.flat_bases("register"), strict=True)
    shared = {offset for coordinates, offset in steps if offset == coordinates[dim] == sum(coordinates)}
    run = 1
    while run in shared:
        run *= 2
    return run

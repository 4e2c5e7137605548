"""Which buffer in shared memory a load can be copied to, and whether `cp.async` can do it.

%a = tt.load ... : tensor<128x32xf16, #blocked>           a buffer in `#ttg.swizzled_shared` that suits the operand,
%b = ttg.convert_layout %a -> #ttg.dot_op<...>      =>    if all that uses the load agrees on it
"""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.access_width import neighbours
from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.lattice import pointee_bits
from minitriton.analysis.tensor_descriptors import buffer_encoding
from minitriton.dialects import tt, ttg
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import TensorDescType
from minitriton.layouts.algebra import divide_left
from minitriton.layouts.builders import swizzled_shared_for_dot, swizzled_shared_for_mma
from minitriton.layouts.encodings import (
    Bases,
    DistributedEncoding,
    DotOperand,
    Linear,
    SharedEncoding,
    SwizzledShared,
)
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.properties import contig_per_thread, get_order, order_for_memory, thread_order
from minitriton.layouts.tile import order_for_dot_operand
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.passes.tensor_layouts import element_bits, layout_of_value, shape_of
from minitriton.rewriting.constants import constant_attr, number_of

SMALLEST_COPY = 4
"""Bytes that `cp.async` copies at least (PTX ISA, "cp.async")."""


Load = tt.LoadOp | tt.DescriptorLoadOp | tt.DescriptorGatherOp
LOADS = (tt.LoadOp, tt.DescriptorLoadOp, tt.DescriptorGatherOp)
"""Loads that can be prefetched."""


class Incompatible(Exception):
    """Users of one value want different buffers."""


def buffer_for_dots(value: SSAValue) -> SwizzledShared | None:
    """The buffer that all users of `value` agree on, where all of them make operands of dots of it; else None.

    Raises `Incompatible` if they do not agree.
    """
    agreed: SwizzledShared | None = None
    for use in value.uses:
        wanted = _wanted_by(use.operation, value)
        if wanted is None:
            return None
        if agreed is not None and agreed != wanted:
            raise Incompatible
        agreed = wanted
    return agreed


def _wanted_by(user: Operation, value: SSAValue) -> SwizzledShared | None:
    if len(user.results) != 1:
        return None
    result = user.results[0]
    if isinstance(result.type, ttg.MemDescType):
        buffer = ttg.layout_of(result.type)
        return buffer if isinstance(buffer, SwizzledShared) and buffer_for_dots(result) is not None else None
    if not isinstance(user, ttg.LocalLoadOp | ttg.ConvertLayoutOp):
        return None
    operand = ttg.layout_of(result.type)
    source = ttg.layout_of(value.type)
    if not isinstance(operand, DistributedEncoding) or source is None or not instance_of(result.type, TensorType):
        return None
    shape = tuple(result.type.get_shape())
    bits = element_bits(result.type)
    if isinstance(operand, DotOperand):
        is_register = isinstance(source, DistributedEncoding)
        order = order_for_memory(source, shape) if is_register else get_order(source, shape)
        return swizzled_shared_for_dot(operand, shape, order, operand.cga, bits)
    memory = order_for_memory(source, shape) if isinstance(source, DistributedEncoding) else get_order(source, shape)
    cga = source.cga if isinstance(operand, Linear) else operand.cga
    return _for_something_like_an_operand(operand, shape, memory, cga, bits)


def _for_something_like_an_operand(
    layout: DistributedEncoding, shape: tuple[int, ...], memory: Sequence[int], cga: Bases, bits: int
) -> SwizzledShared | None:
    """The buffer for a layout that begins with the tile of a dot's operand: runs of a thread, 4 lanes along them, 8 lanes across."""
    order = thread_order(layout, shape)
    rank = len(order)
    if rank < 2:
        return None
    matching = [index for index in (0, 1) if order_for_dot_operand(index, rank, True) == order]
    if not matching:
        return None
    width = contig_per_thread(layout, shape)[order[0]]
    inner, outer = f"dim{order[0]}", f"dim{order[1]}"
    tile = (
        LinearLayout.identity_1d(width, "register", inner)
        * LinearLayout.identity_1d(4, "lane", inner)
        * LinearLayout.identity_1d(8, "lane", outer)
    )
    if divide_left(to_linear_layout(layout, shape), tile) is None:
        return None
    return swizzled_shared_for_mma(matching[0], width, shape, tuple(memory) if bits == 32 else order, cga, bits)


def allocated_buffers(load: Operation) -> list[SharedEncoding]:
    """The layouts of the buffers that the load's value is stored to (`ttg.local_alloc`)."""
    allocs = (use.operation for use in load.results[0].uses)
    found = (ttg.layout_of(op.results[0].type) for op in allocs if isinstance(op, ttg.LocalAllocOp))
    return [layout for layout in found if isinstance(layout, SharedEncoding)]


def buffer_of_load(load: Load) -> SharedEncoding:
    """The layout of the buffer that a load of a tensor is copied to: the one that its dots want, unless no copy could write it."""
    if not isinstance(load, tt.LoadOp):
        return buffer_of_descriptor(load)
    allocated = allocated_buffers(load)
    if allocated:
        return allocated[0]
    value = load.results[0]
    try:
        wanted = buffer_for_dots(value)
    except Incompatible:
        wanted = None
    if wanted is not None and copied_bytes(load, wanted) >= SMALLEST_COPY:
        return wanted
    layout = layout_of_value(value)
    assert layout is not None
    return SwizzledShared(1, 1, 1, get_order(layout, shape_of(value)), layout.cga)


def buffer_of_descriptor(load: tt.DescriptorLoadOp | tt.DescriptorGatherOp) -> SharedEncoding:
    """The layout in which the copy unit writes what `load` reads."""
    type_, tensor = load.desc.type, load.result.type
    assert isinstance(type_, TensorDescType) and instance_of(tensor, TensorType)
    layout = buffer_encoding(type_, tensor.get_shape())
    assert isinstance(layout, SharedEncoding)
    return layout


def stays_in_shared_memory(load: Load) -> bool:
    """Whether all that happens to the value is that it is put into one buffer, which the copy can be made to."""
    if isinstance(load, tt.LoadOp) and load.other is not None and not is_zero(load.other):
        return False
    uses = list(load.results[0].uses)
    alloc = uses[0].operation if len(uses) == 1 else None
    if not isinstance(alloc, ttg.LocalAllocOp):
        return False
    return isinstance(load, tt.LoadOp) or ttg.layout_of(alloc.result.type) == buffer_of_descriptor(load)


def copied_bytes(load: Operation, buffer: SharedEncoding) -> int:
    """How many bytes of a thread's registers are contiguous in the buffer too."""
    value = load.results[0]
    layout, shape = layout_of_value(value), shape_of(value)
    assert layout is not None and instance_of(value.type, TensorType)
    map_ = to_linear_layout(layout, shape).invert_and_compose(to_linear_layout(buffer, shape))
    return map_.get_num_consecutive_in_out() * element_bits(value.type) // 8


def contiguity(load: tt.LoadOp, facts: AxisInfoAnalysis) -> int:
    """How many neighbouring elements can be copied at once."""
    return neighbours(facts, load.ptr, load.mask, most=prod(shape_of(load.results[0]))).width


def is_wide_enough(load: tt.LoadOp, facts: AxisInfoAnalysis) -> bool:
    """Whether a thread's accesses are as wide as `cp.async` needs."""
    count = contiguity(load, facts) if instance_of(load.ptr.type, TensorType) else 1
    return count * pointee_bits(load.ptr.type) >= 8 * SMALLEST_COPY


def is_zero(value: SSAValue) -> bool:
    """Whether `value` is a constant 0 (not -0.0)."""
    number = number_of(constant_attr(value))
    return number == 0 and str(number) != "-0.0"

"""Which buffer in shared memory a load can be copied to, and whether `cp.async` can do it.

%a = tt.load ... : tensor<128x32xf16, #blocked>           a buffer in `#ttg.swizzled_shared` that suits the operand,
%b = ttg.convert_layout %a -> #ttg.dot_op<...>      =>    if all that uses the load agrees on it
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.axis_info import AxisInfoAnalysis
from minitriton.dialects import tt, ttg
from minitriton.layouts.builders import swizzled_shared_for_dot
from minitriton.layouts.encodings import DistributedEncoding, DotOperand, SharedEncoding, SwizzledShared
from minitriton.layouts.properties import get_order, order_for_memory
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.passes.tensor_layouts import element_bits, layout_of_value, shape_of
from minitriton.rewriting.constants import constant_attr, number_of

SMALLEST_COPY = 4
"""Bytes that `cp.async` copies at least (PTX ISA, "cp.async")."""


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
    if not isinstance(operand, DotOperand) or source is None:
        return None
    shape = tuple(result.type.get_shape())  # pyright: ignore[reportAttributeAccessIssue]
    is_register = isinstance(source, DistributedEncoding)
    order = order_for_memory(source, shape) if is_register else get_order(source, shape)
    bits = element_bits(result.type)  # pyright: ignore[reportArgumentType]
    return swizzled_shared_for_dot(operand, shape, order, operand.cga, bits)


def allocated_buffers(load: Operation) -> list[SharedEncoding]:
    """The layouts of the buffers that the load's value is stored to (`ttg.local_alloc`)."""
    allocs = (use.operation for use in load.results[0].uses)
    found = (ttg.layout_of(op.results[0].type) for op in allocs if isinstance(op, ttg.LocalAllocOp))
    return [layout for layout in found if isinstance(layout, SharedEncoding)]


def buffer_of_load(load: Operation) -> SharedEncoding:
    """The layout of the buffer that a load of a tensor is copied to."""
    allocated = allocated_buffers(load)
    if allocated:
        return allocated[0]
    value = load.results[0]
    try:
        wanted = buffer_for_dots(value)
    except Incompatible:
        wanted = None
    if wanted is not None:
        return wanted
    layout = layout_of_value(value)
    assert layout is not None
    return SwizzledShared(1, 1, 1, get_order(layout, shape_of(value)), layout.cga)


def copied_bytes(load: Operation, buffer: SharedEncoding) -> int:
    """How many bytes of a thread's registers lie next to each other in the buffer too."""
    value = load.results[0]
    layout, shape = layout_of_value(value), shape_of(value)
    assert layout is not None and isinstance(value.type, TensorType)
    map_ = to_linear_layout(layout, shape).invert_and_compose(to_linear_layout(buffer, shape))
    return map_.get_num_consecutive_in_out() * element_bits(value.type) // 8


def contiguity(load: tt.LoadOp, facts: AxisInfoAnalysis) -> int:
    """How many neighbouring elements can be copied at once."""
    count = facts.pointer_contiguity(load.ptr)
    return count if load.mask is None else min(count, facts.mask_alignment(load.mask))


def is_wide_enough(load: tt.LoadOp, facts: AxisInfoAnalysis) -> bool:
    """Whether a thread's accesses are as wide as `cp.async` needs."""
    type_ = load.ptr.type
    pointer = type_.element_type if isinstance(type_, TensorType) else type_
    assert isinstance(pointer, tt.PointerType)
    bits: int = pointer.pointee_type.bitwidth  # pyright: ignore[reportAttributeAccessIssue]
    count = contiguity(load, facts) if isinstance(type_, TensorType) else 1
    return count * bits >= 8 * SMALLEST_COPY


def is_zero(value: SSAValue) -> bool:
    """Whether `value` is a constant 0 (not -0.0)."""
    number = number_of(constant_attr(value))
    return number == 0 and str(number) != "-0.0"

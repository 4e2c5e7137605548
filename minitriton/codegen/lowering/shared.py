"""Buffers in shared memory: allocation, views, loads and stores.

A memory descriptor is a `SharedView`. Loads and stores follow the plan of the two layouts: vectors, or `ldmatrix` and
`stmatrix` where the layouts are made for them.

    ttg.local_load %b : memdesc<128x64xf16, #shared> -> tensor<128x64xf16, #dot>   ->   nvvm.ldmatrix, 4 matrices at a time
"""

from __future__ import annotations

from xdsl.ir import Attribute, SSAValue

from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.registry import lowers
from minitriton.codegen.lowering.shared_access import from_memory, load_shared, memory_type, store_shared, to_memory
from minitriton.codegen.registers import SharedView
from minitriton.codegen.types import I8, bit_width, scalar_type
from minitriton.dialects import ttg
from minitriton.dialects.ttg import MemDescType, layout_of
from minitriton.layouts.encodings import DistributedEncoding, PaddedShared, SharedEncoding
from minitriton.layouts.memory import local_access, local_matrix_access
from minitriton.layouts.plans import PlannedMemoryAccess
from minitriton.layouts.properties import slot_bytes
from minitriton.layouts.to_linear import to_linear_layout


def shared_encoding(type_: Attribute) -> SharedEncoding:
    """The encoding of a memory descriptor."""
    encoding = layout_of(type_)
    assert isinstance(encoding, SharedEncoding)
    return encoding


def memory_bits(type_: MemDescType) -> int:
    """Bits of an element as it is in memory."""
    return bit_width(memory_type(scalar_type(type_.element_type)))


def buffer_shape(type_: MemDescType) -> tuple[int, ...]:
    """The shape of the buffer that a view is a part of, without the dimension that numbers copies of it."""
    return type_.get_alloc_shape()[-type_.get_num_dims() :]


def slice_offset(type_: MemDescType, offsets: tuple[int, ...]) -> int:
    """Where a view begins in its buffer: elements, to be xor-ed into every offset."""
    if not any(offsets):
        return 0
    encoding = shared_encoding(type_)
    layout = to_linear_layout(encoding, encoding.shape if isinstance(encoding, PaddedShared) else buffer_shape(type_))
    coordinates = {f"dim{dim}": offset for dim, offset in enumerate(offsets)}
    return layout.pseudoinvert().apply(coordinates)["offset"]


def access_plan(
    f: FunctionLowering, registers: Attribute, memory: MemDescType, view: SharedView, by_matrix: bool
) -> tuple[PlannedMemoryAccess, int]:
    """How a tensor and a view meet, and the view's offset in bytes; `by_matrix` allows the instructions for matrices of 8x8."""
    encoding = layout_of(registers)
    assert isinstance(encoding, DistributedEncoding)
    bits = memory_bits(memory)
    offset = slice_offset(memory, view.offsets)
    arguments = (encoding, shared_encoding(memory), memory.get_shape(), bits, buffer_shape(memory), offset)
    plan = local_matrix_access(*arguments) if by_matrix else None
    return plan or local_access(*arguments), offset * bits // 8


def _view(f: FunctionLowering, value: SSAValue) -> SharedView:
    view = f.values[value]
    assert isinstance(view, SharedView)
    return view


def memdesc(value: SSAValue) -> MemDescType:
    """The type of a memory descriptor."""
    assert isinstance(value.type, MemDescType)
    return value.type


def _store(f: FunctionLowering, source: SSAValue, target: MemDescType, view: SharedView) -> None:
    plan, offset = access_plan(f, source.type, target, view, f.module.target.has_stmatrix)
    store_shared(f, plan, to_memory(f, f.vector(source)), view.base, slice_offset=offset)


@lowers(ttg.LocalAllocOp)
def local_alloc(f: FunctionLowering, op: ttg.LocalAllocOp) -> None:
    result = op.results[0]
    type_ = memdesc(result)
    view = SharedView(f.scratch(op), (0,) * type_.get_num_dims())
    f.values[result] = view
    if op.operands:
        _store(f, op.operands[0], type_, view)


@lowers(ttg.LocalDeallocOp)
def local_dealloc(f: FunctionLowering, op: ttg.LocalDeallocOp) -> None:
    """The allocation knows where a buffer's life ends."""


@lowers(ttg.LocalLoadOp)
def local_load(f: FunctionLowering, op: ttg.LocalLoadOp) -> None:
    source, result = op.operands[0], op.results[0]
    type_ = memdesc(source)
    view = _view(f, source)
    plan, offset = access_plan(f, result.type, type_, view, f.module.target.has_ldmatrix)
    element = f.element_type(result)
    loaded = load_shared(f, plan, memory_type(element), view.base, slice_offset=offset)
    f.values[result] = from_memory(f, loaded, element)


@lowers(ttg.LocalStoreOp)
def local_store(f: FunctionLowering, op: ttg.LocalStoreOp) -> None:
    source, target = op.operands
    _store(f, source, memdesc(target), _view(f, target))


@lowers(ttg.MemDescIndexOp)
def memdesc_index(f: FunctionLowering, op: ttg.MemDescIndexOp) -> None:
    """One slot of a ring."""
    source, index = op.operands
    result = op.results[0]
    type_ = memdesc(result)
    view = _view(f, source)
    size = slot_bytes(shared_encoding(type_), type_.get_shape(), memory_bits(type_))
    base = f.b.gep(view.base, f.b.mul(f.scalar(index), f.b.i32(size)), I8, inbounds=True)
    f.values[result] = SharedView(base, view.offsets[-type_.get_num_dims() :])


@lowers(ttg.MemDescSubsliceOp)
def memdesc_subslice(f: FunctionLowering, op: ttg.MemDescSubsliceOp) -> None:
    view = _view(f, op.operands[0])
    moved = op.offsets.get_values()
    offsets = tuple(a + b for a, b in zip(view.offsets, moved, strict=True))
    f.values[op.results[0]] = SharedView(view.base, offsets)


@lowers(ttg.MemDescTransOp)
def memdesc_trans(f: FunctionLowering, op: ttg.MemDescTransOp) -> None:
    view = _view(f, op.operands[0])
    order = op.order.get_values()
    f.values[op.results[0]] = SharedView(view.base, tuple(view.offsets[dim] for dim in order))


@lowers(ttg.MemDescReshapeOp)
def memdesc_reshape(f: FunctionLowering, op: ttg.MemDescReshapeOp) -> None:
    view = _view(f, op.operands[0])
    before, after = memdesc(op.operands[0]).get_shape(), memdesc(op.results[0]).get_shape()
    number = 0
    for offset, size in zip(view.offsets, before, strict=True):
        number = number * size + offset
    offsets: list[int] = []
    for size in reversed(after):
        offsets.append(number % size)
        number //= size
    f.values[op.results[0]] = SharedView(view.base, tuple(reversed(offsets)))


@lowers(ttg.MemDescReinterpretOp)
def memdesc_reinterpret(f: FunctionLowering, op: ttg.MemDescReinterpretOp) -> None:
    """The same bytes as another type; a view's offset is made part of the address."""
    source, result = op.operands[0], op.results[0]
    view, type_ = _view(f, source), memdesc(source)
    bytes_ = slice_offset(type_, view.offsets) * memory_bits(type_) // 8
    base = f.b.gep(view.base, bytes_, I8)
    f.values[result] = SharedView(base, (0,) * memdesc(result).get_num_dims())

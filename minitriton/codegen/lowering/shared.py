"""Buffers in shared memory: allocation, views, loads and stores.

A memory descriptor is a `SharedView`. Loads and stores follow the plan of the two layouts (`PlannedMemoryAccess`): registers move one vector at a time, or by
`ldmatrix` and `stmatrix` where the layouts are made for them.

    ttg.local_load %b : memdesc<128x64xf16, #shared> -> tensor<128x64xf16, #dot>   ->   nvvm.ldmatrix, 4 matrices at a time

    base = the plan's `lane` and `warp` bits of the thread's number, xor-ed; address = (base ^ xor) + add
"""

from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.ir import Attribute, SSAValue

from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.registry import lowers
from minitriton.codegen.registers import SharedView
from minitriton.codegen.types import I1, I8, I16, I32, I64, bit_width, lane_type, scalar_type, vector_type
from minitriton.dialects import llvm as ours
from minitriton.dialects import ttg
from minitriton.dialects.ttg import MemDescType, layout_of
from minitriton.layouts.encodings import DistributedEncoding, PaddedShared, SharedEncoding
from minitriton.layouts.memory import local_access, local_matrix_access
from minitriton.layouts.plans import PlannedMemoryAccess
from minitriton.layouts.properties import slot_bytes
from minitriton.layouts.to_linear import to_linear_layout


def addresses(
    f: FunctionLowering, plan: PlannedMemoryAccess, base: SSAValue, constant: int = 0, slice_offset: int = 0
) -> list[SSAValue]:
    """The address of each access; `constant` bytes are added, `slice_offset` is xor-ed into the offset."""
    b = f.b
    own = f.shared_index((*plan.lane, *plan.warp))
    pointers: dict[int, SSAValue] = {}
    result: list[SSAValue] = []
    for access in plan.accesses:
        xor = access.xor ^ slice_offset
        if plan.padding:
            offset = b.xor(own, b.i32(xor)) if xor else own
            if access.add:
                offset = b.add(offset, b.i32(access.add))
            padded = offset
            for interval, pad in plan.padding:
                padded = b.add(padded, b.shl(b.lshr(offset, interval), pad))
            result.append(b.gep(b.gep(base, padded, I8), constant, I8))
            continue
        pointer = pointers.get(xor)
        if pointer is None:
            offset = b.xor(own, b.i32(xor)) if xor else own
            pointer = pointers[xor] = b.gep(base, offset, I8, inbounds=True)
        result.append(b.gep(pointer, access.add + constant, I8, inbounds=True))
    return result


def store_shared(
    f: FunctionLowering,
    plan: PlannedMemoryAccess,
    value: SSAValue,
    base: SSAValue,
    constant: int = 0,
    mask: SSAValue | None = None,
    slice_offset: int = 0,
) -> None:
    """Stores the registers of `value` (bytes or wider), where `mask` is true if there is one."""
    b = f.b
    size = plan.vector_bytes
    for pointer, access in zip(addresses(f, plan, base, constant, slice_offset), plan.accesses, strict=True):
        part = b.permute(value, access.registers)
        if plan.matrices:
            words = b.bitcast(part, vector_type(I32, plan.matrices))
            f.module.info.store_matrices(b, words, pointer, transposed=plan.transposed)
        elif mask is None:
            b.store(part, pointer, size)
        else:
            f.module.info.store_shared(b, part, pointer, mask)


def load_accesses(
    f: FunctionLowering,
    plan: PlannedMemoryAccess,
    element: Attribute,
    base: SSAValue,
    constant: int = 0,
    slice_offset: int = 0,
) -> SSAValue:
    """What all accesses of a plan load, in their order."""
    type_ = vector_type(element, plan.vector)
    pointers = addresses(f, plan, base, constant, slice_offset)
    if plan.matrices:
        load = f.module.info.load_matrices
        matrices = [load(f.b, pointer, plan.matrices, transposed=plan.transposed) for pointer in pointers]
        return f.b.concat([f.b.bitcast(matrix, type_) for matrix in matrices])
    return f.b.concat([f.b.load(pointer, type_, plan.vector_bytes) for pointer in pointers])


def load_shared(
    f: FunctionLowering,
    plan: PlannedMemoryAccess,
    element: Attribute,
    base: SSAValue,
    constant: int = 0,
    slice_offset: int = 0,
) -> SSAValue:
    """The registers that a plan loads. Bytes that are loaded in pairs stay together as words of 16 bits: taken apart, the pairs of a conversion
    would be put together again byte by byte."""
    b = f.b
    pairs = _pairs(plan.result) if plan.vector == 2 and bit_width(element) == 8 and not plan.matrices else None
    if pairs is None:
        return b.permute(load_accesses(f, plan, element, base, constant, slice_offset), plan.result)
    words = [b.load(pointer, I16, 2) for pointer in addresses(f, plan, base, constant, slice_offset)]
    return b.bitcast(b.permute(b.concat(words), pairs), vector_type(element, len(plan.result)))


def _pairs(registers: Sequence[int]) -> list[int] | None:
    """The pairs that registers are, each beginning at an even number; None if they are not."""
    halves = [first // 2 for first in registers[::2]]
    return halves if [2 * half + i for half in halves for i in range(2)] == list(registers) else None


# Values as memory and as registers have them.


def memory_type(element: Attribute) -> Attribute:
    """How an element is in memory: booleans as bytes, pointers as integers."""
    if element is I1:
        return I8
    return I64 if isinstance(element, L.LLVMPointerType) else element


def from_memory(f: FunctionLowering, vector: SSAValue, element: Attribute) -> SSAValue:
    """A value as it is in registers, from how it is in memory."""
    if element is I1:
        return f.b.cast(L.TruncOp, vector, I1)
    return f.b.cast(ours.IntToPtrOp, vector, element) if isinstance(element, L.LLVMPointerType) else vector


def to_memory(f: FunctionLowering, value: SSAValue) -> SSAValue:
    """A value as it is in memory."""
    element = lane_type(value.type)
    if element is I1:
        return f.b.cast(L.ZExtOp, value, I8)
    return f.b.cast(ours.PtrToIntOp, value, I64) if isinstance(element, L.LLVMPointerType) else value


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

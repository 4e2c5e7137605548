"""Blocks of strided tensors in memory become tensors of pointers and masks: block pointers everywhere, descriptors where there are no tensor copies.

    block [8, 16] at (%i, %j) of a tensor of sizes (%m, %n) and strides (%s, 1)
        pointers   %base + (%i + 0..7)[:, None] * %s + (%j + 0..15)[None, :]
        mask       0 <= %i + 0..7 < %m, and the same for the columns

`triton-rewrite-tensor-pointer`:

    %p = tt.make_tensor_ptr %base, [%m], [%s], [%i] : !tt.ptr<tensor<64xf16>>        %p is (%base, %m, %s, %i)
    %q = tt.advance %p, [%k]                                                     =>  %q is (%base, %m, %s, %i + %k)
    %x = tt.load %q {boundaryCheck = [0], padding = 1}                               %x = tt.load (pointers), mask, 0

`triton-rewrite-tensor-descriptor-to-pointer`:

    %d = tt.make_tensor_descriptor %base, [%m], [%s]      %d is (%base, %m, %s, whether elements outside are NaN)
    %x = tt.descriptor_load %d[%i]                    =>  %x = tt.load (pointers), mask, zeros or NaNs
    tt.descriptor_store %d[%i], %x                        tt.store (pointers), %x, mask
    tt.descriptor_reduce add, %d[%i], %x                  tt.atomic_rmw add, release, (pointers), %x, mask

Loops and branches carry the offsets of a block pointer; base, sizes and strides only where they change. A descriptor that the host passes arrives as
these numbers. Counterpart of lib/Dialect/Triton/Transforms/{RewriteTensorPointer,RewriteTensorDescriptorToPointer}.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from math import nan
from typing import ClassVar, NamedTuple

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness, TensorType, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from minitriton.dialects import arith, tt
from minitriton.dialects.fast_paths.op_access import ops_in, ops_of
from minitriton.dialects.locations import source_location
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.enums import DescriptorReduceKind, PaddingOption, RMWOp
from minitriton.dialects.tt.traits import is_float
from minitriton.dialects.tt.types import PointerType, TensorDescType, is_tensor_pointer, pointer_type, tensor_type
from minitriton.errors import PassError
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.constants import constant_op, int_attr, int_constant, number_attr
from minitriton.rewriting.value_expansion import Rule, ValueExpansion

Positions = Callable[[int], SSAValue]
"""The positions of a block along a dimension: i64, of the rank of the block, with size 1 along all dimensions but their own."""


class _StridedTensor(NamedTuple):
    """A tensor in memory that is accessed in blocks."""

    base: SSAValue
    sizes: Sequence[SSAValue]
    strides: Sequence[SSAValue]

    def pointers(self, e: ValueExpansion, shape: Sequence[int], at: Positions) -> SSAValue:
        """The addresses of a block's elements."""
        full = tuple(shape)
        result = e.insert(tt.SplatOp(self.base, tensor_type(full, self.base.type)))
        for dim, stride in enumerate(self.strides):
            where = at(dim)
            # The stride in the positions' shape, not as a row: so its divisibility is known of every element.
            distance = e.insert(arith.MuliOp(where, e.insert(tt.SplatOp(stride, where.type))))
            result = e.insert(tt.AddPtrOp(result, e.insert(tt.BroadcastOp(distance, tensor_type(full, i64)))))
        return result

    def mask(self, e: ValueExpansion, shape: Sequence[int], dims: Iterable[int], at: Positions) -> SSAValue | None:
        """Which elements of a block are inside the tensor along `dims`; None without any."""
        mask: SSAValue | None = None
        for dim in dims:
            where = at(dim)
            zero = e.insert(tt.SplatOp(e.insert(constant_op(int_attr(i64, 0))), where.type))
            not_before = e.insert(arith.CmpiOp(where, zero, "sge"))
            not_after = e.insert(arith.CmpiOp(where, e.insert(tt.SplatOp(self.sizes[dim], where.type)), "slt"))
            both = e.insert(arith.AndIOp(not_before, not_after))
            whole = e.insert(tt.BroadcastOp(both, tensor_type(tuple(shape), i1)))
            mask = whole if mask is None else e.insert(arith.AndIOp(mask, whole))
        return mask


def _positions(e: ValueExpansion, start: SSAValue, shape: Sequence[int], dim: int) -> SSAValue:
    """`start`, `start` + 1, ... along dimension `dim` of a block of `shape`."""
    size = shape[dim]
    row = tensor_type((size,), i64)
    first = e.insert(tt.SplatOp(start, row))
    steps = e.insert(tt.MakeRangeOp(tensor_type((size,), i32), start=0, end=size))
    summed = e.insert(arith.AddiOp(first, e.insert(arith.ExtSIOp(steps, row))))
    return _along(e, summed, len(shape), dim)


def _along(e: ValueExpansion, row: SSAValue, rank: int, dim: int) -> SSAValue:
    """A tensor of one dimension as one of `rank` dimensions, along `dim`."""
    for axis in range(rank):
        if axis != dim:
            row = e.insert(tt.ExpandDimsOp(row, axis=axis))
    return row


def _replace(op: Operation, value: SSAValue) -> None:
    value.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(value)


def _refuse(op: Operation, what: str, help: str) -> PassError:
    return PassError(f"{op.name} takes no {what}", source_location(op.location), help=help)


def _pointer_block(type_: Attribute) -> TensorType:
    assert isinstance(type_, PointerType) and instance_of(type_.pointee_type, TensorType)
    return type_.pointee_type


def _pointer_parts(type_: Attribute) -> Sequence[Attribute] | None:
    """Base, sizes, strides, offsets."""
    if not is_tensor_pointer(type_):
        return None
    block = _pointer_block(type_)
    assert isinstance(type_, PointerType)
    return [pointer_type(block.element_type, type_.address_space.data), *[i64] * (3 * block.get_num_dims())]


def _constant_parts(type_: Attribute) -> int:
    """All parts but the offsets."""
    return 1 + 2 * _pointer_block(type_).get_num_dims()


def _make_pointer(e: ValueExpansion, op: Operation) -> None:
    rank = (len(op.operands) - 1) // 3
    offsets = [e.insert(arith.ExtSIOp(offset, i64)) for offset in op.operands[1 + 2 * rank :]]
    e.expand(op.results[0], [*op.operands[: 1 + 2 * rank], *offsets])


def _advance(e: ValueExpansion, op: Operation) -> None:
    pointer, *steps = op.operands
    parts = e.parts(pointer)
    kept = len(parts) - len(steps)
    moved = [
        e.insert(arith.AddiOp(offset, e.insert(arith.ExtSIOp(step, i64))))
        for offset, step in zip(parts[kept:], steps, strict=True)
    ]
    e.expand(op.results[0], [*parts[:kept], *moved])


def _select_pointer(e: ValueExpansion, op: Operation) -> None:
    condition, true, false = op.operands
    chosen = [
        a if a is b else e.insert(arith.SelectOp(condition, a, b))
        for a, b in zip(e.parts(true), e.parts(false), strict=True)
    ]
    e.expand(op.results[0], chosen)


def _pointer_access(e: ValueExpansion, op: tt.LoadOp | tt.StoreOp) -> tuple[SSAValue, SSAValue | None]:
    """The pointers and the mask of a load or store."""
    shape = _pointer_block(op.ptr.type).get_shape()
    rank = len(shape)
    base, *numbers = e.parts(op.ptr)
    sizes, strides, offsets = (numbers[start : start + rank] for start in (0, rank, 2 * rank))

    @cache
    def at(dim: int) -> SSAValue:
        return _positions(e, offsets[dim], shape, dim)

    tensor = _StridedTensor(base, sizes, strides)
    return tensor.pointers(e, shape, at), tensor.mask(e, shape, op.boundary_check.get_values(), at)


def _load_block(e: ValueExpansion, op: Operation) -> None:
    assert isinstance(op, tt.LoadOp)
    where, mask = _pointer_access(e, op)
    other = None
    if mask is not None and op.padding is not None:
        element = _pointer_block(op.ptr.type).element_type
        number = 0.0 if is_float(element) else 0
        if op.padding.data == PaddingOption.PAD_NAN:
            number = nan
        other = e.insert(tt.SplatOp(e.insert(constant_op(number_attr(element, number))), op.result.type))
    load = tt.LoadOp(
        where, mask, other, cache=op.cache.data, evict=op.evict.data, is_volatile=bool(op.is_volatile.value.data)
    )
    _replace(op, e.insert(load))


def _store_block(e: ValueExpansion, op: Operation) -> None:
    assert isinstance(op, tt.StoreOp)
    where, mask = _pointer_access(e, op)
    e.insert(tt.StoreOp(where, op.value, mask, cache=op.cache.data, evict=op.evict.data))


def _refuse_pointer(op: Operation) -> PassError:
    ways = "loaded and stored through, advanced, chosen, carried by loops and passed to functions"
    return _refuse(op, "block pointer", f"a block pointer can be {ways}")


_POINTER_RULES: Mapping[type[Operation], Rule] = {
    tt.MakeTensorPtrOp: _make_pointer,
    tt.AdvanceOp: _advance,
    tt.LoadOp: _load_block,
    tt.StoreOp: _store_block,
    arith.SelectOp: _select_pointer,
}


@register_pass
class RewriteTensorPointer(Pass, stage="ttir", origin="triton"):
    """Turns block pointers into tensors of pointers, and their boundary checks into masks."""

    name: ClassVar[str] = "triton-rewrite-tensor-pointer"
    acts_on = frozenset({tt.MakeTensorPtrOp})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.BLOCK_POINTERS_REWRITTEN})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.STRUCTURED, Property.TTIR, Property.INLINED})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if ops_of(op, tt.MakeTensorPtrOp):
            ValueExpansion(_pointer_parts, _POINTER_RULES, steady=_constant_parts, refuse=_refuse_pointer).run(op)


Access = tt.DescriptorLoadOp | tt.DescriptorStoreOp | tt.DescriptorReduceOp
RowAccess = tt.DescriptorGatherOp | tt.DescriptorScatterOp


def _descriptor_block(value: SSAValue) -> TensorType:
    assert isinstance(value.type, TensorDescType)
    return value.type.signless_block_type


def _descriptor_parts(type_: Attribute) -> Sequence[Attribute] | None:
    """Base, sizes, strides, whether elements outside are NaN."""
    if not isinstance(type_, TensorDescType):
        return None
    block = type_.signless_block_type
    return [pointer_type(block.element_type), *[i64] * (2 * block.get_num_dims()), i1]


def _widened(e: ValueExpansion, value: SSAValue) -> SSAValue:
    known = int_constant(value)
    return e.insert(arith.ExtSIOp(value, i64) if known is None else constant_op(int_attr(i64, known)))


def _make_descriptor(e: ValueExpansion, op: Operation) -> None:
    assert isinstance(op, tt.MakeTensorDescOp)
    sizes = [_widened(e, size) for size in op.shape]
    nans = e.insert(constant_op(int_attr(i1, int(op.padding.data == PaddingOption.PAD_NAN))))
    e.expand(op.result, [op.base, *sizes, *op.strides, nans])


def _select_descriptor(e: ValueExpansion, op: Operation) -> None:
    """A choice of a descriptor chooses all its parts at once."""
    condition, true, false = op.operands
    parts = e.parts(true)
    then, otherwise = (Region(Block([scf.YieldOp(*e.parts(value))])) for value in (true, false))
    choice = scf.IfOp(condition, [part.type for part in parts], then, otherwise)
    e.insert(choice)
    e.expand(op.results[0], choice.results)


def _tensor_of(e: ValueExpansion, descriptor: SSAValue) -> _StridedTensor:
    base, *numbers, _ = e.parts(descriptor)
    rank = len(numbers) // 2
    return _StridedTensor(base, numbers[:rank], numbers[rank:])


def _padding(e: ValueExpansion, descriptor: SSAValue, type_: TensorType) -> SSAValue:
    """What a read gives outside of the tensor."""
    if not is_float(type_.element_type):
        return e.insert(constant_op(int_attr(type_, 0)))
    nans, zeros = (e.insert(constant_op(number_attr(type_, number))) for number in (nan, 0.0))
    return e.insert(arith.SelectOp(e.parts(descriptor)[-1], nans, zeros))


def _block_access(e: ValueExpansion, op: Access, starts: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue | None]:
    """The pointers and the mask of a block."""
    tensor, shape = _tensor_of(e, op.desc), _descriptor_block(op.desc).get_shape()

    def at() -> Positions:
        return [_positions(e, start, shape, dim) for dim, start in enumerate(starts)].__getitem__

    return tensor.pointers(e, shape, at()), tensor.mask(e, shape, range(len(shape)), at())


def _load(e: ValueExpansion, op: Operation) -> None:
    assert isinstance(op, tt.DescriptorLoadOp)
    starts = [_widened(e, index) for index in op.indices]
    other = _padding(e, op.desc, _descriptor_block(op.desc))
    where, mask = _block_access(e, op, starts)
    loaded = e.insert(tt.LoadOp(where, mask, other, cache=op.cache.data, evict=op.evict.data))
    if loaded.type != op.result.type:
        loaded = e.insert(tt.ReshapeOp(loaded, op.result.type))
    _replace(op, loaded)


def _in_block_shape(e: ValueExpansion, op: tt.DescriptorStoreOp | tt.DescriptorReduceOp) -> SSAValue:
    """What is stored, with the leading dimensions of size 1 of the descriptor's blocks."""
    block = _descriptor_block(op.desc)
    return op.src if op.src.type == block else e.insert(tt.ReshapeOp(op.src, block))


def _store(e: ValueExpansion, op: Operation) -> None:
    assert isinstance(op, tt.DescriptorStoreOp)
    where, mask = _block_access(e, op, [_widened(e, index) for index in op.indices])
    e.insert(tt.StoreOp(where, _in_block_shape(e, op), mask))


def _reduce(e: ValueExpansion, op: Operation) -> None:
    assert isinstance(op, tt.DescriptorReduceOp) and isinstance(op.desc.type, TensorDescType)
    starts = [_widened(e, index) for index in op.indices]
    kind = atomic_kind(op.kind.data, op.desc.type.block_type.element_type)
    if kind is None:
        element = op.desc.type.block_type.element_type
        raise PassError(
            f"Cannot fallback on descriptor atomic op, unsupported for type {element}",
            source_location(op.location),
            help="this target lacks tensor copies; use tl.atomic_* on pointers, or an integer type",
        )
    where, mask = _block_access(e, op, starts)
    e.insert(tt.AtomicRMWOp(where, _in_block_shape(e, op), mask, atomic_rmw_op=kind, sem="release", scope="gpu"))


def atomic_kind(kind: DescriptorReduceKind, element: Attribute) -> RMWOp | None:
    """The atomic op that combines as `kind` does, None if there is none for `element`."""
    signedness = element.signedness.data if instance_of(element, IntegerType) else None
    match kind:
        case DescriptorReduceKind.ADD:
            return RMWOp.FADD if signedness is None else RMWOp.ADD
        case DescriptorReduceKind.MIN | DescriptorReduceKind.MAX:
            if signedness not in (Signedness.SIGNED, Signedness.UNSIGNED):
                return None
            return RMWOp(("u" if signedness is Signedness.UNSIGNED else "") + str(kind))
        case DescriptorReduceKind.AND | DescriptorReduceKind.OR | DescriptorReduceKind.XOR:
            return RMWOp(str(kind))
        case _:
            return None


def _row_access(e: ValueExpansion, op: RowAccess, type_: TensorType) -> tuple[SSAValue, SSAValue | None]:
    """The pointers and the mask of rows."""
    tensor, shape = _tensor_of(e, op.desc), type_.get_shape()
    rows = _along(e, op.x_offsets, 2, 0)
    column = _widened(e, op.y_offset)
    at = [e.insert(arith.ExtSIOp(rows, tensor_type((shape[0], 1), i64))), _positions(e, column, shape, 1)].__getitem__
    return tensor.pointers(e, shape, at), tensor.mask(e, shape, range(2), at)


def _gather(e: ValueExpansion, op: Operation) -> None:
    assert isinstance(op, tt.DescriptorGatherOp) and instance_of(op.result.type, TensorType)
    where, mask = _row_access(e, op, op.result.type)
    other = _padding(e, op.desc, op.result.type)
    _replace(op, e.insert(tt.LoadOp(where, mask, other)))


def _scatter(e: ValueExpansion, op: Operation) -> None:
    assert isinstance(op, tt.DescriptorScatterOp) and instance_of(op.src.type, TensorType)
    where, mask = _row_access(e, op, op.src.type)
    e.insert(tt.StoreOp(where, op.src, mask))


def _refuse_descriptor(op: Operation) -> PassError:
    ways = "loaded and stored through, chosen, carried by loops and passed to functions"
    return _refuse(op, "tensor descriptor on this target", f"a descriptor can be {ways}")


_DESCRIPTOR_RULES: Mapping[type[Operation], Rule] = {
    tt.MakeTensorDescOp: _make_descriptor,
    tt.DescriptorLoadOp: _load,
    tt.DescriptorStoreOp: _store,
    tt.DescriptorReduceOp: _reduce,
    tt.DescriptorGatherOp: _gather,
    tt.DescriptorScatterOp: _scatter,
    arith.SelectOp: _select_descriptor,
}


@register_pass
class RewriteTensorDescriptorToPointer(Pass, stage="ttir", origin="triton"):
    """Turns tensor descriptors into pointers, sizes and strides, and accesses through them into masked ones."""

    name: ClassVar[str] = "triton-rewrite-tensor-descriptor-to-pointer"
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.NO_DESCRIPTORS, Property.DESCRIPTORS_LOWERED})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.STRUCTURED, Property.TTIR, Property.INLINED})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if any(isinstance(found, tt.MakeTensorDescOp) or _takes_descriptor(found) for found in ops_in(op)):
            ValueExpansion(_descriptor_parts, _DESCRIPTOR_RULES, refuse=_refuse_descriptor).run(op)


def _takes_descriptor(op: Operation) -> bool:
    return isinstance(op, tt.FuncOp) and any(isinstance(t, TensorDescType) for t in op.function_type.inputs)

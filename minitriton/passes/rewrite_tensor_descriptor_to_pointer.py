"""`triton-rewrite-tensor-descriptor-to-pointer`: descriptors become pointers and masks, for targets without tensor copies.

    %d = tt.make_tensor_descriptor %base, [%m], [%s]      %d is (%base, %m, %s, whether NaNs lie outside)
    %x = tt.descriptor_load %d[%i]                    =>  %x = tt.load (%base + (%i + 0..63) * %s), inside %m, zeros or NaNs
    tt.descriptor_store %d[%i], %x                        tt.store, inside %m
    tt.descriptor_reduce add, %d[%i], %x                  tt.atomic_rmw add, release, inside %m

A descriptor that the host passes arrives as these numbers. Answers to
lib/Dialect/Triton/Transforms/RewriteTensorDescriptorToPointer.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness, TensorType, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from minitriton.analysis.locations import source_location
from minitriton.dialects import arith, tt
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.constraints import is_float
from minitriton.dialects.tt.enums import DescriptorReduceKind, PaddingOption, RMWOp
from minitriton.dialects.tt.types import TensorDescType, pointer_type, tensor_type
from minitriton.errors import PassError
from minitriton.pass_registry import Pass, Property, register_pass
from minitriton.passes.strided_access import along, inside, pointers, positions
from minitriton.rewriting.constants import constant_op, int_attr, int_constant, number_attr
from minitriton.rewriting.value_expansion import Rule, ValueExpansion

Access = tt.DescriptorLoadOp | tt.DescriptorStoreOp | tt.DescriptorReduceOp
RowAccess = tt.DescriptorGatherOp | tt.DescriptorScatterOp


def _block_type(value: SSAValue) -> TensorType:
    assert isinstance(value.type, TensorDescType)
    return value.type.signless_block_type


def _part_types(type_: Attribute) -> Sequence[Attribute] | None:
    """Base, sizes, strides, whether elements outside are NaN."""
    if not isinstance(type_, TensorDescType):
        return None
    block = type_.signless_block_type
    return [pointer_type(block.element_type), *[i64] * (2 * block.get_num_dims()), i1]


def _widened(e: ValueExpansion, value: SSAValue) -> SSAValue:
    known = int_constant(value)
    return e.insert(arith.ExtSIOp(value, i64) if known is None else constant_op(int_attr(i64, known)))


def _make(e: ValueExpansion, op: Operation) -> None:
    assert isinstance(op, tt.MakeTensorDescOp)
    sizes = [_widened(e, size) for size in op.shape]
    nans = e.insert(constant_op(int_attr(i1, int(op.padding.data == PaddingOption.PAD_NAN))))
    e.expand(op.result, [op.base, *sizes, *op.strides, nans])


def _select(e: ValueExpansion, op: Operation) -> None:
    """A choice of a descriptor chooses all its parts at once."""
    condition, true, false = op.operands
    parts = e.parts(true)
    then, otherwise = (Region(Block([scf.YieldOp(*e.parts(value))])) for value in (true, false))
    choice = scf.IfOp(condition, [part.type for part in parts], then, otherwise)
    e.insert(choice)
    e.expand(op.results[0], choice.results)


@dataclass(frozen=True)
class _Descriptor:
    """The parts that stand for a descriptor."""

    base: SSAValue
    sizes: Sequence[SSAValue]
    strides: Sequence[SSAValue]
    nans: SSAValue

    @staticmethod
    def of(e: ValueExpansion, value: SSAValue) -> _Descriptor:
        base, *numbers, nans = e.parts(value)
        rank = len(numbers) // 2
        return _Descriptor(base, numbers[:rank], numbers[rank:], nans)

    def pointers(self, e: ValueExpansion, shape: Sequence[int], at: Sequence[SSAValue]) -> SSAValue:
        return pointers(e.insert, self.base, self.strides, shape, at.__getitem__)

    def mask(self, e: ValueExpansion, shape: Sequence[int], at: Sequence[SSAValue]) -> SSAValue | None:
        return inside(e.insert, self.sizes, shape, range(len(shape)), at.__getitem__)

    def padding(self, e: ValueExpansion, type_: TensorType) -> SSAValue:
        """What a read gives outside of the tensor."""
        if not is_float(type_.element_type):
            return e.insert(constant_op(int_attr(type_, 0)))
        nans, zeros = (e.insert(constant_op(number_attr(type_, number))) for number in (nan, 0.0))
        return e.insert(arith.SelectOp(self.nans, nans, zeros))


def _block_access(e: ValueExpansion, op: Access, starts: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue | None]:
    """The pointers and the mask of a block."""
    descriptor, shape = _Descriptor.of(e, op.desc), _block_type(op.desc).get_shape()

    def at() -> list[SSAValue]:
        return [positions(e.insert, start, shape, dim) for dim, start in enumerate(starts)]

    where = descriptor.pointers(e, shape, at())
    return where, descriptor.mask(e, shape, at())


def _replace(op: Operation, value: SSAValue) -> None:
    value.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(value)


def _load(e: ValueExpansion, op: Operation) -> None:
    assert isinstance(op, tt.DescriptorLoadOp)
    starts = [_widened(e, index) for index in op.indices]
    other = _Descriptor.of(e, op.desc).padding(e, _block_type(op.desc))
    where, mask = _block_access(e, op, starts)
    loaded = e.insert(tt.LoadOp(where, mask, other, cache=op.cache.data, evict=op.evict.data))
    if loaded.type != op.result.type:
        loaded = e.insert(tt.ReshapeOp(loaded, op.result.type))
    _replace(op, loaded)


def _in_block_shape(e: ValueExpansion, op: tt.DescriptorStoreOp | tt.DescriptorReduceOp) -> SSAValue:
    """What is stored, with the leading dimensions of size 1 of the descriptor's blocks."""
    block = _block_type(op.desc)
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
            help="this target has no tensor copies; use tl.atomic_* on pointers, or an integer type",
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
    descriptor, shape = _Descriptor.of(e, op.desc), type_.get_shape()
    rows = along(e.insert, op.x_offsets, 2, 0)
    column = _widened(e, op.y_offset)
    at = [
        e.insert(arith.ExtSIOp(rows, tensor_type((shape[0], 1), i64))),
        positions(e.insert, column, shape, 1),
    ]
    where = descriptor.pointers(e, shape, at)
    return where, descriptor.mask(e, shape, at)


def _gather(e: ValueExpansion, op: Operation) -> None:
    assert isinstance(op, tt.DescriptorGatherOp) and instance_of(op.result.type, TensorType)
    where, mask = _row_access(e, op, op.result.type)
    other = _Descriptor.of(e, op.desc).padding(e, op.result.type)
    _replace(op, e.insert(tt.LoadOp(where, mask, other)))


def _scatter(e: ValueExpansion, op: Operation) -> None:
    assert isinstance(op, tt.DescriptorScatterOp) and instance_of(op.src.type, TensorType)
    where, mask = _row_access(e, op, op.src.type)
    e.insert(tt.StoreOp(where, op.src, mask))


def _refuse(op: Operation) -> PassError:
    return PassError(
        f"{op.name} takes no tensor descriptor on this target",
        source_location(op.location),
        help="a descriptor can be loaded and stored through, chosen, carried by loops and passed to functions",
    )


_RULES: dict[type[Operation], Rule] = {
    tt.MakeTensorDescOp: _make,
    tt.DescriptorLoadOp: _load,
    tt.DescriptorStoreOp: _store,
    tt.DescriptorReduceOp: _reduce,
    tt.DescriptorGatherOp: _gather,
    tt.DescriptorScatterOp: _scatter,
    arith.SelectOp: _select,
}


@register_pass
class RewriteTensorDescriptorToPointer(Pass):
    """Turns tensor descriptors into pointers, sizes and strides, and accesses through them into masked ones."""

    name: ClassVar[str] = "triton-rewrite-tensor-descriptor-to-pointer"
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.DESCRIPTORS_LOWERED})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.STRUCTURED, Property.TTIR, Property.INLINED})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if any(isinstance(found, tt.MakeTensorDescOp) or _takes_descriptor(found) for found in ops_in(op)):
            ValueExpansion(_part_types, _RULES, refuse=_refuse).run(op)


def _takes_descriptor(op: Operation) -> bool:
    return isinstance(op, tt.FuncOp) and any(isinstance(t, TensorDescType) for t in op.function_type.inputs)

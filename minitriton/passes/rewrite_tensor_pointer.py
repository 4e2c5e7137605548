"""`triton-rewrite-tensor-pointer`: block pointers become pointers and masks.

    %p = tt.make_tensor_ptr %base, [%m], [%s], [%i] : !tt.ptr<tensor<64xf16>>        %p is (%base, %m, %s, %i)
    %q = tt.advance %p, [%k]                                                     =>  %q is (%base, %m, %s, %i + %k)
    %x = tt.load %q {boundaryCheck = [0], padding = 1}                               %x = tt.load (%base + (%i + %k + 0..63) * %s),
                                                                                              inside %m, 0

Loops and branches carry the offsets; base, sizes and strides only where they change. Answers to
lib/Dialect/Triton/Transforms/RewriteTensorPointer.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import nan
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.analysis.locations import source_location
from minitriton.dialects import arith, tt
from minitriton.dialects.fast_paths.operations import ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.constraints import is_float
from minitriton.dialects.tt.enums import PaddingOption
from minitriton.dialects.tt.types import PointerType, is_tensor_pointer, pointer_type
from minitriton.errors import PassError
from minitriton.pass_registry import Pass, Property, register_pass
from minitriton.passes.strided_access import inside, pointers, positions
from minitriton.rewriting.constants import constant_op, number_attr
from minitriton.rewriting.value_expansion import Rule, ValueExpansion


def _block_type(type_: Attribute) -> TensorType:
    assert isinstance(type_, PointerType) and instance_of(type_.pointee_type, TensorType)
    return type_.pointee_type


def _part_types(type_: Attribute) -> Sequence[Attribute] | None:
    """Base, sizes, strides, offsets."""
    if not is_tensor_pointer(type_):
        return None
    block = _block_type(type_)
    assert isinstance(type_, PointerType)
    return [pointer_type(block.element_type, type_.address_space.data), *[i64] * (3 * block.get_num_dims())]


def _steady(type_: Attribute) -> int:
    """All parts but the offsets."""
    return 1 + 2 * _block_type(type_).get_num_dims()


def _make(e: ValueExpansion, op: Operation) -> None:
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


def _select(e: ValueExpansion, op: Operation) -> None:
    condition, true, false = op.operands
    chosen = [
        a if a is b else e.insert(arith.SelectOp(condition, a, b))
        for a, b in zip(e.parts(true), e.parts(false), strict=True)
    ]
    e.expand(op.results[0], chosen)


def _access(e: ValueExpansion, op: tt.LoadOp | tt.StoreOp) -> tuple[SSAValue, SSAValue | None, tuple[int, ...]]:
    """The pointers and the mask of a load or store, and its block's shape."""
    shape = _block_type(op.ptr.type).get_shape()
    rank = len(shape)
    base, *numbers = e.parts(op.ptr)
    sizes, strides, offsets = (numbers[start : start + rank] for start in (0, rank, 2 * rank))

    @cache
    def at(dim: int) -> SSAValue:
        return positions(e.insert, offsets[dim], shape, dim)

    where = pointers(e.insert, base, strides, shape, at)
    return where, inside(e.insert, sizes, shape, op.boundary_check.get_values(), at), shape


def _load(e: ValueExpansion, op: Operation) -> None:
    assert isinstance(op, tt.LoadOp)
    where, mask, _ = _access(e, op)
    other = None
    if mask is not None and op.padding is not None:
        element = _block_type(op.ptr.type).element_type
        number = 0.0 if is_float(element) else 0
        if op.padding.data == PaddingOption.PAD_NAN:
            number = nan
        other = e.insert(tt.SplatOp(e.insert(constant_op(number_attr(element, number))), op.result.type))
    load = tt.LoadOp(
        where, mask, other, cache=op.cache.data, evict=op.evict.data, is_volatile=bool(op.is_volatile.value.data)
    )
    loaded = e.insert(load)
    loaded.name_hint = op.result.name_hint
    op.result.replace_all_uses_with(loaded)


def _store(e: ValueExpansion, op: Operation) -> None:
    assert isinstance(op, tt.StoreOp)
    where, mask, _ = _access(e, op)
    e.insert(tt.StoreOp(where, op.value, mask, cache=op.cache.data, evict=op.evict.data))


def _refuse(op: Operation) -> PassError:
    return PassError(
        f"{op.name} takes no block pointer",
        source_location(op.location),
        help="a block pointer can be loaded and stored through, advanced, chosen, carried by loops and passed to functions",
    )


_RULES: dict[type[Operation], Rule] = {
    tt.MakeTensorPtrOp: _make,
    tt.AdvanceOp: _advance,
    tt.LoadOp: _load,
    tt.StoreOp: _store,
    arith.SelectOp: _select,
}


@register_pass
class RewriteTensorPointer(Pass):
    """Turns block pointers into tensors of pointers, and their boundary checks into masks."""

    name: ClassVar[str] = "triton-rewrite-tensor-pointer"
    acts_on = frozenset({tt.MakeTensorPtrOp})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.BLOCK_POINTERS_REWRITTEN})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.STRUCTURED, Property.TTIR, Property.INLINED})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if ops_of(op, tt.MakeTensorPtrOp):
            ValueExpansion(_part_types, _RULES, steady=_steady, refuse=_refuse).run(op)

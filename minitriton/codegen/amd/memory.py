"""Loads and stores of global memory: a branch around what a mask leaves out.

    tt.load %p, %m : tensor<1024x!tt.ptr<f32>>    ->    cond_br %m0, load vector<4xf32>, ...; the block after has the vector or `other`

Accesses with the same mask share a branch. Counterpart of Triton's LoadStoreOpToLLVM.cpp for AMD; what that does by buffer instructions, whose
addresses are checked, is a branch here too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import IntegerType, TensorType, UnitAttr
from xdsl.ir import Attribute, Block, SSAValue

from minitriton.analysis.access_width import access_width
from minitriton.codegen import registers
from minitriton.codegen.amd import lowers
from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.old_values import Accesses, remark_single_elements, store_masks
from minitriton.codegen.lowering.shared import from_memory, memory_type, to_memory
from minitriton.codegen.types import bit_width, lane_type, lanes, vector_type
from minitriton.dialects import tt, ttg
from minitriton.dialects.attribute_values import is_true, word
from minitriton.dialects.narrowing import instance_of


@lowers(tt.LoadOp)
def load(f: FunctionLowering, op: tt.LoadOp) -> None:
    """Plain loads, each within a branch if it has a mask."""
    result = op.results[0]
    element = f.element_type(result)
    vector = loaded(f, op, op.ptr, access_width(f.module.axis, op).width, memory_type(element))
    f.values[result] = from_memory(f, vector, element)


def loaded(
    f: FunctionLowering, op: tt.LoadOp | ttg.AsyncCopyGlobalToLocalOp, pointer: SSAValue, width: int, kept: Attribute
) -> SSAValue:
    """What is at `pointer`, as elements of type `kept`, `width` of them at once; `other` where the mask is false."""
    accesses = Accesses(f, pointer, width)
    remark_single_elements(op, accesses)
    type_ = vector_type(kept, accesses.width)
    addresses = [registers.element(f.b, f.values[pointer], start) for start in accesses.starts]
    masks = [] if op.mask is None else [registers.element(f.b, f.values[op.mask], start) for start in accesses.starts]
    others = _others(f, op.other, accesses, type_)
    volatile = is_true(op.is_volatile) or word(op.cache) == "cv"
    parts: list[SSAValue] = []
    for mask, group in _alike(masks, len(addresses)):
        loads = partial(_loads, f.b, [addresses[number] for number in group], type_, volatile=volatile)
        parts += loads() if mask is None else where(f.b, mask, [others[number] for number in group], loads)
    vector = f.b.concat(parts)
    indices = accesses.expanded()
    return vector if indices is None else f.b.permute(vector, indices)


def _loads(b: Builder, addresses: Sequence[SSAValue], type_: Attribute, *, volatile: bool) -> list[SSAValue]:
    found = [b.load(address, type_, _bytes(type_)) for address in addresses]
    for value in found if volatile else ():
        assert isinstance(value.owner, L.LoadOp)
        value.owner.properties["volatile_"] = UnitAttr()
    return found


def _bytes(type_: Attribute) -> int:
    return lanes(type_) * bit_width(lane_type(type_)) // 8


def _others(f: FunctionLowering, other: SSAValue | None, accesses: Accesses, type_: Attribute) -> list[SSAValue]:
    """What each access gives where the mask is false; nothing in particular, which is zero as in Triton, without `other`."""
    if other is None:
        zero = 0 if isinstance(lane_type(type_), IntegerType) else 0.0
        return [f.b.constant(type_, zero)] * len(accesses.starts)
    given = to_memory(f, registers.vector(f.b, f.values[other], accesses.count))
    return [f.b.permute(given, range(start, start + accesses.width)) for start in accesses.starts]


@lowers(tt.StoreOp)
def store(f: FunctionLowering, op: tt.StoreOp) -> None:
    """Plain stores by one of the threads that hold the same element, each within a branch if it has a mask."""
    data = to_memory(f, f.vector(op.value))
    accesses = Accesses(f, op.ptr, access_width(f.module.axis, op).width)
    remark_single_elements(op, accesses)
    own = f.representative(f.facts(op.ptr.type).layout if instance_of(op.ptr.type, TensorType) else None)
    addresses = [registers.element(f.b, f.values[op.ptr], start) for start in accesses.starts]
    masks = store_masks(f, accesses, None if op.mask is None else f.values[op.mask], own)
    values = [f.b.permute(data, range(start, start + accesses.width)) for start in accesses.starts]
    for mask, group in _alike(masks, len(addresses)):
        stores = partial(_stored, f.b, [(values[number], addresses[number]) for number in group])
        if mask is None:
            stores()
        else:
            where(f.b, mask, [], stores)


def _stored(b: Builder, stores: Sequence[tuple[SSAValue, SSAValue]]) -> list[SSAValue]:
    for value, address in stores:
        b.store(value, address, _bytes(value.type))
    return []


def _alike(masks: Sequence[SSAValue], count: int) -> Iterator[tuple[SSAValue | None, list[int]]]:
    """Runs of accesses with the same mask, by their numbers; one run without a mask if there are none."""
    if not masks:
        yield None, list(range(count))
        return
    for mask, group in groupby(range(count), key=lambda number: masks[number]):
        yield mask, list(group)


def where(
    b: Builder, mask: SSAValue, others: Sequence[SSAValue], make: Callable[[], Sequence[SSAValue]]
) -> list[SSAValue]:
    """What `make` makes, in a branch that threads take in which `mask` is true; `others` in the rest."""
    region = b.block.parent_region()
    assert region is not None
    inside, after = Block(), Block(arg_types=[value.type for value in others])
    region.add_block(inside)
    region.add_block(after)
    b.cond_branch(mask, inside, after, (), others)
    b.move_to(inside)
    b.branch(after, make())
    b.move_to(after)
    return list(after.args)

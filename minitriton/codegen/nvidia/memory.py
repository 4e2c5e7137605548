"""Loads and stores of global memory, and copies from there to shared memory that stay in flight.

In: a tensor of pointers, as an expression where only the first pointer of each vector is made; `analysis/access_width.py` says how wide
vectors are.

    tt.load %p, %m : tensor<1024x!tt.ptr<f32>>      nvvm.ld.global %p0, %p4, %m0, %m4 {vector_width = 4} : vector<8xf32>
    tt.load %p without a mask or hints              llvm.load %p0 : vector<4xf32>, ...

A load or store marked `split_mask` (by `minitriton-coalesce-by-width`) has a mask that is true up to some element of each vector: whole vectors
move at once, and a branch that few warps take moves the elements of those at the mask's end.

    ttg.async_copy_global_to_local %p, %b mask %m    ->   nvvm.cp.async.shared.global, 16 bytes at a time; where the mask is
                                                          false the source has 0 bytes and the buffer is filled with zeros

Copies of less than 4 bytes, which the hardware does not have, are loads and stores, with a remark: here layouts are final.

Counterpart of Triton's LoadStoreOpToLLVM.cpp; unlike it, registers that hold copies, or whose addresses are equal (`ptr + i // 2`), are loaded once.
"""

import functools
from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, UnitAttr, i32
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from minitriton.analysis.access_width import access_width
from minitriton.analysis.copy_remarks import remark_narrow_load
from minitriton.codegen import registers
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.old_values import Accesses, remark_single_elements, store_masks
from minitriton.codegen.lowering.shared import (
    addresses,
    buffer_shape,
    from_memory,
    memdesc,
    memory_bits,
    memory_type,
    shared_encoding,
    slice_offset,
    store_shared,
    to_memory,
)
from minitriton.codegen.nvidia import lowers
from minitriton.codegen.registers import Registers, SharedView
from minitriton.codegen.types import I1, I64, INTEGERS, bit_width, lane_type, vector_type
from minitriton.dialects import nvvm, tt, ttg
from minitriton.dialects.attribute_values import i32_array, integer_attr, is_true, string_attr, word
from minitriton.dialects.facts.pass_attributes import CACHE_HINT, IN_L1, PREFETCH_BYTES
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.ttg import layout_of
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.layouts.memory import plan_access, registers_to_offsets
from minitriton.layouts.plans import PlannedMemoryAccess
from minitriton.layouts.to_linear import to_linear_layout

_UNIT = UnitAttr()


def cache_hint(op: Operation) -> tuple[str, str]:
    """The cache modifier and eviction policy of an op, empty if there is none. Stores have no `.ca`: Triton drops it too."""
    cache, evict = _enum(op, "cache"), _enum(op, "evict")
    if cache == "none" or (cache == "ca" and isinstance(op, tt.StoreOp)):
        cache = ""
    evict = "" if evict in ("evict_normal", "none") else evict
    chosen = op.attributes.get(CACHE_HINT)
    if isinstance(chosen, StringAttr) and not cache and not evict:
        return (chosen.data, "") if len(chosen.data) == 2 else ("", chosen.data)
    return cache, evict


def _enum(op: Operation, name: str) -> str:
    attr = op.properties.get(name)
    return "none" if attr is None else word(attr)


def _as_hinted(f: FunctionLowering, op: Operation, width: int) -> tuple[list[SSAValue], dict[str, Attribute]]:
    """An eviction policy if there is one, and the properties of accesses to `width` elements with the hints of `op`."""
    cache, evict = cache_hint(op)
    properties: dict[str, Attribute] = {"vector_width": integer_attr(width, i32)}
    if cache:
        properties["cache"] = string_attr(cache)
    if (prefetch := op.attributes.get(PREFETCH_BYTES)) is not None:
        properties["prefetch"] = prefetch
    if not evict:
        return [], properties
    properties["evict"] = string_attr(evict.removeprefix(IN_L1))
    if evict not in nvvm.CreatePolicyOp.WORDS["kind"] or not f.module.target.has_cache_policies:
        return [], properties
    return [f.b.value(nvvm.CreatePolicyOp, (), I64, {"kind": string_attr(evict)})], properties


@lowers(tt.LoadOp)
def load(f: FunctionLowering, op: tt.LoadOp) -> None:
    """Predicated `ld.global` if there is a mask or a hint, else plain loads."""
    pointer, mask, other = op.ptr, op.mask, op.other
    result = op.results[0]
    element = f.element_type(result)
    kept = memory_type(element)
    width = access_width(f.module.axis, op)
    volatile = is_true(op.is_volatile)
    accesses = Accesses(f, pointer, width.width, once=not width.is_split and not volatile)
    if width.is_split:
        _finish_load(f, op, accesses, _split_load(f, op, accesses, kept))
        return
    cache, evict = cache_hint(op)
    remark_single_elements(op, accesses)
    addresses = [registers.element(f.b, f.values[pointer], start) for start in accesses.starts]
    if mask is None and not cache and not evict and not volatile and PREFETCH_BYTES not in op.attributes:
        vector = _plain_load(f, addresses, kept, accesses.width)
    else:
        masks, are_equal = ([], True) if mask is None else _load_masks(f, mask, accesses)
        type_ = vector_type(kept, accesses.loaded)
        others = _others(f, other, accesses) if are_equal else []
        vector = _hinted_load(f, op, type_, accesses.width, addresses, masks, others)
        if other is not None and not are_equal:
            assert mask is not None
            _finish_load(f, op, accesses, vector)
            f.values[result] = f.b.select(f.vector(mask), f.vector(result), f.vector(other))
            return
    _finish_load(f, op, accesses, vector)


def _load_masks(f: FunctionLowering, mask: SSAValue, accesses: Accesses) -> tuple[list[SSAValue], bool]:
    """Of each access whether any of its registers is loaded, and whether it is so for all of them or none."""
    equal = f.equal_registers(mask)
    run: Sequence[int] = range(accesses.count) if equal is None else equal[1]
    masks: list[SSAValue] = []
    are_equal = True
    for members in accesses.members:
        given = {run[start]: start for start in reversed(members)}
        found = [registers.element(f.b, f.values[mask], start) for start in given.values()]
        are_equal &= len(set(found)) == 1
        masks.append(functools.reduce(f.b.or_, dict.fromkeys(found)))
    return masks, are_equal


def _finish_load(f: FunctionLowering, op: Operation, accesses: Accesses, vector: SSAValue) -> None:
    """The result, with copies of registers and as it is kept in registers."""
    indices = accesses.expanded()
    if indices is not None:
        vector = f.b.permute(vector, indices)
    f.values[op.results[0]] = from_memory(f, vector, f.element_type(op.results[0]))


class _SplitMask:
    """The mask of whole vectors, and of the elements of partial ones: true up to some element of each vector."""

    def __init__(self, f: FunctionLowering, mask: SSAValue, accesses: Accesses, own: SSAValue | None):
        self.f, self.mask, self.accesses, self.own = f, f.values[mask], accesses, own
        self.whole = self._last(self.mask)
        self._partial: list[SSAValue] = []

    def _at(self, mask: Registers, register: int) -> SSAValue:
        found = registers.element(self.f.b, mask, register)
        return found if self.own is None else self.f.b.and_(self.own, found)

    def _last(self, mask: Registers) -> list[SSAValue]:
        """Of each vector whether its last element is moved: then all are."""
        return [self._at(mask, start + self.accesses.width - 1) for start in self.accesses.starts]

    def any_partial(self) -> SSAValue:
        """Whether some vector is neither moved whole nor left out."""
        b = self.f.b
        firsts = [self._at(self.mask, start) for start in self.accesses.starts]
        self._partial = [b.xor(first, whole) for first, whole in zip(firsts, self.whole, strict=True)]
        found = self._partial[0]
        for each in self._partial[1:]:
            found = b.or_(found, each)
        return found

    def elements(self) -> list[SSAValue]:
        """For each element of each vector, but the last of it, whether it is moved by itself. The last one only moves with its vector."""
        b = self.f.b
        mask = registers.computed_again(b, self.mask)
        last = self.whole if mask is self.mask else self._last(mask)
        return [
            b.xor(self._at(mask, start + i), whole) if i else partial
            for start, partial, whole in zip(self.accesses.starts, self._partial, last, strict=True)
            for i in range(self.accesses.width - 1)
        ]


def _split_load(f: FunctionLowering, op: tt.LoadOp, accesses: Accesses, kept: Attribute) -> SSAValue:
    """Whole vectors, then in a branch the elements of those that the mask ends in."""
    pointer, mask, other = op.ptr, op.mask, op.other
    assert mask is not None
    split = _SplitMask(f, mask, accesses, None)
    type_ = vector_type(kept, accesses.loaded)
    addresses = [registers.element(f.b, f.values[pointer], start) for start in accesses.starts]
    others = _others(f, other, accesses)
    vector = _hinted_load(f, op, type_, accesses.width, addresses, split.whole, others)
    inside, after = f.new_block(), f.new_block((type_,))
    f.b.cond_branch(split.any_partial(), inside, after, (), (vector,))
    f.b.move_to(inside)
    policies, properties = _as_hinted(f, op, accesses.width)
    masks = split.elements()
    properties["operandSegmentSizes"] = i32_array((len(addresses), len(masks), 1, len(policies)))
    f.b.branch(after, (f.b.value(nvvm.LoadPartialOp, (*addresses, *masks, vector, *policies), type_, properties),))
    f.b.move_to(after)
    return after.args[0]


def _plain_load(f: FunctionLowering, addresses: list[SSAValue], element: Attribute, width: int) -> SSAValue:
    type_ = vector_type(element, width)
    alignment = width * bit_width(element) // 8
    return f.b.concat([f.b.load(address, type_, alignment) for address in addresses])


def _others(f: FunctionLowering, other: SSAValue | None, accesses: Accesses) -> list[SSAValue]:
    """What masked-off elements hold, as the operand of a load: nothing, a scalar or a vector of what is loaded."""
    if other is None:
        return []
    rep = f.values[other]
    if not registers.is_splat(rep):
        rep = registers.vector(f.b, rep, accesses.count)
        if accesses.loaded != accesses.count:
            rep = f.b.permute(rep, accesses.registers)
    return [to_memory(f, rep)]


def _hinted_load(
    f: FunctionLowering,
    op: Operation,
    type_: Attribute,
    width: int,
    addresses: list[SSAValue],
    masks: list[SSAValue],
    others: list[SSAValue],
) -> SSAValue:
    """A vector of `type_`, `width` elements from each address, with the hints of `op`."""
    policies, properties = _as_hinted(f, op, width)
    properties["operandSegmentSizes"] = i32_array((len(addresses), len(masks), len(others), len(policies)))
    if is_true(op.properties.get("isVolatile")):
        properties["is_volatile"] = _UNIT
    return f.b.value(nvvm.LoadGlobalOp, (*addresses, *masks, *others, *policies), type_, properties)


@lowers(tt.StoreOp)
def store(f: FunctionLowering, op: tt.StoreOp) -> None:
    """`st.global`, by one of the threads that hold the same element."""
    pointer, value = op.ptr, op.value
    data = to_memory(f, f.vector(value))
    width = access_width(f.module.axis, op)
    accesses = Accesses(f, pointer, width.width)
    facts = f.facts(pointer.type).layout if instance_of(pointer.type, TensorType) else None
    own = f.representative(facts)
    if accesses.replicated:
        data = f.b.permute(data, accesses.registers)
    if width.is_split:
        _split_store(f, op, accesses, data, own)
        return
    remark_single_elements(op, accesses)
    addresses = [registers.element(f.b, f.values[pointer], start) for start in accesses.starts]
    masks = store_masks(f, accesses, _mask_of_store(f, accesses, op), own)
    cache, evict = cache_hint(op)
    if not masks and not cache and not evict:
        _plain_store(f, addresses, data, accesses.width)
        return
    _hinted_store(f, op, data, accesses.width, addresses, masks)


MOST_KEPT_MASKS = 4
"""Masks of a load that a thread keeps until the store, of seven predicate registers: with more, one is left for the comparisons in between (int8
quantization of rows of 2048 by a warp took 120 registers for 72, so that an SM held 17 CTAs for 28; 2026-11-28)."""


def _mask_of_store(f: FunctionLowering, accesses: Accesses, op: tt.StoreOp) -> Registers | None:
    """The mask, of other numbers than those of a load with the same where they would be too many to keep."""
    if op.mask is None:
        return None
    found, equal = f.values[op.mask], f.equal_registers(op.mask)
    distinct = len(accesses.starts) if equal is None else len({equal[1][start] for start in accesses.starts})
    return registers.computed_otherwise(found) if distinct > MOST_KEPT_MASKS and _follows_all_loads(op) else found


def _follows_all_loads(op: tt.StoreOp) -> bool:
    """Whether a reduction or scan is between a load with the mask of a store and the store. Without one, an element is stored as soon as it is loaded.

    A mask from outside a loop is kept in any case.
    """
    is_after = False
    before = op.prev_op
    while before is not None:
        if isinstance(before, tt.LoadOp) and before.mask is op.mask:
            return is_after and isinstance(op.mask, OpResult) and op.mask.op.parent is op.parent
        is_after |= isinstance(before, tt.ReduceOp | tt.ScanOp)
        before = before.prev_op
    return False


def _split_store(f: FunctionLowering, op: tt.StoreOp, accesses: Accesses, data: SSAValue, own: SSAValue | None) -> None:
    """Whole vectors, then in a branch the elements of those that the mask ends in."""
    pointer, mask = op.ptr, op.mask
    assert mask is not None
    split = _SplitMask(f, mask, accesses, own)
    addresses = [registers.element(f.b, f.values[pointer], start) for start in accesses.starts]
    _hinted_store(f, op, data, accesses.width, addresses, split.whole)
    inside, after = f.new_block(), f.new_block()
    f.b.cond_branch(split.any_partial(), inside, after)
    f.b.move_to(inside)
    policies, properties = _as_hinted(f, op, accesses.width)
    masks = split.elements()
    properties["operandSegmentSizes"] = i32_array((1, len(addresses), len(masks), len(policies)))
    f.b.operation(nvvm.StorePartialOp, (data, *addresses, *masks, *policies), (), properties)
    f.b.branch(after)
    f.b.move_to(after)


def _hinted_store(
    f: FunctionLowering,
    op: Operation,
    data: SSAValue,
    width: int,
    addresses: list[SSAValue],
    masks: list[SSAValue],
) -> None:
    """Stores `width` elements of `data` at each address, with the hints of `op`."""
    policies, properties = _as_hinted(f, op, width)
    properties["operandSegmentSizes"] = i32_array((1, len(addresses), len(masks), len(policies)))
    f.b.operation(nvvm.StoreGlobalOp, (data, *addresses, *masks, *policies), (), properties)


def _plain_store(f: FunctionLowering, addresses: list[SSAValue], data: SSAValue, width: int) -> None:
    alignment = width * bit_width(lane_type(data.type)) // 8
    for number, address in enumerate(addresses):
        first = number * width
        f.b.store(f.b.permute(data, range(first, first + width)), address, alignment)


MIN_COPY_BITS = 32


@lowers(ttg.AsyncCopyGlobalToLocalOp)
def async_copy(f: FunctionLowering, op: ttg.AsyncCopyGlobalToLocalOp) -> None:
    source, target, mask = op.src, op.destination, op.mask
    view = f.values[target]
    assert isinstance(view, SharedView)
    plan, offset = _plan(f, op, source, target, view)
    representative = _representative(f, source)
    if plan.vector * plan.bitwidth < MIN_COPY_BITS:
        remark_narrow_load(op, source, mask, plan.bitwidth, f.module.axis)
        _copy_by_registers(f, plan, source, mask, view, offset, representative)
    else:
        _copy(f, plan, source, mask, view, offset, representative)
    f.values[op.results[0]] = None


def _plan(
    f: FunctionLowering, op: ttg.AsyncCopyGlobalToLocalOp, source: SSAValue, target: SSAValue, view: SharedView
) -> tuple[PlannedMemoryAccess, int]:
    """The accesses, as wide as the addresses, the mask and both layouts allow, and the view's offset in bytes."""
    assert instance_of(source.type, TensorType)
    type_ = memdesc(target)
    bits = memory_bits(type_)
    encoding = layout_of(source.type)
    assert isinstance(encoding, DistributedEncoding)
    registers_of = to_linear_layout(encoding, source.type.get_shape())
    offsets = registers_to_offsets(registers_of, to_linear_layout(shared_encoding(type_), buffer_shape(type_)))
    offset = slice_offset(type_, view.offsets)
    return plan_access(offsets, bits, access_width(f.module.axis, op).width, offset), offset * bits // 8


def _representative(f: FunctionLowering, source: SSAValue) -> SSAValue | None:
    """True in one of the threads of a block that hold the same elements; each block fills its own memory."""
    return f.zero_in(f.free_thread_mask(f.facts(source.type).layout))


def _copy(
    f: FunctionLowering,
    plan: PlannedMemoryAccess,
    source: SSAValue,
    mask: SSAValue | None,
    view: SharedView,
    offset: int,
    representative: SSAValue | None,
) -> None:
    b = f.b
    size = plan.vector_bytes
    predicate = [] if representative is None else [representative]
    properties = {
        "size": IntegerAttr(size, 32),
        "modifier": string_attr("cg" if size == 16 else "ca"),
        "operandSegmentSizes": i32_array((1, 1, int(mask is not None), len(predicate))),
    }
    for pointer, access in zip(addresses(f, plan, view.base, slice_offset=offset), plan.accesses, strict=True):
        first = access.registers[0]
        operands = [pointer, registers.element(b, f.values[source], first)]
        if mask is not None:
            operands.append(b.select(registers.element(b, f.values[mask], first), b.i32(size), b.i32(0)))
        b.operation(nvvm.CpAsyncOp, (*operands, *predicate), (), properties)


def _copy_by_registers(
    f: FunctionLowering,
    plan: PlannedMemoryAccess,
    source: SSAValue,
    mask: SSAValue | None,
    view: SharedView,
    offset: int,
    representative: SSAValue | None,
) -> None:
    """Loads element by element, then stores what was loaded."""
    b = f.b
    element = INTEGERS[plan.bitwidth]
    count = f.count(source)
    pointers = f.elements(source)
    masks = [b.constant(I1, 1)] * count if mask is None else f.elements(mask)
    properties = {
        "vector_width": IntegerAttr(1, 32),
        "operandSegmentSizes": i32_array((count, count, 0, 0)),
    }
    loaded = b.value(nvvm.LoadGlobalOp, (*pointers, *masks), vector_type(element, count), properties)
    store_shared(f, plan, loaded, view.base, mask=representative, slice_offset=offset)


@lowers(ttg.AsyncCommitGroupOp)
def async_commit_group(f: FunctionLowering, op: ttg.AsyncCommitGroupOp) -> None:
    f.b.operation(nvvm.CpAsyncCommitGroupOp, (), ())
    f.values[op.results[0]] = None


@lowers(ttg.AsyncWaitOp)
def async_wait(f: FunctionLowering, op: ttg.AsyncWaitOp) -> None:
    f.b.operation(nvvm.CpAsyncWaitGroupOp, (), (), {"n": op.num})
    f.values[op.results[0]] = None

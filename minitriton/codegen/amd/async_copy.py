"""Copies to LDS that pass by no register, waits for them, and reads of LDS that need no other wait.

    ttg.async_copy_global_to_local %p, %b     ->    rocdl.global.load.lds (select %mask, %p, null of the lane that is asked), the wave's offset
    amdg.async_wait {num_inst = 2}            ->    rocdl.s.waitcnt vmcnt(2)

A buffer that no instruction can fill (`plan_wave_copy`) is filled by way of registers. Where a mask is false, `other` or 0 is stored; buffers write 0 for
an offset outside of them. Counterpart of DirectToLdsLoadConversionBase in Triton's LoadStoreOpToLLVM.cpp, and of AsyncUtility.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, SSAValue

from minitriton.analysis.access_width import access_width
from minitriton.analysis.wave_copies import Copy, comes_from_wait, copied_type, wave_copy
from minitriton.codegen import registers
from minitriton.codegen.amd import buffers, lowers, memory
from minitriton.codegen.amd.buffers import OUTSIDE, descriptor
from minitriton.codegen.amd.memory import where
from minitriton.codegen.amd.text import AFTER_COPIES
from minitriton.codegen.amd.transposed_reads import transposed_load
from minitriton.codegen.amd.waits import LDS_ONLY, wait
from minitriton.codegen.lowering import shared
from minitriton.codegen.lowering.function import FunctionLowering, bit_sum
from minitriton.codegen.lowering.shared import (
    access_plan,
    addresses,
    memory_bits,
    memory_type,
    slice_offset,
    store_shared,
    to_memory,
)
from minitriton.codegen.registers import SharedView
from minitriton.codegen.types import I1, I8, I32, scalar_type, vector_type
from minitriton.dialects import amdg, rocdl, ttg
from minitriton.layouts.encodings import DistributedEncoding, PaddedShared
from minitriton.layouts.memory import local_access
from minitriton.layouts.wave_copy import WaveCopy

Emit = Callable[[SSAValue, SSAValue, SSAValue], object]
"""Starts a copy from an address or offset to LDS, of so many bytes."""


@lowers(ttg.AsyncCopyGlobalToLocalOp)
def async_copy(f: FunctionLowering, op: ttg.AsyncCopyGlobalToLocalOp) -> None:
    """By `global_load_lds`; lanes with a false mask branch around it.

    LLVM 22 counts it as an access of LDS, which it is not for the hardware: what is read from LDS before it and used after it would be waited for too
    briefly (llvm-project pull request 179305). It is put where no such read is outstanding, between waits that the scheduler moves nothing past.
    """
    b, plan = f.b, _plan(f, op)
    if plan is None:
        width = access_width(f.module.axis, op).width
        _by_registers(f, op, lambda kept: memory.loaded(f, op, op.src, width, kept))
        return
    pointers, masks = f.values[op.src], None if op.mask is None else f.values[op.mask]

    def source(register: int) -> SSAValue:
        pointer = registers.element(b, pointers, register)
        if masks is None:
            return pointer
        return b.select(registers.element(b, masks, register), pointer, b.value(L.ZeroOp, (), pointer.type))

    def is_masked(pointer: SSAValue) -> SSAValue:
        return b.icmp("ne", pointer, b.value(L.ZeroOp, (), pointer.type))

    def emit(pointer: SSAValue, target: SSAValue, size: SSAValue) -> object:
        wait(f, LDS_ONLY)
        b.operation(rocdl.GlobalLoadLdsOp, (pointer, target, size), ())
        return wait(f, _NOTHING)

    _copy(f, op, plan, source, None if masks is None else is_masked, emit)


@lowers(amdg.BufferLoadToLocalOp)
def buffer_load_to_local(f: FunctionLowering, op: amdg.BufferLoadToLocalOp) -> None:
    """By `buffer_load ... lds`; a false mask is an offset outside, unless `other` is there."""
    b, plan = f.b, _plan(f, op)
    if plan is None:
        _by_registers(f, op, lambda kept: buffers.loaded(f, op, kept))
        return
    offsets, masks, resource = (
        f.values[op.offsets],
        None if op.mask is None else f.values[op.mask],
        descriptor(f, op.ptr),
    )
    scale = memory_bits(copied_type(op)[1]) // 8

    def source(register: int) -> SSAValue:
        offset = b.mul(registers.element(b, offsets, register), b.i32(scale))
        if masks is None:
            return offset
        return b.select(registers.element(b, masks, register), offset, b.i32(-OUTSIDE))

    def is_inside(offset: SSAValue) -> SSAValue:
        return b.icmp("ne", offset, b.i32(-OUTSIDE))

    def emit(offset: SSAValue, target: SSAValue, size: SSAValue) -> object:
        return b.operation(rocdl.RawPtrBufferLoadLdsOp, (resource, target, size, offset), ())

    _copy(f, op, plan, source, None if op.other is None or masks is None else is_inside, emit)


def _view(f: FunctionLowering, op: Copy) -> tuple[SharedView, ttg.MemDescType]:
    buffer = op.dest if isinstance(op, amdg.BufferLoadToLocalOp) else op.destination
    view = f.values[buffer]
    assert isinstance(view, SharedView)
    return view, copied_type(op)[1]


def _plan(f: FunctionLowering, op: Copy) -> WaveCopy | None:
    view, type_ = _view(f, op)
    f.values[op.results[0]] = None
    return wave_copy(f.module.axis, op, f.module.target.sm, slice_offset(type_, view.offsets))


def _copy(
    f: FunctionLowering,
    op: Copy,
    plan: WaveCopy,
    source: Callable[[int], SSAValue],
    acts: Callable[[SSAValue], SSAValue] | None,
    emit: Emit,
) -> None:
    """The instructions of a plan: `source` gives a register's address, with what stands for a false mask; `acts` says whether it does not."""
    b = f.b
    view, type_ = _view(f, op)
    lane_bits = f.module.lane_bits
    lanes = [*plan.lanes, *[0] * (lane_bits - len(plan.lanes)), *plan.warp_lanes]
    asked = f.shared_index(lanes) if plan.asks_other_lanes else None
    own = _offset_of_wave(f, plan)
    bits = memory_bits(type_)
    size = b.i32(plan.vector * bits // 8)
    free = f.facts(copied_type(op)[0]).layout.free_masks.get("warp", 0) << lane_bits
    always = f.zero_in((1 << lane_bits) - plan.acting | free)
    for access in plan.accesses:
        address = source(access.register)
        if asked is not None:
            lane = b.xor(asked, b.i32(access.lane)) if access.lane else asked
            address = f.module.info.shuffle(b, address, lane, "idx")
        target = b.gep(view.base, _padded(f, type_, b.xor(own, b.i32(access.offset)) if access.offset else own), I8)
        conditions = [each for each in (always, acts and acts(address)) if each is not None]
        start = partial(_started, emit, address, target, size)
        if conditions:
            where(b, conditions[0] if len(conditions) == 1 else b.and_(*conditions), (), start)
        else:
            start()
    if acts is not None:
        _store_others(f, op, plan, view, type_)


def _started(emit: Emit, address: SSAValue, target: SSAValue, size: SSAValue) -> list[SSAValue]:
    emit(address, target, size)
    return []


def _offset_of_wave(f: FunctionLowering, plan: WaveCopy) -> SSAValue:
    """Where the wave writes, in a scalar register."""
    b = f.b
    if not any(plan.warp):
        return b.i32(0)
    with b.in_prologue():
        wave = b.value(rocdl.ReadfirstlaneOp, (b.lshr(f.thread_id(), f.module.lane_bits),), I32)
        found = bit_sum(b, None, 0, wave, plan.warp)[0]
    assert found is not None
    return found


def _padded(f: FunctionLowering, type_: ttg.MemDescType, offset: SSAValue) -> SSAValue:
    """An offset in bytes with the padding before it."""
    b, encoding = f.b, ttg.layout_of(type_)
    if not isinstance(encoding, PaddedShared):
        return offset
    scale = memory_bits(type_) // 8
    result = offset
    for interval, padding in zip(encoding.intervals, encoding.paddings, strict=True):
        steps = b.lshr(offset, (interval * scale).bit_length() - 1)
        result = b.add(result, b.mul(steps, b.i32(padding * scale)))
    return result


def _store_others(f: FunctionLowering, op: Copy, plan: WaveCopy, view: SharedView, type_: ttg.MemDescType) -> None:
    """Stores `other`, or 0, where the mask is false."""
    assert op.mask is not None
    b, source = f.b, copied_type(op)[0]
    layout, encoding = ttg.layout_of(source), shared.shared_encoding(type_)
    assert isinstance(layout, DistributedEncoding)
    offset = slice_offset(type_, view.offsets)
    memory_plan = local_access(
        layout, encoding, type_.get_shape(), memory_bits(type_), shared.buffer_shape(type_), offset
    )
    kept = memory_type(scalar_type(type_.element_type))
    count = f.count(op.mask)
    others = b.constant(vector_type(kept, count), 0) if op.other is None else to_memory(f, f.vector(op.other))
    own = f.zero_in(f.free_thread_mask(f.facts(source).layout))
    scale = offset * memory_bits(type_) // 8
    for pointer, access in zip(addresses(f, memory_plan, view.base, 0, scale), memory_plan.accesses, strict=True):
        for first in range(0, len(access.registers), plan.vector):
            part = access.registers[first : first + plan.vector]
            mask = b.xor(registers.element(b, f.values[op.mask], part[0]), b.constant(I1, 1))
            mask = mask if own is None else b.and_(own, mask)
            target = b.gep(pointer, first * memory_bits(type_) // 8, I8)
            f.module.info.store_shared(b, b.permute(others, part), target, mask)


def _by_registers(f: FunctionLowering, op: Copy, load: Callable[[Attribute], SSAValue]) -> None:
    """Loads, and stores to LDS."""
    view, type_ = _view(f, op)
    source = copied_type(op)[0]
    plan, offset = access_plan(f, source, type_, view, by_matrix=False)
    own = f.zero_in(f.free_thread_mask(f.facts(source).layout))
    value = load(memory_type(scalar_type(type_.element_type)))
    store_shared(f, plan, value, view.base, mask=own, slice_offset=offset)


# Waits ------------------------------------------------------------------------------------------------------------------

_VMCNT_MOST = 63
_NO_VMCNT, _NOTHING = 0x3F70, 0xFF7F
"""The counters of LDS and exports at their most (MI300 ISA, "S_WAITCNT")."""


@lowers(ttg.AsyncCommitGroupOp)
def commit(f: FunctionLowering, op: ttg.AsyncCommitGroupOp) -> None:
    """Nothing: the hardware counts instructions."""
    f.values[op.results[0]] = None


@lowers(amdg.AsyncWaitOp, ttg.AsyncWaitOp)
def wait_for_copies(f: FunctionLowering, op: amdg.AsyncWaitOp | ttg.AsyncWaitOp) -> None:
    """`s_waitcnt vmcnt`; for all instructions where the op counts groups."""
    count = min(_VMCNT_MOST, op.num_inst.value.data) if isinstance(op, amdg.AsyncWaitOp) else 0
    wait(f, count & 0xF | count >> 4 << 14 | _NO_VMCNT)
    f.values[op.results[0]] = None


@lowers(ttg.LocalLoadOp)
def local_load(f: FunctionLowering, op: ttg.LocalLoadOp) -> None:
    """After a wait for the copies of the buffer, its loads are marked: LLVM inserts no more waits for them."""
    before = f.b.block.last_op
    if not transposed_load(f, op):
        shared.local_load(f, op)
    if op.token is None or not comes_from_wait(op.token):
        return
    made = f.b.block.first_op if before is None else before.next_op
    while made is not None:
        if isinstance(made, L.LoadOp | rocdl.DsReadTrOp):
            made.attributes[AFTER_COPIES] = UnitAttr()
        made = made.next_op

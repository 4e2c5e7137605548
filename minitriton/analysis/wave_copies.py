"""How an op that copies to LDS is done on AMD's GPUs: by which instructions (`WaveCopy`), and how many of them each wave issues.

ttg.async_copy_global_to_local %p, %b : tensor<64x64x!tt.ptr<f16>, #blocked> -> memdesc<64x64xf16, #shared>       16 bytes a lane, 2 instructions
"""

from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from minitriton.analysis.access_width import access_width, buffer_width, run_in_buffer
from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.lattice import pointee_bits
from minitriton.analysis.in_flight.rings import VIEWS
from minitriton.analysis.shared_memory.membar import can_skip_barrier
from minitriton.dialects import ttg
from minitriton.dialects.amdg import AsyncWaitOp, BufferLoadToLocalOp
from minitriton.dialects.fast_paths.op_access import operand_values
from minitriton.layouts.encodings import DistributedEncoding, PaddedShared, SharedEncoding
from minitriton.layouts.memory import registers_to_offsets
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.layouts.wave_copy import SIZES, WaveCopy, plan_wave_copy
from minitriton.rewriting.constants import int_constant

Copy = ttg.AsyncCopyGlobalToLocalOp | BufferLoadToLocalOp


def copied_type(op: Copy) -> tuple[TensorType, ttg.MemDescType]:
    """The tensor of addresses or offsets, and the buffer."""
    if isinstance(op, BufferLoadToLocalOp):
        return cast(TensorType, op.offsets.type), cast(ttg.MemDescType, op.dest.type)
    return cast(TensorType, op.src.type), cast(ttg.MemDescType, op.destination.type)


def wave_copy(facts: AxisInfoAnalysis, op: Copy, arch: str, slice_offset: int = 0) -> WaveCopy | None:
    """The instructions of an op whose view begins `slice_offset` elements after its buffer; None if it goes by registers."""
    source, buffer = copied_type(op)
    layout, shared = ttg.layout_of(source), ttg.layout_of(buffer)
    assert isinstance(layout, DistributedEncoding) and isinstance(shared, SharedEncoding)
    if isinstance(op, BufferLoadToLocalOp):
        width = max(buffer_width(facts, op.ptr, op.offsets, op.mask), op.contiguity.value.data)
        width, bits = min(width, run_in_buffer(source, buffer)), pointee_bits(op.ptr.type)
    else:
        width, bits = access_width(facts, op).width, pointee_bits(op.src.type)
    is_padded = isinstance(shared, PaddedShared)
    whole = shared.shape if is_padded else buffer.get_alloc_shape()[-buffer.get_num_dims() :]
    offsets = registers_to_offsets(to_linear_layout(layout, source.get_shape()), to_linear_layout(shared, whole))
    interval = min(shared.intervals) if is_padded else None
    return plan_wave_copy(offsets, max(8, bits), width, SIZES.get(arch, ()), slice_offset, interval)


def instructions_of_every_wave(facts: AxisInfoAnalysis, op: Copy, arch: str) -> int:
    """How many instructions each wave is sure to issue: none of an op that a wave may branch around, or that goes by registers and waits."""
    may_branch = op.mask is not None and (op.other is not None or not isinstance(op, BufferLoadToLocalOp))
    source, _ = copied_type(op)
    layout = ttg.layout_of(source)
    assert isinstance(layout, DistributedEncoding)
    warps = to_linear_layout(layout, source.get_shape()).bases.get("warp", ())
    plan = None if may_branch or any(not any(basis) for basis in warps) else wave_copy(facts, op, arch)
    return 0 if plan is None else len(plan.accesses)


def comes_from_wait(token: SSAValue) -> bool:
    """Whether all that gives this token is a wait for copies."""
    pending, seen = [token], set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, OpResult) and isinstance(value.op, ttg.AsyncWaitOp | AsyncWaitOp):
            continue
        loop = value.block.parent_op() if isinstance(value, BlockArgument) else None
        if not isinstance(value, BlockArgument) or not isinstance(loop, scf.ForOp) or value.index == 0:
            return False
        last = loop.body.block.last_op
        assert last is not None
        pending += [operand_values(loop)[value.index + 2], operand_values(last)[value.index - 1]]
    return True


def apart_by_waits(before: Operation, after: Operation) -> bool:
    """`can_skip_barrier`, and copies and reads of rings that a wait, which a barrier follows, keeps apart: what a read of waited-for copies finds is there,
    and an iteration's wait is between its copies and the reads of the iteration before."""
    if isinstance(before, Copy) and _reads_waited_for(after):
        return True
    if isinstance(after, Copy) and _reads_waited_for(before) and before.parent is after.parent:
        return _block_of_ring(after) is not after.parent
    if isinstance(before, Copy) and isinstance(after, Copy):
        first, second = _slot(before), _slot(after)
        return None not in (first, second) and first != second
    return can_skip_barrier(before, after)


def _reads_waited_for(op: Operation) -> bool:
    return isinstance(op, ttg.LocalLoadOp) and op.token is not None and comes_from_wait(op.token)


def _buffer(op: Copy) -> SSAValue:
    return op.dest if isinstance(op, BufferLoadToLocalOp) else op.destination


def _slot(op: Copy) -> int | None:
    """The constant number of the buffer of a ring that an op copies to."""
    slot = _buffer(op).owner
    return int_constant(slot.index) if isinstance(slot, ttg.MemDescIndexOp) else None


def _block_of_ring(op: Copy) -> Block | None:
    """Where the memory that an op copies to is allocated."""
    buffer = _buffer(op)
    while isinstance(buffer, OpResult) and isinstance(buffer.op, VIEWS):
        buffer = operand_values(buffer.op)[0]
    return buffer.owner.parent if isinstance(buffer.owner, Operation) else None

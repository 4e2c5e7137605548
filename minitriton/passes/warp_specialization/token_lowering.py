"""Last step: tokens become two rings of mbarriers, one for full buffers and one for empty ones.

    %t = nvws.create_token                           %full, %empty = ttg.local_alloc; ttng.init_barrier ...; gpu.barrier
    nvws.producer_acquire %t, %i, %phase     =>      ttng.wait_barrier %empty[%i], %phase ^ 1
    nvws.producer_commit %t, %i                      ttng.arrive_barrier %full[%i]
    nvws.consumer_wait %t, %i, %phase                ttng.wait_barrier %full[%i], %phase
    nvws.consumer_release %t, %i                     ttng.arrive_barrier %empty[%i], 128

All buffers are empty at first: a wait for the parity opposite to that of the first phase returns at once (PTX ISA, "mbarrier"). `cp.async` arrives
at the full mbarrier by itself when it is done. Answers to WSLowerToken.cpp.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Operation, SSAValue

from minitriton.dialects import arith, gpu, nvws, ttg, ttng
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.passes.warp_specialization.buffers import barrier_ring_type, view_in
from minitriton.passes.warp_specialization.task_ids import TaskInserter, tasks_of
from minitriton.rewriting.insertion import Inserter

THREADS = 128
"""Threads of a warp group, each of which arrives."""

_TokenUser = nvws.ProducerAcquireOp | nvws.ProducerCommitOp | nvws.ConsumerWaitOp | nvws.ConsumerReleaseOp


class _Rings(NamedTuple):
    full: SSAValue
    empty: SSAValue
    load_type: nvws.TokenLoadType


def lower_tokens(root: Operation) -> None:
    """Replaces all tokens in `root` and what waits for them."""
    for op in ops_in(root):
        if isinstance(op, nvws.CreateTokenOp):
            _lower(op)


def _lower(token: nvws.CreateTokenOp) -> None:
    rings = _create_rings(token)
    for use in tuple(token.result.uses):
        user = use.operation
        if isinstance(user, ttg.WarpSpecializeOp):
            _capture(user, use.index, rings)
        else:
            _lower_user(user, rings)
    assert token.parent is not None
    token.parent.erase_op(token)


def _create_rings(token: nvws.CreateTokenOp) -> _Rings:
    at = Inserter.before(token)
    length = token.num_buffers.value.data
    load_type = token.LOAD_TYPES[token.load_type.value.data]
    full, empty = (at.value(ttg.LocalAllocOp(None, barrier_ring_type(length))) for _ in range(2))
    arrivals = 1 if load_type is nvws.TokenLoadType.TMA_LOAD_OP else THREADS
    for number in range(length):
        index = at.integer(i32, number)
        for ring, count in ((full, arrivals), (empty, THREADS)):
            at.insert(ttng.InitBarrierOp(at.value(view_in(ring, index)), count=count))
    at.insert(gpu.BarrierOp.create())
    return _Rings(full, empty, load_type)


def _capture(op: ttg.WarpSpecializeOp, position: int, rings: _Rings) -> None:
    """The partitions get both rings in place of the token."""
    op.operands = [*(value for index, value in enumerate(op.operands) if index != position), rings.full, rings.empty]
    for region in op.partition_regions:
        block = region.block
        argument = block.args[position]
        full, empty = (block.insert_arg(ring.type, len(block.args)) for ring in (rings.full, rings.empty))
        for use in tuple(argument.uses):
            _lower_user(use.operation, _Rings(full, empty, rings.load_type))
        block.erase_arg(argument)


def _lower_user(op: Operation, rings: _Rings) -> None:
    assert isinstance(op, _TokenUser)
    at = TaskInserter.before_op(op, tasks_of(op))
    waits_for_empty = isinstance(op, nvws.ProducerAcquireOp | nvws.ConsumerReleaseOp)
    barrier = at.value(view_in(rings.empty if waits_for_empty else rings.full, op.idx))
    if isinstance(op, nvws.ProducerAcquireOp | nvws.ConsumerWaitOp):
        phase: SSAValue = op.phase
        plain = Inserter.before(op)
        if isinstance(op, nvws.ProducerAcquireOp):
            phase = plain.value(arith.XOrIOp(phase, plain.integer(i1, 1)))
        at.insert(ttng.WaitBarrierOp(barrier, plain.value(arith.ExtUIOp(phase, i32))))
    elif isinstance(op, nvws.ConsumerReleaseOp):
        at.insert(ttng.ArriveBarrierOp(barrier, count=THREADS))
    elif rings.load_type is nvws.TokenLoadType.ASYNC_LOAD_OP:
        at.insert(ttng.AsyncCopyMbarrierArriveOp(barrier, no_increment=True))
    else:
        at.insert(ttng.ArriveBarrierOp(barrier, count=THREADS))
    assert op.parent is not None
    op.parent.erase_op(op)

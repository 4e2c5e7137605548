"""Descriptors that a pipelined loop makes: each iteration writes its tensor map to another of several places in global memory.

    scf.for ...                                          %maps = ttg.global_scratch_alloc : 3 * 128 bytes
      %d = tt.make_tensor_descriptor ...        =>       scf.for ... iter_args(%n = 0)
                                                           ttng.tensormap_create %maps + 128 * %n, ...
                                                           %d = ttng.reinterpret_tensor_descriptor %maps + 128 * %n
                                                           yield (%n + 1) % 3

A copy that is under way may still read the map of the iteration before. Answers to lowerTMADescriptors in
lib/Dialect/TritonGPU/Transforms/Pipeliner/PipeliningUtility.cpp.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import i8, i32
from xdsl.ir import Block, Operation, OpResult, SSAValue

from minitriton.dialects import arith, tt, ttg, ttng
from minitriton.dialects.fast_paths.op_access import last_op_of, operand_values
from minitriton.dialects.fast_paths.operations import ops_of
from minitriton.dialects.tt.types import pointer_type
from minitriton.passes.loop_signature import append_result
from minitriton.passes.pipelining.loops import body_ops
from minitriton.passes.pipelining.rings import Placer, carry, hand_on, next_of_ring
from minitriton.passes.pipelining.schedule import Schedule
from minitriton.passes.tensor_map_writing import TENSOR_MAP_ALIGNMENT, TENSOR_MAP_BYTES, write_tensor_map
from minitriton.rewriting.constants import constant_op, int_attr
from minitriton.rewriting.insertion import Inserter


def rotate_tensor_maps(loop: scf.ForOp, schedule: Schedule) -> None:
    """Gives every descriptor made in `loop` as many places as its last copy needs to end; not one that a `while` makes, whose copies end in it."""
    made = [op for op in ops_of(loop, tt.MakeTensorDescOp) if not _is_in_while(op, loop)]
    if not made:
        return
    count = schedule.stages - 1 + any(isinstance(op, ttng.WarpGroupDotOp) for op in body_ops(loop))
    at = Inserter.before(loop)
    places: list[SSAValue] = []
    for op in made:
        at.location = op.location
        scratch = ttg.GlobalScratchAllocOp(
            pointer_type(i8), nbytes=count * TENSOR_MAP_BYTES, alignment=TENSOR_MAP_ALIGNMENT
        )
        places.append(at.value(scratch))
    at.location = loop.location
    zero, one = at.integer(i32, 0), at.integer(i32, 1)
    numbers = carry(loop, [zero] * len(made))
    size = at.integer(i32, count)
    following = [
        _write(op, place, number, (size, zero, one), loop, schedule)
        for op, place, number in zip(made, places, numbers, strict=True)
    ]
    hand_on(loop, following)


def _is_in_while(op: Operation, loop: scf.ForOp) -> bool:
    around = op.parent_op()
    while around is not None and around is not loop:
        if isinstance(around, scf.WhileOp):
            return True
        around = around.parent_op()
    return False


def _write(
    op: tt.MakeTensorDescOp,
    place: SSAValue,
    number: SSAValue,
    ring: tuple[SSAValue, SSAValue, SSAValue],
    loop: scf.ForOp,
    schedule: Schedule,
) -> SSAValue:
    """The map in place of `op`, which nothing uses any more; the number of the next iteration's place."""
    at = Inserter.before(op)
    target: Inserter | Placer = at
    if op in schedule:
        target = Placer(schedule, at, schedule.places[op])
    width = target.value(constant_op(int_attr(i32, TENSOR_MAP_BYTES)))
    map_ = target.value(tt.AddPtrOp(place, target.value(arith.MuliOp(width, number))))
    write_tensor_map(target, map_, op)
    target.insert(ttng.TensormapFenceproxyAcquireOp(map_))
    descriptor = target.value(ttng.ReinterpretTensorDescOp(map_, op.result.type))
    op.results[0].replace_all_uses_with(descriptor)
    size, zero, one = ring
    following, _ = next_of_ring(target, number, size, zero, one)
    return _handed_out(op, loop, number, following)


def _handed_out(op: Operation, loop: scf.ForOp, number: SSAValue, following: SSAValue) -> SSAValue:
    """What `number` is behind the ops of the loop's body that `op` stands in, if it is `following` behind `op`."""
    block = op.parent
    assert block is not None
    while block is not loop.regions[0].block:
        around = block.parent_op()
        assert around is not None
        if isinstance(around, scf.ForOp):
            (inner,) = carry(around, [number])
            number.replace_uses_with_if(inner, lambda use, loop=around: _is_in(use.operation, loop))
            hand_on(around, [following])
            following = around.results[-1]
        else:
            assert isinstance(around, scf.IfOp)
            following = _out_of_branch(around, block, following, number)
        block = around.parent
        assert block is not None
    return following


def _is_in(op: Operation, around: Operation) -> bool:
    return op is not around and around.is_ancestor(op)


def _out_of_branch(branch: scf.IfOp, taken: Block, following: SSAValue, number: SSAValue) -> OpResult:
    """A new result of `branch`: `following` from the block `taken`, `number` from the other."""
    for region in branch.regions:
        if not region.blocks:
            region.add_block(Block([scf.YieldOp()]))
        end = last_op_of(region.block)
        end.operands = [*operand_values(end), following if region.block is taken else number]
    return append_result(branch, number.type)

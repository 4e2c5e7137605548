"""`minitriton-share-pointer-steps`: pointers that a loop of wgmma dots moves along share what they have moved by.

    scf.for iter_args(%a = %a0, %b = %b0) {        scf.for iter_args(%i = 0, %j = 0) {
      %a1 = tt.addptr %a, %dense_64                  %i1 = arith.addi %i, 64 {ttg.opaque}
      %b1 = tt.addptr %b, %splat_stride      =>      %a1 = tt.addptr %a0, splat %i1
      ... copies, dots                           %j1 = arith.addi %j, %stride {ttg.opaque}
                                                     %b1 = tt.addptr %b0, splat %j1

In: TTGIR loops with wgmma dots, copies, and pointers that move by the same number of elements in every iteration. Out: a counter of
64 bits in place of each such tensor of pointers; tensors with the same step share one.

A thread has about a dozen of these pointers. LLVM's strength reduction makes of them what takes the fewest registers: one of them, and
offsets that ptxas makes anew in every iteration (`IMAD.WIDE`, two registers at once), which are slow to issue while tensor cores have
the registers. f16 matmul of 8192x8192x8192 lost 8 % to them on an H200, with b column by column 15 %, tf32 14 % (2026-11-23). LLVM knows
nothing of a counter that is `ttg.opaque`: an address is one sum, and the pointers of before the loop stay in registers. Where there is
no room for them, loops stay as they are.
"""

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr, i64
from xdsl.ir import OpResult, Region, SSAValue

from minitriton.analysis.axis_info.lattice import access_shape
from minitriton.analysis.in_flight.outstanding import dot_of
from minitriton.dialects import arith, tt, ttng
from minitriton.dialects.facts.launch import num_threads
from minitriton.dialects.facts.pass_attributes import OPAQUE
from minitriton.dialects.fast_paths.op_access import last_op_of
from minitriton.dialects.narrowing import instance_of
from minitriton.host.frozen import frozen
from minitriton.passes.pipelining.overlap_dots import OTHER_REGISTERS, REGISTERS, words_of
from minitriton.passes.pipelining.schedule import body_ops, loops_in
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.rewriting.constants import constant_attr, number_of
from minitriton.rewriting.regions import is_defined_outside
from minitriton.rewriting.rewriter import Inserter

Step = int | SSAValue
"""Elements an iteration: a constant, or an integer of before the loop."""


@register_pass
class SharePointerSteps(Pass, stage="llir"):
    """Gives loops of wgmma dots counters in place of pointers that all move alike."""

    name: ClassVar[str] = "minitriton-share-pointer-steps"
    acts_on = frozenset({ttng.WarpGroupDotOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE
    pointers: int = 16
    """Loops with more of them a thread stay as they are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every such loop."""
        threads = num_threads(op)
        for loop in list(loops_in(op)):
            dots = [each for each in body_ops(loop) if isinstance(each, ttng.WarpGroupDotOp)]
            moved = _moved_pointers(loop) if dots else []
            if not moved:
                continue
            pointers = _pointers(moved, threads)
            accumulators = sum(words_of(dot.results[0]) for dot in dots if dot_of(dot.c) not in dots) // threads
            if pointers <= self.pointers and accumulators + 2 * pointers <= REGISTERS - OTHER_REGISTERS:
                _share(loop, moved)


@frozen
class _MovedPointer:
    """Which value of the loop it is, the op that moves it, and by how much."""

    index: int
    move: tt.AddPtrOp
    step: Step


def _moved_pointers(loop: scf.ForOp) -> list[_MovedPointer]:
    block = loop.body.block
    found: list[_MovedPointer] = []
    for index, (argument, carried) in enumerate(zip(block.args[1:], last_op_of(block).operands, strict=True)):
        move = carried.op if isinstance(carried, OpResult) else None
        if isinstance(move, tt.AddPtrOp) and move.ptr is argument and instance_of(move.result.type, TensorType):
            step = _step(move.offset, loop)
            if step is not None:
                found.append(_MovedPointer(index, move, step))
    return found


def _step(offset: SSAValue, loop: scf.ForOp) -> Step | None:
    """What all elements of `offset` are in every iteration; None if they are not one."""
    number = number_of(constant_attr(offset))
    if isinstance(number, int):
        return number
    splat = offset.op if isinstance(offset, OpResult) else None
    return splat.src if isinstance(splat, tt.SplatOp) and is_defined_outside(splat.src, loop) else None


def _pointers(moved: Sequence[_MovedPointer], threads: int) -> int:
    """How many addresses a thread has where each access takes all elements that are contiguous in its layout."""
    count = 0
    for pointer in moved:
        type_ = pointer.move.result.type
        assert instance_of(type_, TensorType)
        together = access_shape(type_).contiguous_per_thread
        count += max(1, prod(type_.get_shape()) // (threads * together))
    return count


def _share(loop: scf.ForOp, moved: Sequence[_MovedPointer]) -> None:
    block, end = loop.body.block, last_op_of(loop.body.block)
    before = Inserter.before(loop)
    steps = list(dict.fromkeys(pointer.step for pointer in moved))
    zero = before.integer(i64, 0)
    counters = [block.insert_arg(i64, len(block.args)) for _ in steps]
    top = Inserter.before(block.ops.first or end)
    moved_by = [_counted(top, counter, _wide(before, step)) for counter, step in zip(counters, steps, strict=True)]
    gone = {pointer.index: steps.index(pointer.step) for pointer in moved}
    for pointer in moved:
        start, which = loop.iter_args[pointer.index], gone[pointer.index]
        argument = block.args[1 + pointer.index]
        if any(use.operation is not pointer.move for use in argument.uses):
            argument.replace_all_uses_with(_at(top, start, counters[which]))
        if any(use.operation is not end for use in pointer.move.result.uses):
            pointer.move.result.replace_all_uses_with(_at(Inserter.before(pointer.move), start, moved_by[which]))
    kept = [index for index in range(len(loop.iter_args)) if index not in gone]
    end.operands = [*(end.operands[index] for index in kept), *moved_by]
    for pointer in moved:
        block.erase_op(pointer.move)
    for index in sorted(gone, reverse=True):
        block.erase_arg(block.args[1 + index])
    starts = [*(loop.iter_args[index] for index in kept), *(zero for _ in steps)]
    loop.body.detach_block(block)
    new = scf.ForOp.create(
        operands=[loop.lb, loop.ub, loop.step, *starts],
        result_types=[start.type for start in starts],
        properties=loop.properties,
        attributes=loop.attributes,
        regions=[Region(block)],
    )
    before.insert(new)
    for position, index in enumerate(kept):
        new.results[position].name_hint = loop.results[index].name_hint
        loop.results[index].replace_all_uses_with(new.results[position])
    for index, which in gone.items():
        if loop.results[index].first_use is not None:
            there = _at(before, loop.iter_args[index], new.results[len(kept) + which])
            loop.results[index].replace_all_uses_with(there)
    assert loop.parent is not None
    loop.parent.erase_op(loop, safe_erase=False)


def _wide(at: Inserter, step: Step) -> SSAValue:
    """`step` with 64 bits."""
    if isinstance(step, int):
        return at.integer(i64, step)
    return step if step.type == i64 else at.value(arith.ExtSIOp(step, i64))


def _counted(at: Inserter, counter: SSAValue, step: SSAValue) -> SSAValue:
    add = at.insert(arith.AddiOp(counter, step))
    add.attributes[OPAQUE] = UnitAttr()
    return add.results[0]


def _at(at: Inserter, pointers: SSAValue, moved_by: SSAValue) -> SSAValue:
    """`pointers`, all moved by so many elements."""
    type_ = pointers.type
    assert instance_of(type_, TensorType)
    splat = at.value(tt.SplatOp(moved_by, TensorType(i64, type_.shape, type_.encoding)))
    return at.value(tt.AddPtrOp(pointers, splat))

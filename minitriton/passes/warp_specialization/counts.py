"""Fourth step: how often each channel has been used, as a number that loops and branches carry.

    scf.for %i = ... {                  scf.for %i = ... iter_args(%count = 0) {
      load; use                 =>        load; use                    buffer %count % buffers, phase (%count / buffers) & 1
    }                                     scf.yield %count + 1
                                        }

Each loop or branch in which values of channels are used has a count of its own. All loops and branches around it carry the count, in the order of the text,
after what they carried before. Counterpart of WSBuffer.cpp and CodePartitionUtility.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Block, Operation, SSAValue

from minitriton.dialects import arith, tt
from minitriton.dialects.fast_paths.op_access import last_op_of, ops_in
from minitriton.passes.loop_rewriting import append_result
from minitriton.passes.warp_specialization.channels import loop_around
from minitriton.passes.warp_specialization.task_propagation import (
    CannotSpecialize,
    TaskInserter,
    set_tasks,
    tasks_inside,
)


@dataclass
class Counts:
    """The counts of a function: which value is the count of a region inside a loop."""

    regions: list[Operation]

    def inside(self, op: Operation) -> list[Operation]:
        """The regions with a count that `op` is or holds, in the order of the text."""
        return [region for region in self.regions if op is region or op.is_ancestor(region)]

    def argument(self, loop: scf.ForOp, region: Operation) -> SSAValue:
        """The count of `region` as an argument of `loop`, which is or holds it."""
        counted = self.inside(loop)
        arguments = loop.body.block.args
        return arguments[len(arguments) - len(counted) + counted.index(region)]

    def of(self, op: Operation) -> SSAValue:
        """The count of the loop or branch that `op` stands in. Raises `CannotSpecialize` if that has none."""
        loop, region = loop_around(op), op.parent_op()
        if loop is None or region is None or region not in self.regions:
            raise CannotSpecialize(op, "a value is loaded in one loop or branch and used in another")
        return self.argument(loop, region)


def carry_counts(function: Operation, regions: list[Operation]) -> Counts:
    """Lets the loops and branches of `function` carry the counts of `regions`."""
    counts = Counts(regions)
    for op in [op for op in ops_in(function) if isinstance(op.parent_op(), tt.FuncOp)]:
        _carry(op, counts)
    return counts


def _carry(op: Operation, counts: Counts) -> None:
    if not counts.inside(op):
        return
    if isinstance(op, scf.ForOp):
        _carry_in_loop(op, counts)
    elif isinstance(op, scf.IfOp):
        _carry_in_branch(op, counts)
    else:
        raise CannotSpecialize(op, f"values go from one warp group to another in `{op.name}`")


def _at_end(block: Block, owner: Operation) -> TaskInserter:
    last = last_op_of(block)
    return TaskInserter(block, last, owner.location, tasks_inside(owner))


def _carry_in_loop(loop: scf.ForOp, counts: Counts) -> None:
    counted = counts.inside(loop)
    outer = loop_around(loop)
    before = TaskInserter.before_op(loop, tasks_inside(loop))
    starts = [before.integer(i64, 0) if outer is None else counts.argument(outer, region) for region in counted]
    body = loop.body.block
    arguments = [body.insert_arg(i64, len(body.args)) for _ in counted]
    for argument in arguments:
        argument.location = loop.location
        append_result(loop, i64)
    loop.operands = [*loop.operands, *starts]
    ends = _ends(loop, body, counts)
    if loop in counted:
        at = _at_end(body, loop)
        ends.insert(0, at.value(arith.AddiOp(arguments[0], at.integer(i64, 1))))
    last = last_op_of(body)
    last.operands = [*last.operands, *ends]


def _ends(owner: Operation, block: Block, counts: Counts) -> list[SSAValue]:
    """The counts of what stands in `block`, after it."""
    ends: list[SSAValue] = []
    for inner in list(block.ops):
        inside = counts.inside(inner)
        if inside:
            _carry(inner, counts)
            ends.extend(inner.results[len(inner.results) - len(inside) :])
    return ends


def _carry_in_branch(branch: scf.IfOp, counts: Counts) -> None:
    """The count grows where the branch is taken. A branch without `else` gets one, which hands the counts on."""
    counted = counts.inside(branch)
    then, tasks = branch.true_region.block, tasks_inside(branch)
    if not branch.false_region.blocks:
        otherwise = Block([scf.YieldOp()])
        branch.false_region.add_block(otherwise)
    otherwise = branch.false_region.block
    if any(counts.inside(op) for op in otherwise.ops):
        raise CannotSpecialize(branch, "values go from one warp group to another in `else`")
    for _ in counted:
        append_result(branch, i64)
    ends = _ends(branch, then, counts)
    loop = loop_around(branch)
    in_then, in_else = _at_end(then, branch), _at_end(otherwise, branch)
    if branch in counted:
        if loop is None:
            ends.insert(0, in_then.integer(i64, 1))
        else:
            one = in_then.integer(i64, 1)
            ends.insert(0, in_then.value(arith.AddiOp(counts.argument(loop, branch), one)))
    for block, values in (
        (then, ends),
        (otherwise, [in_else.integer(i64, 0) if loop is None else counts.argument(loop, each) for each in counted]),
    ):
        last = last_op_of(block)
        last.operands = [*last.operands, *values]
        set_tasks(last, tasks)


def buffer_and_phase(at: TaskInserter, count: SSAValue, buffers: int) -> tuple[SSAValue, SSAValue]:
    """Which buffer is next after `count` uses (i32), and the parity of the round (i1)."""
    length = at.value(arith.ExtSIOp(at.integer(i32, buffers), i64))
    rounds = at.value(arith.DivUIOp(count, length))
    index = at.value(arith.SubiOp(count, at.value(arith.MuliOp(rounds, length))))
    index = at.value(arith.TruncIOp(index, i32))
    parity = at.value(arith.AndIOp(rounds, at.integer(i64, 1)))
    return index, at.value(arith.TruncIOp(parity, i1))

"""Fourth step, its end: each task gets a region of `ttg.warp_specialize` with a copy of its ops.

    %i = ...          {0, 1}              ttg.warp_specialize(%p)
    scf.for ... {                   =>    default { %i = ...; scf.for ... { load } }
      load            {0}                 partition0(%q) { %i = ...; scf.for ... { use } }
      use             {1}
    }                 {0, 1}

A loop carries in each region only what the region needs. The producer is the default region; each consumer is a warp group that asks for
most of a thread's registers. Counterpart of WSSpecialize.cpp.
"""

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.fast_paths.op_access import defining, forward_name, last_op_of, ops_in
from minitriton.passes.warp_specialization.task_propagation import (
    CannotSpecialize,
    set_tasks,
    tasks_inside,
    tasks_of,
)
from minitriton.rewriting.regions import clone_op, is_defined_outside, is_inside

WARPS = 4
"""Warps of a consumer: a warp group."""
CONSUMER_REGISTERS = 232
"""Registers that a thread of a consumer asks for; what is left over goes to the producer (WSSpecialize.cpp)."""


def make_partitions(function: tt.FuncOp) -> None:
    """Moves the ops of `function` that have tasks into the regions of one `ttg.warp_specialize` at its end.

    Raises `CannotSpecialize` if a task needs what another one computes.
    """
    block = function.body.block
    last = last_op_of(block)
    originals = [op for op in block.ops if tasks_of(op)]
    tasks = tasks_inside(function)
    inside = {inner for op in originals for inner in ops_in(op)}
    regions = [_Task(task, inside).region(originals) for task in tasks]
    regions[0].block.add_op(ttg.WarpYieldOp())
    for region in regions[1:]:
        region.block.add_op(ttg.WarpReturnOp())
    for region in regions:
        end = last_op_of(region.block)
        end.location = function.location
    captures = _isolate(regions[1:])
    op = ttg.WarpSpecializeOp(
        captures,
        (),
        partition_num_warps=[WARPS] * (len(tasks) - 1),
        default_region=regions[0],
        partition_regions=regions[1:],
        requested_registers=[CONSUMER_REGISTERS] * (len(tasks) - 1),
    )
    op.location = op.partitions.location = originals[0].location
    block.insert_op_before(op, last)
    for original in reversed(originals):
        block.detach_op(original)
        original.drop_all_references()


class _Task:
    """Copies what one task does."""

    def __init__(self, task: int, originals: set[Operation]) -> None:
        self.task = task
        self.originals = originals
        self.values: dict[SSAValue, SSAValue] = {}

    def region(self, ops: list[Operation]) -> Region:
        """A region with the task's copies of `ops`."""
        block = Block()
        for op in ops:
            self._copy(op, block)
        return Region(block)

    def _copy(self, op: Operation, block: Block) -> None:
        if self.task not in tasks_of(op) and not isinstance(op, scf.YieldOp):
            return
        if isinstance(op, scf.ForOp):
            self._copy_loop(op, block)
        elif isinstance(op, scf.IfOp):
            self._copy_branch(op, block)
        elif op.regions and not isinstance(op, tt.ReduceOp):
            raise CannotSpecialize(op, f"`{op.name}` is not taken apart")
        else:
            self._check(op)
            copy = clone_op(op, self.values)
            for inner in ops_in(copy):
                set_tasks(inner, (self.task,))
            block.add_op(copy)

    def _check(self, op: Operation) -> None:
        """Raises if `op` uses what the task does not compute."""
        for inner in ops_in(op):
            for operand in inner.operands:
                self._mapped(operand, inner, op)

    def _mapped(self, value: SSAValue, user: Operation, within: Operation | None = None) -> SSAValue:
        found = self.values.get(value)
        if found is not None:
            return found
        owner = (
            value.block.parent_op()
            if isinstance(value, BlockArgument)
            else value.op
            if isinstance(value, OpResult)
            else None
        )
        if owner in self.originals and (within is None or is_defined_outside(value, within)):
            raise CannotSpecialize(user, "a warp group needs a value that another one computes")
        return value

    def _copy_loop(self, loop: scf.ForOp, block: Block) -> None:
        kept = [index for index in range(len(loop.results)) if self._needs(loop, index)]
        body = loop.body.block
        inner = Block(arg_types=[body.args[0].type, *(body.args[index + 1].type for index in kept)])
        low, high, step = (self._mapped(value, loop) for value in (loop.lb, loop.ub, loop.step))
        starts = [self._mapped(loop.iter_args[index], loop) for index in kept]
        copy = scf.ForOp(low, high, step, starts, Region(inner))
        copy.location = loop.location
        set_tasks(copy, (self.task,))
        block.add_op(copy)
        for old, new in zip((body.args[0], *(body.args[index + 1] for index in kept)), inner.args, strict=True):
            self.values[old] = new
            new.location = old.location
            forward_name(old, new)
        last = last_op_of(body)
        for op in body.ops:
            if op is not last:
                self._copy(op, inner)
        self._yield(last, kept, inner)
        for index, result in zip(kept, copy.results, strict=True):
            self.values[loop.results[index]] = result

    def _copy_branch(self, branch: scf.IfOp, block: Block) -> None:
        kept = [index for index, result in enumerate(branch.results) if self._is_needed(result, set())]
        blocks: list[Block] = []
        for region in branch.regions:
            if region.first_block is None:
                continue
            copy = Block()
            blocks.append(copy)
            last = last_op_of(region.block)
            for op in region.block.ops:
                if op is not last:
                    self._copy(op, copy)
            self._yield(last, kept, copy)
        condition = self._mapped(branch.cond, branch)
        new = scf.IfOp(
            condition,
            [branch.results[index].type for index in kept],
            Region(blocks[0]),
            Region(blocks[1]) if len(blocks) > 1 else None,
        )
        new.location = branch.location
        set_tasks(new, (self.task,))
        block.add_op(new)
        for index, result in zip(kept, new.results, strict=True):
            self.values[branch.results[index]] = result

    def _yield(self, last: Operation, kept: list[int], block: Block) -> None:
        copy = scf.YieldOp(*(self._mapped(last.operands[index], last) for index in kept))
        copy.location = last.location
        set_tasks(copy, (self.task,))
        block.add_op(copy)

    def _needs(self, loop: scf.ForOp, index: int) -> bool:
        """Whether the task uses what `loop` carries at `index`, in the loop or after it."""
        return self._is_needed(loop.results[index], set())

    def _is_needed(self, value: SSAValue, seen: set[SSAValue]) -> bool:
        """Whether an op of the task, other than what only hands values on, uses `value`."""
        if value in seen:
            return False
        seen.add(value)
        if (
            isinstance(value, OpResult)
            and isinstance(value.op, scf.ForOp)
            and self._is_needed(value.op.body.block.args[value.index + 1], seen)
        ):
            return True
        for use in value.uses:
            user = use.operation
            if isinstance(user, scf.YieldOp):
                parent = user.parent_op()
                if parent is not None and self._is_needed(parent.results[use.index], seen):
                    return True
            elif isinstance(user, scf.ForOp) and use.index >= 3:
                if self._is_needed(user.results[use.index - 3], seen):
                    return True
            elif self.task in tasks_of(user):
                return True
        return False


def _isolate(regions: list[Region]) -> list[SSAValue]:
    """Makes what the regions use from outside arguments of them, in the order of use; constants are copied. Those values."""
    used: dict[SSAValue, None] = {}
    for region in regions:
        for op in region.walk():
            for operand in op.operands:
                if not region.is_ancestor(operand.owner):
                    used[operand] = None
    captures: list[SSAValue] = []
    for value in used:
        constant = defining(value, arith.ConstantOp)
        if constant is None:
            captures.append(value)
        for region in regions:
            if constant is not None:
                copy = clone_op(constant, {})
                first = region.block.first_op
                assert first is not None
                region.block.insert_op_before(copy, first)
                new: SSAValue = copy.results[0]
            else:
                new = region.block.insert_arg(value.type, len(region.block.args))
            for use in tuple(value.uses):
                if is_inside(use.operation, region):
                    use.operation.operands[use.index] = new
            if isinstance(new, BlockArgument):
                forward_name(value, new)
    return captures

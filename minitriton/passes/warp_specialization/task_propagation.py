"""Second step: what an op uses belongs to its tasks too, and so do the loops and branches around it.

    %i = arith.muli %k, %c64                       {async_task_id = 0}
    %a = tt.descriptor_load %d[%x, %i]  {0}   =>   {async_task_id = 0}
    scf.for { ... }                                {async_task_id = 0, 1, 2}

A backward dataflow: the fact of a value is the set of tasks that need it, the join is the union. Counterpart of TaskIdPropagation.cpp
and WSTaskIdPropagate.cpp.

First step: what loads operands of dots is the producer's, the dots and all stores are the consumers'.

    %a = tt.descriptor_load ...                    {async_task_id = 0}
    %d = ttng.warp_group_dot %a, %b, %c     =>     {async_task_id = 1, 2}
    tt.store %p, %e                                {async_task_id = 1, 2}

Counterpart of WSTaskPartition.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from minitriton.analysis.slices.def_use import backward_ops
from minitriton.dialects import arith, tt, ttng
from minitriton.dialects.facts.memory_access import is_expensive_access
from minitriton.dialects.facts.region_flow import RegionFlow
from minitriton.dialects.fast_paths.operations import ops_in, ops_in_inner_first
from minitriton.dialects.llvm import AssumeOp
from minitriton.passes.warp_specialization.task_ids import (
    PRODUCER,
    CannotSpecialize,
    add_tasks_around,
    has_tasks,
    set_tasks,
    tasks_inside,
    tasks_of,
)


def partition_tasks(function: Operation, groups: int) -> None:
    """Gives ids to loads, dots and stores of `function`, for one producer and `groups` - 1 consumers.

    Nothing happens in a function that has ids already, or no loads of operands.
    """
    if groups <= 1 or tasks_inside(function):
        return
    ops = ops_in(function)
    dots = [op for op in ops if isinstance(op, ttng.WarpGroupDotOp)]
    if not dots or not any(isinstance(op, scf.ForOp) for op in ops):
        return
    loads = dict.fromkeys(op for dot in dots for op in _loads_of_operands(dot))
    if not loads:
        return
    consumers = range(PRODUCER + 1, PRODUCER + groups)
    for load in loads:
        set_tasks(load, (PRODUCER,))
    for op in ops:
        if isinstance(op, ttng.WarpGroupDotOp | tt.StoreOp | tt.DescriptorStoreOp):
            set_tasks(op, consumers)


def _loads_of_operands(dot: ttng.WarpGroupDotOp) -> list[Operation]:
    """The loads in the same iteration that the operands of `dot` are computed from."""
    found = (op for operand in (dot.a, dot.b) for op in backward_ops(operand, through_arguments=False))
    return [
        op
        for op in found
        if isinstance(op, tt.DescriptorLoadOp) or (isinstance(op, tt.LoadOp) and is_expensive_access(op))
    ]


Needs = dict[SSAValue, frozenset[int]]
"""Which tasks need a value."""
_NONE: frozenset[int] = frozenset()


def propagate_tasks(function: Operation) -> None:
    """Gives ids to all that the ops of `function` with ids need.

    Raises `CannotSpecialize` where an op with ids stands in something else than a loop, a branch or a reduction.
    """
    everyone = tasks_inside(function)
    for op in ops_in(function):
        if isinstance(op, AssumeOp) and not has_tasks(op):
            set_tasks(op, everyone)
    needs = _Propagation(function).needs
    for op in ops_in_inner_first(function):
        if op is function:
            continue
        if has_tasks(op) and not isinstance(op, arith.ConstantOp):
            add_tasks_around(op)
            continue
        values = op.results if op.results else op.operands
        tasks = _union(needs.get(value, _NONE) for value in values)
        if tasks:
            set_tasks(op, tasks)
            add_tasks_around(op)


def _union(sets: Iterable[frozenset[int]]) -> frozenset[int]:
    return _NONE.union(*sets)


class _Propagation:
    """Which tasks need each value: ops are visited until nothing changes."""

    def __init__(self, function: Operation) -> None:
        self.function = function
        self.needs: Needs = {}
        self._pending: dict[Operation, None] = dict.fromkeys(reversed(ops_in(function)[1:]))
        while self._pending:
            op = next(iter(self._pending))
            del self._pending[op]
            self._visit(op)

    def _need(self, value: SSAValue, tasks: frozenset[int]) -> None:
        known = self.needs.get(value, _NONE)
        if tasks <= known:
            return
        self.needs[value] = known | tasks
        if isinstance(value, OpResult):
            self._pending[value.op] = None
            for region in value.op.regions:
                for block in region.blocks:
                    if block.last_op is not None:
                        self._pending[block.last_op] = None
        elif isinstance(value, BlockArgument):
            around = value.block.parent_op()
            if around is not None:
                self._pending[around] = None
            if value.block.last_op is not None:
                self._pending[value.block.last_op] = None

    def _visit(self, op: Operation) -> None:
        parent = op.parent_op()
        flow = RegionFlow.of(op)
        if flow is not None:
            for branch in flow.branches(op):
                for passed, received in zip(branch.passed, branch.received, strict=False):
                    self._need(passed, self.needs.get(received, _NONE))
            return
        if isinstance(op, scf.YieldOp):
            if parent is not None:
                self._visit(parent)
            return
        if isinstance(op, tt.ReduceReturnOp) and isinstance(parent, tt.ReduceOp):
            for value, result in zip(op.operands, parent.results, strict=True):
                self._need(value, self.needs.get(result, _NONE))
            return
        tasks = frozenset(tasks_of(op)) if has_tasks(op) else _union(self.needs.get(each, _NONE) for each in op.results)
        if not tasks:
            return
        for operand in op.operands:
            self._need(operand, tasks)
        self._need_around(op, tasks)
        if isinstance(op, tt.ReduceOp):
            for inner in op.regions[0].block.ops:
                self._pending[inner] = None

    def _need_around(self, op: Operation, tasks: frozenset[int]) -> None:
        """The bounds of the loops around `op` and the conditions of the branches."""
        around = op.parent_op()
        while around is not None and around is not self.function:
            if isinstance(around, scf.ForOp):
                for bound in (around.lb, around.ub, around.step):
                    self._need(bound, tasks)
            elif isinstance(around, scf.IfOp):
                self._need(around.cond, tasks)
            elif not isinstance(around, tt.ReduceOp):
                raise CannotSpecialize(around, f"code for one warp group cannot stand in `{around.name}`")
            around = around.parent_op()

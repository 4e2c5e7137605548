"""Which warp groups run an op: attribute `async_task_id`. First the ops that decide have it, then all that they need.

    tt.descriptor_load ...  {async_task_id = array<i32: 0>}          first: what loads operands of dots is the producer's,
    ttng.warp_group_dot ... {async_task_id = array<i32: 1, 2>}       dots and stores are the consumers'

    %i = arith.muli %k, %c64                       {async_task_id = 0}        then: what an op uses belongs to its tasks too,
    %a = tt.descriptor_load %d[%x, %i]  {0}   =>   {async_task_id = 0}        and so do the loops and branches around it
    scf.for { ... }                                {async_task_id = 0, 1, 2}

An op without ids belongs to no group and is not part of the specialized code. The second step is a backward dataflow: the fact of a value is the set of tasks
that need it, the join is the union. Counterpart of WSTaskPartition.cpp, TaskIdPropagation.cpp and WSTaskIdPropagate.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from minitriton.analysis.slices.def_use import backward_ops
from minitriton.dialects import arith, tt, ttng
from minitriton.dialects.attribute_values import i32_array
from minitriton.dialects.facts.memory_access import is_expensive_access
from minitriton.dialects.facts.region_flow import RegionFlow
from minitriton.dialects.fast_paths.op_access import ops_in, ops_in_inner_first
from minitriton.dialects.llvm import AssumeOp
from minitriton.host.frozen import record
from minitriton.rewriting.rewriter import Inserter

TASK_IDS = "async_task_id"
PRODUCER = 0
"""The task of the loads: the default warps."""
THREADS = 128
"""Threads of a warp group."""

Tasks = tuple[int, ...]
OpT = TypeVar("OpT", bound=Operation)


class CannotSpecialize(Exception):
    """The loop stays as it is: the text says why, `op` is where."""

    def __init__(self, op: Operation, why: str) -> None:
        super().__init__(why)
        self.op = op


def tasks_of(op: Operation) -> Tasks:
    """The ids of `op`, ascending; () if it has none."""
    found = op.attributes.get(TASK_IDS)
    return tuple(int(each) for each in found.get_values()) if isinstance(found, DenseArrayBase) else ()


def has_tasks(op: Operation) -> bool:
    """Whether `op` says which tasks it belongs to, even if these are none."""
    return TASK_IDS in op.attributes


def set_tasks(op: Operation, tasks: Iterable[int]) -> None:
    """Makes `tasks` the ids of `op`."""
    op.attributes[TASK_IDS] = i32_array(tuple(sorted(set(tasks))))


def add_tasks(op: Operation, tasks: Iterable[int]) -> None:
    """Adds `tasks` to the ids of `op`."""
    together = {*tasks_of(op), *tasks}
    if together:
        set_tasks(op, together)


def add_tasks_around(op: Operation) -> None:
    """The ops around `op`, up to the function, get its tasks too."""
    tasks = tasks_of(op)
    around = op.parent_op()
    while around is not None and not isinstance(around, tt.FuncOp):
        add_tasks(around, tasks)
        around = around.parent_op()


def tasks_inside(op: Operation) -> Tasks:
    """The ids of `op` and of all ops in it, ascending."""
    return tuple(sorted({task for inner in ops_in(op) for task in tasks_of(inner)}))


@record
class TaskInserter(Inserter):
    """An `Inserter` whose ops belong to `tasks`."""

    tasks: Tasks = ()

    @classmethod
    def before_op(cls, op: Operation, tasks: Iterable[int]) -> TaskInserter:
        """Before `op`, with its location, for `tasks`."""
        assert op.parent is not None
        return cls(op.parent, op, op.location, tuple(tasks))

    @classmethod
    def after_op(cls, op: Operation, tasks: Iterable[int]) -> TaskInserter:
        """After `op`, with its location, for `tasks`."""
        assert op.parent is not None
        return cls(op.parent, op.next_op, op.location, tuple(tasks))

    def insert(self, op: OpT) -> OpT:
        """Puts a new op here."""
        if self.tasks:
            set_tasks(op, self.tasks)
        return super().insert(op)


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

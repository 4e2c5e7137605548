"""First step: what loads operands of products is the producer's, the products and all stores are the consumers'.

    %a = tt.descriptor_load ...                    {async_task_id = 0}
    %d = ttng.warp_group_dot %a, %b, %c     =>     {async_task_id = 1, 2}
    tt.store %p, %e                                {async_task_id = 1, 2}

Answers to WSTaskPartition.cpp.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Operation

from minitriton.analysis.slices.def_use import backward_ops
from minitriton.dialects import tt, ttng
from minitriton.dialects.facts.memory_access import is_expensive_access
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.passes.warp_specialization.task_ids import PRODUCER, set_tasks, tasks_inside


def partition_tasks(function: Operation, groups: int) -> None:
    """Gives ids to loads, products and stores of `function`, for one producer and `groups` - 1 consumers.

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

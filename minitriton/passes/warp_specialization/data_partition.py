"""Third step: each consumer gets a part of the rows (or columns) of every tile that it computes.

    %d = warp_group_dot %a, %b, %c   {1, 2}        %d0 = warp_group_dot %a0, %b, %c0   {1}
                                            =>     %d1 = warp_group_dot %a1, %b, %c1   {2}

In: a function whose dots belong to all consumers. Out: the same with a dot for each (`partition_scheme` plans, `slicing` copies); the ops
that were split are gone. Counterpart of WSDataPartition.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects import scf
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Operation, OpResult, SSAValue, SSAValues

from minitriton.dialects import tt, ttg
from minitriton.dialects.fast_paths.op_access import last_op_of
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.passes.tensor_layouts import set_type
from minitriton.passes.warp_specialization.partition_scheme import PartitionScheme, plan_partition
from minitriton.passes.warp_specialization.slicing import Slices, split_type
from minitriton.passes.warp_specialization.task_ids import (
    CannotSpecialize,
    TaskInserter,
    add_tasks,
    tasks_of,
)
from minitriton.rewriting.regions import clone_op

_Value = TypeVar("_Value", bound=SSAValue)


def partition_data(function: tt.FuncOp) -> bool:
    """Splits the tiles of `function`. False, and nothing is changed, if they cannot be split."""
    scheme = plan_partition(function)
    if scheme is None:
        return False
    if not scheme.ops:
        return True
    _repeat_ops(scheme)
    slices = [Slices(scheme, part) for part in range(scheme.parts)]
    for each in slices:
        each.split_all()
    _erase_split_ops(scheme, slices[0].carried)
    _split_descriptors(function, scheme, {op for each in slices for op in each.made})
    _complete_tasks(function)
    return True


def _repeat_ops(scheme: PartitionScheme) -> None:
    """One version of an op for each dimension along which it is split; the users take the one that is split as they are."""
    for op, dims in scheme.repeated.items():
        for dim in dims[1:]:
            at = TaskInserter.before_op(op, tasks_of(op))
            if isinstance(op, ttg.LocalAllocOp) and dim >= 0:
                type_ = op.result.type
                part = split_type(type_, dim, scheme.parts)
                new = at.insert(ttg.MemDescSubsliceOp(op.result, part, offsets=(0,) * len(type_.get_shape())))
            elif isinstance(op, ttg.LocalAllocOp):
                continue
            else:
                new = clone_op(op, {})
                at.place(new)
            scheme.ops[new] = None
            scheme.dims[new] = dim
            for use in tuple(op.results[0].uses):
                if use.operation is not new and _dim_wanted(scheme, use.operation) == dim:
                    use.operation.operands[use.index] = new.results[0]


def _dim_wanted(scheme: PartitionScheme, user: Operation) -> int | None:
    dim = scheme.dims.get(user)
    if dim is None:
        return None
    if isinstance(user, tt.TransOp | ttg.MemDescTransOp):
        return scheme.flipped(dim)
    if user in scheme.operand_of_dot and scheme.sums_parts(user):
        return -1
    return dim


def _erase_split_ops(scheme: PartitionScheme, carried: list[tuple[scf.ForOp, int]]) -> None:
    """Erases the ops that have parts now, and the wholes that loops carried.

    Raises `CannotSpecialize` if something still uses a whole.
    """
    dropped: dict[scf.ForOp, list[int]] = {}
    for loop, index in carried:
        dropped.setdefault(loop, []).append(index)
    for loop, indices in dropped.items():
        last = last_op_of(loop.body.block)
        last.operands = _without(last.operands, indices)
        loop.operands = [*loop.operands[:3], *_without(loop.operands[3:], indices)]
    cut = [op for op in scheme.ops if not isinstance(op, scf.ForOp | scf.YieldOp)]
    for op in cut:
        op.detach()
        op.drop_all_references()
    wholes = [(op, result) for op in cut for result in op.results]
    for loop, indices in dropped.items():
        wholes += [(loop, value) for i in indices for value in (loop.body.block.args[i + 1], loop.results[i])]
    for op, value in wholes:
        if value.first_use is not None:
            raise CannotSpecialize(op, "a tile is used whole and in parts")
    for loop, indices in dropped.items():
        for index in sorted(indices, reverse=True):
            loop.body.block.erase_arg(loop.body.block.args[index + 1])
        loop.results = SSAValues(_without(loop.results, indices))
        for index, result in enumerate(loop.results):
            result.index = index


def _split_descriptors(function: tt.FuncOp, scheme: PartitionScheme, parts: set[Operation]) -> None:
    """Descriptors of the host get blocks as large as a part. Raises `CannotSpecialize` if one is used for whole tiles too."""
    for descriptor, dim in scheme.descriptors.items():
        for use in descriptor.uses:
            if use.operation not in parts:
                raise CannotSpecialize(use.operation, "a descriptor is used for whole tiles and for parts of tiles")
        set_type(descriptor, split_type(descriptor.type, dim, scheme.parts))
    old = function.function_type
    types = [argument.type for argument in function.body.block.args]
    function.properties["function_type"] = FunctionType.from_lists(types, old.outputs.data)


def _without(values: Sequence[_Value], dropped: list[int]) -> list[_Value]:
    return [value for index, value in enumerate(values) if index not in dropped]


def _complete_tasks(function: Operation) -> None:
    """What an op with ids uses has them too: parts that turned out equal may be one op."""
    changed = True
    while changed:
        changed = False
        for op in ops_in(function):
            changed |= any(_completed(op, operand.op) for operand in op.operands if isinstance(operand, OpResult))


def _completed(op: Operation, source: Operation) -> bool:
    """Completes the ids of `op` and of the op that defines one of its operands; whether there was something to do."""
    if isinstance(source, tt.LoadOp | tt.DescriptorLoadOp):
        return False
    tasks, known = set(tasks_of(op)), set(tasks_of(source))
    changed = False
    if (
        not tasks <= known
        and not isinstance(op, scf.YieldOp | scf.ForOp | scf.IfOp)
        and source.name.startswith("arith.")
    ):
        add_tasks(source, tasks)
        changed = True
    uses = sum(1 for result in source.results for _ in result.uses)
    if uses == 1 and not known <= tasks and isinstance(op, scf.YieldOp | scf.IfOp):
        add_tasks(op, known)
        changed = True
    return changed

"""Third step: each consumer gets a part of the rows (or columns) of every tile that it computes.

    %d = warp_group_dot %a, %b, %c   {1, 2}        %d0 = warp_group_dot %a0, %b, %c0   {1}
                                            =>     %d1 = warp_group_dot %a1, %b, %c1   {2}

In: a function whose dots belong to all consumers. Out: the same with a dot for each, as `partition_scheme` plans; the ops that were split are gone.
Addresses follow, and loops carry the parts next to the whole, which goes at the end:

    %a = tt.descriptor_load %d[%x, %k]        %a0 = tt.descriptor_load %d0[%x, %k]         : 64x64
                  : 128x64              =>    %y = arith.addi %x, 64
                                              %a1 = tt.descriptor_load %d1[%y, %k]         : 64x64

Counterpart of WSDataPartition.cpp.
"""

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects import scf
from xdsl.dialects.builtin import FunctionType, TensorType, i32
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue, SSAValues

from minitriton.dialects import arith, tt, ttg, ttng
from minitriton.dialects.attribute_values import i32_attr
from minitriton.dialects.fast_paths.op_access import last_op_of, ops_in
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import TensorDescType
from minitriton.layouts.encodings import Linear
from minitriton.passes.loop_rewriting import append_result
from minitriton.passes.tensor_layouts import set_type
from minitriton.passes.warp_specialization.partition_scheme import (
    COPIED,
    PartitionScheme,
    plan_partition,
    shape_of_type,
)
from minitriton.passes.warp_specialization.task_propagation import (
    PRODUCER,
    CannotSpecialize,
    TaskInserter,
    Tasks,
    add_tasks,
    set_tasks,
    tasks_of,
)
from minitriton.rewriting.constants import number_attr, number_of
from minitriton.rewriting.regions import clone_op


def split_type(type_: Attribute, dim: int, parts: int) -> Attribute:
    """The type of one of `parts` equal parts along `dim`. Raises `CannotSplit` where its layout does not say which threads have it."""
    if isinstance(type_, TensorDescType):
        block = split_type(type_.block_type, dim, parts)
        assert instance_of(block, TensorType)
        return TensorDescType(block)
    shape = list(shape_of_type(type_))
    shape[dim] //= parts
    if instance_of(type_, TensorType) and isinstance(layout := ttg.layout_of(type_), Linear):
        return TensorType(type_.element_type, shape, ttg.encoding_attr(_split_layout(layout, dim, shape[dim])))
    if isinstance(type_, ttg.MemDescType):
        return ttg.MemDescType(shape, type_.element_type, type_.encoding, type_.memory_space, mutable=type_.mutable)
    assert instance_of(type_, TensorType)
    return TensorType(type_.element_type, shape, type_.encoding)


class CannotSplit(Exception):
    """Other threads have the second half."""


def _split_layout(layout: Linear, dim: int, size: int) -> Linear:
    """`layout` without the register that says in which half of `dim`, `size` long, an element is.

    Raises `CannotSplit` if lanes or warps say so.
    """
    if any(step[dim] >= size for step in (*layout.lane, *layout.warp, *layout.block)):
        raise CannotSplit
    kept = tuple(step for step in layout.register if step[dim] < size)
    return Linear(kept, layout.lane, layout.warp, layout.block)


class Slices:
    """The copies of all planned ops for one consumer, the one numbered `part`."""

    def __init__(self, scheme: PartitionScheme, part: int) -> None:
        self.scheme = scheme
        self.part = part
        self.values: dict[SSAValue, SSAValue] = {}
        self.made: set[Operation] = set()
        """The copies."""
        self._done: set[Operation] = set()
        self.carried: list[tuple[scf.ForOp, int]] = []
        """Loops with the numbers of the values whose part they carry now."""

    def split_all(self) -> None:
        """Makes the copies, and lets the loops carry them."""
        for op in list(self.scheme.ops):
            self.op(op)
        for loop, index in self.carried:
            last = last_op_of(loop.body.block)
            value = last.operands[index]
            self.value(value)
            if value not in self.values:
                raise CannotSpecialize(loop, "a loop carries a tile that is split in some iterations only")
            last.operands = [*last.operands, self.values[value]]

    def value(self, value: SSAValue) -> None:
        """Makes the part of `value`, if it is planned."""
        if isinstance(value, OpResult):
            self.op(value.op)
        elif isinstance(value, BlockArgument):
            loop = value.block.parent_op()
            if isinstance(loop, scf.ForOp):
                self.op(loop)

    def op(self, op: Operation) -> None:
        """Makes the copy of `op`, if it is planned and there is none yet."""
        if op not in self.scheme.ops or op in self._done or isinstance(op, scf.YieldOp):
            return
        self._done.add(op)
        if isinstance(op, scf.ForOp):
            self._loop(op)
            return
        for operand in self._operands_to_split(op):
            self.value(operand)
        dim, tasks = self.scheme.dims[op], self._tasks(op)
        if isinstance(op, arith.ConstantOp) and dim != COPIED:
            self._constant(op, dim)
            return
        index = self._moved_index(op, dim, tasks)
        copy = clone_op(op, self.values)
        for inner in ops_in(copy):
            set_tasks(inner, tasks)
        self.made.add(copy)
        assert op.parent is not None
        op.parent.insert_op_before(copy, op)
        if index is not None:
            copy.operands[index[0]] = index[1]
        if isinstance(op, tt.MakeRangeOp) and dim != COPIED:
            self._range(op, copy)
        if self._is_split(op, dim):
            for result in copy.results:
                try:
                    set_type(result, split_type(result.type, dim, self.scheme.parts))
                except CannotSplit:
                    raise CannotSpecialize(op, "warps of one consumer have parts of the other's rows") from None

    def _tasks(self, op: Operation) -> Tasks:
        tasks, parts = tasks_of(op), self.scheme.parts
        if len(tasks) == parts:
            return (tasks[self.part],)
        if len(tasks) == 1:
            return tasks
        if len(tasks) > parts:
            return (tasks[PRODUCER], tasks[self.part + 1])
        raise CannotSpecialize(op, f"`{op.name}` is not of a warp group")

    def _operands_to_split(self, op: Operation) -> list[SSAValue]:
        if isinstance(op, ttng.WarpGroupDotOp):
            operand = self.scheme.operand_of_dot[op]
            both = [op.operands[operand], op.operands[1 - operand]] if self.scheme.splits_k(op) else []
            return [*(both or [op.operands[operand]]), op.c]
        if isinstance(op, tt.DescriptorLoadOp):
            return [op.desc]
        if isinstance(op, tt.DescriptorStoreOp):
            return [op.desc, op.src]
        if isinstance(op, tt.MakeTensorDescOp | ttng.ReinterpretTensorDescOp):
            return []
        return list(op.operands)

    def _is_split(self, op: Operation, dim: int) -> bool:
        if dim == COPIED or not op.results:
            return False
        return not (isinstance(op, ttng.WarpGroupDotOp) and self.scheme.splits_k(op))

    def _constant(self, op: arith.ConstantOp, dim: int) -> None:
        """A constant keeps all its tasks: equal ones may become one."""
        type_ = split_type(op.result.type, dim, self.scheme.parts)
        number = number_of(op.value)
        assert number is not None
        at = TaskInserter.before_op(op, tasks_of(op))
        self.values[op.result] = at.constant(number_attr(type_, number))

    def _range(self, op: tt.MakeRangeOp, copy: Operation) -> None:
        start, end = op.start.value.data, op.end.value.data
        length = (end - start) // self.scheme.parts
        copy.properties["start"] = i32_attr(start + self.part * length)
        copy.properties["end"] = i32_attr(start + (self.part + 1) * length)

    def _moved_index(self, op: Operation, dim: int, tasks: Tasks) -> tuple[int, SSAValue] | None:
        """Where the block of a part begins: which operand of `op` says so, and what it becomes."""
        if not isinstance(op, tt.DescriptorLoadOp | tt.DescriptorStoreOp) or dim == COPIED or self.part == 0:
            return None
        block = op.result.type if isinstance(op, tt.DescriptorLoadOp) else op.src.type
        shape = shape_of_type(block)
        if len(op.indices) != len(shape):
            raise CannotSpecialize(op, "blocks of a descriptor of higher rank are not split")
        index = op.indices[dim]
        if isinstance(index, OpResult):
            at = TaskInserter.after_op(index.op, tasks)
            at.location = op.location
        else:
            at = TaskInserter.before_op(op, tasks)
        length = at.integer(i32, self.part * shape[dim] // self.scheme.parts)
        first = 1 if isinstance(op, tt.DescriptorLoadOp) else 2
        return first + dim, at.value(arith.AddiOp(index, length))

    def _loop(self, loop: scf.ForOp) -> None:
        """Carries the parts of all that is split before the loop."""
        body = loop.body.block
        for index, init in enumerate(tuple(loop.iter_args)):
            self.value(init)
            part = self.values.get(init)
            if part is None:
                continue
            loop.operands = [*loop.operands, part]
            argument = body.insert_arg(part.type, len(body.args))
            argument.location = body.args[index + 1].location
            self.values[body.args[index + 1]] = argument
            self.values[loop.results[index]] = append_result(loop, part.type)
            self.carried.append((loop, index))


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
    if user in scheme.operand_of_dot and scheme.splits_k(user):
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
    split_ops = [op for op in scheme.ops if not isinstance(op, scf.ForOp | scf.YieldOp)]
    for op in split_ops:
        op.detach()
        op.drop_all_references()
    wholes = [(op, result) for op in split_ops for result in op.results]
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

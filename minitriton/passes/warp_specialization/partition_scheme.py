"""Third step, its plan: along which dimension the tiles of the consumers are split, so that each consumer has a part of the rows.

In: dots with as many ids as there are consumers. Out: for each op that has to do with them, the dimension of its result that is
split (`dims`), for dots also the operand that is (`operand_of_dot`).

    %a : 128x64     split along 0         each consumer: 64x64
    %b : 64x256     not split             both: 64x256
    %d : 128x256    split along 0         each consumer: 64x256

The plan begins at the results of the dots and goes backwards to what they are computed from and forwards to what is computed from
them. It fails where an op would have to be split two ways or cannot be split. Counterpart of computePartitionScheme in WSDataPartition.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from minitriton.analysis.slices.def_use import backward_ops, forward_ops
from minitriton.dialects import arith, tt, ttg, ttng
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.fast_paths.op_access import last_op_of, ops_in
from minitriton.dialects.tt.types import TensorDescType
from minitriton.layouts.encodings import NvidiaMma, NVMMAShared
from minitriton.passes.tensor_layouts import layout_of_value
from minitriton.passes.warp_specialization.task_propagation import tasks_of
from minitriton.rewriting.constants import number_of

COPIED = -1
"""In place of a dimension: the op is not split, each consumer has a whole one (a dot whose parts are added)."""
_ROWS = 64
"""Rows of a part: what a warp group multiplies at once."""
_COLUMNS = 128
"""Columns of a part: Triton's number (WSDataPartition.cpp); no measurement of it is on record."""
_CONTROL = (tt.ReturnOp, tt.FuncOp, scf.YieldOp, scf.ForOp, scf.IfOp)
_TRANSPOSES = (tt.TransOp, ttg.MemDescTransOp)
_BACKWARD = (
    arith.ConstantOp, tt.BroadcastOp, tt.ExpandDimsOp, tt.MakeRangeOp, tt.SplatOp, ttg.ConvertLayoutOp, ttg.LocalAllocOp,
    tt.LoadOp, tt.TransOp, ttg.MemDescTransOp, tt.AtomicRMWOp, tt.AddPtrOp, tt.DescriptorLoadOp, tt.FpToFpOp, tt.ReduceOp,
    tt.ReshapeOp, tt.SplitOp,
)  # fmt: skip
"""What is split by splitting its operands likewise (in addition to what works element by element)."""
_FORWARD = (*_BACKWARD, tt.StoreOp, tt.DescriptorStoreOp, ttng.WarpGroupDotOp)


def shape_of_type(type_: Attribute) -> tuple[int, ...]:
    """The shape of a tensor, a buffer or a descriptor's blocks; () for anything else."""
    if isinstance(type_, TensorDescType):
        type_ = type_.block_type
    return tuple(type_.get_shape()) if isinstance(type_, TensorType | ttg.MemDescType) else ()


@dataclass
class PartitionScheme:
    """What is split, and how."""

    parts: int = 0
    ops: dict[Operation, None] = field(default_factory=dict[Operation, None])
    dims: dict[Operation, int] = field(default_factory=dict[Operation, int])
    operand_of_dot: dict[Operation, int] = field(default_factory=dict[Operation, int])
    repeated: dict[Operation, list[int]] = field(default_factory=dict[Operation, list[int]])
    """Ops that are wanted split along more than one dimension: one for each."""
    left_whole: set[Operation] = field(default_factory=set[Operation])
    carried: set[SSAValue] = field(default_factory=set[SSAValue])
    """Arguments and results of loops that have been planned."""
    descriptors: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Descriptors that the host makes: it makes them of smaller blocks, as their new type says."""

    def copy(self) -> PartitionScheme:
        """One that can change by itself."""
        return PartitionScheme(
            self.parts,
            dict(self.ops),
            dict(self.dims),
            dict(self.operand_of_dot),
            {op: list(dims) for op, dims in self.repeated.items()},
            set(self.left_whole),
            set(self.carried),
            dict(self.descriptors),
        )

    def has_to_split(self, value: SSAValue, dim: int) -> bool:
        """Whether `value` has so much along `dim` that cutting it makes a difference."""
        shape = shape_of_type(value.type)
        return dim == COPIED or (len(shape) > dim and shape[dim] > self.parts)

    def flipped(self, dim: int) -> int:
        """The dimension that `dim` becomes by transposing."""
        return dim if dim == COPIED else self.parts - 1 - dim

    def splits_k(self, dot: Operation) -> bool:
        """Whether the parts of a dot are summands: both operands are split along what is summed over."""
        dim, operand = self.dims[dot], self.operand_of_dot[dot]
        return (dim == 0 and operand == 1) or (dim == 1 and operand == 0)

    def backward(self, value: SSAValue, dim: int) -> bool:
        """Plans what `value` is computed from, split along `dim`. False if that cannot be."""
        if not self.has_to_split(value, dim):
            return True
        if not _fills_swizzle(value.type, dim, self.parts):
            return False
        if isinstance(value, OpResult):
            return self._backward_op(value, dim)
        assert isinstance(value, BlockArgument)
        loop = value.block.parent_op()
        if isinstance(loop, tt.FuncOp) and loop.is_public and isinstance(value.type, TensorDescType) and dim != COPIED:
            return self.descriptors.setdefault(value, dim) == dim
        if not isinstance(loop, scf.ForOp) or value.index == 0:
            return dim == COPIED
        return self._backward_carried(loop, value, value.index - 1, dim)

    def _backward_carried(self, loop: scf.ForOp, value: SSAValue, index: int, dim: int) -> bool:
        """What a loop carries: what it begins with and what an iteration forwards."""
        if value in self.carried:
            return True
        self.carried.add(value)
        last = last_op_of(loop.body.block)
        return self.backward(loop.iter_args[index], dim) and self.backward(last.operands[index], dim)

    def _backward_op(self, value: OpResult, dim: int) -> bool:
        op = value.op
        if isinstance(op, scf.ForOp):
            self.ops[op] = None
            self.dims.setdefault(op, dim)
            return self._backward_carried(op, value, value.index, dim)
        if op in self.ops:
            if not isinstance(op, _CONTROL) and self.dims.get(op) != dim:
                return self._repeat(op, dim)
            return True
        self.ops[op] = None
        self.dims[op] = dim
        inner = self._dim_of_operands(op, dim)
        if inner is None:
            return False
        if isinstance(op, _BACKWARD) or Elementwise.of(op) is not None:
            return _has_even_constant(op) and all(self.backward(operand, inner) for operand in op.operands)
        if isinstance(op, ttng.WarpGroupDotOp):
            self.operand_of_dot[op] = 0 if dim == 0 else 1
            return (
                _instruction_fits(op, dim, self.parts)
                and self.backward(op.a if dim == 0 else op.b, dim)
                and self.backward(op.c, dim)
            )
        return isinstance(op, tt.MakeTensorDescOp | ttng.ReinterpretTensorDescOp)

    def _dim_of_operands(self, op: Operation, dim: int) -> int | None:
        """The dimension of the operands of `op` that is `dim` of its result; None if there is none."""
        if dim == COPIED:
            return dim
        if isinstance(op, _TRANSPOSES):
            return int(op.order.get_values()[dim])
        if isinstance(op, tt.ExpandDimsOp):
            axis = op.axis.value.data
            return None if axis == dim else dim - 1 if axis < dim else dim
        return dim if _keeps_dim(op, dim) else None

    def _repeat(self, op: Operation, dim: int) -> bool:
        """Makes `op` one that there is a version of for each way in which it is split."""
        if op in self.repeated:
            if dim not in self.repeated[op]:
                self.repeated[op].append(dim)
            return True
        if not isinstance(op, ttg.LocalAllocOp | arith.ConstantOp):
            return False
        self.repeated[op] = [self.dims[op], dim]
        for value in op.operands:
            for before in backward_ops(value):
                if before in self.dims:
                    del self.dims[before]
                    self.ops.pop(before, None)
                    self.left_whole.add(before)
        return True

    def forward(self, value: SSAValue, dim: int, seen: set[SSAValue]) -> bool:
        """Plans what is computed from `value`, which is split along `dim`. False if that cannot be."""
        if value in seen or not self.has_to_split(value, dim):
            return True
        seen.add(value)
        return all(self._forward_op(use.operation, value, dim, seen) for use in tuple(value.uses))

    def _forward_op(self, op: Operation, value: SSAValue, dim: int, seen: set[SSAValue]) -> bool:
        outer = self._dim_of_result(op, dim)
        if outer is None:
            return False
        dim = outer
        if isinstance(op, scf.ForOp):
            return self._forward_loop(op, value, dim, seen)
        if op in self.ops:
            if not isinstance(op, _CONTROL) and self.dims.get(op) != dim:
                return False
            if not isinstance(op, scf.YieldOp):
                return True
        self.ops[op] = None
        self.dims[op] = dim
        if isinstance(op, ttng.WarpGroupDotOp):
            found = self._dim_of_dot(op, value, dim)
            if found is None:
                return False
            dim = found
        elif isinstance(op, scf.YieldOp):
            return self._forward_yield(op, value, dim, seen)
        elif dim != COPIED and not isinstance(op, _FORWARD) and Elementwise.of(op) is None:
            return False
        return all(self.forward(result, dim, seen) for result in op.results)

    def _forward_loop(self, loop: scf.ForOp, value: SSAValue, dim: int, seen: set[SSAValue]) -> bool:
        """Plans what a loop that begins with `value` computes from it."""
        self.ops[loop] = None
        self.dims.setdefault(loop, dim)
        return all(
            self.forward(each, dim, seen)
            for index, init in enumerate(loop.iter_args)
            if init is value
            for each in (loop.body.block.args[index + 1], loop.results[index])
        )

    def _forward_yield(self, op: Operation, value: SSAValue, dim: int, seen: set[SSAValue]) -> bool:
        loop = op.parent_op()
        if not isinstance(loop, scf.ForOp):
            return False
        for index, operand in enumerate(op.operands):
            if operand is value:
                self.ops[loop] = None
                self.dims.setdefault(loop, dim)
                if not all(
                    self.forward(each, dim, seen) for each in (loop.results[index], loop.body.block.args[index + 1])
                ):
                    return False
        return True

    def _dim_of_result(self, op: Operation, dim: int) -> int | None:
        """The dimension of the result of `op` that is `dim` of its operand; None if there is none."""
        if dim == COPIED:
            return dim
        if isinstance(op, _TRANSPOSES):
            return tuple(int(each) for each in op.order.get_values()).index(dim)
        if isinstance(op, tt.ExpandDimsOp):
            return dim + 1 if op.axis.value.data <= dim else dim
        return dim if _keeps_dim(op, dim) else None

    def _dim_of_dot(self, dot: ttng.WarpGroupDotOp, value: SSAValue, dim: int) -> int | None:
        """What is split of the dot with an operand that is split along `dim`."""
        if not ((dim == 0 and value is dot.b) or (dim == 1 and value is dot.a)):
            self.operand_of_dot[dot] = 0 if dim == 0 else 1
            return dim if _instruction_fits(dot, dim, self.parts) else None
        if not _is_only_added(dot.result):
            return None
        self.operand_of_dot[dot] = 0 if value is dot.a else 1
        return COPIED

    def plan(self, root: SSAValue, dim: int) -> bool:
        """Plans all that hangs together with `root`. False if it cannot be split along `dim`."""
        if not self.backward(root, dim):
            return False
        ahead = self.copy()
        succeeded = ahead.forward(root, dim, set())
        self._add(ahead)
        if not succeeded:
            return False
        return all(self._other_operands(op) for op in ahead.ops)

    def _add(self, other: PartitionScheme) -> None:
        self.descriptors.update(other.descriptors)
        for op in other.ops:
            self.ops.setdefault(op)
        for op, dim in other.dims.items():
            self.dims.setdefault(op, dim)
        for op, operand in other.operand_of_dot.items():
            self.operand_of_dot.setdefault(op, operand)

    def _other_operands(self, op: Operation) -> bool:
        """Plans what else `op`, found by going forwards, is computed from."""
        dim = self.dims.get(op, COPIED)
        if dim == COPIED:
            return True
        if isinstance(op, ttng.WarpGroupDotOp):
            operand = self.operand_of_dot[op]
            if not self.backward(op.operands[operand], dim):
                return False
            if not self.splits_k(op):
                return self.backward(op.c, dim)
            return self.backward(op.operands[1 - operand], 1 - dim) and self.backward(op.c, COPIED)
        if isinstance(op, tt.StoreOp | tt.DescriptorStoreOp | tt.AtomicRMWOp) or Elementwise.of(op) is not None:
            return all(self.backward(operand, dim) for operand in op.operands)
        return True


def plan_partition(function: Operation) -> PartitionScheme | None:
    """How the tiles of the consumers are split; no ops in it if no dot belongs to several. None if they cannot be."""
    scheme = PartitionScheme()
    dots = [op for op in ops_in(function) if isinstance(op, ttng.WarpGroupDotOp) and len(tasks_of(op)) > 1]
    for dot in dots:
        if dot in scheme.dims or dot in scheme.repeated or dot in scheme.left_whole:
            continue
        shape, parts = shape_of_type(dot.result.type), len(tasks_of(dot))
        if len(shape) != 2 or scheme.parts not in (0, parts):
            return None
        scheme.parts = parts
        dims = [dim for dim, least in ((0, _ROWS), (1, _COLUMNS)) if shape[dim] // parts >= least]
        for dim in dims:
            trial = scheme.copy()
            if trial.plan(dot.result, dim):
                scheme = trial
                break
        else:
            return None
    return None if dots and not scheme.ops else scheme


def _fills_swizzle(type_: Attribute, dim: int, parts: int) -> bool:
    """Whether the rows of a part are as long as the swizzle that was chosen for a buffer's, or a descriptor's, whole ones."""
    layout = ttg.layout_of(type_.block_type if isinstance(type_, TensorDescType) else type_)
    shape = shape_of_type(type_)
    if not isinstance(layout, NVMMAShared) or dim != (0 if layout.transposed else len(shape) - 1):
        return True
    return shape[dim] // parts * layout.element_bit_width // 8 >= layout.swizzling_byte_width


def _keeps_dim(op: Operation, dim: int) -> bool:
    """Whether the parts along `dim` of what `op` takes are those of what it gives."""
    if isinstance(op, tt.ReduceOp):
        return op.axis.value.data > dim
    if isinstance(op, tt.ReshapeOp):
        return dim == 0 and shape_of_type(op.src.type)[0] == shape_of_type(op.result.type)[0]
    return not isinstance(op, tt.SplitOp) or dim < len(shape_of_type(op.src.type)) - 1


def _has_even_constant(op: Operation) -> bool:
    """Whether `op`, if it is a constant, repeats one number."""
    return not isinstance(op, arith.ConstantOp) or number_of(op.value) is not None


def _instruction_fits(dot: ttng.WarpGroupDotOp, dim: int, parts: int) -> bool:
    """Whether the instruction that was chosen for the whole product multiplies a part too."""
    layout = layout_of_value(dot.result)
    if dim != 1 or not isinstance(layout, NvidiaMma):
        return True
    return layout.instr_shape[1] <= shape_of_type(dot.result.type)[1] // parts


def _is_only_added(value: SSAValue) -> bool:
    """Whether all that is computed from `value` is added to memory atomically, so that it may be a summand."""
    after = forward_ops(value)
    additions: list[Operation] = [op for op in after if isinstance(op, tt.AtomicRMWOp | tt.DescriptorReduceOp)]
    if not additions:
        return False
    reached = {additions[0]}
    pending = [additions[0]]
    while pending:
        for operand in pending.pop().operands:
            if isinstance(operand, OpResult) and operand.op in after and operand.op not in reached:
                reached.add(operand.op)
                pending.append(operand.op)
    return len(reached) == len(after)

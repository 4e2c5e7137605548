"""`tritonamdgpu-reorder-instructions`: loads of a prologue come first, conversions and transposes where they cost few registers.

    %q1 = ttg.convert_layout %q : -> #ttg.dot_op          scf.for ... {
    scf.for ... { tt.dot %q1, ... }                =>       %q1 = ttg.convert_layout %q : -> #ttg.dot_op
                                                            tt.dot %q1, ... }

In the loop of a matmul with large tiles the second load moves after the reads from shared memory, next to the dot, so that its issue hides in the
matrix cores' time. `tritonamdgpu-hoist-layout-conversions`, which runs before the pipeliner, does the reverse of the sketch: a dot operand whose source is
defined outside of the loop is converted there, once.

Counterparts of ReorderInstructions.cpp and HoistLayoutConversions.cpp.
"""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, OpResult

from minitriton.analysis.slices.def_use import backward_ops
from minitriton.dialects import gpu, tt, ttg
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.encodings import DotOperand
from minitriton.passes.loop_rewriting import loop_around
from minitriton.passes.pipelining.schedule import loops_in
from minitriton.passes.reorder_instructions import move_after, move_after_frees, move_transposes_to_sources
from minitriton.passes.tensor_layouts import layout_of_value, shape_of
from minitriton.pipeline.pass_registry import Pass, Property, register_pass

PART = "amd.pipeliner_part"
"""Attribute of loads that the pipeliner has put into a prologue."""


@register_pass
class HoistLayoutConversions(Pass, stage="ttgir", origin="triton"):
    """Converts dot operands outside of the loops that do not change them."""

    name: ClassVar[str] = "tritonamdgpu-hoist-layout-conversions"
    acts_on = frozenset({ttg.ConvertLayoutOp, scf.ForOp})
    requires = frozenset({Property.ENCODINGS})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Move every such conversion to its source."""
        for convert in ops_of(op, ttg.ConvertLayoutOp):
            source, loop = convert.src, loop_around(convert)
            if not isinstance(layout_of_value(convert.result), DotOperand) or not isinstance(source, OpResult):
                continue
            if loop is not None and not loop.is_ancestor(source.op):
                move_after(convert, source.op)


@register_pass
class ReorderInstructionsOnAMD(Pass, stage="ttgir", origin="triton"):
    """Moves loads of prologues up, conversions to their uses, transposes to their sources."""

    name: ClassVar[str] = "tritonamdgpu-reorder-instructions"
    acts_on = frozenset({ttg.ConvertLayoutOp, tt.TransOp, ttg.MemDescTransOp, tt.LoadOp})
    requires = frozenset({Property.ENCODINGS})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Each move over the order that the one before it left."""
        for function in ops_of(op, tt.FuncOp):
            _sink_into_loops(function)
            move_after_frees(function)
            move_transposes_to_sources(function)
            _prologue_loads_first(function)
            loops = list(loops_in(function))
            if not loops or any(_count(loop, tt.DotOp) != 1 for loop in loops):
                loops = [loop for loop in loops if not _count(loop.body, scf.ForOp) and _is_matmul(loop)]
            for loop in loops:
                _second_load_last(loop)


def _count(root: object, kind: type[Operation]) -> int:
    return sum(isinstance(op, kind) for op in cast(Operation, root).walk())


def _is_matmul(loop: scf.ForOp) -> bool:
    return _count(loop, tt.DotOp) == 1 and _count(loop, tt.LoadOp) >= 2


def _sink_into_loops(function: tt.FuncOp) -> None:
    """A dot operand with one use in another loop is converted there."""
    moves: list[tuple[Operation, Operation]] = []
    for convert in ops_of(function, ttg.ConvertLayoutOp):
        user = convert.result.get_user_of_unique_use()
        if user is None or not isinstance(layout_of_value(convert.result), DotOperand):
            continue
        if loop_around(user) is not loop_around(convert):
            moves.append((convert, user))
    for convert, user in moves:
        convert.detach()
        cast(Block, user.parent).insert_op_before(convert, user)


_SYNCHRONIZING = (tt.AtomicRMWOp, tt.AtomicCASOp, gpu.BarrierOp, scf.ForOp, scf.WhileOp)


def _prologue_loads_first(function: tt.FuncOp) -> None:
    """A load of a prologue, and what it needs, moves up to the last op that synchronizes, or defines its pointer."""
    block = function.body.blocks[0]
    loads = [op for op in block.ops if isinstance(op, tt.LoadOp) and PART in op.attributes]
    for load in reversed(loads):
        needed = [
            op
            for value in load.operands
            for op in backward_ops(value, lambda op: op.parent is block, through_arguments=False)
        ]
        moved = list(dict.fromkeys([*needed, load]))
        anchor: Operation | None = None
        for op in block.ops:
            if op is load:
                break
            if isinstance(op, _SYNCHRONIZING) or load.ptr in op.results:
                anchor = op
        position = {op: number for number, op in enumerate(block.ops)}
        if anchor is not None:
            for op in reversed([op for op in moved if position[op] > position[anchor]]):
                move_after(op, anchor)
            continue
        for op in reversed(moved):
            op.detach()
            first = block.first_op
            assert first is not None
            block.insert_op_before(op, first)


_LEAST_ROWS, _LEAST_DEPTH = 128, 64


def _second_load_last(loop: scf.ForOp) -> None:
    """The second of two loads of large tiles moves before the dot, if it is first used after that."""
    ops = list(loop.body.block.ops)
    loads = [op for op in ops if isinstance(op, tt.LoadOp)]
    dots = [op for op in ops if isinstance(op, tt.DotOp)]
    if len(loads) != 2 or not dots:
        return
    dot = dots[-1]
    if not all(instance_of(load.results[0].type, TensorType) for load in loads):
        return
    a, b = (shape_of(load.results[0]) for load in loads)
    if len(a) != 2 or len(b) != 2 or a[0] < _LEAST_ROWS or a[1] < _LEAST_DEPTH or b[1] < _LEAST_ROWS:
        return
    position = {op: number for number, op in enumerate(ops)}
    block = loop.body.block
    users = [block.find_ancestor_op_in_block(use.operation) for use in loads[1].results[0].uses]
    if position[loads[1]] < position[dot] and all(
        user is not None and position[user] > position[dot] for user in users
    ):
        loads[1].detach()
        block.insert_op_before(loads[1], dot)

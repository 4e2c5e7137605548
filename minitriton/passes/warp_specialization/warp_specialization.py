"""The pass: the steps of warp specialization, tried on a copy of the function.

In: a function with a loop that `tl.range(..., warp_specialize=True)` marked, 4 warps a CTA. Out: a producer and two consumers, or one where the
tiles cannot be cut in two. What cannot be specialized stays as it was, with a remark that says why, and is pipelined. Triton 3.6.0 crashes or
refuses some of these, lets two consumers compute the same where a tile cannot be cut, and switches pipelining off where nothing was specialized:
`fall-back=false` does the last two likewise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation

from minitriton.dialects import tt, ttg
from minitriton.dialects.attribute_values import i32_attr
from minitriton.dialects.facts.launch import num_ctas, num_warps
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.dialects.verification.verifier import verify
from minitriton.errors import IRError
from minitriton.pass_registry import KEPT_BY_DEFAULT, Pass, Property, register_pass
from minitriton.passes.fuse_nested_loops.speculation import WARP_SPECIALIZE
from minitriton.passes.pipelining.loops import NUM_STAGES, loops_in
from minitriton.passes.warp_specialization.code_partition import partition_code
from minitriton.passes.warp_specialization.data_partition import partition_data
from minitriton.passes.warp_specialization.soundness import check_copies, check_soundness
from minitriton.passes.warp_specialization.task_ids import CannotSpecialize
from minitriton.passes.warp_specialization.task_partition import partition_tasks
from minitriton.passes.warp_specialization.task_propagation import propagate_tasks
from minitriton.passes.warp_specialization.token_lowering import lower_tokens
from minitriton.remarks import remark
from minitriton.rewriting.regions import clone_op

_MOST_GROUPS = 3
"""A producer and two consumers."""
_WARPS = 4


@register_pass
@dataclass(frozen=True)
class WarpSpecialization(Pass, stage="ttgir", origin="triton"):
    """Splits marked loops between a warp group that loads and one or two that compute."""

    name: ClassVar[str] = "nvgpu-warp-specialization"
    acts_on = frozenset({scf.ForOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    keeps: ClassVar[frozenset[Property]] = KEPT_BY_DEFAULT - {Property.PARTITION_WARPS}
    num_stages: int = 0
    """The number of buffers for values of loops that name none (`num_stages=`)."""
    fall_back: bool = True
    """Whether a function that cannot be specialized is left to the pipeliner."""
    copies_by_threads: bool = False
    """Whether operands may be loaded through pointers: the producer's threads copy them then (`cp.async`). Triton fails on it."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Specialize the functions that have marked loops."""
        for function in [inner for inner in op.ops if isinstance(inner, tt.FuncOp)]:
            marked = [loop for loop in loops_in(function) if WARP_SPECIALIZE in loop.attributes]
            if marked:
                self._specialize(function, marked[0])

    def _specialize(self, function: tt.FuncOp, loop: scf.ForOp) -> None:
        why: CannotSpecialize | None = _why_not(function, loop)
        if why is None:
            why = self._try(function, loop)
        if why is not None and self.fall_back:
            see = loop if why.op is not loop else None
            remark(why.op, f"not specialized by warps, but pipelined: {why}", see)

    def _try(self, function: tt.FuncOp, loop: scf.ForOp) -> CannotSpecialize | None:
        """Specializes `function`; else why it cannot be, and it is as it was."""
        why: CannotSpecialize | None = None
        for groups in range(_MOST_GROUPS, 1, -1):
            copy = clone_op(function, {})
            assert isinstance(copy, tt.FuncOp) and function.parent is not None
            block = function.parent
            block.insert_op_before(copy, function)
            block.detach_op(function)
            try:
                self._split(copy, groups)
                verify(copy)
                why = None
            except CannotSpecialize as found:
                why = CannotSpecialize(_placed(found.op, loop), str(found))
            except IRError as error:
                why = CannotSpecialize(loop, str(error))
            if why is None or not self.fall_back:
                _switch_pipelining_off(copy)
                function.drop_all_references()
                return why
            block.insert_op_before(function, copy)
            block.detach_op(copy)
            copy.drop_all_references()
        return why

    def _split(self, function: tt.FuncOp, groups: int) -> None:
        """The steps. Raises `CannotSpecialize`."""
        partition_tasks(function, groups)
        propagate_tasks(function)
        if not partition_data(function) and self.fall_back:
            raise CannotSpecialize(function, "the tiles cannot be cut for several consumers")
        if self.fall_back:
            check_soundness(function)
            check_copies(function, self.copies_by_threads)
        if partition_code(function, max(self.num_stages, 1)):
            lower_tokens(function)
            _check_captures(function)
        elif self.fall_back:
            raise CannotSpecialize(function, "no product in it on tensor cores has operands that are loaded")


def _check_captures(function: tt.FuncOp) -> None:
    """Raises `CannotSpecialize` if a partition needs a tensor from outside: only numbers and buffers get there."""
    for op in ops_in(function):
        if isinstance(op, ttg.WarpSpecializeOp) and any(isinstance(value.type, TensorType) for value in op.operands):
            raise CannotSpecialize(op, "a tensor from before the loop reaches a warp group")


def _placed(op: Operation, loop: scf.ForOp) -> Operation:
    """`op` if it has a place in the kernel, else the loop."""
    return op if not isinstance(op, tt.FuncOp) else loop


def _why_not(function: tt.FuncOp, loop: scf.ForOp) -> CannotSpecialize | None:
    """Why `function` is not even tried, if so."""
    if num_warps(function) != _WARPS:
        return CannotSpecialize(loop, f"the kernel needs num_warps={_WARPS}, a warp group")
    if num_ctas(function) != 1:
        return CannotSpecialize(loop, "the kernel has several CTAs")
    if len(function.body.blocks) != 1:
        return CannotSpecialize(loop, "the kernel has branches that are not structured")
    for op in ops_in(function):
        if isinstance(op, scf.IfOp) and op.false_region.blocks:
            return CannotSpecialize(op, "a branch in the kernel has `else`")
    return None


def _switch_pipelining_off(function: Operation) -> None:
    for loop in loops_in(function):
        loop.attributes[NUM_STAGES] = i32_attr(0)

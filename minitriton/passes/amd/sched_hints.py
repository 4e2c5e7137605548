"""Hints for LLVM's scheduler in loops of two dots, where the option `schedule_hint` asks for them.

    scf.for ... {                                     scf.for ... {
      amdg.instruction_sched_hint {attention}           rocdl.sched.barrier 0
      two dots, one of the other's result         =>    two dots
      scf.yield                                         rocdl.iglp.opt 2; rocdl.sched.barrier 0; scf.yield

`triton-amdgpu-insert-instruction-sched-hints` puts the op on the left into loops, before passes move dots; `triton-amdgpu-lower-insert-instruction-sched-hints`
makes of it what is on the right: nothing crosses the ends of the loop's body, and in it LLVM interleaves `v_exp` and matrix instructions (LLVM, "User Guide for AMDGPU
Backend", `llvm.amdgcn.iglp.opt`). Counterparts of SchedInstructions.cpp.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects import amdg, rocdl, tt
from minitriton.dialects.fast_paths.op_access import ops_in, ops_of
from minitriton.passes.amd.accelerate_matmul import feeds_dot
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.rewriter import Inserter

_INTERLEAVE_EXP = 2
"""The strategy of `iglp.opt` for attention."""
_NOTHING_CROSSES = 0


@register_pass
class InsertSchedHints(Pass, stage="ttgir", origin="triton"):
    """Marks the loops that a variant of hints is for; an unknown variant marks none."""

    name: ClassVar[str] = "triton-amdgpu-insert-instruction-sched-hints"
    acts_on = frozenset({scf.ForOp})
    requires = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    variant: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Puts the hint first into the body of every loop of which one dot feeds another."""
        if self.variant.lower() != "attention":
            return
        for loop in ops_of(op, scf.ForOp):
            if any(isinstance(inner, tt.DotOp) and feeds_dot(inner) for inner in ops_in(loop)):
                body = loop.body.block
                Inserter(body, body.first_op, loop.location).insert(amdg.InstructionSchedHintOp("attention"))


@register_pass
class LowerSchedHints(Pass, stage="llir", origin="triton"):
    """Makes limits and strategies of LLVM's scheduler of the hints."""

    name: ClassVar[str] = "triton-amdgpu-lower-insert-instruction-sched-hints"
    acts_on = frozenset({amdg.InstructionSchedHintOp})
    requires = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    arch: str = ""
    num_stages: int = 2
    """As of Triton's pass; the hints of its version 3.6.0 do not depend on these."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace every hint."""
        for hint in ops_of(op, amdg.InstructionSchedHintOp):
            block = hint.parent
            assert block is not None and block.last_op is not None
            if hint.variant.data.value == "attention":
                Inserter(block, block.first_op, hint.location).insert(rocdl.SchedBarrierOp(_NOTHING_CROSSES))
                end = Inserter.before(block.last_op)
                end.insert(rocdl.IglpOptOp(_INTERLEAVE_EXP))
                end.insert(rocdl.SchedBarrierOp(_NOTHING_CROSSES))
            hint.detach()
            hint.erase()

"""Where the program is in its grid, and barriers.

With several CTAs a program is a cluster: `tt.get_program_id` reads the cluster's number, not the block's.
"""

from __future__ import annotations

from xdsl.dialects import llvm as L
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.global_scratch import SCRATCH_OFFSET, SCRATCH_SIZE, scratch_attr
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.registry import lowers
from minitriton.codegen.types import I8, I64
from minitriton.dialects import gpu, tt, ttg
from minitriton.dialects import llvm as ours
from minitriton.dialects.attribute_values import word


def _axis(op: tt.GetProgramIdOp | tt.GetNumProgramsOp) -> int:
    return "xyz".index(word(op.axis))


def program_id(f: FunctionLowering, axis: int) -> SSAValue:
    """The program's number along an axis."""
    return f.module.info.program_id(f.b, axis, f.module.num_ctas)


def num_programs(f: FunctionLowering, axis: int) -> SSAValue:
    """Programs along an axis."""
    return f.module.info.num_programs(f.b, axis, f.module.num_ctas)


@lowers(tt.GetProgramIdOp)
def get_program_id(f: FunctionLowering, op: tt.GetProgramIdOp) -> None:
    f.values[op.results[0]] = program_id(f, _axis(op))


@lowers(tt.GetNumProgramsOp)
def get_num_programs(f: FunctionLowering, op: tt.GetNumProgramsOp) -> None:
    f.values[op.results[0]] = num_programs(f, _axis(op))


def own_global_scratch(f: FunctionLowering) -> SSAValue:
    """The global memory of this program: a part of the kernel's hidden argument, by the program's number in the grid."""
    b = f.b
    base = f.global_scratch
    assert base is not None
    size = scratch_attr(f.module.module, SCRATCH_SIZE, 0)
    if not f.is_kernel or not size:
        return base
    number = program_id(f, 2)
    for axis in (1, 0):
        number = b.add(program_id(f, axis), b.mul(number, num_programs(f, axis)))
    if f.module.num_ctas > 1:
        number = b.add(b.mul(number, b.i32(f.module.num_ctas)), f.cluster_rank())
    wide = b.mul(b.cast(L.ZExtOp, number, I64), b.constant(I64, size))
    return b.gep(base, wide, I8)


def placed_global_scratch(f: FunctionLowering, op: Operation) -> SSAValue:
    """The part of this program's global memory that was given to `op`, an allocation or a call."""
    return f.b.gep(own_global_scratch(f), scratch_attr(op, SCRATCH_OFFSET, 0), I8)


@lowers(ttg.GlobalScratchAllocOp)
def global_scratch_alloc(f: FunctionLowering, op: ttg.GlobalScratchAllocOp) -> None:
    f.values[op.results[0]] = placed_global_scratch(f, op)


@lowers(gpu.BarrierOp, ttg.LocalBarrierOp)
def barrier(f: FunctionLowering, op: gpu.BarrierOp | ttg.LocalBarrierOp) -> None:
    f.barrier()


@lowers(ours.AssumeOp)
def assume(f: FunctionLowering, op: ours.AssumeOp) -> None:
    f.b.intrinsic("llvm.assume", (f.scalar(op.operands[0]),))

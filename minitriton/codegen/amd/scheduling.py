"""Ops that passes of TTGIR put there for the waves of a SIMD: priorities, barriers, limits of the scheduler; and transposes and slices within a thread.

rocdl.s.setprio 1           ->    the same, as a call of an intrinsic
amdg.cond_barrier %p        ->    cond_br %p; s_barrier
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from minitriton.codegen.amd import lowers, needs_scratch
from minitriton.codegen.amd.memory import where
from minitriton.codegen.lowering.convert_layout import conversion_scratch, convert_layout
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.dialects import rocdl
from minitriton.dialects.amdg import CondBarrierOp, InThreadTransposeOp
from minitriton.dialects.amdg_slices import ConcatOp, ExtractSliceOp, tile_number

lowers(InThreadTransposeOp)(convert_layout)
needs_scratch(InThreadTransposeOp)(conversion_scratch)


@lowers(ExtractSliceOp)
def extract_slice(f: FunctionLowering, op: ExtractSliceOp) -> None:
    """The registers of the part."""
    register_of = f.facts(op.source.type).layout.register_of
    wanted = [tuple(map(sum, zip(at, op.offsets, strict=True))) for at in f.facts(op.result.type).layout.offsets]
    f.values[op.result] = f.b.permute(f.vector(op.source), [register_of[at] for at in wanted])


@lowers(ConcatOp)
def concat(f: FunctionLowering, op: ConcatOp) -> None:
    """The registers of all, in the order of the result's."""
    facts, part = f.facts(op.sources[0].type), f.facts(op.sources[0].type).shape
    whole = f.facts(op.result.type)
    indices: list[int] = []
    for at in whole.layout.offsets:
        within = tuple(a % size for a, size in zip(at, part, strict=True))
        indices.append(tile_number(at, part, whole.shape) * facts.count + facts.layout.register_of[within])
    f.values[op.result] = f.b.permute(f.b.concat([f.vector(source) for source in op.sources]), indices)


@lowers(rocdl.SBarrierOp, rocdl.SchedBarrierOp, rocdl.SchedGroupBarrierOp, rocdl.SetPrioOp, rocdl.IglpOptOp)
def hint(f: FunctionLowering, op: rocdl.IntrinsicOp) -> None:
    """The same op: it has no operands."""
    f.b.operation(type(op), (), (), dict(op.properties))


@lowers(rocdl.WorkitemIdXOp)
def work_item(f: FunctionLowering, op: rocdl.SpecialRegisterOp) -> None:
    """The thread."""
    f.values[op.res] = f.module.info.thread_id(f.b)


@lowers(CondBarrierOp)
def cond_barrier(f: FunctionLowering, op: CondBarrierOp) -> None:
    """All lanes of a wave agree on the condition; the hardware counts waves that wait at any barrier."""

    def wait() -> list[SSAValue]:
        f.b.operation(rocdl.SBarrierOp, (), ())
        return []

    where(f.b, f.scalar(op.pred), [], wait)

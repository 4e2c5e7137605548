"""Ops that passes of TTGIR put there for the waves of a SIMD: priorities, barriers, limits of the scheduler; and transposes within a thread.

rocdl.s.setprio 1           ->    the same, as a call of an intrinsic
amdg.cond_barrier %p        ->    cond_br %p; s_barrier
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import SSAValue

from minitriton.codegen.amd import lowers, needs_scratch
from minitriton.codegen.amd.memory import where
from minitriton.codegen.lowering.convert_layout import conversion_scratch, convert_layout
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.dialects import rocdl
from minitriton.dialects.amdg import CondBarrierOp, InThreadTransposeOp, MemoryCounterWaitOp

lowers(InThreadTransposeOp)(convert_layout)
needs_scratch(InThreadTransposeOp)(conversion_scratch)


@lowers(rocdl.SBarrierOp, rocdl.SchedBarrierOp, rocdl.SchedGroupBarrierOp, rocdl.SetPrioOp)
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


LDS_ONLY = 0xC07F
"""`s_waitcnt lgkmcnt(0)`, the counters of vector memory and exports at their most (MI300 ISA, "S_WAITCNT")."""


@lowers(MemoryCounterWaitOp)
def memory_counter_wait(f: FunctionLowering, op: MemoryCounterWaitOp) -> None:
    """`s_waitcnt` of what is counted: LDS at zero, the rest as it is."""
    if op.load is not None or op.store is not None or op.ds is None or op.ds.value.data:
        raise f.unsupported(op, "only ds(0) can be waited for", "let LLVM insert the waits for other counters")
    f.b.operation(rocdl.SWaitcntOp, (), (), {"bitfield": IntegerAttr(LDS_ONLY, i32)})

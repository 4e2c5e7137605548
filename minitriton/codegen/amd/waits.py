"""Waits for a wave's own accesses of memory that LLVM does not insert.

LLVM lowers a fence with a wait that it drops where no access is outstanding (`SIInsertWaitcnts`). It decides that as it first comes to a loop's body, before
it knows what the last iteration leaves outstanding, and does not put the wait back. A wait by intrinsic stays, and is merged with the one of a fence:

    loop:  fence release; s_barrier; ds_write %x; ...; %x = ds_read        no wait between ds_read and s_barrier: another wave overwrites what is read
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, i16, i32
from xdsl.ir import Operation
from xdsl.traits import MemoryEffectKind, get_effects

from minitriton.codegen.amd import lowers
from minitriton.codegen.amd.buffers import CDNA_LANE_BITS
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.dialects import amdg, gpu, rocdl, tt, ttg
from minitriton.dialects.facts.launch import ALLOCATION_OFFSET
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.dialects.ttg.types import MemDescType

LDS_ONLY = 0xC07F
"""`s_waitcnt lgkmcnt(0)`, the counters of vector memory and exports at their most (MI300 ISA, "S_WAITCNT")."""
_LDS_AND_MEMORY = 0x0070
_RDNA3_LDS_ONLY, _RDNA3_LDS_AND_LOADS = 0xFC07, 0x0007
"""The same on RDNA 3 (its ISA, "S_WAITCNT"), whose stores have a counter of their own, `vscnt`, which no intrinsic waits for."""
_RDNA4 = 2


def wait(f: FunctionLowering, word: int) -> None:
    """`s_waitcnt`, its counters as bits."""
    f.b.operation(rocdl.SWaitcntOp, (), (), {"bitfield": IntegerAttr(word, i32)})


def _wait_for_all(f: FunctionLowering, counted: type[rocdl.WaitOp]) -> None:
    f.b.operation(counted, (), (), {"count": IntegerAttr(0, i16)})


def wait_for_lds(f: FunctionLowering) -> None:
    """Until the wave's accesses of LDS are over."""
    if f.module.target.wmma_version == _RDNA4:
        _wait_for_all(f, rocdl.SWaitDscntOp)
    else:
        wait(f, LDS_ONLY if f.module.lane_bits == CDNA_LANE_BITS else _RDNA3_LDS_ONLY)


def wait_for_memory(f: FunctionLowering) -> None:
    """Until the wave's accesses of LDS and of global memory are over."""
    if f.module.target.wmma_version == _RDNA4:
        _wait_for_all(f, rocdl.SWaitLoadcntOp)
        _wait_for_all(f, rocdl.SWaitStorecntOp)
        _wait_for_all(f, rocdl.SWaitDscntOp)
    else:
        wait(f, _LDS_AND_MEMORY if f.module.lane_bits == CDNA_LANE_BITS else _RDNA3_LDS_AND_LOADS)


@lowers(amdg.MemoryCounterWaitOp)
def memory_counter_wait(f: FunctionLowering, op: amdg.MemoryCounterWaitOp) -> None:
    """`s_waitcnt` of what is counted: LDS at zero, the rest as it is."""
    if op.load is not None or op.store is not None or op.ds is None or op.ds.value.data:
        raise f.unsupported(op, "only ds(0) can be waited for", "let LLVM insert the waits for other counters")
    wait_for_lds(f)


@lowers(ttg.LocalBarrierOp, gpu.BarrierOp)
def barrier(f: FunctionLowering, op: ttg.LocalBarrierOp | gpu.BarrierOp) -> None:
    """After a wait for copies only LDS is waited for: LLVM's fences would wait for all copies."""
    after_copies = isinstance(op.prev_op, amdg.AsyncWaitOp) and f.module.lane_bits == CDNA_LANE_BITS
    after_copies = after_copies and isinstance(op, ttg.LocalBarrierOp)
    if after_copies or _begins_iteration(op):
        wait_for_lds(f)
    if after_copies:
        f.b.operation(rocdl.SBarrierOp, (), ())
    else:
        f.barrier()


def _begins_iteration(op: Operation) -> bool:
    """Whether nothing accesses LDS on some way from the beginning of a loop's body to `op`, and what is outstanding is what the last iteration left."""
    while True:
        before = op.prev_op
        while before is not None:
            if any(_accesses_lds(inner) for inner in ops_in(before)):
                return False
            before = before.prev_op
        parent = op.parent_op()
        if not isinstance(parent, scf.IfOp):
            return not isinstance(parent, tt.FuncOp) or op.parent is not parent.body.first_block
        op = parent


def _accesses_lds(op: Operation) -> bool:
    if isinstance(op, ttg.LocalAllocOp):
        return bool(op.operands)
    if ALLOCATION_OFFSET in op.attributes:
        return True
    if isinstance(op, ttg.AsyncCopyGlobalToLocalOp | amdg.BufferLoadToLocalOp):
        return False
    if not any(isinstance(value.type, MemDescType) for value in op.operands):
        return False
    kinds = (MemoryEffectKind.READ, MemoryEffectKind.WRITE)
    return any(e.kind in kinds and e.value is not None for e in get_effects(op) or ())

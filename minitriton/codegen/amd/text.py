"""Writes the `rocdl` dialect as LLVM IR: calls of intrinsics, and fences around barriers.

"rocdl.ds_bpermute"(%i, %v)    ->    call i32 @llvm.amdgcn.ds.bpermute(i32 %v1, i32 %v2)
"rocdl.barrier"()              ->    fence syncscope("workgroup") release; call void @llvm.amdgcn.s.barrier(); fence ... acquire
"""

from __future__ import annotations

import re

from minitriton.codegen.text import inline_assembly
from minitriton.codegen.text.values import type_text
from minitriton.codegen.text.writer import (
    FUNCTION_ATTRIBUTES,
    KERNEL_CONVENTIONS,
    LOAD_METADATA,
    WRITERS,
    FunctionWriter,
)
from minitriton.dialects import rocdl

KERNEL = "rocdl.kernel"
KERNEL_CONVENTIONS[KERNEL] = "amdgpu_kernel"
FUNCTION_ATTRIBUTES.extend(
    (
        "amdgpu-flat-work-group-size",
        "amdgpu-waves-per-eu",
        "amdgpu-sched-strategy",
        "denormal-fp-math-f32",
        "uniform-work-group-size",
    )
)


@WRITERS.add(rocdl.IntrinsicOp)
def _intrinsic(w: FunctionWriter, op: rocdl.IntrinsicOp) -> None:
    name = op.intrinsic()
    types = [*(type_text(value.type) for value in op.operands), *(each.split()[0] for each in op.immediates())]
    arguments = ", ".join([*map(w.typed, op.operands), *op.immediates()])
    result = type_text(op.results[0].type) if op.results else "void"
    w.module.declare(name, result, ", ".join(types))
    defined = f"{w.define(op.results[0])} = " if op.results else ""
    copies = f", !alias.scope {_COPIES}" if isinstance(op, rocdl.GlobalLoadLdsOp | rocdl.RawPtrBufferLoadLdsOp) else ""
    copies = LOAD_METADATA[AFTER_COPIES] if AFTER_COPIES in op.attributes else copies
    w.emit(f"{defined}call {result} @{name}({arguments}){copies}")


AFTER_COPIES = "rocdl.after_copies"
"""Marks a load of LDS that waits for its copies by itself: LLVM, which knows no rings of buffers, would wait for all."""
_COPIES = '!{!{!"copies to LDS", !{!"LDS"}}}'
LOAD_METADATA[AFTER_COPIES] = f", !noalias {_COPIES}"


@WRITERS.add(rocdl.GridDimOp)
def _grid_dim(w: FunctionWriter, op: rocdl.GridDimOp) -> None:
    name = "llvm.amdgcn.implicitarg.ptr"
    w.module.declare(name, "ptr addrspace(4)", "")
    hidden = w.let(f"call ptr addrspace(4) @{name}()")
    count = w.let(f"getelementptr inbounds i32, ptr addrspace(4) {hidden}, i32 {op.axis.value.data}")
    w.emit(f"{w.define(op.res)} = load i32, ptr addrspace(4) {count}, align 4, !invariant.load !{{}}")


def _fenced(w: FunctionWriter, scope: str, barrier: str) -> None:
    w.module.declare(barrier, "void", "")
    w.emit(f'fence syncscope("{scope}") release')
    w.emit(f"call void @{barrier}()")
    w.emit(f'fence syncscope("{scope}") acquire')


@WRITERS.add(rocdl.BarrierOp)
def _barrier(w: FunctionWriter, op: rocdl.BarrierOp) -> None:
    _fenced(w, "workgroup", "llvm.amdgcn.s.barrier")


@WRITERS.add(rocdl.WaveBarrierOp)
def _wave_barrier(w: FunctionWriter, op: rocdl.WaveBarrierOp) -> None:
    _fenced(w, "wavefront", "llvm.amdgcn.wave.barrier")


_AMDGCN = inline_assembly.Language(
    "AMDGCN",
    re.compile(r"=?&?[vsarIJABCin]|\d+|=?&?\{[vsa](\d+|\[\d+:\d+\])\}"),
    "registers: v (vector), s (scalar), a (accumulation); {v8}: by name; n: an immediate",
    "asm='v_add_f32 $0, $1, $2', constraints='=v,v,v'",
)
"""Registers by their kind, whatever their width, immediates, an operand shared with an output (AMDGPUUsage, "Inline Assembly")."""


@WRITERS.add(rocdl.InlineAsmOp)
def _inline_asm(w: FunctionWriter, op: rocdl.InlineAsmOp) -> None:
    given = op.asm_string.data, op.constraints.data, op.packed.value.data, op.pure is not None
    inline_assembly.write(w, op, inline_assembly.Assembly(*given), _AMDGCN)

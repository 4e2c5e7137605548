"""Lowers a module: its functions, and the globals they share.

In: a TTGIR module whose shared memory is allocated and whose barriers are in place. Out: a module of the `llvm` and `nvvm`
dialects with one `llvm.func` for each `tt.func`.

    tt.func public @add(%x: !tt.ptr<f32>, %n: i32)
        ->  llvm.func @add(%x: !llvm.ptr<1>, %n: i32, %scratch: !llvm.ptr<1>, %profile: !llvm.ptr<1>) attributes {nvvm.kernel, ...}
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from minitriton.analysis.shared_memory.allocation import Allocation
from minitriton.codegen.lowering import (
    async_copy,
    atomics,
    casts,
    control_flow,
    convert_layout,
    diagnostics,
    dot,
    elementwise,
    indexing,
    math,
    memory,
    mma,
    program,
    reduce,
    rounded_division,
    scan,
    shared,
    tma,
    views,
    warp_specialize,
    wgmma,
)
from minitriton.codegen.lowering.module import ModuleLowering
from minitriton.codegen.lowering.signature import lower_function
from minitriton.dialects import tt

RULES = (
    async_copy, atomics, casts, control_flow, convert_layout, diagnostics, dot, elementwise, indexing, math, memory, mma, program, reduce, rounded_division, scan, shared,
    tma, views, warp_specialize, wgmma,
)  # fmt: skip
"""The modules of rules, which fill the table of `registry` as they are imported."""


def lower_module(module: ModuleOp, allocation: Allocation) -> ModuleOp:
    """The LLVM-level module of a TTGIR module."""
    state = ModuleLowering(module, allocation)
    functions = [lower_function(state, op) for op in module.ops if isinstance(op, tt.FuncOp)]
    others = [op.clone() for op in module.ops if op.name.startswith("llvm.") and _symbol(op) not in state.globals]
    result = ModuleOp([*others, *state.globals.values(), *functions], attributes=dict(module.attributes))
    result.location = module.location
    return result


def _symbol(op: Operation) -> str:
    name = op.properties.get("sym_name")
    return name.data if isinstance(name, StringAttr) else ""

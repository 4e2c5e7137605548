"""`convert-triton-gpu-to-llvm`: the LLVM level of a TTGIR module.

    tt.func public @add(...)  ->  llvm.func @add(...) attributes {nvvm.kernel, nvvm.reqntid = 128}

Memory is placed, fences and barriers are where they are needed: earlier passes have written that into the module.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.analysis.shared_memory.allocation import read_offsets
from minitriton.codegen.lowering.lower_module import lower_module
from minitriton.pipeline.pass_registry import Pass, Property, register_pass


@register_pass
class ConvertTritonGPUToLLVM(Pass, stage="llir", origin="triton"):
    """Lowers a TTGIR module to the `llvm` and `nvvm` dialects."""

    name = "convert-triton-gpu-to-llvm"
    requires: ClassVar[frozenset[Property]] = frozenset(
        {
            Property.TENSOR_IR,
            Property.ENCODINGS,
            Property.INLINED,
            Property.BLOCK_POINTERS_REWRITTEN,
            Property.DESCRIPTORS_LOWERED,
            Property.PARTITION_WARPS,
            Property.DOT_OPERANDS_FENCED,
            Property.DOT_REGISTERS_HELD,
            Property.EXCHANGES_LOWERED,
            Property.GLOBAL_SCRATCH,
            Property.SHARED_ALLOCATED,
            Property.COPIES_FENCED,
            Property.BARRIERS,
        }
    )
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.LLVM_DIALECT})
    keeps: ClassVar[frozenset[Property]] = frozenset({Property.INLINED})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        replace_body(op, lower_module(op, read_offsets(op)))


def replace_body(module: ModuleOp, other: ModuleOp) -> None:
    """Makes `module` hold what `other` holds."""
    for region in list(module.regions):
        module.detach_region(region)
        region.drop_all_references()
    module.add_region(other.detach_region(0))

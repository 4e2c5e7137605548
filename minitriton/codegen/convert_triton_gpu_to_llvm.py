"""`convert-triton-gpu-to-llvm`: the LLVM level of a TTGIR module.

    tt.func public @add(...)  ->  llvm.func @add(...) attributes {nvvm.kernel, nvvm.reqntid = 128}

Shared memory that no earlier pass has placed is placed here, and fences and barriers put where they are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.analysis.allocation import allocate, write_attributes
from minitriton.analysis.global_scratch import allocate_global_scratch
from minitriton.analysis.membar import insert_barriers
from minitriton.analysis.proxy_fences import insert_proxy_fences
from minitriton.codegen.lowering.module import lower_module
from minitriton.codegen.scratch import scratch_bytes
from minitriton.pass_registry import Pass, Property, register_pass


@register_pass
@dataclass(frozen=True)
class ConvertTritonGPUToLLVM(Pass):
    """Lowers a TTGIR module to the `llvm` and `nvvm` dialects."""

    name = "convert-triton-gpu-to-llvm"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.LLVM_DIALECT})
    destroys: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.STRUCTURED})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        allocate_global_scratch(op)
        allocation = allocate(op, scratch_bytes)
        write_attributes(op, allocation)
        insert_proxy_fences(op, allocation)
        insert_barriers(op, allocation)
        lowered = lower_module(op, allocation)
        replace_body(op, lowered)


def replace_body(module: ModuleOp, other: ModuleOp) -> None:
    """Makes `module` hold what `other` holds."""
    for region in list(module.regions):
        module.detach_region(region)
        region.drop_all_references()
    module.add_region(other.detach_region(0))

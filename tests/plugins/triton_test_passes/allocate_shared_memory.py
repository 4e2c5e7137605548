"""Places for all buffers in shared memory.

In: TTGIR. Out: the same ops, those with a buffer marked with its offset, the module with the number of bytes.

    %a = ttg.local_alloc : ...         %a = ttg.local_alloc {allocation.offset = 0 : i32} : ...
    %b = ttg.convert_layout ...   =>   %b = ttg.convert_layout ... {allocation.offset = 4096 : i32}
                                       module attributes {ttg.shared = 8192 : i32}

Scratch is as large as Triton's lowering needs it. Counterpart of lib/Conversion/TritonGPUToLLVM/AllocateSharedMemory.cpp.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.analysis.shared_memory.allocation import allocate, write_attributes
from minitriton.analysis.shared_memory.scratch_size import triton_scratch_bytes
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass


@register_pass
class AllocateSharedMemory(Pass, stage="llir", origin="triton"):
    """Gives each buffer its place in shared memory."""

    name = "allocate-shared-memory"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.EXCHANGES_LOWERED})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE - {Property.NO_TRITON_ALLOCATION} | {
        Property.EXCHANGES_LOWERED
    }
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.SHARED_ALLOCATED})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        write_attributes(op, allocate(op, triton_scratch_bytes))


@register_pass
class AllocateSharedMemoryNV(AllocateSharedMemory, stage="llir", origin="triton"):
    """Gives each buffer its place in shared memory, with the target's matrix instructions in mind."""

    name = "allocate-shared-memory-nv"

    compute_capability: int = 80
    ptx_version: int = 80

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        write_attributes(op, allocate(op, partial(triton_scratch_bytes, capability=self.compute_capability)))

"""Barriers for the accesses to shared memory, placed as if the module went on to be lowered.

In: TTGIR. Out: the same with `ttg.local_barrier` where `analysis.shared_memory.membar` wants one. Buffers are placed as Triton places them.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.analysis.shared_memory.allocation import allocate
from minitriton.analysis.shared_memory.membar import insert_barriers
from minitriton.analysis.shared_memory.scratch_size import triton_scratch_bytes
from minitriton.analysis.wave_copies import apart_by_waits
from minitriton.pipeline.pass_registry import Pass, Property, register_pass


@register_pass
class PrintMembar(Pass, origin="triton"):
    """Inserts the barriers that accesses to shared memory need."""

    name = "test-print-membar"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR, Property.EXCHANGES_LOWERED})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        insert_barriers(op, allocate(op, triton_scratch_bytes))


@register_pass
class PrintMembarOnAMD(Pass, origin="triton"):
    """Inserts the barriers that accesses to LDS need."""

    name = "test-tritonamdgpu-membar"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR, Property.EXCHANGES_LOWERED})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        insert_barriers(op, allocate(op, triton_scratch_bytes), apart_by_waits)

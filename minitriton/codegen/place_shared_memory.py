"""Places for all buffers in shared memory, as this compiler's lowering needs them.

    %a = ttg.local_alloc : ...         %a = ttg.local_alloc {allocation.offset = 0 : i32} : ...
    %b = tt.reduce ...            =>   %b = tt.reduce ... {allocation.offset = 4096 : i32, allocation.size = 512 : i32}
                                       module attributes {ttg.shared = 4608 : i32}

What a pass before has placed stays there, and `ttg.shared` is at least what a pass before has asked for. (`allocate-shared-memory-nv` gives the
places that Triton's own lowering needs.)
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr

from minitriton.analysis.shared_memory.allocation import allocate, write_attributes
from minitriton.codegen.scratch import scratch_bytes
from minitriton.dialects.attribute_values import i32_attr
from minitriton.dialects.facts.launch import ALLOCATION_OFFSET, ALLOCATION_SIZE, SHARED_BYTES
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.pass_registry import Pass, Property, register_pass

PLACED = "allocation.placed"
"""Attribute of a module whose shared memory this pass has placed."""

_GIVEN = "allocation.given"
"""Attribute of an op whose place was there before."""


@register_pass
class PlaceSharedMemory(Pass):
    """Gives each buffer its place in shared memory, those that have none."""

    name = "place-shared-memory"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.UNPLACED})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.SHARED_ALLOCATED})
    keeps: ClassVar[frozenset[Property]] = frozenset({Property.ONE_CTA, Property.GLOBAL_SCRATCH})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _forget_own_places(op)
        allocation = allocate(op, scratch_bytes)
        write_attributes(op, allocation)
        for function in allocation.functions.values():
            for owner, buffer in function.of_op.items():
                owner.attributes[ALLOCATION_SIZE] = i32_attr(buffer.size)


def _forget_own_places(module: ModuleOp) -> None:
    """Takes back what an earlier run of this pass has placed, for passes since may have copied or moved its ops; what was given stays."""
    given = [op for op in ops_in(module) if ALLOCATION_OFFSET in op.attributes]
    if PLACED not in module.attributes:
        module.attributes[PLACED] = UnitAttr()
        for op in given:
            op.attributes[_GIVEN] = UnitAttr()
        return
    module.attributes.pop(SHARED_BYTES, None)
    for op in given:
        if _GIVEN not in op.attributes:
            del op.attributes[ALLOCATION_OFFSET]
            op.attributes.pop(ALLOCATION_SIZE, None)

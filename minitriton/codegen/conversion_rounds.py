"""Layout conversions take fewer rounds through shared memory where more of it costs nothing.

In: TTGIR that is about to be lowered. Out: the same, conversions of several rounds marked with the bytes that they may use.

    128x128 f16, 16 rounds       st.shared, bar, ld.shared, bar, ... : 31 barriers in 2 KB
    {allocation.scratch_limit = 16384}                                 3 barriers in 16 KB

Two amounts cost nothing. What the kernel's other buffers take anyway and leave free while the conversion runs (the buffers of a
pipelined loop, after the loop). And, where no other buffer is alive, the tile's share: registers of a multiprocessor hold no more than
256 KiB of tiles, so scratch of the size of the tile times shared memory / 256 KiB never limits how many CTAs there is room for.

Not a pass of Triton's, which takes as many rounds, and as little memory, as the accesses allow. Left out by
`without="minitriton-conversion-rounds"`.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton.analysis.shared_memory.allocation import Allocation, FunctionAllocation, allocate
from minitriton.analysis.shared_memory.liveness import intersects
from minitriton.codegen.lowering.convert_layout import SCRATCH_LIMIT, conversion_of
from minitriton.codegen.scratch import scratch_bytes
from minitriton.dialects import ttg
from minitriton.dialects.attribute_values import i32_attr
from minitriton.dialects.facts.launch import target_arch
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.layouts.plans import SharedMemoryRoundTrip
from minitriton.pass_registry import Pass, Property, register_pass
from minitriton.target import SUPPORTED_ARCHITECTURES, GPUTarget

REGISTER_FILE_BYTES = 256 * 1024
"""Registers of a multiprocessor, on every architecture since sm_70 (CUDA programming guide, table of technical specifications)."""


@register_pass
class ConversionRounds(Pass):
    """Lets layout conversions use shared memory that is free anyway, for fewer barriers."""

    name = "minitriton-conversion-rounds"
    acts_on = frozenset({ttg.ConvertLayoutOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS})
    destroys: ClassVar[frozenset[Property]] = frozenset({Property.SHARED_ALLOCATED})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        conversions = {o: p for o in ops_in(op) if o.name == "ttg.convert_layout" and (p := _in_rounds(o)) is not None}
        if not conversions:
            return
        allocation = allocate(op, scratch_bytes)
        limits, totals = _limits(conversions, allocation)
        while limits:
            for conversion, limit in limits.items():
                conversion.attributes[SCRATCH_LIMIT] = i32_attr(limit)
            placed = allocate(op, scratch_bytes).functions
            # What is free may lie in pieces: those that do not fit get less.
            crowded = {function for function, total in totals.items() if placed[function].total_bytes > total}
            again = {o: limit for o, limit in limits.items() if _function_of(o, placed) in crowded}
            for conversion in again:
                del conversion.attributes[SCRATCH_LIMIT]
            limits = {o: limit // 2 for o, limit in again.items() if limit // 2 > conversions[o].scratch_bytes}


def _in_rounds(conversion: Operation) -> SharedMemoryRoundTrip | None:
    if not scratch_bytes(conversion):
        return None
    plan = conversion_of(conversion)
    return plan if isinstance(plan, SharedMemoryRoundTrip) and plan.rounds > 1 else None


def _limits(
    conversions: dict[Operation, SharedMemoryRoundTrip], allocation: Allocation
) -> tuple[dict[Operation, int], dict[Operation, int]]:
    """The bytes that each conversion may use, and those that each function may come to."""
    called = {callee for placed in allocation.functions.values() for callee in placed.callees.values()}
    alive = {o: _alive_beside(o, allocation.functions[_function_of(o, allocation.functions)]) for o in conversions}
    totals = {function: placed.total_bytes for function, placed in allocation.functions.items()}
    for conversion, plan in conversions.items():
        function = _function_of(conversion, allocation.functions)
        if not alive[conversion] and function not in called:
            totals[function] = max(totals[function], _share(plan, target_arch(conversion)))
    return {o: totals[_function_of(o, totals)] - alive[o] for o in conversions}, totals


def _share(plan: SharedMemoryRoundTrip, capability: int) -> int:
    """What the tile of a conversion may take without being what limits the number of CTAs."""
    if capability not in SUPPORTED_ARCHITECTURES:
        return 0
    tile = plan.rounds * plan.scratch_bytes
    return tile * GPUTarget("cuda", capability).max_shared_memory // REGISTER_FILE_BYTES


def _alive_beside(conversion: Operation, placed: FunctionAllocation) -> int:
    own = placed.of_op[conversion]
    return sum(other.size for other in placed.buffers() if other is not own and intersects(other.live, own.live))


def _function_of(op: Operation, functions: dict[Operation, FunctionAllocation] | dict[Operation, int]) -> Operation:
    while op not in functions:
        parent = op.parent_op()
        assert parent is not None, "a conversion is in a function"
        op = parent
    return op

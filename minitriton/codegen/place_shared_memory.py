"""The passes that settle shared memory before the lowering, in this order: more of it where it is free, offsets, fences, barriers.

    `minitriton-use-free-shared-memory`   128x128 f16, 16 rounds: 31 barriers in 2 KB      {allocation.scratch_limit = 16384}: 3 barriers in 16 KB
                                          softmax's buffers share memory: a barrier        {allocation.separate}: each has its own;
                                          before one is written over another               no barrier
    `place-shared-memory`                 %a = ttg.local_alloc : ...        =>             %a = ttg.local_alloc {allocation.offset = 0 : i32} : ...
                                          %b = tt.reduce ...                               {allocation.offset = 4096 : i32, allocation.size = 512 : i32}
                                                                                           module attributes {ttg.shared = 4608 : i32}
    `insert-proxy-fences`                 before each tensor copy into bytes that threads have accessed since the last fence
    `insert-barriers`                     between accesses of different threads; after the fences, which must precede the barrier that a copy follows

What an earlier pass has placed stays there, and `ttg.shared` is at least what an earlier pass has asked for. (`allocate-shared-memory-nv` gives the offsets that
Triton's own lowering needs.)

Memory is free in two cases. What the kernel's other buffers take anyway and leave unused while a conversion runs (the buffers of a pipelined loop, after the loop).
And, where no other buffer is alive, the tile's share: registers of a multiprocessor hold no more than 256 KiB of tiles, so scratch of the size of the tile times
shared memory / 256 KiB never limits how many CTAs there is room for. Buffers do not share memory where all of them together take so little that they never limit how
many CTAs a multiprocessor holds, and leave the L1 cache, which is of the same memory, nearly as it was (`FREE_BYTES`).
"""

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation

from minitriton.analysis.shared_memory.allocation import (
    Allocation,
    FunctionAllocation,
    allocate,
    callees_first,
    function_buffers,
    read_allocation,
    write_attributes,
)
from minitriton.analysis.shared_memory.liveness import intersects
from minitriton.analysis.shared_memory.membar import (
    BufferAccess,
    FunctionWalk,
    Pending,
    can_skip_barrier,
    insert_barriers,
)
from minitriton.codegen.lowering.convert_layout import conversion_of
from minitriton.codegen.scratch import scratch_bytes
from minitriton.dialects import ttg
from minitriton.dialects.attribute_values import i32_attr
from minitriton.dialects.facts.launch import ALLOCATION_OFFSET, ALLOCATION_SIZE, SHARED_BYTES, features_of, target_text
from minitriton.dialects.facts.pass_attributes import SCRATCH_LIMIT, SEPARATE
from minitriton.dialects.facts.synchronization import CopyInto, OfAsyncProxy
from minitriton.dialects.fast_paths.op_access import ops_in, ops_of
from minitriton.dialects.ttng.barriers import FenceAsyncSharedOp
from minitriton.layouts.plans import SharedMemoryRoundTrip
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.target.architectures import Architecture

FREE_BYTES = 4096
"""Of a CTA. Multiprocessors have 64 KiB (sm_75) to 228 KiB (sm_90) of shared memory for at most 16 and 32 CTAs."""

PLACED = "allocation.placed"
"""Attribute of a module whose shared memory this pass has placed."""

_GIVEN = "allocation.given"
"""Attribute of an op whose location was there before."""


@register_pass
class UseFreeSharedMemory(Pass, stage="llir"):
    """Lets layout conversions and small buffers use shared memory that is free anyway, for fewer barriers."""

    name = "minitriton-use-free-shared-memory"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE

    fewer_rounds: bool = True
    """False: conversions take as many rounds, in as little memory, as their accesses allow."""

    separate: bool = True
    """False: buffers that are not alive at the same time share memory."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _forget_own_offsets(op)
        if self.fewer_rounds:
            _take_fewer_rounds(op)
        if self.separate:
            _separate_small_buffers(op)


def _take_fewer_rounds(op: ModuleOp) -> None:
    conversions: dict[Operation, SharedMemoryRoundTrip] = {
        o: plan for o in ops_of(op, ttg.ConvertLayoutOp) if (plan := _in_rounds(o)) is not None
    }
    if not conversions:
        return
    allocation = allocate(op, scratch_bytes)
    limits, totals = _limits(conversions, allocation)
    while limits:
        for conversion, limit in limits.items():
            conversion.attributes[SCRATCH_LIMIT] = i32_attr(limit)
        placed = allocate(op, scratch_bytes).functions
        # What is free may be in parts: those that do not fit get less.
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
    alive = {o: _alive_with(o, allocation.functions[_function_of(o, allocation.functions)]) for o in conversions}
    totals = {function: placed.total_bytes for function, placed in allocation.functions.items()}
    for conversion, plan in conversions.items():
        function = _function_of(conversion, allocation.functions)
        if not alive[conversion] and function not in called:
            totals[function] = max(totals[function], _share(plan, features_of(conversion)))
    return {o: totals[_function_of(o, totals)] - alive[o] for o in conversions}, totals


def _share(plan: SharedMemoryRoundTrip, target: Architecture) -> int:
    """What the tile of a conversion may take without being what limits the number of CTAs."""
    tile = min(plan.rounds * plan.scratch_bytes, target.register_file_bytes)
    return tile * target.max_shared_memory // target.register_file_bytes


def _alive_with(conversion: Operation, placed: FunctionAllocation) -> int:
    own = placed.of_op[conversion]
    return sum(other.size for other in placed.buffers() if other is not own and intersects(other.live, own.live))


def _function_of(op: Operation, functions: dict[Operation, FunctionAllocation] | dict[Operation, int]) -> Operation:
    while op not in functions:
        parent = op.parent_op()
        assert parent is not None, "a conversion is in a function"
        op = parent
    return op


def _separate_small_buffers(op: ModuleOp) -> None:
    functions = list(callees_first(op))
    called = {callee for _, callees in functions for callee in callees.values()}
    for function, callees in functions:
        if not callees and function not in called and _are_small(function):
            function.attributes[SEPARATE] = UnitAttr()


def _are_small(function: Operation) -> bool:
    buffers = function_buffers(function, scratch_bytes)
    return len(buffers) > 1 and sum(-(-b.size // b.alignment) * b.alignment for b in buffers) <= FREE_BYTES


@register_pass
class PlaceSharedMemory(Pass, stage="llir", origin="required"):
    """Gives each buffer its location in shared memory, those that have none."""

    name = "place-shared-memory"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.NO_TRITON_ALLOCATION})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.SHARED_ALLOCATED})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE | {Property.EXCHANGES_LOWERED, Property.GLOBAL_SCRATCH}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _forget_own_offsets(op)
        _note_given_offsets(op)
        allocation = allocate(op, scratch_bytes)
        write_attributes(op, allocation)
        for function in allocation.functions.values():
            for owner, buffer in function.of_op.items():
                owner.attributes[ALLOCATION_SIZE] = i32_attr(buffer.size)


def _note_given_offsets(module: ModuleOp) -> None:
    """Marks what has a location before this pass has run for the first time."""
    if PLACED not in module.attributes:
        module.attributes[PLACED] = UnitAttr()
        for op in ops_in(module):
            if ALLOCATION_OFFSET in op.attributes:
                op.attributes[_GIVEN] = UnitAttr()


def _forget_own_offsets(module: ModuleOp) -> None:
    """Takes back what an earlier run of this pass has placed, for passes since may have copied or moved its ops; what was given stays."""
    if PLACED not in module.attributes:
        return
    module.attributes.pop(SHARED_BYTES, None)
    for op in ops_in(module):
        if ALLOCATION_OFFSET in op.attributes and _GIVEN not in op.attributes:
            del op.attributes[ALLOCATION_OFFSET]
            op.attributes.pop(ALLOCATION_SIZE, None)


_KEPT = KEPT_IN_PLACE | {Property.EXCHANGES_LOWERED, Property.GLOBAL_SCRATCH, Property.SHARED_ALLOCATED}


@register_pass
class InsertProxyFences(Pass, stage="llir", origin="required"):
    """Puts fences where the copy unit would otherwise overwrite shared memory that threads still read or write."""

    name = "insert-proxy-fences"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.SHARED_ALLOCATED})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.COPIES_FENCED})
    keeps: ClassVar[frozenset[Property]] = _KEPT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        insert_proxy_fences(op, read_allocation(op, scratch_bytes))


@register_pass
class InsertBarriers(Pass, stage="llir", origin="required"):
    """Puts barriers where threads would otherwise read or overwrite shared memory too early."""

    name = "insert-barriers"
    requires: ClassVar[frozenset[Property]] = frozenset(
        {Property.ENCODINGS, Property.SHARED_ALLOCATED, Property.COPIES_FENCED}
    )
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.BARRIERS})
    keeps: ClassVar[frozenset[Property]] = _KEPT | {Property.COPIES_FENCED}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apart = can_skip_barrier
        if (target_text(op) or "").startswith("hip:"):
            from minitriton.analysis.wave_copies import apart_by_waits as apart
        insert_barriers(op, read_allocation(op, scratch_bytes), apart)


def insert_proxy_fences(module: ModuleOp, allocation: Allocation) -> None:
    """Inserts the fences that `module` needs, callees first; `allocation` is that of `module`.

    `ttng.fence_async_shared` stands before each asynchronous copy into bytes that threads have accessed since the last fence, and before each call of
    a function that begins such copies: accesses by the generic and by the async proxy are not ordered otherwise (PTX ISA, "Async proxy").

        %x = ttg.local_load %a                              %x = ttg.local_load %a
        ttng.async_tma_copy_global_to_local ... %b    =>    ttng.fence_async_shared {bCluster = false}
        (%b has the offset that %a had)                     ttng.async_tma_copy_global_to_local ... %b

    Counterpart of lib/Dialect/TritonNvidiaGPU/Transforms/ProxFenceInsertion.cpp.
    """
    if not _has_copies(module):
        return
    at_return: dict[Operation, Pending] = {}
    for function, placed in allocation.functions.items():
        at_return[function] = _Fences(placed, at_return, _is_of_async_proxy).run()


def _has_copies(op: Operation) -> bool:
    return any(CopyInto.of(inner) for inner in ops_in(op))


def _is_of_async_proxy(before: Operation, after: Operation) -> bool:
    return OfAsyncProxy.of(before) is not None


class _Fences(FunctionWalk):
    """What threads have accessed since the last fence."""

    def _access(self, op: Operation) -> BufferAccess | None:
        if isinstance(op, FenceAsyncSharedOp):
            return BufferAccess(op, Pending(), is_barrier=True)
        copy = CopyInto.of(op)
        if copy is not None:
            target = copy.buffer_of(op)
            claims = Pending(writes={buffer.bytes: {op: None} for buffer in self.placed.buffers_of(target)})
            return BufferAccess(op, Pending(), claims=claims)
        callee = self.placed.callees.get(op)
        if callee is not None:
            access = self._call(op, callee)
            if access is not None and not _has_copies(callee):
                access.claims = Pending()
            return access
        pending = Pending()
        self._add_effects(op, pending)
        scratch = self.placed.of_op.get(op)
        if scratch is not None:
            pending.reads.setdefault(scratch.bytes, {})[op] = None
        return BufferAccess(op, pending, claims=Pending()) if pending.reads or pending.writes else None

    def _barrier(self) -> Operation:
        return FenceAsyncSharedOp(b_cluster=False)

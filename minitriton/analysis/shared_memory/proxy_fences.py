"""Fences before tensor copies into shared memory that threads may still read or write.

In: a module and the offsets of its buffers. Out: the same module with `ttng.fence_async_shared` before each asynchronous copy into
bytes that threads have accessed since the last fence, and before each call of a function that begins such copies (accesses by the generic and by the async proxy are not ordered otherwise: PTX ISA,
"Async proxy").

    %x = ttg.local_load %a                              %x = ttg.local_load %a
    ttng.async_tma_copy_global_to_local ... %b    =>    ttng.fence_async_shared {bCluster = false}
    (%b has the offset that %a had)                   ttng.async_tma_copy_global_to_local ... %b

It runs before `insert-barriers`, for the fences of threads must precede the barrier that the copy follows. Counterpart of
lib/Dialect/TritonNvidiaGPU/Transforms/ProxFenceInsertion.cpp.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton.analysis.shared_memory.allocation import Allocation
from minitriton.analysis.shared_memory.membar import BufferAccess, FunctionWalk, Pending
from minitriton.dialects.facts.synchronization import CopyInto, OfAsyncProxy
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.dialects.ttng.barriers import FenceAsyncSharedOp


def insert_proxy_fences(module: ModuleOp, allocation: Allocation) -> None:
    """Inserts the fences that `module` needs, callees first; `allocation` is that of `module`."""
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
                access.claims = None
            return access
        pending = Pending()
        self._add_effects(op, pending)
        scratch = self.placed.of_op.get(op)
        if scratch is not None:
            pending.reads.setdefault(scratch.bytes, {})[op] = None
        return BufferAccess(op, pending) if pending.reads or pending.writes else None

    def _walk(self, accesses: list[BufferAccess], state: Pending) -> None:
        position = 0
        while position < len(accesses):
            access = accesses[position]
            if access.is_barrier:
                state.clear()
            else:
                if access.claims is not None and state.conflicts_with(access.claims, self.skip):
                    self._insert(accesses, position, access.op, FenceAsyncSharedOp(b_cluster=False))
                    position += 1
                    state.clear()
                state.join(access.pending)
            position += 1

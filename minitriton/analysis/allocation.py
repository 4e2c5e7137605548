"""Where every buffer lies in shared memory.

In: a module with buffers (`ttg.local_alloc`) and ops that need scratch (layout conversions, reductions, ...), and a function
that says how many bytes of scratch an op needs. Out: an `Allocation` with the offset of every buffer.

    allocation = allocate(module, scratch_bytes)
    allocation.offset(op)      # bytes from the base of shared memory, for a local_alloc or an op with scratch
    allocation.total_bytes     # what the kernel needs

`write_attributes` puts the result into the IR: `allocation.offset` on the ops, `ttg.shared` on the module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

ScratchBytes = Callable[[Operation], int]
"""How many bytes of shared memory an op needs while it runs (0 for most)."""


@dataclass
class Allocation:
    """The buffers of a module and their places."""

    total_bytes: int = 0
    offsets: dict[Operation, int] = field(default_factory=dict)

    def offset(self, op: Operation) -> int | None:
        """Where the buffer of a `local_alloc`, or the scratch of another op, begins; None if the op has none."""
        return self.offsets.get(op)


def allocate(module: ModuleOp, scratch_bytes: ScratchBytes) -> Allocation:
    """Place every buffer of `module`, buffers that never live at the same time sharing memory."""
    raise NotImplementedError


def write_attributes(module: ModuleOp, allocation: Allocation) -> None:
    """Write `allocation.offset` on every op with a buffer and `ttg.shared` on the module."""
    raise NotImplementedError

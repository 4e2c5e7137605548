"""Memory accesses: an op that has this fact reads or writes memory that it names, and says which operand plays which role.

access = MemoryAccess.of(op)
access.pointer_of(op), access.mask_of(op)      of a `tt.load`: `op.ptr`, and `op.mask` or None
"""

from math import prod
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.dialects.facts import Fact
from minitriton.dialects.facts.launch import num_warps, threads_per_warp
from minitriton.dialects.facts.layout import LayoutAnchor, NeverRematerialized
from minitriton.host.frozen import frozen


@frozen
class MemoryAccess(Fact):
    """An access of global memory. The names of the op's fields, None where it has no such operand."""

    pointer: str = "ptr"
    mask: str | None = None
    other: str | None = None
    value: str | None = None
    cache: str | None = None
    """The property that says which caches keep the data."""
    atomic: bool = False
    asynchronous: bool = False

    @property
    def is_load(self) -> bool:
        """Whether it gives threads what memory holds, and does nothing else."""
        return self.value is None and not self.asynchronous

    @property
    def mask_group(self) -> int:
        """Where among the groups of operands the mask is: after the pointer, and the value or the buffer."""
        return 2 if self.value is not None or self.asynchronous else 1

    def pointer_of(self, op: Operation) -> SSAValue:
        """What says where: a pointer, a tensor of pointers, a descriptor."""
        return getattr(op, self.pointer)

    def mask_of(self, op: Operation) -> SSAValue | None:
        """Where to access, if not everywhere."""
        return None if self.mask is None else getattr(op, self.mask)

    def data_of(self, op: Operation) -> SSAValue:
        """What is read, or written."""
        return op.results[0] if self.value is None else getattr(op, self.value)


@frozen
class DescriptorAccess(MemoryAccess):
    """An access of a block of memory through a descriptor. `rows`: the tensor that picks its rows."""

    pointer: str = "desc"
    rows: str | None = None

    def rows_of(self, op: Operation) -> SSAValue | None:
        """The numbers of the rows, whose layout is not that of the data."""
        return None if self.rows is None else getattr(op, self.rows)


class AnchorIfWide(LayoutAnchor):
    """An access with at least one element a thread: coalescing it counts, so its layout is kept."""

    def holds(self, op: Operation) -> bool:
        return is_expensive_access(op)


class NeverRematerializedIfWide(NeverRematerialized):
    """As `AnchorIfWide`."""

    def holds(self, op: Operation) -> bool:
        return is_expensive_access(op)


def is_expensive_access(op: Operation) -> bool:
    """Whether a load or store touches at least one element a thread, so that coalescing it counts."""
    pointer: Any = op.operands[0].type
    if pointer.__class__ is not TensorType:
        return getattr(pointer, "pointee_type", None).__class__ is TensorType
    elements = prod(pointer.get_shape())
    return elements != 1 and elements >= num_warps(op) * threads_per_warp(op)

"""Whether a TTGIR program keeps the order that its shared memory needs: with every buffer at its offset and barriers between.

In: a module. Out: the module to interpret so that a missing barrier, a missing wait or memory reused too early is an error:

    as it comes from a pass             →   a copy, its buffers placed and barriers inserted as the lowering will
    once barriers have been in the IR   →   without more barriers: what it lacks from then on, a pass has taken away
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from minitriton.analysis.shared_memory.allocation import allocate, write_attributes
from minitriton.analysis.shared_memory.membar import insert_barriers
from minitriton.analysis.shared_memory.scratch_size import triton_scratch_bytes
from minitriton.dialects.facts.launch import SHARED_BYTES
from minitriton.dialects.ttg import LocalBarrierOp
from minitriton.errors import MinitritonError

if TYPE_CHECKING:
    from minitriton.emulator import Finding


KERNEL_RACES = frozenset({"thread-race", "global-race"})
"""Faults of order that a kernel's own program has: in global memory, where no pass puts barriers."""


@dataclass(frozen=True)
class OrderFault:
    """One fault of order: `kind` tells faults of different causes apart, `text` names op and location."""

    kind: str
    text: str

    @staticmethod
    def of_finding(finding: Finding) -> OrderFault:
        """What the emulator found."""
        return OrderFault(finding.kind, str(finding))

    @staticmethod
    def of_error(error: MinitritonError) -> OrderFault:
        """What stopped the interpreter."""
        return OrderFault("shared-memory", str(error))


def has_barriers(module: ModuleOp) -> bool:
    """Whether barriers have been put between the module's accesses of shared memory. (`gpu.barrier` says nothing of that: kernels ask for it
    by `tl.debug_barrier`, warp specialization puts it after the mbarriers that it makes.)"""
    return any(isinstance(op, LocalBarrierOp) for op in module.walk())


def laid_out(module: ModuleOp, *, insert: bool) -> ModuleOp | None:
    """`module` with every buffer in its place, and barriers if they are to be inserted; None if there is nothing to look at.

    Buffers that a pass has placed stay there; before it inserts barriers too, none are to be expected.
    """
    if SHARED_BYTES in module.attributes:
        return None if insert else module
    copy = module.clone()
    allocation = allocate(copy, triton_scratch_bytes)
    if allocation.total_bytes == 0:
        return None
    write_attributes(copy, allocation)
    if insert:
        insert_barriers(copy, allocation)
    return copy

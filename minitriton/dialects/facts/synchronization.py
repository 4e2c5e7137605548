"""How ops on shared memory are ordered: what passes that insert barriers and fences ask of an op."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from minitriton.dialects.facts import Fact


class Barrier(Fact):
    """All threads of a CTA meet."""


class WaitsForCopies(Fact):
    """Waits until a thread's own asynchronous copies are over; other threads' need a barrier after it."""


class UsesMbarrier(Fact):
    """Ordered by an mbarrier with others of its kind: threads may do them in any order."""


class ArrivesForAll(Fact):
    """Whoever waits for the arrival may touch all that was touched before it."""


class EndsBeforeItsWait(Fact):
    """A copy whose wait ends only when it has ended, or that wait."""


class SetsUpMbarrier(Fact):
    """Makes or unmakes an mbarrier; those of an array are independent."""


class OfAsyncProxy(Fact):
    """No access by threads to shared memory, or one that synchronises by itself (PTX ISA, "Async proxy")."""


@dataclass(frozen=True)
class CopyInto(OfAsyncProxy):
    """The copy unit writes the buffer of field `buffer`."""

    buffer: str

    def buffer_of(self, op: Operation) -> SSAValue:
        """The memory descriptor of that buffer."""
        return getattr(op, self.buffer)


class TensorCoreReads(OfAsyncProxy):
    """A dot of matrices that tensor cores read from shared memory: operands 0 and 1."""

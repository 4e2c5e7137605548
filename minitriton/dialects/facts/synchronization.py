"""How ops on shared memory are ordered: what passes that insert barriers and fences ask of an op."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.dialects.facts import Fact
from minitriton.dialects.facts.launch import ALLOCATION_OFFSET, ALLOCATION_SIZE
from minitriton.dialects.facts.region_flow import Call
from minitriton.dialects.fast_paths.operations import ops_in


class Barrier(Fact):
    """All threads of a CTA meet."""


class LoweringBarrier(Fact):
    """The lowering inserts a barrier: all threads that run the op meet. `FunctionLowering.barrier` refuses ops without this fact."""

    def holds(self, op: Operation) -> bool:
        """Whether this op's lowering may insert one."""
        return True


class ScratchBarrier(LoweringBarrier):
    """Between writing the op's scratch memory and reading it: only where the op has some."""

    def holds(self, op: Operation) -> bool:
        return ALLOCATION_OFFSET in op.attributes or ALLOCATION_SIZE in op.attributes


class TensorBarrier(LoweringBarrier):
    """After an op on a tensor; an op on a scalar has none."""

    def holds(self, op: Operation) -> bool:
        return isinstance(op.operands[0].type, TensorType)


def meets_threads(op: Operation) -> bool:
    """Whether all threads may meet at `op` or at an op in it. Scratch memory must have been placed."""
    return any(_meets_itself(inner) for inner in ops_in(op))


def _meets_itself(op: Operation) -> bool:
    lowering = LoweringBarrier.of(op)
    return bool(Barrier.of(op) or Call.of(op) or (lowering is not None and lowering.holds(op)))


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
    """A dot whose operands tensor cores read from shared memory: operands 0 and 1."""

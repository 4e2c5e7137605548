"""How ops on shared memory are ordered: what passes that insert barriers and fences ask of an op, and which of a block's 16 named barriers are for what.

    0            all threads; in warp-specialized kernels the default warps
    1            all warps of a warp-specialized block
    2 to 15      the partitions of a warp-specialized block, one each
    1 to 13      buffers of rings that only the first warp fills, one each, the same for all loops of a kernel
    14, 15       warp groups that take turns at the tensor cores, one each

Named barriers (PTX ISA, "bar") are allotted here and nowhere else. The class of an op that uses some says which (`TakesBarriers`); a pass that adds such ops first
asks whether they are taken. A barrier that a lowering inserts (`LoweringBarrier`) is 0, or that of the partition whose code it is in (`FunctionLowering.barrier`).

What an op starts that is still in flight after it, and what an op waits for (`analysis.in_flight` asks):

    ttng.warp_group_dot {isAsync}       Starts(Kind.DOT, reads=("a", "b"), writes=("result",), flag="is_async")
    ttng.warp_group_dot_wait            Waits(Kind.DOT, left="pendings")

Operations of one kind end in the order in which they start, so a wait says how many may be left. Tensor copies end by mbarrier: a wait at one
ends the oldest group of copies of the ring of mbarriers that it is in.
"""

from enum import Enum
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.dialects.facts import Fact
from minitriton.dialects.facts.launch import ALLOCATION_OFFSET, ALLOCATION_SIZE
from minitriton.dialects.facts.region_flow import Call
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.host.frozen import frozen


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


@frozen
class CopyInto(OfAsyncProxy):
    """The copy unit writes the buffer of field `buffer`."""

    buffer: str

    def buffer_of(self, op: Operation) -> SSAValue:
        """The memory descriptor of that buffer."""
        return getattr(op, self.buffer)


class TensorCoreReads(OfAsyncProxy):
    """A dot whose operands tensor cores read from shared memory: operands 0 and 1."""


ALL_WARPS = 1
PARTITIONS = range(2, 16)
FIRST_WARP_FILLS = range(1, 14)
TURNS = range(14, 16)
SPECIALIZED = range(ALL_WARPS, PARTITIONS.stop)
"""Of a warp-specialized kernel."""


@frozen
class TakesBarriers(Fact):
    """The op uses some of these named barriers."""

    numbers: range


def taken_barriers(root: Operation) -> frozenset[int]:
    """The named barriers, other than 0, that ops in `root` use."""
    found = {takes for op in ops_in(root) if (takes := TakesBarriers.of(op)) is not None}
    return frozenset(number for takes in found for number in takes.numbers)


class Kind(Enum):
    """What ends in order."""

    DOT = "dot"
    COPY = "copy"
    TENSOR_COPY = "tensor copy"
    TENSOR_STORE = "tensor store"
    ARRIVAL = "arrival"
    TURN = "turn"


@frozen
class _OfKind(Fact):
    kind: Kind


@frozen
class Starts(_OfKind):
    """The op starts something that reads and writes the values of these fields until it is waited for."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    barrier: str | None = None
    """The field of the mbarrier at which it ends."""
    flag: str | None = None
    """The field that says whether it stays in flight; without it the op waits for all of its kind."""
    is_committed: bool = True
    """Whether each is a group of its own; else `Commits` ends a group."""

    def stays(self, op: Operation) -> bool:
        """Whether it is in flight after `op`."""
        return self.flag is None or bool(cast("IntegerAttr", getattr(op, self.flag)).value.data)

    def values_read(self, op: Operation) -> list[SSAValue]:
        """What it reads while in flight."""
        return [getattr(op, field) for field in self.reads]

    def values_written(self, op: Operation) -> list[SSAValue]:
        """What it writes while in flight."""
        return [getattr(op, field) for field in self.writes]


class Commits(_OfKind):
    """What was started since the last such op is one group from here on."""


@frozen
class Waits(_OfKind):
    """The op waits until at most the `left` youngest groups are in flight; none where no field says so."""

    left: str | None = None
    barrier: str | None = None
    """The field of an mbarrier: the oldest group of its ring ends."""

    def number_left(self, op: Operation) -> int:
        """How many groups may be in flight after `op`."""
        return 0 if self.left is None else cast("IntegerAttr", getattr(op, self.left)).value.data

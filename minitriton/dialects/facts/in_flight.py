"""What an op starts that is still in flight after it, and what an op waits for: what `analysis.in_flight` asks of an op.

    ttng.warp_group_dot {isAsync}       Starts(Kind.DOT, reads=("a", "b"), writes=("result",), flag="is_async")
    ttng.warp_group_dot_wait            Waits(Kind.DOT, left="pendings")

Operations of one kind end in the order in which they start, so a wait says how many may be left. Tensor copies end by mbarrier: a wait at one
ends the oldest group of copies of the ring of mbarriers that it is in.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from minitriton.dialects.facts import Fact


class Kind(Enum):
    """What ends in order."""

    DOT = "dot"
    COPY = "copy"
    TENSOR_COPY = "tensor copy"
    TENSOR_STORE = "tensor store"
    ARRIVAL = "arrival"
    TURN = "turn"


@dataclass(frozen=True)
class _OfKind(Fact):
    kind: Kind


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Waits(_OfKind):
    """The op waits until at most the `left` youngest groups are in flight; none where no field says so."""

    left: str | None = None
    barrier: str | None = None
    """The field of an mbarrier: the oldest group of its ring ends."""

    def number_left(self, op: Operation) -> int:
        """How many groups may be in flight after `op`."""
        return 0 if self.left is None else cast("IntegerAttr", getattr(op, self.left)).value.data

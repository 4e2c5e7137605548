"""Barriers of a CTA: who has arrived, and whether those that met may meet.

`bar.sync` is `barrier.sync.aligned`: all threads of a warp must execute it together, and all that meet must execute the same
instruction (PTX ISA, "bar, barrier"); `barrier.sync` asks for neither.

    @%p1 bra ELSE; bar.sync 0; bra END; ELSE: bar.sync 0; END:      →   two instructions meet: a finding
"""

from dataclasses import dataclass, field

import numpy as np

from minitriton.emulator.lanes import Lanes
from minitriton.emulator.threads import Threads
from minitriton.target.architectures import WARP_SIZE

BARRIERS = 16
"""Of a CTA, numbered from 0."""


@dataclass(frozen=True)
class Reduction:
    """What `bar.red` makes of the threads' predicates: `popc`, `and` or `or`, into a register."""

    operation: str
    predicate: Lanes
    register: int

    def result(self, yes: int, all: int) -> int | bool:
        """For `yes` of `all` threads."""
        return {"popc": yes, "and": yes == all, "or": yes > 0}[self.operation]


@dataclass(frozen=True)
class Arrival:
    """One execution of a barrier instruction: `expected` threads complete it; those that do not `wait` go on at once."""

    number: int
    expected: int
    wait: bool
    site: int
    aligned: bool
    reduction: Reduction | None = None


@dataclass
class BarrierArrivals:
    """Threads that wait at a barrier per block they go on in, those that only arrived, and the instructions they executed."""

    expected: int = 0
    site: int = 0
    waiting: dict[int, np.ndarray] = field(default_factory=dict[int, np.ndarray])
    arrived: np.ndarray | None = None
    votes: np.ndarray | None = None
    """Of `bar.red`: the predicates of the threads that have arrived."""
    aligned: dict[int, np.ndarray] = field(default_factory=dict[int, np.ndarray])
    """By instruction that is aligned and waits: its threads."""

    @property
    def here(self) -> np.ndarray:
        """All that have arrived."""
        parts = [*self.waiting.values(), *([self.arrived] if self.arrived is not None else [])]
        return np.logical_or.reduce(parts)

    def add(self, one: Arrival, following: int, threads: np.ndarray) -> None:
        """More threads arrive."""
        if one.wait:
            _join(self.waiting, following, threads)
            if one.aligned:
                _join(self.aligned, one.site, threads)
        else:
            self.arrived = threads if self.arrived is None else self.arrived | threads
        if one.reduction is not None:
            new = threads & one.reduction.predicate
            self.votes = new if self.votes is None else self.votes | new


def _join(table: dict[int, np.ndarray], key: int, threads: np.ndarray) -> None:
    old = table.get(key)
    table[key] = threads if old is None else old | threads


def check_numbers(x: Threads, number: int, expected: int, site: int) -> None:
    """A barrier's number and its count of threads, which must be whole warps."""
    if number >= BARRIERS:
        x.find("barrier", site, x.index[:1], f"barrier {number}: a CTA has barriers 0 to {BARRIERS - 1}")
    if expected % WARP_SIZE and expected != x.threads:
        x.find("barrier", site, x.index[:1], f"a barrier of {expected} threads, which are not whole warps")


def check_completed(x: Threads, arrivals: BarrierArrivals, last: Arrival) -> None:
    """Of threads that have met at a barrier: whether aligned instructions were executed by whole warps, and only one of them."""
    for site, threads in arrivals.aligned.items():
        warps = threads.reshape(-1, WARP_SIZE)
        some = np.any(warps, axis=1, keepdims=True)
        apart = (some & x.alive.reshape(-1, WARP_SIZE) & ~warps).ravel()
        if apart.any():
            x.find(
                "barrier", site, np.nonzero(apart)[0],
                f"threads do not execute barrier {last.number} with the others of their warp: barrier.sync without .aligned may part them",
            )  # fmt: skip
            return
    if len(arrivals.aligned) > 1:
        other = x.instruction(next(iter(arrivals.aligned)))
        x.find(
            "barrier", last.site, np.nonzero(arrivals.aligned.get(last.site, arrivals.here))[0],
            f"threads meet others at barrier {last.number} that execute it at ptx:{other.line}: those of bar.sync must be one instruction",
        )  # fmt: skip

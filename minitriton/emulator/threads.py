"""Threads of some CTAs that run concurrently, as the memories see them, whatever instruction set they run: where each is, what it may access.

Arrays have one element for each thread; a mask of None stands for all of them.
"""

import numpy as np

from minitriton.emulator.lanes import Lanes
from minitriton.emulator.memory.device import GlobalMemory
from minitriton.emulator.memory.ordering import Clocks
from minitriton.emulator.memory.shared import SharedMemory
from minitriton.emulator.report import Report, Reported

Mask = np.ndarray | None


class Threads:
    """`warps_per_cta` warps of `warp_size` lanes in each of `ctas` CTAs, which have numbers from `first` on in the order of the launch."""

    shared: SharedMemory
    clocks: Clocks
    """Of what is ordered in shared memory."""

    def __init__(
        self, memory: GlobalMemory, report: Report, grid: tuple[int, int, int], first: int, ctas: int, threads: int,
        warp_size: int, cluster: int, check: bool, order: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self.memory, self.report, self.grid, self.ctas, self.check = memory, report, grid, ctas, check
        self.threads, self.warp_size, self.cluster = threads, warp_size, cluster
        self.warps_per_cta = -(-threads // warp_size)
        self.lanes_per_cta = warp_size * self.warps_per_cta
        self.count = ctas * self.lanes_per_cta
        self.index = lanes = np.arange(self.count)
        self.cta = lanes // self.lanes_per_cta
        self.rank = self.cta % cluster
        self.cta_number = self.cta + first if order is None else order[self.cta + first]
        self.warp = lanes // warp_size
        self.lane = lanes % warp_size
        self.thread = lanes % self.lanes_per_cta
        self.alive = self.thread < threads
        self.whole = bool(self.alive.all())
        self.first_thread = first * self.lanes_per_cta
        self.local_size = 0
        self.changes = 0
        self.spins = 0
        self.polls = 0
        """Atomics in a row that changed nothing."""
        self._strong: dict[int, bool] = {}

    @property
    def numbers(self) -> np.ndarray:
        """Which thread of the launch each is."""
        return self.cta_number * self.lanes_per_cta + self.thread

    def instruction(self, site: int) -> Reported:
        """The instruction that a site number names."""
        return self.report.kernel.instructions[site]

    def is_strong(self, site: int) -> bool:
        """Whether the accesses of an instruction are atomic, volatile or ordered: such ones do not race with each other."""
        found = self._strong.get(site)
        if found is None:
            found = self._strong[site] = not _STRONG.isdisjoint(self.instruction(site).parts)
        return found

    def spread(self, value: Lanes) -> np.ndarray:
        """A scalar as one value per thread."""
        return value if value.ndim else np.broadcast_to(value, (self.count,))

    def mask(self, mask: Mask) -> Mask:
        """Masks as the machine wants them: None if every thread runs, else an array."""
        if mask is None:
            return None
        if mask.ndim == 0:
            return None if mask and self.whole else (self.alive if mask else np.zeros(self.count, np.bool_))
        return None if mask.all() else mask

    def shared_offsets(self, address: np.ndarray, threads: int | slice = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """Offsets of shared addresses in the window of the CTA they name, and where in the buffer that begins."""
        raise NotImplementedError

    def find(self, kind: str, site: int, lanes: np.ndarray, text: str) -> None:
        """Records a finding about threads, described by the first of them."""
        first = int(lanes[0])
        who = f"CTA {self.cta_name(first)}, thread {int(self.thread[first])}"
        self.report.add(kind, self.instruction(site), f"{text} ({who})", len(lanes))

    def cta_name(self, thread: int) -> str:
        """The block coordinates of a thread."""
        number, (gx, gy, _) = int(self.cta_number[thread]), self.grid
        return f"({number % gx}, {number // gx % gy}, {number // (gx * gy)})"


_STRONG = frozenset({"atom", "red", "volatile", "relaxed", "acquire", "release", "acq_rel", "multimem"})

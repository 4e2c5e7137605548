"""Which accesses of partitions to shared memory no memory barrier orders: a clock for each partition, and what it knows of the others'.

A partition's time goes on when it publishes what it has done, by arriving at a memory barrier or by a copy that completes there.
One that waits for the phase learns what those who completed it knew. An access conflicts with another partition's, one of them
writes, if that came later than what is known of it:

    partition 0 stores at time 1; the default region loads, knows of partition 0 only time 0       →   a race
    ... partition 0 arrives (time 1 is published), the default region waits (it is known), loads   →   none

A copy by the copy unit is an access of the partition that starts it, and its data is there only for those who have waited for the
phase that it completes. The order in which an interpreted program happens to run does not matter to any of this.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Knowledge:
    """For each partition the time up to which all that it has done is known, and which copies are known to have ended."""

    times: np.ndarray
    copies: frozenset[int] = frozenset()

    def joined(self, other: Knowledge | None) -> Knowledge:
        """What either knows."""
        if other is None:
            return self
        return Knowledge(np.maximum(self.times, other.times), self.copies | other.copies)


class PartitionOrder:
    """Of every byte: which partition (0 is the default region) wrote it last and when, and when each last read it."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.running = 0
        count = len(names)
        self._clock = np.ones(count, np.int32)
        self._known = [Knowledge(np.zeros(count, np.int32)) for _ in names]
        self._writer = np.zeros(0, np.int16)
        self._written = np.zeros(0, np.int32)
        self._write_op = np.zeros(0, np.int32)
        self._copy = np.zeros(0, np.int64)
        """The copy that wrote the byte, 0 if a thread did."""
        self._read = np.zeros((count, 0), np.int32)
        self._read_op = np.zeros((count, 0), np.int32)

    def grow(self, size: int) -> None:
        """There are `size` bytes by now."""
        more = size - self._written.shape[0]
        if more > 0:
            self._writer, self._written, self._write_op, self._copy = (
                np.pad(a, (0, more)) for a in (self._writer, self._written, self._write_op, self._copy)
            )
            self._read, self._read_op = (np.pad(a, ((0, 0), (0, more))) for a in (self._read, self._read_op))

    def publish(self) -> Knowledge:
        """What the running partition knows, its own past included; its time goes on."""
        me = self.running
        times = self._known[me].times.copy()
        times[me] = self._clock[me]
        self._clock[me] += 1
        return Knowledge(times, self._known[me].copies)

    def learn(self, known: Knowledge) -> None:
        """The running partition has waited for what others have published."""
        self._known[self.running] = self._known[self.running].joined(known)

    def unseen_write(self, where: np.ndarray) -> tuple[int, int, int] | None:
        """The first of the bytes `where` that another partition wrote unseen: its position, the partition, the number of the op."""
        writer, copy, known = self._writer[where], self._copy[where], self._known[self.running]
        late = (self._written[where] > known.times[writer]) & (writer != self.running)
        under_way = set(np.unique(copy).tolist()) - known.copies - {0}
        if under_way:
            late |= np.isin(copy, list(under_way))
        if not late.any():
            return None
        position = int(np.argmax(late))
        return position, int(writer[position]), int(self._write_op[where[position]])

    def unseen_read(self, where: np.ndarray) -> tuple[int, int, int] | None:
        """Likewise of reads."""
        for other in range(len(self.names)):
            if other == self.running:
                continue
            late = self._read[other][where] > self._known[self.running].times[other]
            if late.any():
                position = int(np.argmax(late))
                return position, other, int(self._read_op[other][where[position]])
        return None

    def reads(self, where: np.ndarray, op: int) -> None:
        """The running partition reads."""
        self._read[self.running][where] = self._clock[self.running]
        self._read_op[self.running][where] = op

    def writes(self, where: np.ndarray, op: int) -> None:
        """The running partition writes, or starts a copy that does."""
        self._copy[where] = 0
        self._writer[where] = self.running
        self._written[where] = self._clock[self.running]
        self._write_op[where] = op

    def brings(self, where: np.ndarray, copy: int) -> None:
        """What the running partition has just begun to write is there once the copy of that number has ended."""
        self._copy[where] = copy

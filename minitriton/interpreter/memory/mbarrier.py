"""A memory barrier (`mbarrier`) as the hardware keeps it: arrivals, bytes that are expected, phases."""

from dataclasses import dataclass, field

from minitriton.interpreter.warps.partition_order import Knowledge


@dataclass
class MbarrierState:
    """What the hardware keeps in the 8 bytes, and the copies that announce their end here, by phase."""

    count: int
    phase: int = 0
    arrived: int = 0
    missing_bytes: int = 0
    copies: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    arriving: Knowledge | None = None
    published: Knowledge | None = None
    """What the partitions knew that have arrived in this phase and before it, and in complete phases."""

    def expect(self, size: int) -> None:
        """Bytes that must come in this phase."""
        self.missing_bytes += size

    def arrive(self, count: int = 1) -> None:
        """That many arrivals."""
        self.arrived += count
        self._complete()

    def receive(self, copy: int, size: int) -> None:
        """An asynchronous copy brings `size` bytes."""
        self.copies.append((self.phase, copy))
        self.missing_bytes -= size
        self._complete()

    def passed(self, parity: int) -> bool:
        """Whether the phase of this parity is complete."""
        return self.phase % 2 != parity % 2

    def missing(self) -> str:
        """What the phase that runs lacks, in words."""
        return f"of phase {self.phase}, {self.arrived} of {self.count} have arrived and {self.missing_bytes} bytes are missing"

    def _complete(self) -> None:
        if self.arrived >= self.count and self.missing_bytes == 0:
            self.phase, self.arrived = self.phase + 1, 0
            self.published = self.arriving

    def finished_copies(self) -> list[int]:
        """The copies of complete phases, which are handed out once."""
        done = [copy for phase, copy in self.copies if phase < self.phase]
        self.copies = [(phase, copy) for phase, copy in self.copies if phase >= self.phase]
        return done

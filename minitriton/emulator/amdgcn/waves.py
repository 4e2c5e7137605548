"""The state of the waves of a batch of workgroups: registers, EXEC, the counters of `s_waitcnt` and what they guard.

Vector registers are [register, wave, lane], scalar ones [register, wave]. A load puts its result in its register at once, and the register is
`pending` until a wait covers it: who uses it before gets poison, and a finding (ISA, section 4.4 "Manually Inserted Wait States").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minitriton.emulator.amdgcn.clocks import WaveClocks
from minitriton.emulator.amdgcn.copies import Copies
from minitriton.emulator.amdgcn.program import ACCUMULATION, EXEC, LANES, SCALAR, SCALARS, Instruction, Kernel
from minitriton.emulator.memory.device import GlobalMemory
from minitriton.emulator.memory.shared import SharedMemory
from minitriton.emulator.report import Report
from minitriton.emulator.threads import Mask, Threads

POISON = np.uint32(0xA5A5A5A5)
VECTORS = 2 * ACCUMULATION


@dataclass(slots=True)
class Pending:
    """A register's result under way: access number `due` [waves] of `counter` brings it, instruction `site` asked for it."""

    counter: WaveClocks
    due: np.ndarray
    site: int


class Waves(Threads):
    """Workgroups that run concurrently. `wave` is the array of all waves' numbers."""

    def __init__(
        self, kernel: Kernel, memory: GlobalMemory, report: Report, grid: tuple[int, int, int], first: int, ctas: int,
        threads: int, shared_bytes: int, granule: int, check: bool, order: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        super().__init__(memory, report, grid, first, ctas, threads, LANES, 1, check, order)
        self.kernel = kernel
        self.waves = self.count // LANES
        self.wave = np.arange(self.waves)
        self.clocks = self.lds = WaveClocks(ctas, self.warps_per_cta, check)
        self.vector_memory = WaveClocks(ctas, self.warps_per_cta, check)
        self.scalar_memory = WaveClocks(ctas, self.warps_per_cta, False)
        if memory.shadow is not None:
            memory.shadow.begin(self.vector_memory, self.first_thread)
        self.shared = SharedMemory(ctas, shared_bytes, self.lds, granule)
        self.copies = Copies(self.shared, self.vector_memory)
        self.cta_offset = self.cta * self.shared.stride
        self.contested = np.zeros(len(self.shared.initialised) if self.shared.shadowed else 0, np.int32)
        """By granule of LDS: one more than the instruction that wrote one of several values there: any of them may remain."""
        self.v = np.zeros((VECTORS, self.waves, LANES), np.uint32)
        self.s = np.zeros((SCALARS, self.waves), np.uint32)
        self.scc = np.zeros(self.waves, np.bool_)
        self.active: Mask = None
        """Waves that run now: None for all."""
        self.stale = True
        self._lanes: Mask = None
        self.pending: dict[int, list[Pending]] = {}
        self.wrong_waits: set[tuple[int, int]] = set()
        self.addresses: dict[str, int] = {}
        """Of labels."""
        alive = self.alive.reshape(self.waves, LANES)
        self.s[EXEC : EXEC + 2] = bits_of(alive)

    @property
    def lanes(self) -> Mask:
        """Lanes that act: those of EXEC in the waves that run; None for all."""
        if self.stale:
            found = flags_of(self.s[EXEC], self.s[EXEC + 1])
            if self.active is not None:
                found &= self.active[:, np.newaxis]
            self._lanes = None if found.all() else found
            self.stale = False
        return self._lanes

    def run_waves(self, active: Mask) -> None:
        """The given waves act from now on."""
        self.active, self.stale = active, True

    def running(self) -> np.ndarray:
        """Numbers of the waves that act."""
        return self.wave if self.active is None else np.nonzero(self.active)[0]

    def set_vector(self, register: int, value: np.ndarray) -> None:
        """Writes 32 bits of the lanes that act."""
        lanes = self.lanes
        if lanes is None:
            self.v[register] = value
        else:
            np.copyto(self.v[register], value, where=lanes)

    def set_scalar(self, register: int, value: np.ndarray) -> None:
        """Writes 32 bits of the waves that act."""
        if self.active is None:
            self.s[register] = value
        else:
            np.copyto(self.s[register], value, where=self.active)
        if register >= EXEC:
            self.stale = True

    def set_flags(self, register: int, flags: np.ndarray) -> None:
        """Writes one bit a lane into two scalar registers; 0 for lanes that do not act."""
        lanes = self.lanes
        flags = np.broadcast_to(flags, (self.waves, LANES))
        low, high = bits_of(flags if lanes is None else flags & lanes)
        self.set_scalar(register, low)
        self.set_scalar(register + 1, high)

    def set_scc(self, value: np.ndarray) -> None:
        """Writes SCC of the waves that act."""
        if self.active is None:
            self.scc[:] = value
        else:
            np.copyto(self.scc, value, where=self.active)

    def flags(self, register: int) -> np.ndarray:
        """One bit a lane of two scalar registers: [wave, lane]."""
        return flags_of(self.s[register], self.s[register + 1])

    def shared_offsets(self, address: np.ndarray, threads: int | slice = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """LDS addresses begin at 0."""
        return address, self.cta_offset[threads]

    def flat_lanes(self) -> Mask:
        """Lanes that act: [thread]."""
        lanes = self.lanes
        return None if lanes is None else lanes.ravel()

    def issue(self, counter: WaveClocks, site: int, registers: range) -> None:
        """An access is made, which will bring `registers`."""
        if not self.check:
            return
        counter.issue(self.running())
        for register in registers:
            due = counter.issued.copy()
            if self.active is not None:
                due[~self.active] = 0
            before = self.pending.get(register, [])
            rest = [p for p in before if self.active is not None and (p.due > p.counter.done)[~self.active].any()]
            self.pending[register] = [*rest, Pending(counter, due, site)]

    def wait(self, counter: WaveClocks, most: int) -> None:
        """Until at most `most` accesses of the waves that act are under way."""
        waves = self.running()
        counter.done[waves] = np.maximum(counter.done[waves], counter.issued[waves] - most)
        if self.copies.under_way:
            self.copies.arrived()

    def arrived(self) -> None:
        """Forgets what has come to its registers."""
        for register, found in list(self.pending.items()):
            left = [p for p in found if (p.due > p.counter.done).any()]
            if left:
                self.pending[register] = left
            else:
                del self.pending[register]

    def check_use(self, instruction: Instruction, register: int, counter: WaveClocks | None) -> None:
        """An instruction uses a register that is pending. One that only loads into it, by the same counter, may: results come in order."""
        for p in self.pending[register]:
            early = p.due > p.counter.done
            if self.active is not None:
                early &= self.active
            if p.counter is counter or not early.any():
                continue
            waves = np.nonzero(early)[0]
            asked = self.kernel.instructions[p.site]
            left = int((p.counter.issued - p.due)[waves[0]])
            left = 0 if p.counter is self.scalar_memory else left
            name = "vmcnt" if p.counter is self.vector_memory else "lgkmcnt"
            if (instruction.index, p.site) not in self.wrong_waits:
                self.wrong_waits.add((instruction.index, p.site))
                text = f"uses {_name(register)} while the result of line {asked.line} ({asked.name}) may be under way: s_waitcnt {name}({left}) is missing"
                self.find("missing-wait", instruction.index, waves * LANES, text)
            if register >= SCALAR:
                self.s[register - SCALAR][early] = POISON
            else:
                self.v[register][early] = POISON
            p.due = np.where(early, 0, p.due)


def _name(register: int) -> str:
    if register >= SCALAR:
        return f"s{register - SCALAR}"
    return f"v{register}" if register < ACCUMULATION else f"a{register - ACCUMULATION}"


def bits_of(flags: np.ndarray) -> np.ndarray:
    """Flags [wave, lane] as two words [2, wave], lane 0 in the lowest bit."""
    packed = np.packbits(flags, axis=1, bitorder="little")
    return packed.view("<u4").T


def flags_of(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The reverse of `bits_of`."""
    words = np.stack([low, high], axis=1).view(np.uint8)
    return np.unpackbits(words, axis=1, bitorder="little").view(np.bool_)

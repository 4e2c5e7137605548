"""The state of the waves of a batch of workgroups: registers, EXEC, the counters of `s_waitcnt` and what they guard.

Vector registers are [register, wave, lane], scalar ones [register, wave]. A load puts its result in its register at once, and the register is
`pending` until a wait covers it: who uses it before gets poison, and a finding (ISA, section 4.4 "Manually Inserted Wait States").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minitriton.emulator.amdgcn.clocks import Counter, WaveClocks
from minitriton.emulator.amdgcn.copies import Copies
from minitriton.emulator.amdgcn.program import ACCUMULATION, EXEC, NULL, SCALAR, SCALARS, Instruction, Isa, Kernel
from minitriton.emulator.memory.device import GlobalMemory
from minitriton.emulator.memory.shared import SharedMemory
from minitriton.emulator.report import Report
from minitriton.emulator.threads import Mask, Threads

POISON = np.uint32(0xA5A5A5A5)
VECTORS = 2 * ACCUMULATION
_LDS_OF_CDNA = 15
"""What `lgkmcnt` counts to on CDNA."""


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
        threads: int, shared_bytes: int, granule: int, check: bool, order: np.ndarray | None = None, isa: Isa | None = None,
    ) -> None:  # fmt: skip
        super().__init__(memory, report, grid, first, ctas, threads, kernel.lanes, 1, check, order)
        self.kernel = kernel
        self.isa = isa or Isa("", kernel.lanes)
        self.waves = self.count // kernel.lanes
        self.shape = self.waves, kernel.lanes
        self.wave = np.arange(self.waves)
        self.clocks = self.lds = WaveClocks(ctas, self.warps_per_cta, check, 63 if self.isa.is_rdna else _LDS_OF_CDNA)
        self.vector_memory = WaveClocks(ctas, self.warps_per_cta, check)
        self.scalar_memory = WaveClocks(ctas, self.warps_per_cta, False)
        self.loads: WaveClocks = self.vector_memory
        self.stores: WaveClocks = self.vector_memory
        if self.isa.is_rdna:
            self.loads, self.stores = (Counter(ctas, self.warps_per_cta) for _ in range(2))
        self.signalled = np.zeros(self.waves, np.bool_)
        """Waves that have signalled the barrier that they have not waited at."""
        if self.isa.has_split_waits:
            for clocks in (self.lds, self.vector_memory):
                clocks.released = clocks.done.copy()
        if memory.shadow is not None:
            memory.shadow.begin(self.vector_memory, self.first_thread)
        self.shared = SharedMemory(ctas, shared_bytes, self.lds, granule)
        self.copies = Copies(self.shared, self.vector_memory)
        self.cta_offset = self.cta * self.shared.stride
        self.contested = np.zeros(len(self.shared.initialised) if self.shared.shadowed else 0, np.int32)
        """By granule of LDS: one more than the instruction that wrote one of several values there: any of them may remain."""
        self.v = np.zeros((VECTORS, *self.shape), np.uint32)
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
        self.private = np.zeros((self.count, kernel.directive("private_segment_fixed_size")), np.uint8)
        """Scratch memory: bytes of each thread."""
        alive = self.alive.reshape(self.shape)
        self.s[EXEC : EXEC + self.isa.mask_words] = bits_of(alive)

    @property
    def lanes(self) -> Mask:
        """Lanes that act: those of EXEC in the waves that run; None for all."""
        if self.stale:
            found = self.flags(EXEC)
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
        if register >= NULL:
            return
        if self.active is None:
            self.s[register] = value
        else:
            np.copyto(self.s[register], value, where=self.active)
        if register >= EXEC:
            self.stale = True

    def set_flags(self, register: int, flags: np.ndarray) -> None:
        """Writes one bit a lane into scalar registers; 0 for lanes that do not act."""
        lanes = self.lanes
        flags = np.broadcast_to(flags, self.shape)
        for number, word in enumerate(bits_of(flags if lanes is None else flags & lanes)):
            self.set_scalar(register + number, word)

    def set_scc(self, value: np.ndarray) -> None:
        """Writes SCC of the waves that act."""
        if self.active is None:
            self.scc[:] = value
        else:
            np.copyto(self.scc, value, where=self.active)

    def flags(self, register: int) -> np.ndarray:
        """One bit a lane of scalar registers: [wave, lane]."""
        return flags_of(self.s[register : register + self.isa.mask_words])

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
        waves = self.running()
        if isinstance(counter, Counter):
            self.vector_memory.issue(waves)
            counter.issue_at(waves, self.vector_memory.issued)
        else:
            counter.issue(waves)
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
        if (
            isinstance(self.loads, Counter)
            and isinstance(self.stores, Counter)
            and counter in (self.loads, self.stores)
        ):
            both = self.vector_memory
            first = np.minimum(self.loads.first_incomplete(waves), self.stores.first_incomplete(waves))
            both.done[waves] = np.maximum(both.done[waves], np.minimum(both.issued[waves], first - 1))
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
            wait = self.wait_text(p.counter, left)
            if (instruction.index, p.site) not in self.wrong_waits:
                self.wrong_waits.add((instruction.index, p.site))
                text = f"uses {_name(register)} while the result of line {asked.line} ({asked.name}) may be under way: {wait} is missing"
                self.find("missing-wait", instruction.index, waves * self.warp_size, text)
            if register >= SCALAR:
                self.s[register - SCALAR][early] = POISON
            else:
                self.v[register][early] = POISON
            p.due = np.where(early, 0, p.due)

    def wait_text(self, counter: WaveClocks, most: int) -> str:
        """The instruction that waits until at most `most` accesses of a counter are under way."""
        if self.isa.has_split_waits:
            names = {id(self.loads): "load", id(self.stores): "store", id(self.lds): "ds"}
            return f"s_wait_{names.get(id(counter), 'km')}cnt {most:#x}"
        if counter is self.stores and counter is not self.loads:
            return f"s_waitcnt_vscnt null, {most:#x}"
        return f"s_waitcnt {'vmcnt' if counter is self.loads else 'lgkmcnt'}({most})"


def _name(register: int) -> str:
    if register >= SCALAR:
        return f"s{register - SCALAR}"
    return f"v{register}" if register < ACCUMULATION else f"a{register - ACCUMULATION}"


def bits_of(flags: np.ndarray) -> np.ndarray:
    """Flags [wave, lane] as words [word, wave], lane 0 in the lowest bit."""
    packed = np.packbits(flags, axis=1, bitorder="little")
    return packed.view("<u4").T


def flags_of(words: np.ndarray) -> np.ndarray:
    """The reverse of `bits_of`."""
    words = np.ascontiguousarray(words.T).view(np.uint8)
    return np.unpackbits(words, axis=1, bitorder="little").view(np.bool_)

"""Copies from global memory to LDS that pass by no register: `global_load_lds_dword*`, `buffer_load_dword* ... lds`.

The bytes come to LDS when an `s_waitcnt vmcnt` of the wave that copies covers them; until then LDS has what was there before. Other waves may read
them after a barrier that follows the wait (CDNA3 ISA, sections 4.4 and 9.1.9 "Memory Buffer Load to LDS").

    global_load_lds_dword v0, s[4:5]; s_waitcnt vmcnt(0); s_barrier; ds_read_b32 v1, v2        the order that makes v1 right
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minitriton.emulator.amdgcn.clocks import WaveClocks
from minitriton.emulator.memory.shared import SharedMemory
from minitriton.emulator.threads import Threads


@dataclass(slots=True)
class _Copy:
    """Words in flight: `data` [word, lane] for byte `offsets` of LDS; `due`: the access number of the wave [lane]."""

    data: np.ndarray
    offsets: np.ndarray
    waves: np.ndarray
    due: np.ndarray


class Copies:
    """Those under way, and which copy wrote a granule of LDS last: its wave, the number of the access, its instruction."""

    def __init__(self, shared: SharedMemory, clocks: WaveClocks) -> None:
        self.shared, self.clocks = shared, clocks
        self.under_way: list[_Copy] = []
        self.wave = self.time = self.site = np.zeros(0, np.int32)

    def begin(self, x: Threads, site: int, offsets: np.ndarray, lanes: np.ndarray, data: np.ndarray) -> None:
        """The given lanes' words [word, lane] go to their byte offsets once the access that was issued last is over."""
        waves = x.warp[lanes]
        if not x.check:
            self._write(data, offsets)
            return
        due = self.clocks.issued[waves]
        self.under_way.append(_Copy(data, offsets, waves, due))
        if not self.shared.shadowed:
            return
        if not len(self.time):
            self.wave, self.time, self.site = (np.zeros(len(self.shared.initialised), np.int32) for _ in range(3))
        g = self.shared.granules(offsets, 4 * len(data))
        late, _ = self._late(g, waves)
        races = late & (self.wave[g] != (waves % self.shared.warps)[:, None])
        races |= self.shared.overwrites_read(g, waves, x.lane[lanes]) | self.shared.overwrites(g, waves, x.lane[lanes])
        self.wave[g], self.time[g], self.site[g] = (waves % self.shared.warps)[:, None], due[:, None], site
        self.shared.initialised[g] = True
        self._report(
            x,
            site,
            offsets,
            lanes,
            races,
            "copies to byte {} of LDS, which another wave reads or writes without a barrier between",
        )

    def arrived(self) -> None:
        """Puts the bytes of copies that waits have covered into LDS, in the order of the copies."""
        left: list[_Copy] = []
        for copy in self.under_way:
            over = copy.due <= self.clocks.done[copy.waves]
            if over.any():
                self._write(copy.data[:, over], copy.offsets[over])
            if not over.all():
                rest = ~over
                left.append(_Copy(copy.data[:, rest], copy.offsets[rest], copy.waves[rest], copy.due[rest]))
        self.under_way = left

    def check_read(self, x: Threads, site: int, offsets: np.ndarray, size: int, lanes: np.ndarray) -> None:
        """A read of LDS may need a wait for this wave's copies, and for another wave's a wait and a barrier."""
        if not len(self.time):
            return
        g = self.shared.granules(offsets, size)
        late, own = self._late(g, x.warp[lanes])
        if not late.any():
            return
        early = np.nonzero((late & own).any(1))[0]
        if early.size:
            granule = g[early[0]][(late & own)[early[0]]][0]
            asked = x.instruction(int(self.site[granule]))
            n = int(self.clocks.issued[x.warp[lanes[early[0]]]] - self.time[granule])
            where = int(offsets[early[0]]) % self.shared.stride
            text = f"reads byte {where} of LDS while the copy of line {asked.line} ({asked.opcode}) may be under way: s_waitcnt vmcnt({n}) is missing"
            x.find("missing-wait", site, lanes[early], text)
        self._report(
            x,
            site,
            offsets,
            lanes,
            late & ~own,
            "reads byte {} of LDS, which another wave copies without a wait for it and a barrier between",
        )

    def check_write(self, x: Threads, site: int, g: np.ndarray, offsets: np.ndarray, lanes: np.ndarray) -> None:
        """A store of threads to LDS comes after all copies there."""
        if len(self.time):
            late, _ = self._late(g, x.warp[lanes])
            self.time[g] = 0
            self._report(x, site, offsets, lanes, late, "writes byte {} of LDS, to which a copy may be under way")

    def _late(self, g: np.ndarray, waves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which granules have bytes of a copy that is not over for the given waves, and which of them are these waves' own copies."""
        copier, reader = self.wave[g], waves[:, None]
        own = copier == reader % self.shared.warps
        over = np.where(own, self.clocks.done[reader], self.clocks.known[reader, copier])
        return self.time[g] > over, own

    def _report(
        self, x: Threads, site: int, offsets: np.ndarray, lanes: np.ndarray, wrong: np.ndarray, text: str
    ) -> None:
        bad = np.nonzero(wrong.any(1))[0]
        if bad.size:
            x.find("shared-race", site, lanes[bad], text.format(int(offsets[bad[0]]) % self.shared.stride))

    def _write(self, data: np.ndarray, offsets: np.ndarray) -> None:
        words = self.shared.views[4]
        for n, word in enumerate(data):
            words[offsets // 4 + n] = word

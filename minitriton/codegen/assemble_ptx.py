"""`assemble-ptx`: the machine code of a kernel's PTX, the last step of a pipeline.

In: PTX text whose comment `// demand: ...` says what the kernel holds in registers. Out: a `Cubin`, bytes that also say under which limits of registers the
kernel was assembled and what each gave.

    assemble-ptx{arch=90}                    by nvJitLink: without a limit, under those of `candidate_limits` where one may be faster, or by ptxas
    assemble-ptx{arch=90 registers=64}       under this limit alone; `unlimited`: under none
    assemble-ptx{arch=90 assembler=ptxas flags="--opt-level 2"}
"""

import functools
import math
import re
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from minitriton import knobs
from minitriton.analysis.register_demand import RegisterDemand
from minitriton.codegen.assembled_code import Attempt, Cubin
from minitriton.codegen.assemblers import ASSEMBLERS, assemble, assembler_for, find_ptxas, show_log
from minitriton.codegen.cubin_resources import kernel_resources
from minitriton.codegen.nvjitlink import Assembled
from minitriton.codegen.ptx import DEMAND_COMMENT
from minitriton.errors import MinitritonError, PipelineError
from minitriton.pipeline.pass_registry import Property, Translation, register_pass
from minitriton.target.architectures import LIMITS, Architecture, architecture_of

MOST_LINES = 4000
"""Longer PTX is not assembled twice: seconds of an assembler's time for kernels that spill."""


@register_pass
class AssemblePTX(Translation, stage="cubin", origin="required"):
    """Makes machine code of PTX by nvJitLink or ptxas.

    `registers`: `auto` tries the limits that may be faster (nvJitLink alone: ptxas steps down by itself), `unlimited` none, a number that one.
    `assembler`: `nvjitlink` or `ptxas`; if it is empty what is installed, `ptxas` where registers move between warps. `flags` are ptxas's, separated by blanks.
    """

    name = "assemble-ptx"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.PTX})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.MACHINE_CODE})
    keeps: ClassVar[frozenset[Property]] = frozenset()
    arch: int = 90
    registers: str = "auto"
    enable_fp_fusion: bool = True
    assembler: str = ""
    flags: str = ""

    def __post_init__(self) -> None:
        if self.registers not in ("auto", "unlimited") and not (
            self.registers.isdigit() and 0 < int(self.registers) <= LIMITS.registers_per_thread
        ):
            raise PipelineError(
                f"assemble-ptx: registers={self.registers}", help="give auto, unlimited, or a number from 1 to 255"
            )
        if self.assembler not in ("", *ASSEMBLERS):
            raise PipelineError(f"assemble-ptx: assembler={self.assembler}", help=f"give {' or '.join(ASSEMBLERS)}")

    def translate(self, source: object) -> Cubin:
        """Raises `AssemblerError` with the assembler's message and the PTX line that it names."""
        ptx = str(source)
        assembler = self.assembler or assembler_for(ptx)
        architecture = architecture_of(self.arch)
        flags = [] if self.enable_fp_fusion else ["--fmad=false"]
        entry = _first_entry(ptx)
        if self.registers.isdigit():
            ptx = limited(ptx, int(self.registers))
        flags += self.flags.split()
        if self.registers != "auto" or assembler != "nvjitlink" or entry is None or ptx.count("\n") > MOST_LINES:
            made = assemble(ptx, architecture.sm, flags, assembler)
            show_log(made.log)
            return Cubin(made.cubin)
        return _Search(ptx, architecture, flags, assembler, entry).best()


_ENTRY = re.compile(r"^[^/\n]*\.entry\s+([\w$]+)[^{;]*(?={)", re.MULTILINE)
"""The name, parameters and limits of a kernel, up to its body."""


def limited(ptx: str, registers: int) -> str:
    """The kernels with a limit of registers, except where they have one. (`--maxrregcount` does nothing in nvJitLink, nor in ptxas for kernels that say their threads.)"""
    return _ENTRY.sub(lambda entry: entry[0] if ".maxnreg" in entry[0] else f"{entry[0]}.maxnreg {registers}\n", ptx)


class _Entry(NamedTuple):
    """The first kernel."""

    name: str
    threads: int


def _first_entry(ptx: str) -> _Entry | None:
    """None if it does not say its threads, or limits its registers."""
    entry = _ENTRY.search(ptx)
    sized = re.search(r"\.reqntid ([\d, ]+)", entry[0]) if entry and ".maxnreg" not in entry[0] else None
    return entry and sized and _Entry(entry[1], math.prod(int(n) for n in sized[1].split(",") if n.strip()))


def demand_of(ptx: str) -> RegisterDemand:
    """What the comment above the kernel says; nothing for PTX from elsewhere."""
    start = ptx.find(DEMAND_COMMENT)
    return RegisterDemand.parse(ptx[start + len(DEMAND_COMMENT) : ptx.find("\n", start)] if start >= 0 else "")


class _Search:
    """Assembles a kernel without a limit of registers and under the candidates, until one is good."""

    def __init__(self, ptx: str, sm: Architecture, flags: Sequence[str], assembler: str, entry: _Entry) -> None:
        self.ptx, self.sm, self.flags, self.assembler, self.entry = ptx, sm, list(flags), assembler, entry
        self.demand = demand_of(ptx)
        self.attempts: list[Attempt] = []
        self.logs: dict[tuple[int | None, str], str] = {}
        self.under = functools.cache(self._under)

    def _assembled(self, limit: int | None, assembler: str) -> Assembled:
        ptx = self.ptx if limit is None else limited(self.ptx, limit)
        return assemble(ptx, self.sm.sm, self.flags, assembler)

    def _under(self, limit: int | None, assembler: str = "nvjitlink") -> Attempt | None:
        try:
            made = self._assembled(limit, assembler)
        except MinitritonError:
            if limit is None:
                raise
            return None  # accumulators take all their registers at once: a limit below that is refused
        taken = kernel_resources(made.cubin, self.entry.name)
        ctas = self.sm.ctas_on_sm(taken.registers, self.entry.threads, self.demand.shared_bytes)
        attempt = Attempt(
            limit, *taken, ctas, "wgmma.mma_async instructions are serialized" in made.log, made.cubin, assembler
        )
        self.attempts.append(attempt)
        self.logs[limit, assembler] = made.log
        return attempt

    def best(self) -> Cubin:
        """The code for launches of any size, with that of all attempts."""
        threads, demand = self.entry.threads, self.demand
        expected = expected_limit(self.sm, demand, threads)
        likely = self.under(expected) if expected is not None else None
        if likely is not None and _needs_all(self.sm, likely):
            return self._taken(likely)
        free = self.under(None)
        assert free is not None
        limits = candidate_limits(self.sm, demand, free.registers, free.spilled_bytes, threads)
        chosen = free
        spare = demand.held * 4 // HELD_TO_SPILLS if self._is_straight and self._has_few_warps(free) else 0
        # Of a kernel that is given all registers a far limit spills as a rule, after a long time: the near one is tried first.
        likely_spills = bool(limits) and 2 * limits[0] < free.registers and free.registers >= ALL_REGISTERS
        for limit in reversed(limits) if likely_spills else limits:
            attempt = self.under(limit)
            is_good = attempt is not None and _is_as_good(attempt, free, spare)
            if attempt is not None and is_good:
                chosen = attempt
            if is_good != likely_spills:
                break
        near = self.sm.registers_for(free.ctas + 1, threads)
        if chosen is free and limits and near > limits[0] and self._has_few_warps(free):
            attempt = self.under(near)
            is_better = attempt is not None and attempt.ctas > free.ctas and _is_as_good(attempt, free, spare)
            chosen = attempt if attempt is not None and is_better else free
        if demand.mma_sync and not demand.accumulators:
            chosen = self._of_one_more(chosen) or chosen
        spills_below = chosen is free and limits and 2 * self._warps(free) < self.sm.warps_per_sm
        if chosen.spilled_bytes and not demand.prints:
            return self._taken(self._spilling_less(chosen) or chosen)
        return self._taken((self._by_ptxas(chosen) if self._has_few_warps(chosen) or spills_below else None) or chosen)

    def _ctas(self, registers: int) -> int:
        return self.sm.ctas_on_sm(registers, self.entry.threads, self.demand.shared_bytes)

    def _warps(self, attempt: Attempt) -> int:
        """Of an SM."""
        return attempt.ctas * self.sm.warps_of(self.entry.threads)

    def _has_few_warps(self, attempt: Attempt) -> bool:
        return 4 * self._warps(attempt) < self.sm.warps_per_sm

    @property
    def _is_straight(self) -> bool:
        """Whether nothing is loaded in a loop, and there is no dot."""
        return not self.demand.reading_loops and not self.demand.dots and not self.demand.prints

    def _of_one_more(self, chosen: Attempt) -> Attempt | None:
        """For a kernel of `mma.sync`: one CTA more where an SM holds up to half of its warps, if that spills nothing further.

        nvJitLink keeps operands of later dots in registers, which hides less latency than another CTA. 55 drawn launches of large grids, under every limit
        that spills nothing: 1.030 times as fast, 0.927 at worst, 0.91 without limits, 1.024 under the lowest (H200, 2026-11-28).
        """
        limit = self.sm.registers_for(chosen.ctas + 1, self.entry.threads)
        if 2 * self._warps(chosen) > self.sm.warps_per_sm or self._ctas(limit) <= chosen.ctas:
            return None
        attempt = self.under(limit)
        return attempt if attempt and attempt.ctas > chosen.ctas and _is_as_good(attempt, chosen) else None

    def _by_ptxas(self, chosen: Attempt) -> Attempt | None:
        """For a kernel that neither loads in a loop nor has dots: the code of ptxas, if more CTAs fit.

        nvJitLink starts all loads of such a kernel before it computes, and keeps what they fill (GELU of 64 elements a thread: 150 registers for 56,
        0.76 as fast), which pays where enough warps are left (SiLU, layer norm and argmax by ptxas 0.88 to 0.96; one H200, 2026-11-28). In loops,
        loads in flight hide more latency than CTAs (column sums by ptxas: 1,079 µs for 183).
        """
        if not self._is_straight or knobs.nvidia.assembler or find_ptxas() is None:
            return None
        attempt = self._under(None, "ptxas")
        return attempt if attempt is not None and attempt.ctas > chosen.ctas and _is_as_good(attempt, chosen) else None

    def _spilling_less(self, chosen: Attempt) -> Attempt | None:
        """The code of ptxas, if it spills less (64x32x128 by 2 warps, rows that are not aligned: 120 bytes and 319 µs, by ptxas 64 and 237; one H200, 2026-11-28)."""
        if knobs.nvidia.assembler or find_ptxas() is None:
            return None
        attempt = self._under(None, "ptxas")
        if attempt is None or attempt.spilled_bytes >= chosen.spilled_bytes or attempt.ctas < chosen.ctas:
            return None
        return attempt if attempt.is_serialized <= chosen.is_serialized else None

    def _taken(self, attempt: Attempt) -> Cubin:
        show_log(self.logs[attempt.limit, attempt.assembler])
        cubin = Cubin(attempt.cubin)
        cubin.attempts, cubin.taken = tuple(self.attempts), attempt
        return cubin


HELD_TO_SPILLS = 8
"""A kernel without loops that leaves three quarters of an SM's warps free may spill this part of what it holds for another CTA: three scans of 16,384 and
8,192 numbers by 8 warps gain 1.05 to 1.17 by 8 or 16 bytes of 256. Where an SM has a quarter of its warps, or spills are in a loop, such limits cost 1 to 20 %
as a rule (H200, nvJitLink 13.0, 24 drawn launches, 2026-11-28)."""


def _is_as_good(attempt: Attempt, free: Attempt, spare: int = 0) -> bool:
    """Whether a limit makes the kernel spill no more than without one and `spare` bytes, and its dots wait no more."""
    return attempt.spilled_bytes <= free.spilled_bytes + spare and attempt.is_serialized <= free.is_serialized


def _needs_all(sm: Architecture, attempt: Attempt) -> bool:
    """Whether a kernel keeps within its limit without spilling or waiting, and takes all that is allotted under it."""
    is_whole = not attempt.spilled_bytes and not attempt.is_serialized
    return is_whole and attempt.limit is not None and sm.allotted(attempt.registers) == sm.allotted(attempt.limit)


# Under which limits of registers a kernel is assembled again, from what it takes without a limit and what it demands.
#
#     candidate_limits(ARCHITECTURES[90], RegisterDemand(), registers=80, spilled_bytes=0, threads=256)      [64]: an SM holds four CTAs instead of three
#
# nvJitLink assembles relocatable code, for which ptxas schedules loads early and spends registers on that, without regard to occupancy. Large tiles gain
# (layer norm 16384x8192 runs at 1.21 of Triton's speed, at 0.95 with the plain ptxas), small ones lose a wave of CTAs or their latency hiding. An assembler
# that steps down to fewer registers where more CTAs fit leaves one of these limits. The rule was fitted to 478 launches of 36 kernels, 168 of them assembled
# under every limit (H200, 2026-11-22): 1.033 times as fast as without limits in the geometric mean, 1.043 with the best limit of each, none under 0.90.

ALL_REGISTERS = 250
"""A kernel that takes as many, of the 255 that an instruction can name, and spills would take more."""

LEAST_RATIO = 0.75
"""Of a limit to the registers of a kernel that spills or holds accumulators: a lower one spills more (a scan of 256x256: 1,056 bytes with 255
registers, 1,400 with 168; 2026-11-23)."""

NEAR_FULL_OCCUPANCY = 1.32
"""Kernels of up to this many times the registers of full occupancy (42 of 32) get it as the limit."""


def candidate_limits(
    sm: Architecture, demand: RegisterDemand, registers: int, spilled_bytes: int, threads: int
) -> list[int]:
    """The limits under which a kernel that takes `registers` and spills `spilled_bytes` without one may be faster, best first, two at most.

    None for one that prints: nobody waits for its speed, and what it passes to `vprintf` counts as spilled.
    """
    if demand.prints:
        return []
    now = sm.ctas_on_sm(registers, threads, demand.shared_bytes)
    if demand.accumulators and now > 1:
        limit = sm.registers_for(now + 1, threads)
        is_near = sm.ctas_on_sm(limit, threads, demand.shared_bytes) > now and limit >= LEAST_RATIO * registers
        return [limit] if is_near and not spilled_bytes and demand.accumulators <= limit else []
    limits = _by_occupancy(sm, demand, registers, threads)
    if spilled_bytes and registers >= ALL_REGISTERS:
        return [limit for limit in limits if limit > LEAST_RATIO * registers or 0 < 2 * demand.held <= limit]
    if spilled_bytes:
        return limits
    limits = [limit for limit in limits if demand.held < limit or demand.filled < limit]
    if now * sm.warps_of(threads) < sm.warps_per_sm // 2 and not demand.dots:
        return [limit for limit in limits if not _splits_loads(limit, demand)]
    return limits


def _by_occupancy(sm: Architecture, demand: RegisterDemand, registers: int, threads: int) -> list[int]:
    """The most registers with which an SM holds more CTAs:

    - as many as keep room for twice what an iteration carries and loads: more warps then cost nothing (sums of rows 1.08 to 1.22 with 32 registers
      compared with 40 to 64; H200, 2026-11-24);
    - where an SM holds less than half of its warps, half of them, or else one CTA more; where it holds half, one CTA more;
    - where it holds more, two CTAs more, or one, if the kernel loads in several loops: each begins with loads whose latency only other CTAs can hide;
    - all of them where that is near.
    """
    least, warps = sm.full_occupancy_registers, sm.warps_of(threads)
    now, most = (sm.ctas_on_sm(count, threads, demand.shared_bytes) for count in (registers, least))
    limits = {ctas: max(sm.registers_for(ctas, threads), least) for ctas in range(now + 1, most + 1)}
    if registers <= least or not limits:
        return []
    found: list[int] = []
    if demand.loaded and not demand.dots:
        roomy = (n for n in reversed(limits.values()) if 2 * demand.iteration <= n and 2 * (n + _ADDRESS) >= registers)
        found += [*roomy][:1]
    if now * warps < sm.warps_per_sm // 2:
        half = next((limit for ctas, limit in limits.items() if ctas * warps >= sm.warps_per_sm // 2), limits[now + 1])
        found += [half, limits[now + 1]]
    elif registers <= NEAR_FULL_OCCUPANCY * least:
        found += [limits[most]]
    elif now * warps == sm.warps_per_sm // 2:
        found += [limits[now + 1]]
    elif demand.reading_loops > 1:
        found += [limits[min(now + 2, most)], limits[now + 1]]
    return list(dict.fromkeys(found))[:2]


_ADDRESS = 2
"""Registers of an address."""


def _splits_loads(limit: int, demand: RegisterDemand) -> bool:
    """Whether what a loop carries fills two fifths of `limit` and what it loads does not fit next to it: the loads of an iteration could not all
    start at once (sums of rows, of 32 and 64 sums a thread: 20 shapes, 0.52 to 0.99 as fast; H200, 2026-11-24)."""
    return 5 * demand.carried >= 2 * limit and 5 * demand.iteration >= 4 * limit


def expected_limit(sm: Architecture, demand: RegisterDemand, threads: int) -> int | None:
    """A limit that would be chosen for a kernel that takes all registers, as it does where its loads can fill them and need not, or where
    accumulators meet operands in registers. It is tried first, and no limit only if it does not fit."""
    if demand.accumulators:
        limit = sm.registers_for(2, threads)
        is_likely = demand.register_operands > 0 and 2 * demand.accumulators >= limit
    else:
        limit = next(iter(_by_occupancy(sm, demand, ALL_REGISTERS, threads)), ALL_REGISTERS)
        is_likely = demand.filled >= limit and 2 * demand.held <= limit
    is_only_one = limit < ALL_REGISTERS and _by_occupancy(sm, demand, limit + 1, threads) == [limit]
    return limit if is_likely and is_only_one else None

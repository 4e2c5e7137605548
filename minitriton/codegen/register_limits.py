"""Under which limits of registers a kernel is assembled again, from what it takes without a limit and what it demands.

    candidate_limits(ARCHITECTURES[90], RegisterDemand(), registers=80, spilled_bytes=0, threads=256)      [64]: an SM holds four CTAs instead of three

nvJitLink assembles relocatable code, for which ptxas schedules loads early and spends registers on that, without regard to occupancy. Large tiles gain
(layer norm 16384x8192 runs at 1.21 of Triton's speed, at 0.95 with the plain ptxas), small ones lose a wave of CTAs or their latency hiding. An assembler
that steps down to fewer registers where more CTAs fit leaves one of these limits. The rule was fitted to 478 launches of 36 kernels, 168 of them assembled
under every limit (H200, 2026-11-22): 1.033 times as fast as without limits in the geometric mean, 1.043 with the best limit of each, none under 0.90.
"""

from __future__ import annotations

from minitriton.analysis.register_demand import RegisterDemand
from minitriton.target.architectures import Architecture

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

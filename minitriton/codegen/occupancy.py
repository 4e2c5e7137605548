"""How many blocks of a kernel a multiprocessor holds, and with how few registers it is worth assembling again to hold more.

    blocks_on_sm(registers=80, threads=256)                    3
    registers_for(blocks=4, threads=256)                      64
    register_limits(registers=80, threads=256)                [64]

Limits of compute capability 8.0 and 9.0 (CUDA programming guide, "Technical Specifications per Compute Capability"): 65,536 registers,
given to warps by 256; 2,048 threads; 32 blocks; 228 KiB of shared memory, of which each block takes 1 KiB more than it asks for.
"""

from __future__ import annotations

REGISTERS = 65536
WARPS = 64
BLOCKS = 32
SHARED_BYTES = 228 * 1024
_RESERVED_SHARED = 1024
_STEP = 8
"""Registers of a thread come in multiples of this: 256 for a warp."""


def blocks_on_sm(registers: int, threads: int, shared_bytes: int = 0) -> int:
    """How many blocks of `threads`, each with `registers`, and of `shared_bytes` run on an SM at once."""
    return min(_by_registers(registers, threads), _by_the_rest(threads, shared_bytes))


def registers_for(blocks: int, threads: int) -> int:
    """The most registers of a thread with which an SM holds `blocks` blocks of `threads`."""
    return REGISTERS // (32 * blocks * _warps(threads)) // _STEP * _STEP


def _by_registers(registers: int, threads: int) -> int:
    allotted = -(-max(registers, 1) // _STEP) * _STEP
    return REGISTERS // (32 * allotted) // _warps(threads)


def _by_the_rest(threads: int, shared_bytes: int) -> int:
    return min(WARPS // _warps(threads), BLOCKS, SHARED_BYTES // (shared_bytes + _RESERVED_SHARED))


def _warps(threads: int) -> int:
    return -(-threads // 32)


FULL_OCCUPANCY_REGISTERS = 32
"""Registers a thread with which an SM still holds as many threads as it can."""

WORTH_LIMITING = 48
"""Kernels of up to this many registers are assembled again with a limit of `FULL_OCCUPANCY_REGISTERS`."""


def register_limits(registers: int, threads: int, shared_bytes: int = 0) -> list[int]:
    """The limits that are worth trying for a kernel that takes `registers` when left alone: that of most blocks, then that of
    fewest. They are two at most, since each assembly takes as long as the first.

    An assembler that steps down to fewer registers where more blocks fit, as `ptxas` does, leaves this many:

    - full occupancy where that is near;
    - a seventh fewer where an SM then holds a fifth more blocks;
    - a third fewer where it holds a third more, and few of them (256 threads with 80: three blocks, with 64: four; cross entropy
      16384x32768 ran 1.08 times as fast with 64 registers for 72, measured on an H200, 2026-11-22);
    - half where it holds two blocks at most: it idles whenever one of them waits.
    """
    if registers <= FULL_OCCUPANCY_REGISTERS:
        return []
    allotted = -(-registers // _STEP) * _STEP
    now = blocks_on_sm(registers, threads, shared_bytes)
    found: dict[int, None] = {}
    for blocks in range(blocks_on_sm(FULL_OCCUPANCY_REGISTERS, threads, shared_bytes), now, -1):
        limit = max(registers_for(blocks, threads), FULL_OCCUPANCY_REGISTERS)
        if limit < allotted and _is_worth_it(limit, allotted, blocks, now):
            found[limit] = None
    limits = list(found)
    return limits if len(limits) <= 2 else [limits[0], limits[-1]]


def _is_worth_it(limit: int, allotted: int, blocks: int, now: int) -> bool:
    if limit == FULL_OCCUPANCY_REGISTERS and allotted <= WORTH_LIMITING:
        return True
    if 7 * limit >= 6 * allotted and 5 * blocks >= 6 * now:
        return True
    if 3 * limit >= 2 * allotted and 3 * blocks >= 4 * now and now <= 4:
        return True
    return 2 * limit >= allotted and now <= 2

"""How many blocks of a kernel a multiprocessor holds, and the next number of registers with which it would hold more.

    blocks_on_sm(registers=80, threads=256)                    3
    registers_for(blocks=4, threads=256)                      64

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

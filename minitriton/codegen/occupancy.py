"""How many CTAs of a kernel a multiprocessor (SM) holds at once, and with how many registers it holds more.

    ctas_on_sm(ARCHITECTURES[90], registers=80, threads=256)             3
    registers_for(ARCHITECTURES[90], ctas=4, threads=256)               64

Registers are given to warps by 256 (CUDA programming guide, "Technical Specifications per Compute Capability"; the limits are in `target.architectures`).
"""

from __future__ import annotations

from minitriton.target.architectures import Architecture

_STEP = 8
"""Registers of a thread come in multiples of this: 256 for a warp of 32."""


def ctas_on_sm(sm: Architecture, registers: int, threads: int, shared_bytes: int = 0) -> int:
    """How many CTAs of `threads`, each thread with `registers`, and of `shared_bytes` run on an SM at once."""
    warps = warps_of(threads)
    by_registers = sm.registers_per_sm // (32 * allotted(registers)) // warps
    by_shared_memory = sm.shared_kib_per_sm * 1024 // max(shared_bytes + sm.reserved_shared_bytes, 1)
    return min(by_registers, sm.warps_per_sm // warps, sm.ctas_per_sm, by_shared_memory)


def registers_for(sm: Architecture, ctas: int, threads: int) -> int:
    """The most registers of a thread with which an SM holds `ctas` CTAs of `threads`."""
    return sm.registers_per_sm // (32 * ctas * warps_of(threads)) // _STEP * _STEP


def allotted(registers: int) -> int:
    """The registers that each thread of a kernel which asks for `registers` takes from an SM."""
    return -(-max(registers, 1) // _STEP) * _STEP


def warps_of(threads: int) -> int:
    """Warps of a CTA of `threads`."""
    return -(-threads // 32)


def full_occupancy_registers(sm: Architecture) -> int:
    """Registers a thread with which an SM still holds as many warps as it can."""
    return registers_for(sm, sm.warps_per_sm, 32)

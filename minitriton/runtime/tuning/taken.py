"""What a configuration takes of an SM or a compute unit, and what follows from sizes alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from minitriton.analysis.tile_roles import Dot, Operand, TileRoles, elements

WORD_BITS = 32
"""Of a register."""


@dataclass(frozen=True)
class Resources:
    """Of one CTA."""

    shared_bytes: int
    registers: int
    """Of a thread; more than there are where values are spilled."""
    accumulators: int
    """Registers of a thread that hold results of dots."""
    threads: int
    instruction: str = ""
    """`wgmma`, `mma.sync` or `fma`, on AMD `v_mfma_...` or `v_wmma_...`, of the first dot; empty without one."""
    is_described: bool = False
    """Whether operands of dots come by tensor copies, through descriptors that a launch makes."""


def accumulator_registers(roles: TileRoles, values: Mapping[str, Any], threads: int) -> int:
    """Registers of a thread that hold results of dots."""
    held = sum(elements((dot.m, dot.n), values) * dot.result_bits for dot in _held(roles.dots))
    return round(held / WORD_BITS / threads)


def _held(dots: tuple[Dot, ...]) -> Iterator[Dot]:
    """The dots whose results are alive together: one for each different shape."""
    seen: set[tuple[object, ...]] = set()
    for dot in dots:
        if (dot.m, dot.n) not in seen:
            seen.add((dot.m, dot.n))
            yield dot


def bytes_of(operand: Operand, values: Mapping[str, Any]) -> int:
    return round(elements(operand.shape, values)) * max(operand.bits // 8, 1)

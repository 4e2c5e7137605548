"""How an `scf.for` counts: as MLIR has it, by signed numbers unless it says `unsigned` (`unsignedCmp`). Triton's own loops are signed.

scf.for %i = %low to %high ...              an iteration while %i < %high, signed
scf.for unsigned %i = %low to %high ...     the same, unsigned
"""

from __future__ import annotations

from xdsl.dialects import scf

UNSIGNED = "unsignedCmp"


def is_unsigned(loop: scf.ForOp) -> bool:
    """Whether the bounds are unsigned. What computes with them as signed numbers leaves such a loop alone."""
    return UNSIGNED in loop.properties


def less_than(loop: scf.ForOp) -> str:
    """The predicate of the comparison `counter < upper bound`."""
    return "ult" if is_unsigned(loop) else "slt"

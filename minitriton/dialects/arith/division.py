"""Division of exact integers as `arith.divsi` has it."""

from __future__ import annotations


def toward_zero(a: int, b: int) -> int:
    """The quotient of exact integers, rounded toward zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient

"""Between which numbers an integer is, read as signed and as unsigned: the fact of integer-range analysis, and its algebra.

    pid % 16, of 32 bits        signed [0, 15]          unsigned [0, 15]
    x - 1, where x is 0 or 1    signed [-1, 0]          unsigned [0, 4294967295]: the two views know different things

Arithmetic wraps. `wrapped` takes an interval of exact integers, as wide as it may be, and gives what is left of it in a type:

    of 8 bits: [120, 130]       signed [-128, 127] (it breaks there)       unsigned [120, 130]

Bits (`i1`) read as signed are -1 and 0. The bounds of a tensor hold for every element.

The registry of integer-range rules, one for each op: the range of its results from those of its operands.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from minitriton.dialects.op_rules import OpRules


class IntegerRange(NamedTuple):
    """`smin <= value <= smax` read as signed, `umin <= value <= umax` read as unsigned; `width` in bits. Immutable."""

    width: int
    smin: int
    smax: int
    umin: int
    umax: int

    @property
    def constant(self) -> int | None:
        """The only number in the range, read as signed; None if there are several, or it is no range of integers."""
        return self.smin if self.smin == self.smax and self.width else None

    @property
    def is_non_negative(self) -> bool:
        """Whether the number, read as signed, is at least 0."""
        return self.smin >= 0

    def __str__(self) -> str:
        return f"i{self.width} signed [{self.smin}, {self.smax}] unsigned [{self.umin}, {self.umax}]"


NO_INTEGER = IntegerRange(0, 0, 0, 0, 0)
"""What stands for floats, pointers and the rest."""


@lru_cache(maxsize=64)
def full(width: int) -> IntegerRange:
    """Every number of a width."""
    half = 1 << (width - 1)
    return IntegerRange(width, -half, half - 1, 0, 2 * half - 1)


def refined(width: int, smin: int, smax: int, umin: int, umax: int) -> IntegerRange:
    """Both views, each with what follows from the other. Bounds that contradict each other (dead code) say nothing."""
    half = 1 << (width - 1)
    if smin >= 0:
        umin, umax = max(umin, smin), min(umax, smax)
    elif smax < 0:
        umin, umax = max(umin, smin + 2 * half), min(umax, smax + 2 * half)
    if umax < half:
        smin, smax = max(smin, umin), min(smax, umax)
    elif umin >= half:
        smin, smax = max(smin, umin - 2 * half), min(smax, umax - 2 * half)
    if smin > smax or umin > umax:
        return full(width)
    return IntegerRange(width, smin, smax, umin, umax)


def wrapped(width: int, low: int, high: int) -> IntegerRange:
    """What the exact integers from `low` to `high` are, modulo 2**width."""
    half = 1 << (width - 1)
    size = 2 * half
    if high - low >= size:
        return full(width)
    if -half <= low and high < half:
        if low >= 0:
            return IntegerRange(width, low, high, low, high)
        if high < 0:
            return IntegerRange(width, low, high, low + size, high + size)
        return IntegerRange(width, low, high, 0, size - 1)
    smin = (low + half) % size - half
    smax = smin + high - low
    if smax >= half:
        smin, smax = -half, half - 1
    umin = low % size
    umax = umin + high - low
    if umax >= size:
        umin, umax = 0, size - 1
    return refined(width, smin, smax, umin, umax)


def signed(width: int, low: int, high: int) -> IntegerRange:
    """Bounds of the signed view, truncated to the type."""
    half = 1 << (width - 1)
    return refined(width, max(low, -half), min(high, half - 1), 0, 2 * half - 1)


def unsigned(width: int, low: int, high: int) -> IntegerRange:
    """Bounds of the unsigned view, truncated to the type."""
    half = 1 << (width - 1)
    return refined(width, -half, half - 1, max(low, 0), min(high, 2 * half - 1))


def meet(a: IntegerRange, b: IntegerRange) -> IntegerRange:
    """What holds where both do."""
    return refined(a.width, max(a.smin, b.smin), min(a.smax, b.smax), max(a.umin, b.umin), min(a.umax, b.umax))


def join(a: IntegerRange, b: IntegerRange) -> IntegerRange:
    """What holds of a number that is either in `a` or in `b`."""
    if a == b:
        return a
    return IntegerRange(a.width, min(a.smin, b.smin), max(a.smax, b.smax), min(a.umin, b.umin), max(a.umax, b.umax))


def widened(old: IntegerRange, new: IntegerRange, to_the_end: bool) -> IntegerRange:
    """`new`, which holds `old`, with each bound that moved set far enough out that it need not move again.

    A first step leaves room for what a loop adds before it takes a remainder or a minimum: half of the type, not all.
    """
    ends = full(old.width)
    if not to_the_end and old.width > 2:
        quarter = 1 << (old.width - 2)
        ends = IntegerRange(old.width, -quarter, quarter, 0, 3 * quarter)
    return join(
        new,
        IntegerRange(
            old.width,
            new.smin if new.smin == old.smin or new.smin >= 0 else ends.smin,
            new.smax if new.smax == old.smax else ends.smax,
            new.umin if new.umin == old.umin else ends.umin,
            new.umax if new.umax == old.umax else ends.umax,
        ),
    )


Facts = Sequence[IntegerRange]
Rule = Callable[[Any, Facts], IntegerRange]

RULES: OpRules[Rule] = OpRules()

"""Integer-range rules of quotients and remainders, signed and unsigned.

In: an op and the ranges of dividend and divisor. Out: the range of the result. Division by zero is undefined; so is the least number
divided by -1, where nothing is claimed.

    x / d     extreme where x and d are      [0, 1000] / [3, 7] = [0, 333]
    x % d     keeps the sign of x            [0, 1000] % [3, 7] = [0, 6]        [0, 5] % [7, 9] = [0, 5]: nothing is taken away
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.ir import Operation

from minitriton.analysis.integer_range.fact import RULES, IntegerRange, Rule, full, signed, unsigned
from minitriton.analysis.integer_range.rules import Ranges
from minitriton.dialects import arith
from minitriton.dialects.arith.predicates import toward_zero


def _divisors(b: IntegerRange) -> Iterator[int]:
    """The divisors at which a quotient can be extreme: the ends of what is negative and of what is positive."""
    if b.smin < 0:
        yield b.smin
        yield min(b.smax, -1)
    if b.smax > 0:
        yield max(b.smin, 1)
        yield b.smax


def _signed_quotient(rounded: Callable[[int, int], int]) -> Rule:
    def rule(op: Operation, ranges: Ranges) -> IntegerRange:
        a, b = ranges
        if a.smin == -1 << (a.width - 1) and b.smin <= -1 <= b.smax:
            return full(a.width)
        found = [rounded(x, d) for d in _divisors(b) for x in (a.smin, a.smax)]
        return signed(a.width, min(found), max(found)) if found else full(a.width)

    return rule


def _unsigned_quotient(rounded: Callable[[int, int], int]) -> Rule:
    def rule(op: Operation, ranges: Ranges) -> IntegerRange:
        a, b = ranges
        if b.umax == 0:
            return full(a.width)
        return unsigned(a.width, rounded(a.umin, b.umax), rounded(a.umax, max(b.umin, 1)))

    return rule


def _remainder(x: tuple[int, int], least: int, most: int) -> tuple[int, int]:
    """Bounds of x % d for x >= 0 and divisors from `least` (at least 1) to `most`."""
    low, high = x
    if high < least:
        return low, high
    if least == most and low // least == high // least:
        return low % least, high % least
    return 0, min(high, most - 1)


@RULES.add(arith.RemSIOp)
def remainder_signed(op: arith.RemSIOp, ranges: Ranges) -> IntegerRange:
    """x % d: |x| % |d|, with the sign of x"""
    a, b = ranges
    sizes = [abs(d) for d in _divisors(b)]
    if not sizes:
        return full(a.width)
    least, most = min(sizes), max(sizes)
    low, high = 0, 0
    if a.smax >= 0:
        low, high = _remainder((max(a.smin, 0), a.smax), least, most)
    if a.smin < 0:
        near, far = _remainder((max(-a.smax, 1), -a.smin), least, most)
        low, high = -far, high if a.smax >= 0 else -near
    return signed(a.width, low, high)


@RULES.add(arith.RemUIOp)
def remainder_unsigned(op: arith.RemUIOp, ranges: Ranges) -> IntegerRange:
    """x % d"""
    a, b = ranges
    if b.umax == 0:
        return full(a.width)
    return unsigned(a.width, *_remainder((a.umin, a.umax), max(b.umin, 1), b.umax))


RULES.update(
    {
        arith.DivSIOp: _signed_quotient(toward_zero),
        arith.FloorDivSIOp: _signed_quotient(lambda a, b: a // b),
        arith.CeilDivSIOp: _signed_quotient(lambda a, b: -(-a // b)),
        arith.DivUIOp: _unsigned_quotient(lambda a, b: a // b),
        arith.CeilDivUIOp: _unsigned_quotient(lambda a, b: -(-a // b)),
    }
)

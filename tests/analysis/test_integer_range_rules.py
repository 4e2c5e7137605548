"""Each integer-range rule against the numbers themselves: small types, random ranges, every number of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Operation

from minitriton.analysis.integer_range.analysis import RULES
from minitriton.analysis.integer_range.lattice import IntegerRange, full, join, meet, refined, widened, wrapped
from minitriton.analysis.integer_range.rules import compare, restricted
from minitriton.dialects import arith, math, tt
from minitriton.dialects.arith.compare import MIRRORED

WIDTH = 4
SIZE, HALF = 1 << WIDTH, 1 << (WIDTH - 1)


def as_signed(number: int, width: int = WIDTH) -> int:
    number %= 1 << width
    return number - (1 << width) if number >> (width - 1) else number


def contains(found: IntegerRange, number: int) -> bool:
    low = as_signed(number, found.width)
    return found.smin <= low <= found.smax and found.umin <= number % (1 << found.width) <= found.umax


def members(found: IntegerRange) -> list[int]:
    """All numbers of a range, read as signed."""
    return [n for n in range(-(1 << (found.width - 1)), 1 << (found.width - 1)) if contains(found, n)]


@st.composite
def ranges(draw: st.DrawFn, width: int = WIDTH) -> IntegerRange:
    """A range with at least one number."""
    size, half = 1 << width, 1 << (width - 1)
    smin = draw(st.integers(-half, half - 1))
    umin = draw(st.integers(0, size - 1))
    found = refined(width, smin, draw(st.integers(smin, half - 1)), umin, draw(st.integers(umin, size - 1)))
    number = draw(st.integers(-half, half - 1))
    return found if members(found) else wrapped(width, number, number)


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def pick(choose: Callable[[int, int], int], unsigned: bool) -> Callable[[int, int], int]:
    return lambda a, b: choose(a % SIZE, b % SIZE) if unsigned else choose(a, b)


MEANINGS: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    tt.MulhiUIOp: lambda a, b: (a % SIZE) * (b % SIZE) >> WIDTH,
    arith.AndIOp: lambda a, b: a & b,
    arith.OrIOp: lambda a, b: a | b,
    arith.XOrIOp: lambda a, b: a ^ b,
    arith.ShLIOp: lambda a, b: a << (b % SIZE) if b % SIZE < WIDTH else 0,
    arith.ShRUIOp: lambda a, b: (a % SIZE) >> (b % SIZE),
    arith.ShRSIOp: lambda a, b: a >> (b % SIZE),
    arith.MaxSIOp: pick(max, False),
    arith.MinSIOp: pick(min, False),
    arith.MaxUIOp: pick(max, True),
    arith.MinUIOp: pick(min, True),
}
DIVISIONS: dict[type[Operation], Callable[[int, int], int]] = {
    arith.DivSIOp: quotient,
    arith.FloorDivSIOp: lambda a, b: a // b,
    arith.CeilDivSIOp: lambda a, b: -(-a // b),
    arith.RemSIOp: lambda a, b: a - b * quotient(a, b),
    arith.DivUIOp: lambda a, b: (a % SIZE) // (b % SIZE),
    arith.CeilDivUIOp: lambda a, b: -(-(a % SIZE) // (b % SIZE)),
    arith.RemUIOp: lambda a, b: (a % SIZE) % (b % SIZE),
}


def applied(cls: type[Operation], *operands: IntegerRange) -> IntegerRange:
    block = Block(arg_types=[IntegerType(operand.width) for operand in operands])
    op = cls(*block.args)  # pyright: ignore[reportCallIssue]
    return RULES.of(op)(op, operands)  # pyright: ignore[reportOptionalCall]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("cls", [*MEANINGS, *DIVISIONS], ids=lambda cls: cls.name)
@settings(max_examples=300, deadline=None)
@given(a=ranges(), b=ranges())
def test_every_result_lies_in_its_range(cls: type[Operation], a: IntegerRange, b: IntegerRange) -> None:
    found = applied(cls, a, b)
    meaning = MEANINGS.get(cls) or DIVISIONS[cls]
    for x in members(a):
        for y in members(b):
            if cls not in DIVISIONS or y:
                assert contains(found, meaning(x, y)), (x, y, found)


@pytest.mark.parametrize("cls", [*MEANINGS, *DIVISIONS], ids=lambda cls: cls.name)
def test_of_two_numbers_the_result_is_known(cls: type[Operation]) -> None:
    for x in range(1, HALF):
        for y in range(1, HALF):
            found = applied(cls, wrapped(WIDTH, x, x), wrapped(WIDTH, y, y))
            if cls is arith.ShLIOp and y >= WIDTH:
                continue
            if cls in (arith.AndIOp, arith.OrIOp, arith.XOrIOp):
                continue
            meaning = MEANINGS.get(cls) or DIVISIONS[cls]
            assert found.constant == as_signed(meaning(x, y)), (x, y, found)


@settings(max_examples=300, deadline=None)
@given(a=ranges())
def test_casts_and_absolute_values_lie_in_their_ranges(a: IntegerRange) -> None:
    block = Block(arg_types=[IntegerType(WIDTH)])
    for cls, width, meaning in (
        (arith.ExtSIOp, 7, lambda n: n),
        (arith.ExtUIOp, 7, lambda n: n % SIZE),
        (arith.TruncIOp, 3, lambda n: n),
        (arith.TruncIOp, 1, lambda n: n),
    ):
        op = cls(block.args[0], IntegerType(width))
        found = RULES.of(op)(op, [a])  # pyright: ignore[reportOptionalCall]
        assert all(contains(found, meaning(n)) for n in members(a)), (cls, found)
    found = applied(math.AbsIOp, a)
    assert all(contains(found, abs(n)) for n in members(a))


def holds(predicate: int, x: int, y: int) -> bool:
    if predicate >= 6:
        x, y = x % SIZE, y % SIZE
    return (x == y, x != y, x < y, x <= y, x > y, x >= y, x < y, x <= y, x > y, x >= y)[predicate]


@settings(max_examples=500, deadline=None)
@given(a=ranges(), b=ranges(), predicate=st.integers(0, 9))
def test_a_decided_comparison_holds_for_all_numbers_and_a_promised_one_excludes_none(
    a: IntegerRange, b: IntegerRange, predicate: int
) -> None:
    pairs = [(x, y) for x in members(a) for y in members(b)]
    known = compare(predicate, a, b)
    if known is not None:
        assert all(holds(predicate, x, y) == known for x, y in pairs)
    left, right = restricted(a, predicate, b), restricted(b, MIRRORED[predicate], a)
    for x, y in pairs:
        if holds(predicate, x, y):
            assert contains(left, x) and contains(right, y)


@settings(max_examples=300, deadline=None)
@given(a=ranges(), b=ranges(), to_the_end=st.booleans())
def test_joins_meets_and_widenings_keep_what_they_must(a: IntegerRange, b: IntegerRange, to_the_end: bool) -> None:
    both = join(a, b)
    assert all(contains(both, n) for n in (*members(a), *members(b)))
    assert all(contains(meet(a, b), n) for n in set(members(a)) & set(members(b)))
    wide = widened(a, both, to_the_end)
    assert all(contains(wide, n) for n in members(both))


@settings(max_examples=300, deadline=None)
@given(low=st.integers(-100, 100), count=st.integers(0, 40))
def test_exact_integers_wrapped_are_in_the_range(low: int, count: int) -> None:
    found = wrapped(WIDTH, low, low + count)
    assert all(contains(found, n) for n in range(low, low + count + 1))


def test_a_sum_that_wraps_is_negative() -> None:
    a = wrapped(WIDTH, 5, 7)
    assert applied(arith.AddiOp, a, a) == IntegerRange(WIDTH, -6, -2, 10, 14)
    assert applied(arith.AddiOp, a, wrapped(WIDTH, 0, 7)).smin == full(WIDTH).smin

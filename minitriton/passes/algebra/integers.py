"""Rules of integers: sums of multiplications, chains of divisions and remainders, extensions that are truncated again. They wrap as the ops do.

What takes ranges to be shown (a signed division that is an unsigned one, arithmetic of 64 bits in 32) is in `passes.integer_range_rules`. Divisions by powers
of two stay divisions of known numbers until LLVM makes shifts of them: axis info sees more in a division.
"""

from __future__ import annotations

from minitriton.passes.algebra.rule import Rule

_DIVISIONS = {"D": "divsi divui"}
_REMAINDERS = {"R": "remsi remui"}
_WRAPPING = {"F": "addi subi muli andi ori xori"}

RULES = (
    Rule("factor", "addi(muli(x, a), muli(x, b))", "muli(x, addi(a, b))"),
    Rule("factor-difference", "subi(muli(x, a), muli(x, b))", "muli(x, subi(a, b))"),
    Rule("add-negative", "addi(x, subi(0, y))", "subi(x, y)"),
    Rule("subtract-negative", "subi(x, subi(0, y))", "addi(x, y)"),
    Rule(
        "divide-twice", "D(D(x, A), B)", "D(x, muli(A, B))", ops=_DIVISIONS,
        when="0 < A and 0 < B and A * B < N",
    ),
    Rule(
        "remainder-of-remainder", "R(R(x, A), B)", "R(x, B)", ops=_REMAINDERS,
        when="0 < A and 0 < B and A % B == 0",
    ),
    Rule(
        "divide-multiple", "D(muli(x, A), A)", "x", ops=_DIVISIONS, shared=True,
        when="0 < A and 0 <= x and x * A < N",
    ),
    Rule(
        "divide-multiple-and-rest", "D(addi(muli(x, A), y), A)", "x", ops=_DIVISIONS, shared=True,
        when="0 < A and 0 <= y and y < A and 0 <= x and x * A + y < N",
    ),
    Rule(
        "remainder-of-multiple", "R(muli(x, A), B)", "0", ops=_REMAINDERS, shared=True,
        when="0 < B and 0 < A and A % B == 0 and 0 <= x and x * A < N",
    ),
    Rule(
        "remainder-of-multiple-and-rest", "R(addi(muli(x, A), y), B)", "R(y, B)", ops=_REMAINDERS,
        when="0 < B and 0 < A and A % B == 0 and 0 <= y and 0 <= x and x * A + y < N",
    ),
    Rule("quotient-and-remainder", "addi(muli(D(x, a), a), R(x, a))", "x", ops={"D": "divsi", "R": "remsi"}, shared=True),
    Rule("quotient-and-remainder-unsigned", "addi(muli(divui(x, a), a), remui(x, a))", "x", shared=True),
    Rule("rest-by-hand", "subi(x, muli(divsi(x, a), a))", "remsi(x, a)"),
    Rule("rest-by-hand-unsigned", "subi(x, muli(divui(x, a), a))", "remui(x, a)"),
    Rule("truncated-signed", "trunci(F(extsi(x), extsi(y)))", "F(x, y)", ops=_WRAPPING),
    Rule("truncated-unsigned", "trunci(F(extui(x), extui(y)))", "F(x, y)", ops=_WRAPPING),
    Rule("sum-of-multiples", "sum(muli(x, splat(c)))", "muli(sum(x), splat(c))"),
)  # fmt: skip

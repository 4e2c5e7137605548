"""Rules of floats that hold bit for bit, NaN (as a whole: which NaN is not said), infinities, signed zeros and denormals included.

A rule may neither fuse a multiplication with an addition that were apart, nor part two that LLVM fuses: what becomes a multiplication is
`mulf_rn`, and sums, differences and multiplications stay where they are.
"""

from __future__ import annotations

from minitriton.passes.algebra.rule import Rule

RULES = (
    Rule(
        "divide-by-power-of-two", "divf(x, C)", "mulf_rn(x, divf(1.0, C))", over="f16 bf16 f32 f64",
        when="power_of_two(C) and exact(1 / C)",
    ),
    Rule("add-negative-float", "addf(x, negf(y))", "subf(x, y)", over="float"),
    Rule("subtract-negative-float", "subf(x, negf(y))", "addf(x, y)", over="float"),
    Rule("negated-factor", "mulf(negf(x), C)", "mulf(x, negf(C))", over="float"),
    Rule("negated-dividend", "divf(negf(x), C)", "divf(x, negf(C))", over="float"),
    Rule("negated-divisor", "divf(C, negf(x))", "divf(negf(C), x)", over="float"),
    Rule("negated-multiple", "negf(mulf(x, C))", "mulf(x, negf(C))", over="float"),
    Rule("negated-quotient", "negf(divf(x, C))", "divf(x, negf(C))", over="float"),
    Rule("negated-twice-in-fma", "fma(negf(x), negf(y), z)", "fma(x, y, z)", over="f32 f64", shared=True),
    Rule("negated-in-fma", "fma(negf(x), C, z)", "fma(x, negf(C), z)", over="f32 f64"),
    Rule("absolute-of-negative", "absf(negf(x))", "absf(x)", over="float", shared=True),
    Rule("absolute-twice", "absf(absf(x))", "absf(x)", over="float", shared=True),
    Rule("square-of-absolute", "mulf(absf(x), absf(x))", "mulf(x, x)", over="float"),
    Rule("largest-multiple", "max(mulf(x, C))", "mulf_rn(max(x), C)", when="0 < C and normal(C)", over="float"),
)  # fmt: skip

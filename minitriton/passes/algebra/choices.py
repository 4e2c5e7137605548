"""Rules of minima, maxima and select: nests, arms that do the same, and types that the operands did not need."""

from __future__ import annotations

from minitriton.passes.algebra.rule import Rule

_INTEGER = {"F": "minsi maxsi minui maxui"}
_FLOAT = {"F": "minnumf maxnumf minimumf maximumf"}
_UNARY = "exp exp2 log log2 sqrt rsqrt sin cos erf absf floor ceil"

RULES = (
    Rule("bounds-of-integers", "F(F(x, A), B)", "F(x, F(A, B))", ops=_INTEGER),
    Rule("bounds-of-floats", "F(F(x, A), B)", "F(x, F(A, B))", when="A == A and B == B", over="float", ops=_FLOAT),
    Rule("bound-twice", "F(x, F(x, y))", "F(x, y)", ops=_INTEGER, shared=True),
    Rule("bound-twice-float", "F(x, F(x, y))", "F(x, y)", over="float", ops=_FLOAT, shared=True),
    Rule("absorbed-maximum", "minsi(x, maxsi(x, y))", "x", shared=True),
    Rule("absorbed-minimum", "maxsi(x, minsi(x, y))", "x", shared=True),
    Rule("narrow-bounds", "truncf(F(extf(x), extf(y)))", "F(x, y)", over="f16", ops=_FLOAT),
    Rule(
        "narrow-bound", "truncf(F(extf(x), C))", "F(x, truncf(C))", when="exact(C)", over="f16", ops=_FLOAT,
    ),
    Rule("select-by-negation", "select(xori(c, -1), x, y)", "select(c, y, x)", over="any", shared=True),
    Rule(
        "equal-divisor", "select(c, F(x, z), F(y, z))", "F(select(c, x, y), z)",
        ops={"F": "divsi divui remsi remui"},
    ),
    Rule("equal-dividend", "select(c, F(z, x), F(z, y))", "F(z, select(c, x, y))", ops={"F": "divsi divui remsi remui"}),
    Rule(
        "equal-divisor-float", "select(c, divf(x, z), divf(y, z))", "divf(select(c, x, y), z)", over="float",
    ),
    Rule("equal-dividend-float", "select(c, divf(z, x), divf(z, y))", "divf(z, select(c, x, y))", over="float"),
    Rule("equal-function", "select(c, F(x), F(y))", "F(select(c, x, y))", over="f32 f64", ops={"F": _UNARY}),
    Rule("greater-of-two", "select(cmpi_sgt(x, y), x, y)", "maxsi(x, y)"),
    Rule("lesser-of-two", "select(cmpi_slt(x, y), x, y)", "minsi(x, y)"),
)  # fmt: skip

"""Rules of floats that round otherwise: only with `algebra="fast"`.

They are proved for numbers whose results and intermediate results are neither infinite nor denormal; what is infinite or NaN may become another of these.
"""

from __future__ import annotations

from minitriton.passes.algebra.rule import Rule

_WIDE = "f32 f64"


def _fast(name: str, before: str, after: str, **more: object) -> Rule:
    return Rule(name, before, after, **{"over": _WIDE, "level": "fast", "within": 4.0, **more})  # pyright: ignore[reportArgumentType]


_EXP = {"E": "exp exp2"}

RULES = (
    _fast("log-of-softmax", "log(divf(exp(x), broadcast(s)))", "subf(x, broadcast(log(s)))"),
    _fast("log-of-softmax-of-one-row", "log(divf(exp(x), splat(s)))", "subf(x, splat(log(s)))"),
    _fast("log-of-exp", "log(exp(x))", "x", shared=True),
    _fast("root-of-divisor", "divf(x, sqrt(y))", "mulf(x, rsqrt(y))"),
    _fast("divide-by-number", "divf(x, C)", "mulf(x, divf(1.0, C))", when="normal(1 / C)"),
    _fast("divide-by-splat", "divf(x, splat(s))", "mulf(x, splat(divf(1.0, s)))", profit="varies(x)"),
    _fast("divide-by-row", "divf(x, broadcast(r))", "mulf(x, broadcast(divf(1.0, r)))", profit="varies(x)"),
    _fast("divide-twice-float", "divf(divf(x, y), z)", "divf(x, mulf(y, z))", profit="in_range(y, z)"),
    _fast("divide-by-shared", "divf(x, y)", "mulf(x, divf(1.0, y))", profit="divides_several(x, y)"),
    _fast("add-quotients", "addf(divf(x, y), divf(z, y))", "divf(addf(x, z), y)"),
    _fast("subtract-quotients", "subf(divf(x, y), divf(z, y))", "divf(subf(x, z), y)"),
    _fast("multiply-twice", "mulf(mulf(x, A), B)", "mulf(x, mulf(A, B))", when="normal(A * B)"),
    _fast("multiply-splat-twice", "mulf(mulf(x, splat(s)), B)", "mulf(x, splat(mulf(s, B)))", when="0.001 < B and B < 1000.0"),
    _fast("add-twice", "addf(addf(x, A), B)", "addf(x, addf(A, B))"),
    _fast("sum-of-scaled", "sum(mulf(x, splat(c)))", "mulf(sum(x), splat(c))"),
    _fast("multiply-exponentials", "mulf(E(x), E(y))", "E(addf(x, y))", ops=_EXP),
    _fast("divide-exponentials", "divf(E(x), E(y))", "E(subf(x, y))", ops=_EXP),
    _fast("reciprocal-of-exponential", "divf(1.0, E(x))", "E(negf(x))", ops=_EXP),
    _fast("greater-or-nan", "select(ori(cmpf_ogt(x, y), cmpf_une(x, x)), x, y)", "maximumf(x, y)", within=0.5),
    _fast("lesser-or-nan", "select(ori(cmpf_olt(x, y), cmpf_une(x, x)), x, y)", "minimumf(x, y)", within=0.5),
)  # fmt: skip

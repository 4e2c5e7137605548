"""Proofs of rules: `before` and `after` are computed for numbers, and must agree wherever `before` is defined and `when` holds.

- Integers, by an SMT solver (`pip install z3-solver`) on bit vectors of 1, 8, 16, 32 and 64 bits, numbers of the rule being unknowns as its values are. Where bit vectors of
  16 bits and more take too long (divisions), on integers of any size instead: each result is shown to fit in a type of any width.
- Floats: of f16 every value of one letter with many of the others, of bf16, f32 and f64 a sample; both with all special values, the borders of binades and every power of two.
  Results are compared bit by bit, a NaN with any NaN.
- Fast rules: what `after` gives in f32 (f64) is compared with `before` in f64 (80 bits), relative to the sum of the magnitudes that are added up.

A shape is left out of the meaning: a splat or broadcast is what it repeats. A reduction is proved for two elements, which decides it: `after` reduces the same way.
"""

from __future__ import annotations

import ast
import functools
import importlib
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AnyFloat, BFloat16Type, Float16Type, Float32Type, Float64Type

from minitriton.errors import MinitritonError
from minitriton.host.whole_file import write_whole
from minitriton.passes.algebra.matching import applies_to, holds
from minitriton.passes.algebra.rule import Family, Rule, Term, proofs_of

WIDTHS = (1, 8, 16, 32, 64)
_WIDER = 4
"""How many times as many bits an extension gives, in proofs."""


class NotProved(MinitritonError):
    """A rule is wrong for some numbers, or nothing was found out."""


def prove(rule: Rule, *, thorough: bool = True) -> str:
    """Proves a rule, for all that its letters of operations stand for, and says how. Raises `NotProved`, with numbers for which it is wrong."""
    methods = [_prove(instance, thorough) for instance in rule.instances()]
    if rule.level == "fast":
        return max(methods, key=lambda method: float(method.split()[3]))
    return " and ".join(dict.fromkeys(methods))


def _prove(rule: Rule, thorough: bool) -> str:
    if rule.level == "fast":
        return _prove_error(rule)
    methods: list[str] = []
    if rule.over in ("integer", "any"):
        methods.append(_prove_integers(rule, thorough))
    if rule.over != "integer":
        types = [type_ for type_ in _FLOATS if applies_to(rule.over, type_)]
        if not types:
            raise NotProved(f"rule {rule.name}: {rule.over!r} cannot be proved: types are f16, bf16, f32 and f64")
        methods += [_prove_floats(rule, type_, thorough) for type_ in types]
    return ", ".join(methods)


def prove_family(family: Family) -> Iterator[tuple[Rule, str | NotProved]]:
    """Proves all rules of a file, then writes the digests of those that hold next to it."""
    lines: list[str] = []
    for rule in family.rules:
        try:
            method = prove(rule)
            lines.append(f"{rule.digest} {method}\n")
            yield rule, method
        except NotProved as error:
            yield rule, error
    write_whole(proofs_of(family.file), "".join(lines))


def _letters(term: Term) -> set[str]:
    if not term.op:
        return {term.leaf} if isinstance(term.leaf, str) else set()
    return set[str]().union(*map(_letters, term.args))


def _names(term: Term) -> set[str]:
    return {term.op}.union(*map(_names, term.args)) if term.op else set()


_REDUCED = {"sum": ("addi", "addf"), "max": ("maxsi", "maxnumf")}
_SAME = frozenset({"splat", "broadcast", "expand_dims"})


def _value(term: Term, env: Mapping[str, Any], apply: Callable[[str, list[Any]], Any], at: str = "") -> Any:
    """What a term is. `env` has its letters; inside a reduction a letter has two values, `x` and `x'`."""
    if not term.op:
        name = f"{term.leaf}{at}"
        return env.get(name, env.get(str(term.leaf), term.leaf)) if isinstance(term.leaf, str) else term.leaf
    if term.op in _SAME:
        return _value(term.args[0], env, apply)
    if term.op in _REDUCED:
        return apply(term.op, [_value(term.args[0], env, apply, each) for each in ("", "'")])
    return apply(term.op, [_value(each, env, apply, at) for each in term.args])


# Integers ------------------------------------------------------------------------------------------------------------


@functools.cache
def _z3() -> Any:
    try:
        return importlib.import_module("z3")
    except ImportError as error:
        raise NotProved("rules of integers are proved by an SMT solver", help="pip install z3-solver") from error


def _prove_integers(rule: Rule, thorough: bool) -> str:
    has_division = any(name.startswith(("div", "rem")) for term in rule.terms for name in _names(term))
    for width in WIDTHS if thorough else (1, 4):
        if width > 8 and has_division:
            _prove_unbounded(rule)
            return "smt of 1 and 8 bits, and of integers of any width"
        _BitVectors(rule, width).prove()
    return "smt of 1, 8, 16, 32 and 64 bits"


class _BitVectors:
    def __init__(self, rule: Rule, width: int) -> None:
        self.z3, self.rule, self.width = _z3(), rule, width
        self.defined: list[Any] = []
        letters = sorted(_letters(rule.terms[0]))
        bools = _conditions(rule.terms[0])
        self.env = {
            name + at: self.z3.BitVec(name + at, 1 if name in bools else width) for name in letters for at in ("", "'")
        }

    def prove(self) -> None:
        z3 = self.z3
        before = _value(self.rule.terms[0], self.env, self._apply)
        assumed, self.defined = self.defined, []
        after = _value(self.rule.terms[1], self.env, self._apply)
        wrong = z3.Or(self._sized(after, before) != before, z3.Not(z3.And(*self.defined)))
        given = [self._holds(self.rule.condition)] if self.rule.condition is not None else []
        _refute(self.rule, [*assumed, *given, wrong], f"of {self.width} bits")

    def _sized(self, value: Any, like: Any) -> Any:
        return self.z3.BitVecVal(value, like.size()) if isinstance(value, int) else value

    def _apply(self, op: str, args: list[Any]) -> Any:
        z3 = self.z3
        typed = next((each for each in args[::-1] if not isinstance(each, int)), None)
        assert typed is not None
        if op == "select":
            return z3.If(
                args[0] == 1,
                *(self._sized(each, args[1] if isinstance(args[2], int) else args[2]) for each in args[1:]),
            )
        a, *rest = (self._sized(each, typed) for each in args)
        if op in ("extsi", "extui"):
            return (z3.SignExt if op == "extsi" else z3.ZeroExt)((_WIDER - 1) * a.size(), a)
        if op == "trunci":
            return z3.Extract(a.size() // _WIDER - 1, 0, a)
        b = rest[0]
        if op.startswith("cmpi_"):
            return z3.If(_COMPARED[op[5:]](z3)(a, b), z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))
        if op.startswith(("div", "rem")):
            self.defined.append(b != 0)
            if op.endswith("si"):
                self.defined.append(z3.Not(z3.And(a == 1 << (a.size() - 1), b == -1)))
        return _ON_BITS[_REDUCED[op][0] if op in _REDUCED else op](z3, a, b)

    def _holds(self, node: ast.expr) -> Any:
        """A condition, on signed numbers with as many bits as all its arithmetic needs."""
        z3, wide = self.z3, 2 * self.width + 8

        def number(node: ast.expr) -> Any:
            match node:
                case ast.Name("N"):
                    return z3.BitVecVal(1 << (self.width - 1), wide)
                case ast.Name(name):
                    return z3.SignExt(wide - self.width, self.env[name])
                case ast.Constant(value):
                    return z3.BitVecVal(value, wide)
                case ast.BinOp(left, op, right):
                    return _ARITHMETIC[type(op)](z3)(number(left), number(right))
                case _:
                    raise NotProved(f"rule {self.rule.name}: {ast.unparse(node)} is not understood")

        return _comparisons(node, number, z3)


def _comparisons(node: ast.expr, number: Callable[[ast.expr], Any], z3: Any) -> Any:
    match node:
        case ast.BoolOp(ast.And(), parts):
            return z3.And(*(_comparisons(part, number, z3) for part in parts))
        case ast.Compare(left, [op], [right]):
            return _OPERATORS[type(op)](number(left), number(right))
        case _:
            raise NotProved(f"{ast.unparse(node)} is not a condition of integers")


_OPERATORS: Mapping[type, Any] = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Eq: operator.eq}
_ARITHMETIC: Mapping[type, Callable[[Any], Any]] = {
    ast.Add: lambda _: operator.add,
    ast.Sub: lambda _: operator.sub,
    ast.Mult: lambda _: operator.mul,
    ast.Mod: lambda z3: z3.SRem,
}
_COMPARED: Mapping[str, Callable[[Any], Any]] = {
    "eq": lambda _: operator.eq, "ne": lambda _: operator.ne, "slt": lambda _: operator.lt, "sle": lambda _: operator.le,
    "sgt": lambda _: operator.gt, "sge": lambda _: operator.ge, "ult": lambda z3: z3.ULT, "ule": lambda z3: z3.ULE,
    "ugt": lambda z3: z3.UGT, "uge": lambda z3: z3.UGE,
}  # fmt: skip
_ON_BITS: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "addi": lambda _, a, b: a + b,
    "subi": lambda _, a, b: a - b,
    "muli": lambda _, a, b: a * b,
    "andi": lambda _, a, b: a & b,
    "ori": lambda _, a, b: a | b,
    "xori": lambda _, a, b: a ^ b,
    "divsi": lambda _, a, b: a / b,
    "remsi": lambda z3, a, b: z3.SRem(a, b),
    "divui": lambda z3, a, b: z3.UDiv(a, b),
    "remui": lambda z3, a, b: z3.URem(a, b),
    "minsi": lambda z3, a, b: z3.If(a < b, a, b),
    "maxsi": lambda z3, a, b: z3.If(a > b, a, b),
    "minui": lambda z3, a, b: z3.If(z3.ULT(a, b), a, b),
    "maxui": lambda z3, a, b: z3.If(z3.UGT(a, b), a, b),
}


def _conditions(term: Term) -> set[str]:
    """Letters that are bits: conditions of `select`, those aside that are compared."""
    own = _bits(term.args[0]) if term.op == "select" else set[str]()
    return own.union(*map(_conditions, term.args))


def _bits(term: Term) -> set[str]:
    if not term.op:
        return _letters(term)
    return set[str]() if term.op.startswith("cmp") else set[str]().union(*map(_bits, term.args))


def _refute(rule: Rule, claims: list[Any], what: str) -> None:
    """Raises `NotProved` if all claims can be true."""
    z3 = _z3()
    solver = z3.Solver()
    solver.set("timeout", 60_000)
    solver.add(*claims)
    answer = solver.check()
    if answer == z3.sat:
        raise NotProved(f"rule {rule.name} is wrong for integers {what}: {rule.text}: {solver.model()}")
    if answer != z3.unsat:
        raise NotProved(f"rule {rule.name} is not decided for integers {what}: {rule.text}")


def _prove_unbounded(rule: Rule) -> None:
    """For integers of any width of 8 bits or more: N is half of how many numbers the type has."""
    z3 = _z3()
    half = z3.Int("N")
    is_unsigned = any(name.endswith("ui") for term in rule.terms for name in _names(term))
    low, high = (0, 2 * half) if is_unsigned else (-half, half)
    positive = _not_negative(rule.condition)
    letters = sorted(_letters(rule.terms[0]))
    bools = _conditions(rule.terms[0])
    env = {name: z3.Bool(name) if name in bools else z3.Int(name) for name in letters}
    given = [half >= 128]
    for name in set(letters) - bools:
        given += [env[name] >= (0 if name in positive else low), env[name] < (half if name in positive else high)]
    defined: list[Any] = []
    results: list[Any] = []

    def apply(op: str, args: list[Any]) -> Any:
        if op == "select":
            return z3.If(args[0], args[1], args[2])
        a, b = args
        if op in ("addi", "subi", "muli"):
            results.append({"addi": a + b, "subi": a - b, "muli": a * b}[op])
            return results[-1]
        if is_unsigned:
            defined.append(b != 0)
            return a / b if op.startswith("div") else a - a / b * b
        size = z3.If(b >= 0, b, -b)
        quotient = z3.If(a >= 0, a / size, -((-a) / size))
        quotient = z3.If(b >= 0, quotient, -quotient)
        defined.append(z3.And(b != 0, z3.Not(z3.And(a == -half, b == -1))))
        return quotient if op.startswith("div") else a - quotient * b

    def number(node: ast.expr) -> Any:
        match node:
            case ast.Name("N"):
                return half
            case ast.Name(name):
                return env[name] if name in positive else z3.If(env[name] < half, env[name], env[name] - 2 * half)
            case ast.Constant(value):
                return value
            case ast.BinOp(left, ast.Mod(), right):
                given.append(number(left) == number(right) * z3.Int(ast.unparse(node)) + z3.Int("rest"))
                return z3.Int("rest")
            case ast.BinOp(left, op, right):
                return _ARITHMETIC[type(op)](z3)(number(left), number(right))
            case _:
                raise NotProved(f"rule {rule.name}: {ast.unparse(node)} is not understood")

    before = _value(rule.terms[0], env, apply)
    assumed, defined[:] = list(defined), []
    after = _value(rule.terms[1], env, apply)
    if rule.condition is not None:
        given.append(_comparisons(rule.condition, number, z3))
    claims = [*given, *assumed]
    for result in results:
        _refute(rule, [*claims, z3.Not(z3.And(low <= result, result < high))], "of any width: it does not fit")
    _refute(rule, [*claims, z3.Or(after != before, z3.Not(z3.And(*defined)))], "of any width")


def _not_negative(node: ast.expr | None) -> set[str]:
    """Letters that the condition itself says are not negative: `0 < A`, `0 <= x`."""
    match node:
        case ast.BoolOp(ast.And(), parts):
            return set[str]().union(*map(_not_negative, parts))
        case ast.Compare(ast.Constant(0), [ast.Lt() | ast.LtE()], [ast.Name(name)]):
            return {name}
        case _:
            return set()


# Floats --------------------------------------------------------------------------------------------------------------

_FLOATS: tuple[AnyFloat, ...] = (Float16Type(), BFloat16Type(), Float32Type(), Float64Type())
_DIGITS = {"f16": (11, -14, 16), "bf16": (8, -126, 128), "f32": (24, -126, 128), "f64": (53, -1022, 1024)}
"""Of each type: digits, exponent of the least normal number, and of the first that is too large."""


def rounded(values: Any, type_: AnyFloat) -> np.ndarray[Any, Any]:
    """Numbers of f64, rounded to nearest in a type, still in f64."""
    digits, least, most = _DIGITS[type_.name]
    values = np.asarray(values, np.float64)
    narrow = {53: np.float64, 24: np.float32, 11: np.float16}.get(digits)
    if narrow is not None:
        return values.astype(narrow).astype(np.float64)
    _, exponents = np.frexp(values)
    shift = digits - np.maximum(exponents, least + 1)
    where: Any = np.where
    result = where(np.isfinite(values), np.ldexp(np.rint(np.ldexp(values, shift)), -shift), values)
    return where(np.abs(result) >= 2.0**most, np.copysign(np.inf, values), result)


def special(type_: AnyFloat) -> np.ndarray[Any, Any]:
    """Zeros, infinities, NaN, the borders of all ranges, every power of two and its neighbours, of both signs."""
    digits, least, most = _DIGITS[type_.name]
    step = 1 if digits < 24 else 3 if digits == 24 else 29
    powers = np.ldexp(1.0, np.arange(least - digits + 1, most, step))
    near = np.concatenate([powers, powers * (1 + 2.0 ** (1 - digits)), powers * (1 - 2.0**-digits), powers * 1.5])
    edges = [0.0, np.inf, np.nan, 3.0, 2.0**least, 2.0 ** (most - 1) * (2 - 2.0 ** (1 - digits))]
    found = rounded(np.concatenate([edges, near]), type_)
    return np.unique(np.concatenate([found, -found, [0.0]]).view(np.uint64)).view(np.float64)


def _every_f16() -> np.ndarray[Any, Any]:
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)


def sampled(type_: AnyFloat, count: int, seed: int) -> np.ndarray[Any, Any]:
    """Special numbers and any bits of the type."""
    bits = np.random.default_rng(seed).integers(0, 1 << 64, count, dtype=np.uint64)
    any_bits = (
        bits.view(np.float64) if type_.name == "f64" else (bits >> np.uint64(32)).astype(np.uint32).view(np.float32)
    )
    with np.errstate(all="ignore"):
        if type_.name == "f16":
            any_bits = bits.astype(np.uint16).view(np.float16)
        return np.concatenate([special(type_), rounded(any_bits.astype(np.float64), type_)])


def _extreme(pick: float, propagates: bool) -> Callable[[Any, Any], Any]:
    """Maximum (`pick` is 1) or minimum (-1), with -0.0 below 0.0."""

    def apply(a: Any, b: Any) -> Any:
        where: Any = np.where
        first = where(a == b, np.copysign(1.0, a) == pick, a > b if pick > 0 else a < b)
        chosen = where(first, a, b)
        if propagates:
            return where(np.isnan(a) | np.isnan(b), np.nan, chosen)
        return where(np.isnan(a), b, where(np.isnan(b), a, chosen))

    return apply


def _fma(x: Any, y: Any, z: Any) -> Any:
    return x * y + z


def _rsqrt(x: Any) -> Any:
    root: Any = np.sqrt(x)
    return 1 / root


def _same(x: Any) -> Any:
    return x


def _differs(x: Any, y: Any) -> Any:
    return x != (y != 0)


_FUNCTIONS: Mapping[str, Any] = {
    "addf": np.add, "subf": np.subtract, "mulf": np.multiply, "mulf_rn": np.multiply, "divf": np.divide, "negf": np.negative,
    "absf": np.abs, "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos,
    "erf": np.tanh, "floor": np.floor, "ceil": np.ceil, "rsqrt": _rsqrt, "fma": _fma,
    "maxnumf": _extreme(1.0, False), "minnumf": _extreme(-1.0, False), "maximumf": _extreme(1.0, True),
    "minimumf": _extreme(-1.0, True), "cmpf_ogt": np.greater, "cmpf_olt": np.less, "cmpf_oge": np.greater_equal, "cmpf_une": np.not_equal,
    "ori": np.logical_or, "select": np.where, "extf": _same, "truncf": _same, "xori": _differs,
}  # fmt: skip
"""In f64, or wider. Of `erf` the rules use that it is a function, whichever."""


def _in_type(type_: AnyFloat) -> Callable[[str, list[Any]], Any]:
    """Ops as they round: quotients of narrow floats go through f32, results of `extf` and of ops on these are of f32."""

    def apply(op: str, args: list[Any]) -> Any:
        with np.errstate(all="ignore"):
            result = _FUNCTIONS[_REDUCED[op][1] if op in _REDUCED else op](*args)
            if result.dtype == np.bool_ or op in ("extf", "select"):
                return result
            if op == "divf" and type_.name in ("f16", "bf16"):
                result = rounded(result, Float32Type())
            return rounded(result, type_)

    return apply


def _prove_floats(rule: Rule, type_: AnyFloat, thorough: bool) -> str:
    is_f16 = type_.name == "f16"
    values, constants = _grid(rule, type_, thorough)
    apply = _in_type(type_)
    tried = 0
    for numbers in constants:
        if not _meets(rule, numbers, type_):
            continue
        tried += 1
        env = {**values, **{name: np.float64(number) for name, number in numbers.items()}}
        with np.errstate(all="ignore"):
            before, after = (np.asarray(_value(term, env, apply), np.float64) for term in rule.terms)
        before, after = np.broadcast_arrays(before, after)
        wrong = (before != after) | (np.signbit(before) != np.signbit(after))
        wrong &= ~(np.isnan(before) & np.isnan(after))
        if wrong.any():
            index = tuple(each[0] for each in np.nonzero(wrong))
            at = {name: float(np.broadcast_to(array, wrong.shape)[index]) for name, array in values.items()}
            raise NotProved(
                f"rule {rule.name} is wrong in {type_.name}: {rule.text}: {at | numbers}: {before[index]} before, {after[index]} after"
            )
    if not tried:
        raise NotProved(f"rule {rule.name}: no number of {type_.name} meets {rule.when}")
    if is_f16 and thorough:
        return f"f16 exhaustively{' in one letter' if len(values) > 1 else ''}"
    return f"{type_.name} sampled"


def _meets(rule: Rule, numbers: Mapping[str, float], type_: AnyFloat) -> bool:
    return rule.condition is None or holds(rule.condition, lambda name: (numbers[name], numbers[name]), type_)


def _grid(rule: Rule, type_: AnyFloat, thorough: bool) -> tuple[dict[str, Any], list[dict[str, float]]]:
    """Arrays of values of the letters, which broadcast to all combinations, and what the numbers of the rule are one after the other."""
    letters = sorted(_letters(rule.terms[0]))
    bools = _conditions(rule.terms[0])
    names = [name for name in letters if not name.isupper()]
    names += [f"{name}'" for name in names if _names(rule.terms[0]) & _REDUCED.keys()]
    constants = [name for name in letters if name.isupper()]
    budget = 1 << (22 if thorough else 15)
    first = _every_f16() if type_.name == "f16" and thorough else sampled(type_, 1 << (13 if thorough else 8), 0)
    arrays: dict[str, Any] = {}
    floats = [name for name in names if name not in bools]
    rest = max(8, int((budget / len(first)) ** (1 / max(1, len(floats) - 1))))
    for position, name in enumerate(names):
        array = (
            np.array([False, True]) if name in bools else first if name == floats[0] else _few(type_, rest, position)
        )
        arrays[name] = array.reshape((-1,) + (1,) * (len(names) - 1 - position))
    pool = (
        special(type_)
        if len(constants) < 2 and "power_of_two" in rule.when
        else _few(type_, 48 if len(constants) < 2 else 16, 9)
    )
    numbers = (
        np.stack(np.meshgrid(*[pool] * len(constants), indexing="ij"), -1).reshape(-1, len(constants))
        if constants
        else [()]
    )
    return arrays, [dict(zip(constants, map(float, chosen), strict=True)) for chosen in numbers]


def _few(type_: AnyFloat, count: int, seed: int) -> np.ndarray[Any, Any]:
    """`count` numbers: zeros, infinities, NaN and one, half of the others special."""
    always = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5])
    both = sampled(type_, 4096, seed)
    borders, others = special(type_), both[len(special(type_)) :]
    rng = np.random.default_rng(seed)
    more = max(0, count - len(always))
    return np.concatenate([always, rng.choice(borders, more // 2), rng.choice(others, more - more // 2)])


def _prove_error(rule: Rule) -> str:
    """The error of a fast rule, in f32 and in f64."""
    worst = 0.0
    for type_, wide, count in ((Float32Type(), np.float64, 1 << 15), (Float64Type(), np.longdouble, 1 << 12)):
        worst = max(worst, _error(rule, type_, wide, count))
    if not worst <= rule.within:
        raise NotProved(f"rule {rule.name} is off by {worst:.3g} ulp: {rule.text}")
    return f"error at most {worst:.3g} ulp in f32 and f64, sampled"


def _error(rule: Rule, type_: AnyFloat, wide: Any, count: int) -> float:
    rng = np.random.default_rng(7)
    names = set[str]().union(*map(_names, rule.terms))
    is_positive = bool(names & {"sqrt", "log", "rsqrt"})
    has_exponential = bool(names & {"exp", "exp2"})
    env: dict[str, Any] = {}
    for name in sorted(set[str]().union(*map(_letters, rule.terms))):
        for at in ("", "'"):
            size = (
                rng.uniform(-40, 40, count) if has_exponential and name in "xy" else 2.0 ** rng.uniform(-20, 20, count)
            )
            sign = 1.0 if is_positive or has_exponential else rng.choice([-1.0, 1.0], count)
            env[name + at] = rounded(size * sign, type_)
            if rule.condition is not None and name.isupper():
                env[name + at] = rounded(rng.uniform(0.01, 100, count), type_)
    narrow = _in_type(type_)
    after = _value(rule.terms[1], env, narrow)
    widened = {name: array.astype(wide) for name, array in env.items()}
    exact = _value(
        rule.terms[0], widened, lambda op, args: _FUNCTIONS[_REDUCED[op][1] if op in _REDUCED else op](*args)
    )
    pairs = {name: (array, np.abs(array)) for name, array in widened.items()}
    scale = np.maximum(*(_pair(_value(term, pairs, _magnitudes))[1] for term in rule.terms))
    digits = _DIGITS[type_.name][0]
    return float(np.max(np.abs(after - exact) / (scale * 2.0 ** (1 - digits))))


def _pair(value: Any) -> tuple[Any, Any]:
    return value if isinstance(value, tuple) else (value, np.abs(value))  # pyright: ignore[reportUnknownVariableType]


def _magnitudes(op: str, args: list[Any]) -> tuple[Any, Any]:
    """An op on values and their magnitudes: what an error of one ulp in each operation is relative to. Where terms cancel it is more than the value."""
    name = _REDUCED[op][1] if op in _REDUCED else op
    values, sizes = zip(*map(_pair, args), strict=True)
    value: Any = _FUNCTIONS[name](*values)
    match name:
        case "addf" | "subf":
            return value, sizes[0] + sizes[1]
        case "mulf" | "mulf_rn":
            return value, sizes[0] * sizes[1]
        case "divf":
            return value, sizes[0] / np.abs(values[1])
        case "exp" | "exp2":
            return value, value * (1 + sizes[0])
        case "log":
            return value, np.abs(value) + sizes[0] / np.abs(values[0])
        case "sqrt" | "rsqrt":
            return value, value * sizes[0] / values[0]
        case "select":
            return value, _FUNCTIONS[name](values[0], *sizes[1:])
        case _:
            return value, np.abs(value)

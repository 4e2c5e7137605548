"""Rules on IR: a term is matched with the op that computes a value, conditions are decided, and the term after it is built.

    divf(x, C)   matched with   %2 = arith.divf %0, %1   gives   {x: %0, C: %1}, and by it   mulf_rn(x, divf(1.0, C))   is two ops and a constant

An op inside a match has no other user and stands in the block of the outermost one, unless the rule says `shared`: so nothing is computed twice, or where it
was not before. Splats, broadcasts and constants cost nothing, and may have other users.
"""

from __future__ import annotations

import ast
import functools
import math as host
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from xdsl.dialects.builtin import AnyFloat, Float32Type, IntegerType, TensorType
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from minitriton.analysis.integer_range.analysis import GRID_LIMITS, IntegerRangeAnalysis
from minitriton.dialects import arith, math, tt
from minitriton.dialects.arith.base import CMPF_PREDICATES, CMPI_PREDICATES
from minitriton.dialects.facts import SUM, MovesElements, Neutral
from minitriton.dialects.fast_paths.op_access import defining, operand_values
from minitriton.dialects.fast_paths.op_definition import declared
from minitriton.dialects.narrowing import instance_of
from minitriton.errors import PipelineError
from minitriton.passes.algebra.rule import Rule, Term
from minitriton.rewriting.constants import (
    constant_attr,
    constant_op,
    element_type,
    float_constant,
    number_attr,
    number_of,
    round_to,
    width_of,
)
from minitriton.rewriting.equivalence import is_commutative
from minitriton.rewriting.rewriter import Rewriter

REDUCTIONS = ("sum", "max")
"""Reductions by addition, and by the maximum that a NaN loses."""
_LIBDEVICE = {"__nv_sqrtf": "sqrt", "__nv_expf": "exp", "__nv_logf": "log"}
"""Functions of libdevice that kernels call by name, and what they compute but for roundings: fast rules take them for these."""
_ROUNDED = arith.FastMathFlagsAttr((FastMathFlag.ALLOW_RECIP,))
"""`arcp`: the multiplication stands for a division, and is rounded before anything is added to it."""


class Operator(NamedTuple):
    """What the name of an operation in a term stands for; `predicate` of a comparison."""

    cls: type[Operation]
    predicate: int | None = None
    is_rounded: bool = False


@functools.cache
def operators() -> Mapping[str, Operator]:
    """By name, the operations that terms have."""
    classes = (*declared("arith", vars(arith))[0], *declared("math", vars(math))[0])
    known = {
        cls.name.partition(".")[2]: Operator(cls) for cls in (*classes, tt.SplatOp, tt.BroadcastOp, tt.ExpandDimsOp)
    }
    known |= {f"cmpi_{name}": Operator(arith.CmpiOp, i) for i, name in enumerate(CMPI_PREDICATES)}
    known |= {f"cmpf_{name}": Operator(arith.CmpfOp, i) for i, name in enumerate(CMPF_PREDICATES)}
    known |= dict.fromkeys(REDUCTIONS, Operator(tt.ReduceOp))
    return known | {"mulf_rn": Operator(arith.MulfOp, is_rounded=True)}


def operator_of(name: str, rule: Rule) -> Operator:
    """What `name` stands for. Raises `PipelineError`."""
    found = operators().get(name)
    if found is None:
        raise PipelineError(
            f"rule {rule.name}: unknown operation {name!r}", help="operations of arith and math by their names"
        )
    return found


def roots(rule: Rule) -> frozenset[type[Operation]]:
    """The classes of ops that the rule may begin with."""
    name = rule.terms[0].op
    also = {tt.ExternElementwiseOp} if rule.level == "fast" and name in _LIBDEVICE.values() else set[type[Operation]]()
    return frozenset({operator_of(name, rule).cls, *also})


@dataclass
class Match:
    """What the letters of a rule are, and the ops that were matched by the names of their operations."""

    root: Operation
    values: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    ops: dict[str, Operation] = field(default_factory=dict[str, Operation])


def match(rule: Rule, op: Operation) -> Match | None:
    """How `op` is what the rule rewrites; None if it is not."""
    found = Match(op)
    return found if _match_op(rule, rule.terms[0], op, found, ()) else None


_Todo = tuple[tuple[Term, SSAValue], ...]


def _match_op(rule: Rule, term: Term, op: Operation, found: Match, rest: _Todo) -> bool:
    """Whether `op` is `term`, and `rest` matches too."""
    if not _is(rule, term.op, op) or len(operand_values(op)) != len(term.args) or _has_hints(op):
        return False
    is_inside = op is not found.root and not _is_free(op)
    if is_inside and not rule.shared and (op.parent is not found.root.parent or not op.results[0].has_one_use()):
        return False
    operands = operand_values(op)
    orders = (operands, operands[::-1]) if len(operands) == 2 and is_commutative(op.__class__) else (operands,)
    for order in orders:
        attempt = Match(found.root, dict(found.values), {**found.ops, term.op: op})
        if _match_all(rule, (*zip(term.args, order, strict=True), *rest), attempt):
            found.values, found.ops = attempt.values, attempt.ops
            return True
    return False


def _match_all(rule: Rule, todo: _Todo, found: Match) -> bool:
    if not todo:
        return True
    (term, value), *others = todo
    rest = tuple(others)
    if not term.op:
        return _match_leaf(term, value, found) and _match_all(rule, rest, found)
    if term.op == "splat":
        # A constant repeats its number too.
        scalar = value if constant_attr(value) is not None and instance_of(value.type, TensorType) else None
        if scalar is not None:
            is_number = number_of(constant_attr(value)) is not None and not term.args[0].op
            return is_number and _match_leaf(term.args[0], value, found) and _match_all(rule, rest, found)
    return isinstance(value, OpResult) and _match_op(rule, term, value.op, found, rest)


def _has_hints(op: Operation) -> bool:
    """Whether the author said something of the value (`tl.multiple_of`), which would go with the op."""
    return any(name.startswith("tt.") for name in op.attributes)


def _is_free(op: Operation) -> bool:
    """Whether an op has no instruction: it may have other users, and stand outside the block of the match."""
    return op.__class__ is arith.ConstantOp or MovesElements.of(op) is not None


def _match_leaf(term: Term, value: SSAValue, found: Match) -> bool:
    if not isinstance(term.leaf, str):
        number = number_of(constant_attr(value))
        if number is None or type(number) is not type(term.leaf) or number != term.leaf:
            return False
        return host.copysign(1, number) == host.copysign(1, term.leaf)
    if term.is_constant and number_of(constant_attr(value)) is None:
        return False
    known = found.values.setdefault(term.leaf, value)
    return known is value or (constant_attr(value) is not None and constant_attr(known) == constant_attr(value))


def _is(rule: Rule, name: str, op: Operation) -> bool:
    """Whether `op` is the operation `name`."""
    if op.__class__ is tt.ExternElementwiseOp:
        is_known = rule.level == "fast" and _LIBDEVICE.get(cast(tt.ExternElementwiseOp, op).symbol.data) == name
        return is_known and element_type(op.results[0].type).__class__ is Float32Type
    wanted = operators()[name]
    if op.__class__ is not wanted.cls:
        return False
    if wanted.predicate is not None:
        return cast(arith.CmpiOp, op).predicate.value.data == wanted.predicate
    if name in REDUCTIONS:
        combiner = cast(tt.ReduceOp, op).single_combiner()
        return combiner is not None and (
            Neutral.of(combiner) == SUM if name == "sum" else combiner.__class__ is arith.MaxnumfOp
        )
    return True


# Conditions: arithmetic on numbers and on the ranges of values, as pairs of bounds.

Bounds = tuple[float, float]


class Conditions:
    """Decides the conditions of matches in a module, whose integer ranges are computed when they are first asked for."""

    def __init__(self, root: Operation, max_programs: int = GRID_LIMITS[0]) -> None:
        self.root = root
        self.max_programs = max_programs

    @functools.cached_property
    def ranges(self) -> IntegerRangeAnalysis:
        """The integer ranges of the module as it was when first asked for: what is made later is unknown."""
        return IntegerRangeAnalysis(cast(Any, self.root), (self.max_programs, *GRID_LIMITS[1:]))

    def hold(self, rule: Rule, found: Match) -> bool:
        """Whether the types, the condition and the profit of the rule allow it here."""
        type_ = element_type(found.root.results[0].type)
        if not applies_to(rule.over, type_) or (rule.profit and not self._pays(rule, found)):
            return False
        if rule.condition is None:
            return True

        def bounds(name: str) -> Bounds | None:
            if name == "N":
                half = 1 << (width_of(type_) - 1)
                return half, half
            value = found.values[name]
            number = number_of(constant_attr(value))
            if number is not None:
                return number, number
            known = self.ranges.get(value)
            return (known.smin, known.smax) if known.width else None

        return bool(holds(rule.condition, bounds, type_))

    def _pays(self, rule: Rule, found: Match) -> bool:
        call = ast.parse(rule.profit, mode="eval").body
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        return PROFITS[call.func.id](self, *(found.values[cast(ast.Name, each).id] for each in call.args))


def applies_to(over: str, type_: Attribute) -> bool:
    """Whether a rule for `over` is one for results of `type_`."""
    if over == "any":
        return True
    if over == "integer":
        return instance_of(type_, IntegerType)
    if over == "float":
        return isinstance(type_, AnyFloat) and not type_.name.startswith("f8")
    return type_.name in over.split()


def holds(node: ast.expr, bounds: Callable[[str], Bounds | None], type_: Attribute) -> bool:
    """Whether a condition is true for all numbers within the bounds."""
    match node:
        case ast.BoolOp(ast.And(), parts):
            return all(holds(part, bounds, type_) for part in parts)
        case ast.Compare(left, [operator], [right]):
            a, b = _bounds(left, bounds), _bounds(right, bounds)
            if a is None or b is None:
                return False
            match operator:
                case ast.Lt():
                    return a[1] < b[0]
                case ast.LtE():
                    return a[1] <= b[0]
                case _:
                    return isinstance(operator, ast.Eq) and a[0] == a[1] == b[0] == b[1]
        case ast.Call(ast.Name(name), [argument]):
            known = _bounds(argument, bounds)
            return known is not None and known[0] == known[1] and NUMBERS[name](known[0], type_)
        case _:
            raise PipelineError(f"{ast.unparse(node)!r} is not a condition", help="write comparisons, joined by and")


def _bounds(node: ast.expr, bounds: Callable[[str], Bounds | None]) -> Bounds | None:
    match node:
        case ast.Name(name):
            return bounds(name)
        case ast.Constant(int() | float() as number):
            return number, number
        case ast.BinOp(left, operator, right):
            a, b = _bounds(left, bounds), _bounds(right, bounds)
            return None if a is None or b is None else _arithmetic(operator, a, b)
        case _:
            raise PipelineError(
                f"{ast.unparse(node)!r} is not arithmetic", help="write + - * / % of letters and numbers"
            )


def _arithmetic(operator: ast.operator, a: Bounds, b: Bounds) -> Bounds | None:
    if isinstance(operator, ast.Add):
        return a[0] + b[0], a[1] + b[1]
    if isinstance(operator, ast.Sub):
        return a[0] - b[1], a[1] - b[0]
    if isinstance(operator, ast.Mult):
        ends = [x * y for x in a for y in b]
        return min(ends), max(ends)
    if a[0] != a[1] or b[0] != b[1] or b[0] == 0:
        return None
    result = a[0] / b[0] if isinstance(operator, ast.Div) else a[0] % b[0]
    return result, result


_SMALLEST_NORMAL = {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126, "f64": 2.0**-1022}


def is_normal(number: float, type_: Attribute) -> bool:
    """Whether a number is one of a float type, rounded, neither infinite nor denormal."""
    rounded = round_to(float(number), type_)
    return host.isfinite(rounded) and abs(rounded) >= _SMALLEST_NORMAL.get(type_.name, 2.0**-126)


NUMBERS: Mapping[str, Callable[[float, Attribute], bool]] = {
    "power_of_two": lambda number, _: abs(host.frexp(number)[0]) == 0.5,
    "exact": lambda number, type_: number == 0 or (is_normal(number, type_) and round_to(number, type_) == number),
    "normal": is_normal,
}
"""What conditions ask of a number: it is a power of two, zero or a normal number of the type, or one when rounded."""


def _varies(_: Conditions, value: SSAValue) -> bool:
    """Whether a value is a tensor that is more than one number or row."""
    if not instance_of(value.type, TensorType) or constant_attr(value) is not None:
        return False
    return defining(value, tt.SplatOp, tt.BroadcastOp) is None


def _divides_several(_: Conditions, dividend: SSAValue, divisor: SSAValue) -> bool:
    """Whether something else is divided by `divisor`, after which one reciprocal serves all; it is not that reciprocal."""
    divisions = [use for use in divisor.uses if use.operation.__class__ is arith.DivfOp and use.index == 1]
    return (
        float_constant(dividend) != 1.0 and len({use.operation.parent for use in divisions}) == 1 and len(divisions) > 1
    )


def _in_range(conditions: Conditions, *factors: SSAValue) -> bool:
    """Whether the product of positive factors is neither near infinity nor near zero."""
    low = high = 1.0
    for factor in factors:
        known = _magnitude(conditions, factor)
        if known is None:
            return False
        low, high = low * known[0], high * known[1]
    return low >= 2.0**-100 and high <= 2.0**100


def _magnitude(conditions: Conditions, value: SSAValue) -> Bounds | None:
    """Between which positive numbers a float is, without its sign; None if it may be zero or infinite."""
    number = float_constant(value)
    if number is not None:
        return (abs(number), abs(number)) if number and host.isfinite(number) else None
    op = value.owner
    if not isinstance(op, Operation) or not operand_values(op):
        return None
    first = operand_values(op)[0]
    if op.__class__ in (arith.SIToFPOp, arith.UIToFPOp):
        known = conditions.ranges.get(first)
        bounds = (known.smin, known.smax) if op.__class__ is arith.SIToFPOp else (known.umin, known.umax)
        return bounds if bounds[0] > 0 else None
    inner = _magnitude(conditions, first) if _is_free(op) or op.__class__ in (math.SqrtOp, arith.NegfOp) else None
    return inner if inner is None or op.__class__ is not math.SqrtOp else (host.sqrt(inner[0]), host.sqrt(inner[1]))


PROFITS: Mapping[str, Callable[..., bool]] = {
    "varies": _varies,
    "divides_several": _divides_several,
    "in_range": _in_range,
}
"""What rules ask of their surroundings."""


# Building what comes after.


class _NoSuchType(Exception):
    """A term cannot be built here: the types of its operands differ."""


def rewrite(rule: Rule, found: Match, rewriter: Rewriter) -> bool:
    """Replaces the match by what the rule says. False: types do not allow it, and nothing has changed."""
    result = found.root.results[0]
    rewriter.insertion_point, rewriter.location = found.root, found.root.location
    building = _Building(rule, found, rewriter)
    try:
        value = building.value(rule.terms[1], result.type)
        if value.type != result.type:
            raise _NoSuchType
    except _NoSuchType:
        for op in reversed(building.made):
            rewriter.erase_op(op)
        return False
    if value.name_hint is None:
        value.name_hint = result.name_hint
    rewriter.replace_op(found.root, value)
    return True


class _Building:
    def __init__(self, rule: Rule, found: Match, rewriter: Rewriter) -> None:
        self.rule, self.found, self.rewriter = rule, found, rewriter
        self.made: list[Operation] = []

    def insert(self, op: Operation) -> SSAValue:
        self.made.append(self.rewriter.insert(op))
        return op.results[0]

    def constant(self, number: float, type_: Attribute) -> SSAValue:
        is_float = isinstance(element_type(type_), AnyFloat)
        return self.insert(constant_op(number_attr(type_, float(number) if is_float else int(number))))

    def value(self, term: Term, wanted: Attribute | None) -> SSAValue:
        """The value of a term; `wanted` is its type where it is known from outside."""
        if not term.op:
            return self._leaf(term, wanted)
        if term.op in ("splat", "broadcast"):
            return self._repeated(term, wanted)
        operator = operator_of(term.op, self.rule)
        like = self.found.ops.get(term.op)
        if issubclass(operator.cls, tt.ReduceOp | tt.ExpandDimsOp):
            assert like is not None
            return self._again(like, self.value(term.args[0], None))
        if term.op in _CASTS:
            if wanted is None:
                raise _NoSuchType
            return self.insert(operator.cls.create(operands=[self.value(term.args[0], None)], result_types=[wanted]))
        operands = self._operands(term, wanted if operator.predicate is None else None)
        return self.insert(_made(operator, operands))

    def _leaf(self, term: Term, wanted: Attribute | None) -> SSAValue:
        if isinstance(term.leaf, str):
            value = self.found.values[term.leaf]
            number = number_of(constant_attr(value))
            if number is None or wanted is None or wanted == value.type:
                return value
            return self.constant(number, wanted)
        if wanted is None:
            raise _NoSuchType
        return self.constant(term.leaf, wanted)

    def _repeated(self, term: Term, wanted: Attribute | None) -> SSAValue:
        """A splat or broadcast to a shape; of what is no tensor, the value itself."""
        if wanted is None:
            raise _NoSuchType
        if term.op == "broadcast":
            inner = self.value(term.args[0], None)
            if not instance_of(inner.type, TensorType) or not instance_of(wanted, TensorType):
                raise _NoSuchType
            return self.insert(
                tt.BroadcastOp(inner, TensorType(inner.type.element_type, wanted.shape, wanted.encoding))
            )
        if not instance_of(wanted, TensorType):
            return self.value(term.args[0], wanted)
        inner = self.value(term.args[0], wanted.element_type)
        attr = constant_attr(inner)
        if attr is not None:
            number = number_of(attr)
            assert number is not None
            return self.constant(number, wanted)
        return self.insert(tt.SplatOp(inner, wanted))

    def _operands(self, term: Term, wanted: Attribute | None) -> list[SSAValue]:
        """The operands of an op on values of one type, a condition of `select` aside; what has no type of its own gets that of the others."""
        condition = [self.value(term.args[0], None)] if term.op == "select" else []
        built: dict[int, SSAValue] = {}
        rest = list(enumerate(term.args))[len(condition) :]
        for index, each in sorted(rest, key=lambda pair: _needs_type(pair[1])):
            type_ = wanted
            if _needs_type(each) and built:
                type_ = next(iter(built.values())).type
            built[index] = self.value(each, type_)
        operands = [built[index] for index, _ in rest]
        if len({value.type for value in operands}) > 1:
            raise _NoSuchType
        return condition + operands

    def _again(self, op: Operation, operand: SSAValue) -> SSAValue:
        """A copy of `op` for another operand of the same type."""
        if operand.type != operand_values(op)[0].type:
            raise _NoSuchType
        copy = op.clone()
        copy.operands = [operand]
        return self.insert(copy)


def _needs_type(term: Term) -> bool:
    return term.op in ("splat", "broadcast") or not (term.op or (isinstance(term.leaf, str) and not term.is_constant))


_CASTS = frozenset({"truncf", "trunci", "extf", "extsi", "extui"})


def _made(operator: Operator, operands: list[SSAValue]) -> Operation:
    cls = operator.cls
    if operator.predicate is not None:
        return cls(*operands, operator.predicate)  # pyright: ignore[reportCallIssue]
    if cls is arith.SelectOp:
        return arith.SelectOp(*operands)
    made = cls(*operands)
    if operator.is_rounded:
        made.properties["fastmath"] = _ROUNDED
    return made

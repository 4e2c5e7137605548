"""Integers and booleans: arithmetic that wraps, `//` and `%` that truncate, shifts, comparisons, casts.

int8 [100, 120] + int8 [10, 10]      wraps: nothing known
int32 // [2, 5]                      fine;   int32 // [0, 5]   Unsound
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from minitriton.fuzz.generation.elements import BOOL, ELEMENTS, INT32, Element, promoted
from minitriton.fuzz.generation.operations import Infer, declare
from minitriton.fuzz.validity.facts import Ints, Type, Value, any_int, broadcast_shapes, from_known, ints, lifted, need

Known = np.ndarray
Pair = tuple[int, int]
Compute = Callable[[Any, Any], Any]
"""On Python's integers and on arrays of them alike: it gives what it takes."""


def knowns(values: list[Value], shape: tuple[int, ...]) -> list[Known] | None:
    """The numbers of all operands, ready to be computed with; None unless all are known."""
    found = [lifted(v.fact.known, len(shape)) for v in values]
    known = [k for k in found if k is not None]
    return known if len(known) == len(found) else None


def _is_int(*values: Value) -> None:
    need(all(v.element.is_int and not v.type.pointer for v in values), "operands must be integers")


def _whole_bits(values: list[Value]) -> Pair:
    """Bounds of what and, or and exclusive or may give."""
    bounds = [b for v in values for b in (v.fact.low, v.fact.high)]
    bits = max((b if b >= 0 else ~b).bit_length() for b in bounds)
    return (-(1 << bits) if min(bounds) < 0 else 0), (1 << bits) - 1


def _corners(values: list[Value], compute: Callable[[int, int], int]) -> Pair:
    a, b = (v.fact for v in values)
    found = [compute(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return min(found), max(found)


def _binary(
    bounds: Callable[[list[Value], Element], Pair],
    compute: Callable[[Known, Known], Known],
    check: Callable[[list[Value], Element], None] | None = None,
    *,
    also_bool: bool = False,
    one_sign: bool = False,
) -> Infer:
    """The rule of an operation on two integers of a common type."""

    def infer(values: list[Value]) -> Value:
        a, b = values
        if also_bool and a.element.is_bool and b.element.is_bool:
            element = BOOL
        else:
            _is_int(a, b)
            need(not one_sign or a.element.signed == b.element.signed, "operands of // and % must have one sign")
            element = promoted(a.element, b.element)
            values = [converted(v, element) for v in values]
        if check is not None:
            check(values, element)
        shape = broadcast_shapes(a.shape, b.shape)
        low, high = bounds(values, element)
        found = knowns(values, shape) if low > -(1 << 63) and high < 1 << 63 else None
        known = None if found is None else compute(*found)
        return Value(Type(element, shape), ints(element, low, high, known))

    return infer


def converted(value: Value, element: Element) -> Value:
    """An integer or boolean as another integer type, wrapped to it; as a boolean, whether it is not 0."""
    fact: Ints = value.fact
    if value.element == element:
        return value
    if element.is_bool:
        if fact.known is not None:
            return Value(Type(element, value.shape), from_known((fact.known != 0).astype(np.int64)))
        return Value(Type(element, value.shape), Ints(int(not fact.low <= 0 <= fact.high), 1))
    if element.bits == 64 and not element.signed and fact.low < 0:
        return Value(Type(element, value.shape), any_int(element))
    return Value(Type(element, value.shape), ints(element, fact.low, fact.high, fact.known))


def quotient(a: int, b: int) -> int:
    """`a // b` as in C."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _quotients(a: Known, b: Known) -> Known:
    a, b = np.broadcast_arrays(a, b)
    return np.abs(a) // np.abs(b) * np.where((a < 0) == (b < 0), 1, -1)


def _division(values: list[Value], element: Element) -> None:
    a, b = values[0].fact, values[1].fact
    if b.known is not None:
        need(bool((b.known != 0).all()), "division by zero")
        divides_by_minus_one = bool((b.known == -1).any())
    else:
        need(not b.low <= 0 <= b.high, "division by zero")
        divides_by_minus_one = b.low <= -1 <= b.high
    need(not (divides_by_minus_one and a.low == element.low), "the quotient overflows")


def _quotient_bounds(values: list[Value], element: Element) -> Pair:
    size = max(abs(values[0].fact.low), abs(values[0].fact.high))
    b = values[1].fact
    if b.low > 0 or b.high < 0:
        return _corners(values, quotient)
    return -size, size


def _remainder_bounds(values: list[Value], element: Element) -> Pair:
    a, b = (v.fact for v in values)
    most = max(abs(b.low), abs(b.high)) - 1
    return (-min(most, -a.low) if a.low < 0 else 0), (min(most, a.high) if a.high > 0 else 0)


def _shift(values: list[Value], element: Element) -> None:
    amount = values[1].fact
    need(amount.low >= 0 and amount.high < element.bits, "shift by more than the width")


def _extremes(pick: Callable[[int, int], int]) -> Callable[[list[Value], Element], Pair]:
    def bounds(values: list[Value], element: Element) -> Pair:
        a, b = (v.fact for v in values)
        return pick(a.low, b.low), pick(a.high, b.high)

    return bounds


def _arithmetic(compute: Compute) -> Infer:
    return _binary(lambda values, _: _corners(values, compute), compute)


def _bitwise(compute: Compute) -> Infer:
    def bounds(values: list[Value], element: Element) -> Pair:
        if compute is np.bitwise_and and any(v.fact.low >= 0 for v in values):
            return 0, min(v.fact.high for v in values if v.fact.low >= 0)
        return _whole_bits(values)

    return _binary(bounds, compute, also_bool=True)


def _compare(compute: Compute) -> Infer:
    def infer(values: list[Value]) -> Value:
        a, b = values
        shape = broadcast_shapes(a.shape, b.shape)
        if a.element.is_float or b.element.is_float:
            for v in values:
                need(v.element.is_float and v.element == a.element, "floats are compared with their like")
                need(not v.element.is_fp8, "fp8 numbers are not compared")
                need(v.fact.error == 0, "a comparison of approximate numbers")
            return Value(Type(BOOL, shape), Ints(0, 1))
        if a.element.is_bool and b.element.is_bool:
            need(compute in (operator.eq, operator.ne), "booleans are unordered")
        else:
            _is_int(a, b)
            element = promoted(a.element, b.element)
            values = [converted(v, element) for v in values]
        found = knowns(values, shape)
        if found is None:
            return Value(Type(BOOL, shape), Ints(0, 1))
        return Value(Type(BOOL, shape), from_known(compute(*found).astype(np.int64)))

    return infer


def _not(values: list[Value]) -> Value:
    (a,) = values
    need(not a.element.is_float and not a.type.pointer, "~ takes integers")
    top = a.element.high + a.element.low
    # Of uint64, the numbers are not those of int64, which `known` holds.
    known = None if a.fact.known is None or top >= 1 << 63 else top - a.fact.known
    return Value(a.type, Ints(top - a.fact.high, top - a.fact.low, known))


def _upper_half(values: list[Value]) -> Value:
    a, b = values
    need(a.element == b.element and a.element.name in ("int32", "uint32", "int64", "uint64"), "umulhi of 32 or 64 bits")
    return Value(Type(a.element, broadcast_shapes(a.shape, b.shape)), any_int(a.element))


def _arange(values: list[Value], start: int, end: int) -> Value:
    need(end > start >= 0 and (end - start) & (end - start - 1) == 0, "arange must have a power of two")
    return Value(Type(INT32, (end - start,)), Ints(start, end - 1, np.arange(start, end, dtype=np.int64)[None]))


def _full_int(values: list[Value], shape: tuple[int, ...], value: int, name: str) -> Value:
    element = ELEMENTS[name]
    need(element.low <= value <= element.high, "a constant that does not fit")
    fits = -(1 << 63) <= value < 1 << 63
    return Value(Type(element, shape), Ints(value, value, np.full((1, *shape), value, np.int64) if fits else None))


def _full_text(operands: list[str], shape: tuple[int, ...], value: int, name: str) -> str:
    return f"tl.full({list(shape)}, {value}, tl.{name})"


declare("add", "({0} + {1})", _arithmetic(operator.add), weak=True)
declare("sub", "({0} - {1})", _arithmetic(operator.sub), weak=True)
declare("mul", "({0} * {1})", _arithmetic(operator.mul), weak=True)
declare("div", "({0} // {1})", _binary(_quotient_bounds, _quotients, _division, one_sign=True), weak=True)
declare("mod", "({0} % {1})", _binary(_remainder_bounds, np.fmod, _division, one_sign=True), weak=True)
declare("and", "({0} & {1})", _bitwise(np.bitwise_and), weak=True)
declare("or", "({0} | {1})", _bitwise(np.bitwise_or), weak=True)
declare("xor", "({0} ^ {1})", _bitwise(np.bitwise_xor), weak=True)
declare("shl", "({0} << {1})", _binary(lambda v, _: _corners(v, lambda a, b: a << b), np.left_shift, _shift), weak=True)
declare(
    "shr", "({0} >> {1})", _binary(lambda v, _: _corners(v, lambda a, b: a >> b), np.right_shift, _shift), weak=True
)
declare("min", "tl.minimum({0}, {1})", _binary(_extremes(min), np.minimum))
declare("max", "tl.maximum({0}, {1})", _binary(_extremes(max), np.maximum))
declare("not", "(~{0})", _not)
declare("umulhi", "tl.umulhi({0}, {1})", _upper_half)
for _name, _sign, _compute in (
    ("eq", "==", operator.eq), ("ne", "!=", operator.ne), ("lt", "<", operator.lt),
    ("le", "<=", operator.le), ("gt", ">", operator.gt), ("ge", ">=", operator.ge),
):  # fmt: skip
    declare(_name, f"({{0}} {_sign} {{1}})", _compare(_compute), weak=True)
declare("arange", "tl.arange({a0}, {a1})", _arange)
declare("full_int", _full_text, _full_int)

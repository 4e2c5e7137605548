"""Casts by value and bit for bit, and the choice between two values.

int32 [0, 255] → float16     exact           float32 k/8 → int8     if it fits, whatever the rounding
float32 → float8e5           one rounding    uint32 → float32       bit for bit: any float at all
"""

import math
from dataclasses import replace

import numpy as np

from minitriton.fuzz.generation.elements import ELEMENTS, FLOAT32, INT32, Element
from minitriton.fuzz.generation.float_operations import is_exact, rounded
from minitriton.fuzz.generation.integer_operations import converted, knowns
from minitriton.fuzz.generation.operations import declare
from minitriton.fuzz.validity.facts import (
    Floats,
    Ints,
    Type,
    Value,
    any_int,
    broadcast_shapes,
    from_known,
    joined,
    need,
    without_known,
)


def _cast(values: list[Value], name: str) -> Value:
    (value,), element = values, ELEMENTS[name]
    need(not value.type.pointer, "a cast of pointers")
    if not value.element.is_float and not element.is_float:
        return converted(value, element)
    if not value.element.is_float:
        return Value(Type(element, value.shape), _to_float(value.fact, element))
    if not element.is_float:
        return Value(Type(element, value.shape), _to_int(value, element))
    return Value(Type(element, value.shape), _between_floats(value, element))


def _to_float(fact: Ints, element: Element) -> Floats:
    need(not element.is_fp8, "no cast of integers to fp8")
    need(max(abs(fact.low), abs(fact.high)) <= element.largest / 2, "an integer too large for the float")
    size = float(max(abs(fact.low), abs(fact.high)))
    found = Floats(float(fact.low), float(fact.high), 0)
    if is_exact(size, 0, element):
        return found
    # By way of fp32 a narrower type would be rounded twice, which not every compiler does.
    need(element.mantissa >= FLOAT32.mantissa or is_exact(size, 0, FLOAT32), "an integer rounded twice")
    return replace(found, grid=None)


def _to_int(value: Value, element: Element) -> Ints:
    fact = value.fact
    need(not value.element.is_fp8, "no cast of fp8 to integers")
    need(fact.error == 0 and not fact.special, "a cast of an approximate number to an integer")
    if element.is_bool:
        return Ints(0, 1)
    need(
        math.trunc(fact.low) >= element.low and math.trunc(fact.high) <= element.high,
        "a float too large for the integer",
    )
    return Ints(math.trunc(fact.low), math.trunc(fact.high))


def _between_floats(value: Value, element: Element) -> Floats:
    fact, source = value.fact, value.element
    if source == element:
        return fact
    need("float64" not in (source.name, element.name) or not (source.is_fp8 or element.is_fp8), "fp64 and fp8")
    if element.is_fp8:
        need(source == FLOAT32 or source.name == "float16", "a cast of fp32 or fp16 to fp8")
        need(not fact.special and fact.error == 0, "fp8 of approximate numbers")
        need(fact.size <= element.largest / 2, "too large for fp8")
        return Floats(
            fact.low, fact.high, min(element.finest, FINEST) if fact.grid is None else fact.grid,
            negative_zero=fact.negative_zero or fact.low < 0, either_zero=fact.either_zero,
        ) if is_exact(fact.size, fact.grid, element) else Floats(
            -2 * fact.size, 2 * fact.size, None, negative_zero=True, either_zero=fact.either_zero
        )  # fmt: skip
    if element.mantissa > source.mantissa and (source.name, element.name) != ("bfloat16", "float16"):
        return fact
    need(source.name != "float64" or element.mantissa >= 24 or is_exact(fact.size, fact.grid, element), "rounded twice")
    result = rounded(fact, element)
    # A number too small for the narrower type becomes a zero of its sign.
    return result if result.grid is not None else replace(result, negative_zero=result.negative_zero or fact.low < 0)


FINEST = 16


def _bitcast(values: list[Value], name: str) -> Value:
    (value,), element = values, ELEMENTS[name]
    need(
        value.element.bits == element.bits and element.bits > 1 and not value.type.pointer, "a bitcast of equal widths"
    )
    need(not value.element.is_fp8 and not element.is_fp8, "no bitcast of fp8")
    if value.element.is_float:
        fact = value.fact
        need(not (fact.error or fact.special or fact.either_zero or element.is_float), "bits that are not determined")
        return Value(Type(element, value.shape), any_int(element))
    need(not element.is_float, "any bits as a float")
    return converted(value, element)


def _where(values: list[Value]) -> Value:
    condition, a, b = values
    need(condition.element.is_bool and not condition.type.pointer, "where takes a boolean")
    need(a.type.pointer == b.type.pointer and a.element == b.element, "where takes two of one type")
    shape = broadcast_shapes(condition.shape, a.shape, b.shape)
    type_ = Type(a.element, shape, a.type.pointer)
    if isinstance(a.fact, Ints):
        found = knowns([condition, a, b], shape)
        if found is not None:
            return Value(type_, from_known(np.where(found[0] != 0, found[1], found[2])))
    fact = joined(without_known(a.fact), without_known(b.fact))
    return Value(type_, fact)


declare("cast", "{0}.to(tl.{a0})", _cast)
declare("bitcast", "{0}.to(tl.{a0}, bitcast=True)", _bitcast)


def _opaque(values: list[Value]) -> Value:
    value, zero = values
    need(zero.type == Type(INT32) and not value.element.is_bool and not value.type.pointer, "a number next to a zero")
    return value


declare("opaque", "({0} + {1}.to({0}.dtype))", _opaque)
declare("where", "tl.where({0}, {1}, {2})", _where)

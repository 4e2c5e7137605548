"""Typed numbers for the reference: what an expression of the language means, in NumPy and in as few lines as say it.

Value(int8, 100) + 100        Value(int8, -56)        integers wrap
Value(float32, 2.0) * 3       Value(float32, 6.0)     floats hold integers, small enough that every order of operations is exact

What the language leaves open, or what rounds, raises `Rejected`: a kernel that does so is not worth comparing. Operands have one
type, or one of them is a Python number: what the language promotes is written as a cast.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from minitriton.fuzz.generation.elements import BOOL, ELEMENTS, FLOAT32, Element
from minitriton.fuzz.generation.fills import encoded
from minitriton.lab.arguments import as_numbers


class Rejected(Exception):
    """The kernel does what the language gives no one meaning, or what is not exact."""


def need(condition: bool | np.bool_, why: str) -> None:
    """Raises `Rejected` unless `condition` holds."""
    if not condition:
        raise Rejected(why)


Numbers = npt.NDArray[Any]


_Method = Callable[["Value", "Operand"], "Value"]


def _operators(operation: Callable[[Numbers, Numbers], Numbers]) -> tuple[_Method, _Method]:
    """The method of an operator, and that for operands exchanged."""
    return (lambda a, b: _arithmetic(operation, a, b)), (lambda b, a: _arithmetic(operation, a, b))


def _comparison(operation: Callable[[Numbers, Numbers], Numbers]) -> _Method:
    return lambda a, b: _compared(operation, a, b)


@dataclass(frozen=True, eq=False)
class Value:
    """A scalar or a tile. `data` has the element's NumPy type; floats are held as float64."""

    element: Element
    data: Numbers

    def __bool__(self) -> bool:
        need(self.data.ndim == 0, "a tile as a condition")
        return bool(self.data)

    def __index__(self) -> int:
        need(self.data.ndim == 0 and self.element.is_int, "no index")
        return int(self.data)

    @property
    def dtype(self) -> Element:
        return self.element

    def to(self, element: Element) -> Value:
        """A cast. Integers wrap; a float must be held exactly."""
        if element.is_float or not self.element.is_float:
            return made(element, self.data)
        need(bool(((self.data >= element.low) & (self.data <= element.high)).all()), "a cast out of range")
        return made(element, self.data)

    def __getitem__(self, index: tuple[slice | None, ...]) -> Value:
        return Value(self.element, self.data[index])

    def __neg__(self) -> Value:
        return made(self.element, -self.data)

    def __invert__(self) -> Value:
        return Value(self.element, ~self.data)

    __add__, __radd__ = _operators(operator.add)
    __sub__, __rsub__ = _operators(operator.sub)
    __mul__, __rmul__ = _operators(operator.mul)
    __and__, __or__, __xor__ = (_operators(each)[0] for each in (np.bitwise_and, np.bitwise_or, np.bitwise_xor))

    def __floordiv__(self, other: Operand) -> Value:
        return _divided(self, other)[0]

    def __mod__(self, other: Operand) -> Value:
        return _divided(self, other)[1]

    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)

    def __eq__(self, other: object) -> Any:
        return _compared(operator.eq, self, other)

    def __ne__(self, other: object) -> Any:
        return _compared(operator.ne, self, other)


Operand = Value | int | float


def made(element: Element, numbers: Numbers) -> Value:
    """A value of this element type: integers wrapped, floats checked."""
    if not element.is_float:
        return Value(element, np.asarray(numbers).astype(element.dtype))
    data = np.asarray(numbers).astype(np.float64)
    need_exact(element, np.abs(data))
    return Value(element, data)


def need_exact(element: Element, sizes: Numbers) -> None:
    """Raises `Rejected` where integers of these sizes are not all exact in the float type."""
    need(bool((sizes < 1 << min(element.mantissa, 50)).all()), "a float that may round")


def scalar(element: Element, number: float) -> Value:
    """A number of this type, which must hold it."""
    need(element.is_float or element.low <= number <= element.high, "a number that its type does not hold")
    return made(element, np.array(number, np.uint64 if number > 1 << 62 else None))


def pair(a: object, b: object) -> tuple[Value, Value]:
    """Two operands, where a Python number takes the other's type."""
    if isinstance(a, Value) and isinstance(b, Value):
        need(a.element == b.element, "operands of two types")
        return a, b
    if isinstance(a, Value):
        need(isinstance(b, int) or (isinstance(b, float) and a.element.is_float), "a number of another kind")
        return a, scalar(a.element, b)  # pyright: ignore[reportArgumentType]
    need(isinstance(b, Value), "two Python numbers")
    second, first = pair(b, a)
    return first, second


def _arithmetic(operation: Callable[[Numbers, Numbers], Numbers], a: object, b: object) -> Value:
    if not isinstance(a, Value | int | float) or not isinstance(b, Value | int | float):
        return NotImplemented
    x, y = pair(a, b)
    return made(x.element, operation(x.data, y.data))


def _compared(operation: Callable[[Numbers, Numbers], Numbers], a: object, b: object) -> Value:
    x, y = pair(a, b)
    return Value(BOOL, np.asarray(operation(x.data, y.data)))


def _divided(a: object, b: object) -> tuple[Value, Value]:
    """Quotient, truncated towards zero, and remainder, which has the dividend's sign: as in C."""
    x, y = pair(a, b)
    need(x.element.is_int, "a division of floats")
    need(bool((y.data != 0).all()), "a division by zero")
    need(not (x.element.signed and ((x.data == x.element.low) & (y.data == -1)).any()), "a quotient out of range")
    remainder = np.fmod(x.data, y.data)
    return made(x.element, (x.data - remainder) // y.data), made(x.element, remainder)


def loaded(element: Element, stored: Numbers) -> Value:
    """The value of what is in memory."""
    return made(element, as_numbers(stored, element.short)) if element.is_float else Value(element, stored)


def stored(value: Value, element: Element) -> Numbers:
    """What a store to memory of this element type writes."""
    return encoded(value.to(element).data, element)


def sum_type(element: Element) -> Element:
    """In which `tl.sum` adds up: narrow integers in 32 bits of their sign."""
    if not element.is_int or element.bits >= 32:
        return element
    return ELEMENTS["int32" if element.signed else "uint32"]


def dot_type(element: Element) -> Element:
    """In which `tl.dot` adds up by itself."""
    return ELEMENTS["int32"] if element.is_int else FLOAT32


def extreme_type(element: Element) -> Element:
    """Of a minimum or maximum: bfloat16 is computed in float32."""
    return FLOAT32 if element.name == "bfloat16" else element

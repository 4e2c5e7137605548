"""What an operator of Python means: on tensors, on compile-time values, on aggregates.

x + 1          BINARY[ast.Add]: arithmetic.add on tensors, Python's `+` on compile-time values
pair + 1       METHODS[ast.Add]: the aggregate's `__add__`, or the right operand's `__radd__`
9 ** 9 ** 9, 1 << 10 ** 10, "a" * 10 ** 12        LanguageValueError, where Python would compute until memory ends
"""

import ast
import operator
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from minitriton.frontend.builder import IRBuilder
from minitriton.frontend.errors import LanguageValueError
from minitriton.frontend.semantic import arithmetic
from minitriton.host.json_values import is_list_or_tuple
from minitriton.language.values import Operand, tensor
from minitriton.language.values import tuple as language_tuple

MOST_BITS = 1 << 16
"""Of a compile-time integer. The widest type of the language has 64."""

MOST_ELEMENTS = 1 << 16
"""Of a compile-time tuple; a string may have 16 times as many characters."""

_WIDTH = re.compile(r"\d{5,}")


def _bounded(bits: int) -> None:
    if bits > MOST_BITS:
        raise LanguageValueError(
            f"a compile-time integer of {bits} bits, of at most {MOST_BITS}", "no type of the language has more than 64"
        )


def _bounded_length(count: int, part: object) -> None:
    most = MOST_ELEMENTS * (16 if isinstance(part, str | bytes) else 1)
    if count > most:
        what = f"{type(part).__name__} of {count}"
        raise LanguageValueError(f"a compile-time {what} elements, of at most {most}", "keep large data in memory")


def _length(value: object) -> int:
    if is_list_or_tuple(value):
        return len(value)
    return len(value) if isinstance(value, str | bytes | language_tuple) else 0


def power(base: Any, exponent: Any) -> object:
    """`base ** exponent`."""
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0 and abs(base) > 1:
        _bounded((base.bit_length() - 1) * exponent)
    return base**exponent


def shift_left(value: Any, count: Any) -> object:
    """`value << count`."""
    if isinstance(value, int) and isinstance(count, int) and value:
        _bounded(value.bit_length() + count)
    return value << count


def times(lhs: Any, rhs: Any) -> object:
    """`lhs * rhs`, of numbers or of a sequence and how often it is repeated."""
    if isinstance(lhs, int) and isinstance(rhs, int):
        _bounded(lhs.bit_length() + rhs.bit_length())
    for part, count in ((lhs, rhs), (rhs, lhs)):
        if isinstance(count, int):
            _bounded_length(_length(part) * count, part)
    return lhs * rhs


def plus(lhs: Any, rhs: Any) -> object:
    """`lhs + rhs`, of numbers or of sequences."""
    _bounded_length(_length(lhs) + _length(rhs), lhs)
    return lhs + rhs


def modulo(lhs: Any, rhs: Any) -> object:
    """`lhs % rhs`, of numbers or of a format and its values."""
    if isinstance(lhs, str):
        check_format(lhs)
    return lhs % rhs


def check_format(text: str) -> None:
    """Raises `LanguageValueError` for a format that asks for more than 9,999 characters."""
    if _WIDTH.search(text):
        raise LanguageValueError(f"a format as wide as {text!r:.60}", "write fewer than 5 digits")


_BOUNDED: dict[str, Callable[..., object]] = {
    "add": plus, "mul": times, "mod": modulo, "lshift": shift_left, "pow": power,
}  # fmt: skip
"""In place of the operators of these names in the module `operator`."""

PythonOperator = Callable[..., object]
"""An operator of Python, for compile-time values: it takes whatever objects have it."""


def _python(name: str) -> PythonOperator:
    """The operator of Python that the method `__name__` is, within bounds."""
    return _BOUNDED.get(name) or getattr(operator, name, None) or getattr(operator, f"{name}_")


_BinaryEmitter = Callable[[IRBuilder, Operand, Operand], tensor]
_UnaryEmitter = Callable[[IRBuilder, tensor], tensor]

_BINARY: tuple[tuple[type[ast.operator], str, _BinaryEmitter | None], ...] = (
    (ast.Add, "add", arithmetic.add), (ast.Sub, "sub", arithmetic.sub), (ast.Mult, "mul", arithmetic.mul),
    (ast.Div, "truediv", arithmetic.truediv), (ast.FloorDiv, "floordiv", arithmetic.floordiv),
    (ast.Mod, "mod", arithmetic.mod), (ast.Pow, "pow", None), (ast.LShift, "lshift", arithmetic.shl),
    (ast.RShift, "rshift", arithmetic.shr), (ast.BitAnd, "and", arithmetic.and_), (ast.BitOr, "or", arithmetic.or_),
    (ast.BitXor, "xor", arithmetic.xor),
)  # fmt: skip
_COMPARISONS: tuple[tuple[type[ast.cmpop], str, str, str], ...] = (
    (ast.Eq, "==", "eq", "eq"), (ast.NotEq, "!=", "ne", "ne"), (ast.Lt, "<", "lt", "gt"), (ast.LtE, "<=", "le", "ge"),
    (ast.Gt, ">", "gt", "lt"), (ast.GtE, ">=", "ge", "le"),
)  # fmt: skip
"""Kind, symbol, name, and the name of the same comparison with its operands swapped."""
_UNARY: tuple[tuple[type[ast.unaryop], str, _UnaryEmitter], ...] = (
    (ast.USub, "neg", arithmetic.minus), (ast.UAdd, "pos", arithmetic.plus), (ast.Invert, "invert", arithmetic.invert),
    (ast.Not, "not", arithmetic.logical_not),
)  # fmt: skip

BINARY: dict[type[ast.operator], tuple[_BinaryEmitter | None, PythonOperator]] = {
    kind: (emit, _python(name)) for kind, name, emit in _BINARY
}
"""Emitter for tensors and Python's own operator for compile-time values."""
COMPARISONS: dict[type[ast.cmpop], tuple[str, PythonOperator]] = {
    kind: (symbol, _python(name)) for kind, symbol, name, _ in _COMPARISONS
}
UNARY: dict[type[ast.unaryop], tuple[_UnaryEmitter, PythonOperator]] = {
    kind: (emit, _python(name)) for kind, name, emit in _UNARY
}
METHODS: dict[type[ast.operator | ast.cmpop | ast.unaryop], tuple[str, str]] = {
    **{kind: (f"__{name}__", f"__r{name}__") for kind, name, _ in _BINARY},
    **{kind: (f"__{name}__", f"__{swapped}__") for kind, _, name, swapped in _COMPARISONS},
    **{kind: (f"__{name}__", "") for kind, name, _ in _UNARY},
}
"""The method of an aggregate that is an operator, of the left operand and of the right one."""


def _tensor_methods() -> Iterable[tuple[str, Callable[..., tensor]]]:
    """The operators of tensors by the names that Python gives them: `x.__lshift__(4)` is `x << 4`."""
    for kind, (unary, _) in UNARY.items():
        yield METHODS[kind][0], unary
    for kind, (binary, _) in BINARY.items():
        if binary is not None:
            yield from _with_reflected(METHODS[kind][0], binary)
    for kind, (symbol, _) in COMPARISONS.items():
        yield from _with_reflected(METHODS[kind][0], partial(_compare, symbol))


def _with_reflected(name: str, emit: Callable[..., tensor]) -> Iterable[tuple[str, Callable[..., tensor]]]:
    yield name, emit
    yield f"__r{name[2:]}", partial(_swapped, emit)


def _compare(symbol: str, b: IRBuilder, lhs: Operand, rhs: Operand) -> tensor:
    return arithmetic.compare(b, symbol, lhs, rhs)


def _swapped(emit: Callable[..., tensor], b: IRBuilder, rhs: Operand, lhs: Operand) -> tensor:
    return emit(b, lhs, rhs)


TENSOR_METHODS = dict(_tensor_methods())

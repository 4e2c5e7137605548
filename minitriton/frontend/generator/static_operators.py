"""Python's operators on compile-time values, within bounds: what a kernel's text computes while it is compiled takes no unbounded memory or time.

9 ** 9 ** 9, 1 << 10 ** 10, "a" * 10 ** 12        LanguageValueError, where Python would compute until memory ends
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from minitriton.frontend.errors import LanguageValueError
from minitriton.host.containers import is_list_or_tuple
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


BOUNDED: dict[str, Callable[..., object]] = {
    "add": plus, "mul": times, "mod": modulo, "lshift": shift_left, "pow": power,
}  # fmt: skip
"""In place of the operators of these names in the module `operator`."""

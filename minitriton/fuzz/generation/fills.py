"""What the arrays and numbers of a kernel hold: contents from a seed, and what the analysis may know of them.

FILLS["quarters"]        multiples of 1/4 in [-8, 8]: exact in every float type
FILLS["normal"]          any bits of magnitude 1/16 to 4, of either sign
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from minitriton.fuzz.generation.elements import Element
from minitriton.fuzz.tree import Array
from minitriton.fuzz.validity.facts import Fact, Floats, Ints
from minitriton.interpreter.numbers.formats import encode_bf16, encode_small

_SMALL = {"float8e4nv": "f8E4M3FN", "float8e5": "f8E5M2"}
Random = np.random.Generator


@dataclass(frozen=True)
class Fill:
    """A kind of contents of float arrays: how to make it, and the fact that holds of it."""

    make: Callable[[Random, int], np.ndarray]
    fact: Floats


def _eighths(rng: Random, count: int) -> np.ndarray:
    return rng.integers(-16, 17, count) / 8.0


def _with_special(rng: Random, count: int) -> np.ndarray:
    values = rng.integers(-32, 33, count) / 4.0
    values[rng.random(count) < 0.1] = np.nan
    values[rng.random(count) < 0.05] = np.inf
    values[rng.random(count) < 0.05] = -np.inf
    values[rng.random(count) < 0.05] = -0.0
    return values


def _normal(rng: Random, count: int) -> np.ndarray:
    return rng.choice([-1.0, 1.0], count) * np.exp2(rng.uniform(-4, 2, count))


def _with_zeros(rng: Random, count: int) -> np.ndarray:
    values = rng.integers(-8, 9, count).astype(np.float64)
    values[(values == 0) & (rng.random(count) < 0.5)] = -0.0
    return values


FILLS: dict[str, Fill] = {
    "quarters": Fill(lambda r, n: r.integers(-32, 33, n) / 4.0, Floats(-8, 8, 2)),
    "eighths": Fill(_eighths, Floats(-2, 2, 3)),
    "small": Fill(lambda r, n: r.integers(-3, 4, n).astype(np.float64), Floats(-3, 3, 0)),
    "counts": Fill(lambda r, n: r.integers(1, 9, n).astype(np.float64), Floats(1, 8, 0)),
    "normal": Fill(_normal, Floats(-4.02, 4.02)),
    "positive": Fill(lambda r, n: np.exp2(r.uniform(-3, 2, n)), Floats(0.124, 4.02)),
    "zeros": Fill(_with_zeros, Floats(-8, 8, 0, negative_zero=True)),
    "special": Fill(_with_special, Floats(-8, 8, 2, special=True, negative_zero=True)),
}


def encoded(values: np.ndarray, element: Element) -> np.ndarray:
    """Numbers as an array of `element`."""
    if element.name == "bfloat16":
        return encode_bf16(values.astype(np.float32))
    if element.is_fp8:
        return encode_small(_SMALL[element.name], values)
    return values.astype(element.dtype)


def contents(array: Array, length: int, seed: int, index: int) -> np.ndarray:
    """The first contents of a kernel's array number `index`."""
    rng = np.random.default_rng([seed, index])
    element = array.element
    if element.is_float:
        return encoded(FILLS[array.fill].make(rng, length), element)
    if element.is_bool:
        return rng.integers(0, 2, length).astype(np.bool_)
    values = rng.integers(array.low, array.high, length, dtype=element.dtype, endpoint=True)
    if array.fill == "extremes":
        chosen = rng.integers(0, 6, length)
        for number, value in enumerate((array.low, array.high)):
            values[chosen == number] = value
    return values


def fact_of(array: Array) -> Fact:
    """What is known of every element that is loaded from `array`."""
    if array.element.is_float:
        fact = FILLS[array.fill].fact
        # A random number of a narrow type is rounded once, when it is made.
        return fact
    return Ints(array.low, array.high)


def scalar_argument(element: Element, value: float) -> int | float:
    """A number as it is passed."""
    return float(value) if element.is_float else int(value)

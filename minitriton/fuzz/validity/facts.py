"""What the analysis knows of a value: the bounds of integers, and how exactly all oracles must agree on floats.

Ints(0, 255)                       anything in between; `known` holds the numbers themselves where only the launch decides them
Floats(-8, 8, grid=2)              multiples of a quarter: sums are exact in any order
Floats(-1, 1)                      any bits, but every oracle computes the same ones
Floats(0, 3, error=1e-6)           approximate: oracles may differ by that much
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from minitriton.fuzz.generation.elements import Element


class Unsound(Exception):
    """A tree that is no well-formed kernel: wrong types, or a result that the language does not define."""


@dataclass(frozen=True)
class Type:
    """An element type and a shape; `()` is a scalar. `pointer` types have the pointee as element."""

    element: Element
    shape: tuple[int, ...] = ()
    pointer: bool = False

    @property
    def size(self) -> int:
        count = 1
        for n in self.shape:
            count *= n
        return count


@dataclass(frozen=True, eq=False)
class Ints:
    """Bounds, both inclusive. `known`: int64, of shape (programs or 1, *shape), the value in every program."""

    low: int
    high: int
    known: np.ndarray | None = None


@dataclass(frozen=True)
class Floats:
    """Finite values are in [low, high]. `grid`: all are multiples of 2 to the power of minus it. `error`: how far two
    oracles may be apart. `fused`: by how much an addition may differ because it is fused with the multiplication before it.
    `terms`: of a matrix product, how many terms each element adds; what is added to it may be the first, and rounded with every other.
    `special`: NaN and infinities may occur. `negative_zero`: so may -0; `either_zero`: the sign of a zero is anyone's."""

    low: float
    high: float
    grid: int | None = None
    error: float = 0.0
    fused: float = 0.0
    special: bool = False
    negative_zero: bool = False
    either_zero: bool = False
    terms: int = 0

    @property
    def size(self) -> float:
        """The largest magnitude."""
        return max(abs(self.low), abs(self.high))

    @property
    def has_zero(self) -> bool:
        return self.low <= 0 <= self.high


@dataclass(frozen=True, eq=False)
class Pointers:
    """Addresses in one array, as offsets in elements."""

    array: str
    offsets: Ints


Fact = Ints | Floats | Pointers


Partial: TypeAlias = "tuple[object, ...]"
"""A mask, and the values of its names."""


@dataclass(frozen=True, eq=False)
class Value:
    """A type and what is known. `partial`: elements are undefined where this mask, an expression in addition to the values of its
    names, does not hold."""

    type: Type
    fact: Any
    partial: Partial | None = None

    @property
    def element(self) -> Element:
        return self.type.element

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape


def need(condition: bool, why: str) -> None:
    """Raises `Unsound` unless `condition` holds."""
    if not condition:
        raise Unsound(why)


def ints(element: Element, low: int, high: int, known: np.ndarray | None = None) -> Ints:
    """The fact for results between `low` and `high` (`known` unwrapped, like them) that wrap to `element`."""
    if element.low <= low and high <= element.high:
        return Ints(low, high, known)
    if known is not None and element.bits <= 32 and low >= -(1 << 63) and high < 1 << 63:
        return from_known(known.astype(element.dtype).astype(np.int64))
    return Ints(element.low, element.high)


def from_known(known: np.ndarray) -> Ints:
    """The fact for integers that are known one by one."""
    return Ints(int(known.min()), int(known.max()), known)


def any_int(element: Element) -> Ints:
    """Nothing known."""
    return Ints(element.low, element.high)


def lifted(known: np.ndarray | None, rank: int) -> np.ndarray | None:
    """`known` of a value that takes part in a computation of `rank` dimensions."""
    if known is None or known.ndim == rank + 1:
        return known
    return known.reshape(known.shape[0], *([1] * (rank + 1 - known.ndim)), *known.shape[1:])


def joined(a: Fact, b: Fact) -> Fact:
    """What holds of a value that is one or the other."""
    if a is b:
        return a
    if isinstance(a, Ints) and isinstance(b, Ints):
        same = a.known is not None and b.known is not None and bool((a.known == b.known).all())
        return Ints(min(a.low, b.low), max(a.high, b.high), a.known if same else None)
    if isinstance(a, Floats) and isinstance(b, Floats):
        grid = None if a.grid is None or b.grid is None else max(a.grid, b.grid)
        return Floats(
            min(a.low, b.low), max(a.high, b.high), grid, max(a.error, b.error), max(a.fused, b.fused),
            a.special or b.special, a.negative_zero or b.negative_zero, a.either_zero or b.either_zero,
            max(a.terms, b.terms),
        )  # fmt: skip
    if isinstance(a, Pointers) and isinstance(b, Pointers):
        need(a.array == b.array, "a pointer to one array or another")
        offsets = joined(a.offsets, b.offsets)
        assert isinstance(offsets, Ints)
        return Pointers(a.array, offsets)
    raise Unsound("a value of one kind or another")


def merged(new: Fact, old: Fact, active: np.ndarray | None) -> Fact:
    """What holds of a value that is `new` in the programs where `active` (None: unknown which), else `old`."""
    if active is None:
        return joined(new, old)
    if active.all():
        return new
    if isinstance(new, Ints) and isinstance(old, Ints) and new.known is not None and old.known is not None:
        a, b = np.broadcast_arrays(new.known, old.known)
        return from_known(np.where(active.reshape(-1, *([1] * (a.ndim - 1))), a, b))
    if isinstance(new, Pointers) and isinstance(old, Pointers):
        need(new.array == old.array, "a pointer to one array or another")
        offsets = merged(new.offsets, old.offsets, active)
        assert isinstance(offsets, Ints)
        return Pointers(new.array, offsets)
    return joined(new, old)


def without_known(fact: Fact) -> Fact:
    """The fact with bounds only."""
    return replace(fact, known=None) if isinstance(fact, Ints) else fact


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an operation on blocks of these shapes."""
    rank = max(map(len, shapes))
    result = [1] * rank
    for shape in shapes:
        for i, n in enumerate(shape, rank - len(shape)):
            if n != 1 and result[i] not in (1, n):
                raise Unsound(f"shapes {shapes} do not broadcast")
            result[i] = max(n, result[i])
    return tuple(result)

"""Exact values of a small index tensor, up to numbers that are not known when the kernel is compiled.

    value[i] = base[i] + coefficient[i] * unknown[class[i]] + ...

    pid * 64 + range(64)            base = 0..63, and 64 * unknown (one class)
    (range(64) >> 2) * stride       base = 0, and (i >> 2) * unknown: 16 coefficients
    (range(64) >> 2) % n            base = 0, and 1 * unknown of class i >> 2: sixteen unknown numbers, each four times

Arrays have the rank of the tensor and may have length 1 along axes where nothing changes, as NumPy broadcasts. A family is a set of
unknown numbers, all divisible by the same number. Index arithmetic is taken not to overflow, as in `axis_info.lattice`.
"""

from math import gcd
from typing import NamedTuple

import numpy as np

Array = np.ndarray
MAX_POWER = 1 << 62


class Term(NamedTuple):
    """`coefficient * unknown[classes]`, element by element; `family` says which unknown numbers."""

    family: int
    classes: Array
    coefficient: Array


class IndexValue(NamedTuple):
    """The sum of `base` and of `terms`."""

    base: Array
    terms: tuple[Term, ...] = ()

    @property
    def arrays(self) -> list[Array]:
        """All arrays that decide what an element is."""
        return [self.base, *(array for term in self.terms for array in (term.classes, term.coefficient))]


def constant_value(number: int, rank: int) -> IndexValue:
    """A tensor of `rank` axes that is `number` everywhere."""
    return IndexValue(np.full((1,) * rank, number, np.int64))


def common_divisor(array: Array) -> int:
    """The greatest number that divides all elements; 0 if all are 0."""
    return int(np.gcd.reduce(array, axis=None))


def identities(arrays: list[Array]) -> Array:
    """Small numbers, equal exactly where all of `arrays` are."""
    varying = [array for array in arrays if array.size > 1]
    if not varying:
        return np.zeros((1,) * arrays[0].ndim, np.int64)
    found = np.zeros((1,) * arrays[0].ndim, np.int64)
    for array in varying:
        known, inverse = np.unique(array, return_inverse=True)
        found = found * len(known) + inverse.reshape(array.shape)
        if found.size and int(found.max()) > 1 << 31:
            found = np.unique(found, return_inverse=True)[1].reshape(found.shape)
    return found


class Unknowns:
    """Families of unknown numbers, by number, and the arithmetic that makes new ones."""

    def __init__(self) -> None:
        self.divisibility: list[int] = []
        self._derived: dict[tuple[str, int, int], int] = {}

    def family(self, divisibility: int = 1) -> int:
        """A new family whose numbers `divisibility` divides."""
        self.divisibility.append(divisibility)
        return len(self.divisibility) - 1

    def uniform(self, rank: int, divisibility: int = 1) -> IndexValue:
        """One unknown number everywhere."""
        return self.by_class(np.zeros((1,) * rank, np.int64), divisibility)

    def by_class(self, classes: Array, divisibility: int = 1, factor: int = 1) -> IndexValue:
        """`factor` times an unknown number for each class."""
        shape = (1,) * classes.ndim
        term = Term(self.family(divisibility), classes, np.full(shape, factor, np.int64))
        return IndexValue(np.zeros(shape, np.int64), (term,))

    def function_of(self, *values: IndexValue) -> IndexValue:
        """An unknown function: equal where all arguments are."""
        return self.by_class(identities([array for value in values for array in value.arrays]))

    def add(self, a: IndexValue, b: IndexValue) -> IndexValue:
        terms = list(a.terms)
        for term in b.terms:
            for index, other in enumerate(terms):
                if other.family == term.family and np.array_equal(other.classes, term.classes):
                    terms[index] = other._replace(coefficient=other.coefficient + term.coefficient)
                    break
            else:
                terms.append(term)
        return IndexValue(a.base + b.base, tuple(term for term in terms if term.coefficient.any()))

    def scale(self, a: IndexValue, factor: Array | int) -> IndexValue:
        """Every element times a known number."""
        terms = (term._replace(coefficient=term.coefficient * factor) for term in a.terms)
        return IndexValue(a.base * factor, tuple(term for term in terms if term.coefficient.any()))

    def subtract(self, a: IndexValue, b: IndexValue) -> IndexValue:
        return self.add(a, self.scale(b, -1))

    def multiply(self, a: IndexValue, b: IndexValue) -> IndexValue:
        """(a0 + a') * (b0 + b') = a0 * b + b0 * a' + a' * b'"""
        result = self.scale(b, a.base)
        for term in a.terms:
            result = self.add(result, self.scale(IndexValue(np.zeros_like(term.coefficient), (term,)), b.base))
            for other in b.terms:
                result = self.add(result, IndexValue(np.zeros_like(a.base), (self._product(term, other),)))
        return result

    def _product(self, a: Term, b: Term) -> Term:
        if a.family > b.family:
            a, b = b, a
        key = ("*", a.family, b.family)
        if key not in self._derived:
            product = self.divisibility[a.family] * self.divisibility[b.family]
            self._derived[key] = self.family(min(product, MAX_POWER))
        # Classes are numbered by pairs, in a way that does not depend on which classes occur.
        total = a.classes + b.classes
        classes = total * (total + 1) // 2 + b.classes
        return Term(self._derived[key], classes, a.coefficient * b.coefficient)

    def _divisor(self, term: Term, wanted: int) -> int:
        """The greatest divisor of `wanted` that divides the term whatever its unknown numbers are."""
        return gcd(wanted, common_divisor(term.coefficient) * self.divisibility[term.family])

    def divisor_of_terms(self, a: IndexValue, wanted: int) -> int:
        """The greatest divisor of `wanted` that divides all terms."""
        for term in a.terms:
            wanted = self._divisor(term, wanted)
        return wanted

    def remainder(self, a: IndexValue, divisor: int) -> IndexValue:
        """`a` modulo a known positive number, rounding down."""
        step = self.divisor_of_terms(a, divisor)
        low = IndexValue(a.base % step)
        if step == divisor:
            return low
        # a % d = s * (a / s % (d / s)) + a % s, where s divides d.
        quotient = self.function_of(self.quotient(a, step))
        return self.add(self.scale(quotient, step), low)

    def quotient(self, a: IndexValue, divisor: int) -> IndexValue:
        """`a` divided by a known positive number, rounding down."""
        step = self.divisor_of_terms(a, divisor)
        if step == divisor:
            return IndexValue(a.base // divisor, tuple(self._divided(term, divisor) for term in a.terms))
        return self.function_of(self.quotient(a, step) if step > 1 else a)

    def _divided(self, term: Term, divisor: int) -> Term:
        """The term divided by `divisor`, which divides it."""
        from_coefficient = gcd(common_divisor(term.coefficient), divisor)
        rest = divisor // from_coefficient
        family = term.family
        if rest > 1:
            key = ("/", family, rest)
            if key not in self._derived:
                self._derived[key] = self.family(self.divisibility[family] // rest)
            family = self._derived[key]
        return Term(family, term.classes, term.coefficient // from_coefficient)

    def remainder_by_unknown(self, a: IndexValue, b: IndexValue) -> IndexValue:
        """`a` modulo a positive number that is not known, rounding down; `a` is not negative."""
        step = self._uniform_divisor(a, b)
        if step == 1:
            return self.function_of(a, b)
        # With b = s * c:  a % b = s * (a / s % c) + a % s.
        return self.add(self.scale(self.function_of(self.quotient(a, step)), step), IndexValue(a.base % step))

    def quotient_by_unknown(self, a: IndexValue, b: IndexValue) -> IndexValue:
        """`a` divided by a positive number that is not known, rounding down; `a` is not negative."""
        step = self._uniform_divisor(a, b)
        return self.function_of(a, b) if step == 1 else self.function_of(self.quotient(a, step))

    def is_below(self, a: IndexValue, b: IndexValue) -> IndexValue:
        """Whether a < b: with b = s * c for all elements alike, whether a / s < c."""
        step = self._uniform_divisor(a, b)
        return self.function_of(a, b) if step == 1 else self.function_of(self.quotient(a, step))

    def _uniform_divisor(self, a: IndexValue, b: IndexValue) -> int:
        """What divides `b`, if it is one number everywhere, and the terms of `a`; else 1."""
        if any(array.size > 1 for array in b.arrays):
            return 1
        number = abs(int(b.base.flat[0]))
        found = number
        for term in b.terms:
            found = gcd(found, common_divisor(term.coefficient) * self.divisibility[term.family])
        found = min(found, MAX_POWER) if found else MAX_POWER
        return self.divisor_of_terms(a, found)

    def low_bits(self, a: IndexValue) -> int:
        """The power of two below which all bits of `a` are known."""
        return self.divisor_of_terms(a, MAX_POWER)

"""What holds of exactly known index values along each axis: the bridge from `index.value` to `axis_info.fact`.

base 0 1 2 3 16 17 18 19, and 64 * unknown       contiguity 4, divisibility 16, constancy 1
"""

from __future__ import annotations

from math import gcd

import numpy as np

from minitriton.analysis.axis_info.fact import MAX_DIVISOR, AxisInfo, power_of_two_part
from minitriton.analysis.index.value import Array, IndexValue, Unknowns, common_divisor


def facts_of(unknowns: Unknowns, value: IndexValue, shape: tuple[int, ...], unit: int = 1) -> AxisInfo:
    """The claims about `value`, a tensor of `shape` whose neighbours lie `unit` apart (for pointers, in bytes)."""
    contiguity: list[int] = []
    divisibility: list[int] = []
    constancy: list[int] = []
    for axis, size in enumerate(shape):
        run = _longest_groups(value, axis, size, unit)
        contiguity.append(run)
        constancy.append(_longest_groups(value, axis, size, 0))
        divisibility.append(_divisibility(unknowns, value, axis, run))
    return AxisInfo(tuple(contiguity), tuple(divisibility), tuple(constancy))


def advances(value: IndexValue, axis: int, size: int, step: int) -> bool:
    """Whether each element is its predecessor along `axis` plus `step`."""
    return bool(_linked(value, axis, size, step).all())


def _longest_groups(value: IndexValue, axis: int, size: int, step: int) -> int:
    """The largest aligned groups along `axis` in which each element is its predecessor plus `step`."""
    grouped, length = np.append(_linked(value, axis, size, step), True), 1
    while size % (2 * length) == 0 and grouped.reshape(-1, 2 * length)[:, :-1].all():
        length *= 2
    return length


def _linked(value: IndexValue, axis: int, size: int, step: int) -> Array:
    """For each pair of neighbours along `axis` whether the second is everywhere the first plus `step`."""
    linked = _steps(value.base, axis, size, step)
    for term in value.terms:
        linked &= _steps(term.classes, axis, size, 0) & _steps(term.coefficient, axis, size, 0)
    return linked


def _steps(array: Array, axis: int, size: int, step: int) -> Array:
    """The same of one array."""
    if array.shape[axis] == 1:
        return np.full(size - 1, step == 0)
    others = tuple(other for other in range(array.ndim) if other != axis)
    return (np.diff(array, axis=axis) == step).all(axis=others)


def _divisibility(unknowns: Unknowns, value: IndexValue, axis: int, length: int) -> int:
    """The power of two that divides the first element of every group of `length` along `axis`."""

    def starts(array: Array) -> Array:
        return array if array.shape[axis] == 1 else np.take(array, range(0, array.shape[axis], length), axis=axis)

    found = common_divisor(starts(value.base))
    for term in value.terms:
        found = gcd(found, common_divisor(starts(term.coefficient)) * unknowns.divisibility[term.family])
    return min(power_of_two_part(found), MAX_DIVISOR)


def better(exact: AxisInfo, known: AxisInfo) -> AxisInfo | None:
    """Both together, axis by axis; None if `exact` adds nothing to what is known."""
    contiguity, divisibility, constancy = list(known.contiguity), list(known.divisibility), list(known.constancy)
    for d in range(known.rank):
        if exact.contiguity[d] > contiguity[d]:
            contiguity[d], divisibility[d] = exact.contiguity[d], exact.divisibility[d]
        elif exact.contiguity[d] == contiguity[d]:
            divisibility[d] = max(exact.divisibility[d], divisibility[d])
        constancy[d] = max(exact.constancy[d], constancy[d])
    found = known._replace(contiguity=tuple(contiguity), divisibility=tuple(divisibility), constancy=tuple(constancy))
    return None if found == known else found

"""The arguments of a fuzzed launch: arrays of the lengths that the analysis found, and what they are specialised on.

Array("a0", int8, skew=1), 40 elements   →   40 int8 behind an address that is one element past a multiple of 16
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minitriton.compilation.ast_source import Attributes
from minitriton.fuzz.generation.fills import contents, scalar_argument
from minitriton.fuzz.judging.analysis import Analysis
from minitriton.fuzz.tree import Kernel
from minitriton.lab.arguments import Arguments

ALIGNMENT = 128
GUARD = 256
"""Bytes between two arrays."""


@dataclass(frozen=True)
class LaunchArguments:
    """The values, and the signature that both compilers are given."""

    arguments: Arguments
    signature: dict[str, str]
    constants: dict[str, object]
    attrs: Attributes


def make_arguments(kernel: Kernel, analysis: Analysis) -> LaunchArguments:
    """Arguments with their first contents, a function of the kernel's seed."""
    lengths = [analysis.lengths[a.name] for a in kernel.arrays]
    room = [
        -(-n * a.element.dtype.itemsize // ALIGNMENT) * ALIGNMENT + 2 * GUARD
        for a, n in zip(kernel.arrays, lengths, strict=True)
    ]
    arena = np.zeros(sum(room) + 2 * ALIGNMENT, np.uint8)
    start = -arena.__array_interface__["data"][0] % ALIGNMENT
    values: list[np.ndarray | int | float] = []
    signature: dict[str, str] = {}
    constants: dict[str, object] = {}
    attrs: Attributes = {}
    divisible: list[list[str | int]] = [["tt.divisibility", 16]]
    for index, (array, length, space) in enumerate(zip(kernel.arrays, lengths, room, strict=True)):
        first = start + array.skew * array.element.dtype.itemsize
        made = contents(array, length, kernel.seed, index)
        view = arena[first : first + made.nbytes].view(made.dtype)
        view[...] = made
        values.append(view)
        signature[array.name] = f"*{array.element.short}"
        if array.skew * array.element.dtype.itemsize % 16 == 0:
            attrs[(index,)] = divisible
        start += space
    for index, scalar in enumerate(kernel.scalars, len(kernel.arrays)):
        value = scalar_argument(scalar.element, scalar.value)
        if value == 1 and not scalar.element.is_float:
            signature[scalar.name], constants[scalar.name] = "constexpr", 1
            continue
        values.append(value)
        signature[scalar.name] = scalar.element.short
        if not scalar.element.is_float and value % 16 == 0:
            attrs[(index,)] = divisible
    elements = [a.element.short for a in kernel.arrays] + [""] * (len(values) - len(kernel.arrays))
    return LaunchArguments(Arguments(values, elements), signature, constants, attrs)

"""One launch of a kernel given as source text, which every oracle runs: arrays of the lengths that the analysis found, and what they are specialised on.

Array("a0", int8, skew=1), 40 elements   →   40 int8 from an address that is one element past a multiple of 16
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np

from minitriton.fuzz.generation.fills import contents, scalar_argument
from minitriton.fuzz.tree import Array, Kernel, Scalar
from minitriton.fuzz.validity.analysis import Analysis
from minitriton.lab.arguments import Arguments
from minitriton.pipeline.ast_source import Attributes

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
    made = [contents(a, n, kernel.seed, index) for index, (a, n) in enumerate(zip(kernel.arrays, lengths, strict=True))]
    ones = {s.name for s in kernel.scalars if not s.element.is_float and s.value == 1}
    return placed_arguments(list(zip(kernel.arrays, made, strict=True)), kernel.scalars, ones)


def placed_arguments(
    arrays: Sequence[tuple[Array, np.ndarray]], scalars: Sequence[Scalar], constants: Container[str]
) -> LaunchArguments:
    """Arguments from arrays with their contents and from numbers; those named in `constants` are compile-time constants."""
    room = [-(-made.nbytes // ALIGNMENT) * ALIGNMENT + 2 * GUARD for _, made in arrays]
    arena = np.zeros(sum(room) + 2 * ALIGNMENT, np.uint8)
    start = -arena.__array_interface__["data"][0] % ALIGNMENT
    values: list[np.ndarray | int | float] = []
    signature: dict[str, str] = {}
    known: dict[str, object] = {}
    attrs: Attributes = {}
    divisible: list[list[str | int]] = [["tt.divisibility", 16]]
    for index, ((array, made), space) in enumerate(zip(arrays, room, strict=True)):
        first = start + array.skew * array.element.dtype.itemsize
        view = arena[first : first + made.nbytes].view(made.dtype)
        view[...] = made
        values.append(view)
        signature[array.name] = f"*{array.element.short}"
        if array.skew * array.element.dtype.itemsize % 16 == 0:
            attrs[(index,)] = divisible
        start += space
    for index, scalar in enumerate(scalars, len(arrays)):
        value = scalar_argument(scalar.element, scalar.value)
        if scalar.name in constants:
            signature[scalar.name], known[scalar.name] = "constexpr", value
            continue
        values.append(value)
        signature[scalar.name] = scalar.element.short
        if not scalar.element.is_float and value % 16 == 0:
            attrs[(index,)] = divisible
    elements = [a.element.short for a, _ in arrays] + [""] * (len(values) - len(arrays))
    return LaunchArguments(Arguments(values, elements), signature, known, attrs)


@dataclass
class FuzzedLaunch:
    """One launch: source text, arguments, options."""

    source: str
    launch: LaunchArguments
    grid: tuple[int, ...]
    num_warps: int
    fp_fusion: bool

    @property
    def options(self) -> dict[str, object]:
        return {"num_warps": self.num_warps, "enable_fp_fusion": self.fp_fusion}

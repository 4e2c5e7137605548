"""Tensor maps that a launch makes of a kernel's pointers and numbers, for `minitriton-describe-tiles`.

In: the kernel's metadata, and a launch's arguments. Out: a map for each tile, or None where these arguments are not described: then the launch takes
`plain_kernel`, the same kernel compiled without that pass.

    {"tiles": [{"base": 0, "sizes": [None, [[1, [4]]]], "strides": [[[1, [6]]], [[1, []]]], "block": [128, 64]}], "multiples": [[3, 128]], "least": []}

base is parameter 0; dimension 0 has no known end and a stride of parameter 6; dimension 1 ends at parameter 4. Parameter 3 must be a multiple of 128.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from math import prod
from typing import TYPE_CHECKING, Any, TypedDict

from minitriton.runtime.launching.descriptor_arguments import ELEMENTS, L2_128_BYTES
from minitriton.target.backends import backend
from minitriton.target.tensor_map import DescriptorCopy, TensorMap

if TYPE_CHECKING:
    from minitriton.runtime.stored_kernel import StoredKernel

PASS = "minitriton-describe-tiles"
NO_END = 2**31 - 1
"""Elements of a dimension whose end the kernel does not look at."""

Sum = list[tuple[int, list[int]]]
"""A polynomial of parameters: coefficients and the parameters that each is multiplied with."""


class Tile(TypedDict):
    """How one map is made: the parameter of the array, and sizes and strides in elements, outermost dimension first."""

    base: int
    sizes: list[Sum | None]
    strides: list[Sum]
    block: list[int]


class DescribedTiles(TypedDict):
    """What the kernel's metadata say: the tiles, parameters that must be multiples of numbers, and those that must not be negative."""

    tiles: list[Tile]
    multiples: list[tuple[int, int]]
    least: list[int]


def described_tiles(kernel: StoredKernel) -> DescribedTiles | None:
    """What a launch of `kernel` makes, if anything."""
    return getattr(kernel.metadata, "described_tiles", None)


def parameters_read(described: DescribedTiles) -> list[int]:
    """The parameters that maps and conditions depend on."""
    sums = [s for tile in described["tiles"] for s in (*tile["sizes"], *tile["strides"]) if s is not None]
    read = {parameter for s in sums for _, factors in s for parameter in factors}
    read |= {parameter for parameter, _ in described["multiples"]} | {tile["base"] for tile in described["tiles"]}
    return sorted(read | set(described["least"]))


def tensor_maps(
    described: DescribedTiles, copies: Sequence[DescriptorCopy], number: Callable[[int], int]
) -> list[TensorMap] | None:
    """A map of each tile, at address 0; None where there is none for these arguments. `number` gives that of a parameter."""
    if any(number(parameter) % by or number(parameter) < by for parameter, by in described["multiples"]):
        return None
    if any(number(parameter) < 0 for parameter in described["least"]):
        return None

    def value(of: Sum) -> int:
        return sum(coefficient * prod(map(number, factors)) for coefficient, factors in of)

    found: list[TensorMap] = []
    for tile, copy in zip(described["tiles"], copies, strict=True):
        sizes = [NO_END if size is None else value(size) for size in tile["sizes"]]
        strides = [value(stride) * copy["elem_size"] for stride in tile["strides"][:-1]]
        if min(sizes) < 1 or min(strides, default=1) < 1 or _is_mostly_outside(sizes, tile["block"]):
            return None
        box = tuple(reversed(copy["block_size"]))
        made = TensorMap(
            0, ELEMENTS[copy["elem_type"]], tuple(reversed(sizes)), tuple(reversed(strides)), box,
            swizzle=copy["swizzle"], l2_promotion=L2_128_BYTES,
        )  # fmt: skip
        if made.refusal() is not None:
            return None
        found.append(made)
    return found


def _is_mostly_outside(sizes: Sequence[int], block: Sequence[int]) -> bool:
    """Whether tiles together have over a quarter more elements than the array along some dimension: what a mask leaves out is not loaded, but a copy
    fills all of its box (64 rows in tiles of 128: 0.63 as fast; one H200, 2026-11-28)."""
    return any(4 * -(-size // length) * length > 5 * size for size, length in zip(sizes, block, strict=True))


def plain_kernel(kernel: StoredKernel, *, assemble: bool) -> Any:
    """`kernel` compiled by the same passes but the one that describes tiles, for launches that have none."""
    metadata: Any = kernel.metadata
    options = backend(metadata.target.backend).load("options")
    given = {f.name: getattr(metadata, f.name) for f in fields(options) if f.init and hasattr(metadata, f.name)}
    given["pipeline"] = ",".join(step for step in metadata.pipeline.split(",") if not step.startswith(PASS))
    return _compilers[0](kernel.src, metadata.target, options(**given), assemble=assemble)


_compilers: list[Callable[..., Any]] = []


def compile_by(compiler: Callable[..., Any]) -> None:
    """`runtime.compiling`, which needs this module, says what compiles."""
    _compilers[:] = [compiler]

"""Layouts drawn as text, as Triton's `triton-tensor-layout` draws them.

In: a linear layout from `register, lane, warp, block` or from `offset, block`. Out: a picture of the tensor, with the threads (or
offsets) of each element, or with `hardware` a list of threads (or offsets) with their elements.

    registers 2 a thread, 4 lanes over (2, 4):   [[T0:0, T0:1, T1:0, T1:1]
                                                 [ T2:0, T2:1, T3:0, T3:1]]

Threads are numbered through all warps; `B0:` goes before them if there are several CTAs.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Protocol


class Mapped(Protocol):
    """What is drawn: a map from in-dims to out-dims (a `LinearLayout`)."""

    @property
    def in_dims(self) -> Mapping[str, int]: ...

    @property
    def out_dims(self) -> Mapping[str, int]: ...

    def get_in_dim_size(self, dim: str) -> int: ...

    def apply(self, inputs: Mapping[str, int]) -> dict[str, int]: ...


def distributed_view(layout: Mapped, hardware: bool = False) -> str:
    """The picture of a layout of registers."""
    sizes = layout.in_dims
    blocks, warps, lanes, registers = (sizes[dim] for dim in ("block", "warp", "lane", "register"))
    shape = list(layout.out_dims.values())
    holders = [""] * prod(shape)
    elements: dict[tuple[int, int, int, int], str] = {}
    for block, warp, lane, register in product(range(blocks), range(warps), range(lanes), range(registers)):
        point = layout.apply({"block": block, "warp": warp, "lane": lane, "register": register})
        elements[block, warp, lane, register] = _tuple(list(point.values()), shape, ",")
        number = 0
        for index, size in zip(point.values(), shape, strict=True):
            number = number * size + index
        thread = lane + warp * lanes
        padding = _padding(block, blocks) + _padding(thread, warps * lanes) + _padding(register, registers)
        name = f"B{block}:T{thread}:{register}" if blocks > 1 else f"T{thread}:{register}"
        holders[number] += ("|" if holders[number] else "") + padding + name
    if not hardware:
        return _nested(holders, shape, ", ")
    lines: list[str] = []
    for block in range(blocks):
        lines += [f"Block{block}:"] if blocks > 1 else []
        for warp in range(warps):
            lines.append(f"Warp{warp}:")
            for register in range(registers):
                lines.append(", ".join(elements[block, warp, lane, register] for lane in range(lanes)))
    return "".join(line + "\n" for line in lines)


def shared_view(layout: Mapped, hardware: bool = False) -> str:
    """The picture of a layout of shared memory: what is at each offset, in the order of offsets."""
    shape = list(layout.out_dims.values())
    blocks = layout.get_in_dim_size("block")
    offsets = prod(shape) // blocks
    lines: list[str] = []
    coordinates: list[str] = []
    for block in range(blocks):
        lines.append(f"Block: {block}:")
        for offset in range(offsets):
            point = list(layout.apply({"offset": offset, "block": block}).values())
            lines.append(f"Offset: {offset} -> {_tuple(point, shape, ',')}")
            coordinates.append(_tuple(point, shape, ":"))
    return "".join(line + "\n" for line in lines) if hardware else _nested(coordinates, shape, ",")


def _padding(value: int, largest: int) -> str:
    return " " * (len(str(largest)) - len(str(value)))


def _tuple(point: Sequence[int], shape: Sequence[int], separator: str) -> str:
    return "(" + separator.join(_padding(i, size) + str(i) for i, size in zip(point, shape, strict=True)) + ")"


def _nested(cells: Sequence[str], shape: Sequence[int], separator: str) -> str:
    """The cells in nested brackets, one line for each walk of the last dimension."""
    rank = len(shape)
    row = shape[-1]
    text = ""
    for start in range(0, len(cells), row):
        opened = _levels(start, shape)
        closed = _levels(start + row, shape)
        text += "[" * opened + " " * (rank - opened) + separator.join(cells[start : start + row]) + "]" * closed + "\n"
    return text


def _levels(number: int, shape: Sequence[int]) -> int:
    """How many of the last dimensions start anew at element `number`."""
    levels = 0
    for size in reversed(shape):
        if number % size:
            break
        number //= size
        levels += 1
    return levels

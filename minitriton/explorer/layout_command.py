"""`minitriton layout '<encoding>' --shape 32x64 [--to '<encoding>']`: a picture of a layout, and what a conversion costs.

minitriton layout 'blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>' --shape 16x64
minitriton layout 'swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>' --shape 32x64 --type f16
minitriton layout 'BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])' --shape 16x64
minitriton layout '...' --shape 32x64 --to '...'          registers to registers, or a tile and a buffer: what the way costs
"""

from __future__ import annotations

import argparse
import json
import re

import numpy as np

from minitriton.errors import MinitritonError
from minitriton.explorer.layout_facts import (
    Encoding,
    LayoutFact,
    conversion_fact,
    layout_fact,
    local_cost,
    read_encoding,
)
from minitriton.explorer.terminal import background, is_coloured, painted
from minitriton.layouts.encodings import SharedEncoding
from minitriton.target import default_arch

_BITS = re.compile(r"(?:f|i|bf|fp|s|u)(?:p)?(\d+)")
BANKS, BANK_BYTES = 32, 4


def run_layout(given: argparse.Namespace) -> int:
    """Prints the picture."""
    shape, bits = parse_shape(given.shape), bits_of(given.type)
    source = read_encoding(given.encoding)
    target = read_encoding(given.to) if given.to else None
    facts = [layout_fact(one, shape) for one in (source, target) if one is not None]
    costs = [] if target is None else way(source, target, shape, bits, given.arch or default_arch())
    if given.json:
        print(
            json.dumps(
                {
                    "layouts": [
                        {
                            **one.plain(),
                            "holders": {name: found.tolist() for name, found in all_holders(one, bits).items()},
                        }
                        for one in facts
                    ],
                    "costs": costs,
                }
            )
        )
        return 0
    for fact in facts:
        print(picture(fact, bits, given.by, colour=is_coloured()))
        print()
    for title, text in costs:
        print(f"{title}: {text}")
    return 0


def parse_shape(text: str) -> tuple[int, ...]:
    """The shape that `32x64` says. Raises `MinitritonError` for anything but powers of two."""
    try:
        shape = tuple(int(part) for part in text.lower().split("x"))
    except ValueError:
        raise MinitritonError(f"--shape {text!r} is not a shape", help="write it as 32x64") from None
    if any(size < 1 or size & (size - 1) for size in shape) or int(np.prod(shape)) > 1 << 20:
        raise MinitritonError(f"--shape {text!r}: sizes are powers of two, at most 1048576 elements in all")
    return shape


def bits_of(text: str) -> int:
    """Bits of an element type such as `f16`, `fp32`, `i8`, `fp8e5`. Raises `MinitritonError`."""
    found = _BITS.match(text)
    if found is None or int(found[1]) not in (1, 4, 8, 16, 32, 64):
        raise MinitritonError(f"--type {text!r} is not an element type", help="write it as f32, f16, bf16, i8, fp8e5")
    return int(found[1])


def way(
    source: Encoding, target: Encoding, shape: tuple[int, ...], bits: int, arch: int | str
) -> list[tuple[str, str]]:
    """What it costs to come from one to the other: titles and texts."""
    if isinstance(source, SharedEncoding):
        source, target = target, source
    if isinstance(source, SharedEncoding):
        raise MinitritonError("both are layouts of shared memory", help="one of the two must be of registers")
    if isinstance(target, SharedEncoding):
        titles = {"load from the buffer": True, "store to the buffer": False}
        return [
            (title, local_cost(source, target, shape, bits, shape, arch, is_load=is_load).text())
            for title, is_load in titles.items()
        ]
    return [("conversion", conversion_fact(source, target, shape, bits, arch).text())]


def banks(fact: LayoutFact, offset: np.ndarray, bits: int) -> np.ndarray:
    """The bank of shared memory in which each element begins."""
    padded = offset + sum((offset // interval * put for interval, put in fact.padding), np.zeros_like(offset))
    return padded * bits // 8 // BANK_BYTES % BANKS


def all_holders(fact: LayoutFact, bits: int) -> dict[str, np.ndarray]:
    """Every kind of number that may stand in the cells, in the tensor's shape."""
    found = fact.homes()
    if "offset" in found:
        found["bank"] = banks(fact, found["offset"], bits)
    else:
        found["thread"] = found["lane"] + found["warp"] * fact.sizes["lane"]
    return found


def holders(fact: LayoutFact, bits: int, by: str) -> np.ndarray:
    """What stands in the cells: numbers in the tensor's shape."""
    found = all_holders(fact, bits)
    if by not in found:
        raise MinitritonError(f"this layout lacks {by!r}", help="it has: " + ", ".join(found))
    return found[by]


_MOST_ROWS, _MOST_COLUMNS = 64, 64


def picture(fact: LayoutFact, bits: int, by: str | None = None, *, colour: bool) -> str:
    """The tensor, row by row: `thread:register` in each cell, or one number; of shared memory banks."""
    is_shared = fact.kind == "shared"
    by = by or ("bank" if is_shared else "thread")
    numbers = holders(fact, bits, by)
    flat = numbers.reshape(-1, fact.shape[-1])
    registers = None if is_shared or by != "thread" else holders(fact, bits, "register").reshape(flat.shape)
    of = int(flat.max()) + 1
    if registers is not None:
        of = fact.sizes["warp"]
    paints = flat // fact.sizes["lane"] if registers is not None else flat
    cells = [
        [
            f"T{number}:{registers[row, column]}" if registers is not None else str(number)
            for column, number in enumerate(line[:_MOST_COLUMNS])
        ]
        for row, line in enumerate(flat[:_MOST_ROWS].tolist())
    ]
    width = max(len(cell) for line in cells for cell in line)
    lines = [f"{fact.encoding} on {'x'.join(map(str, fact.shape))}", _counts(fact, by)]
    for row, line in enumerate(cells):
        lines.append(
            " ".join(
                painted(cell.rjust(width), background(int(paints[row, column]), of), colour)
                for column, cell in enumerate(line)
            )
        )
    hidden = flat.shape[0] - _MOST_ROWS, flat.shape[1] - _MOST_COLUMNS
    if max(hidden) > 0:
        lines.append(f"... {max(hidden[0], 0)} rows and {max(hidden[1], 0)} columns more (--json has all)")
    return "\n".join(lines)


def _counts(fact: LayoutFact, by: str) -> str:
    sizes = fact.sizes
    if fact.kind == "shared":
        return f"{sizes['offset']} elements of shared memory; in each cell: {by}"
    blocks = f", {sizes['block']} blocks" if sizes["block"] > 1 else ""
    what = "T(thread):(register), coloured by warp" if by == "thread" else by
    return (
        f"{sizes['register']} registers of {sizes['lane']} lanes of {sizes['warp']} warps{blocks}; in each cell: {what}"
    )

"""Layouts that somebody writes while looking at them: what a picture of each needs, and what the way from one to the other costs.

drawn(["#ttg.blocked<{...}>", "#ttg.swizzled_shared<{...}>"], (32, 64), 16, 90, "store")
{"layouts": [{"encoding": ..., "bases": ...}, ...], "cost": "8 st.shared a warp, ... no conflicts"}
"""

from __future__ import annotations

from collections.abc import Sequence

from minitriton.errors import MinitritonError
from minitriton.explorer.layout_facts import conversion_fact, layout_fact, local_cost, read_encoding
from minitriton.explorer.wire import Drawn
from minitriton.layouts.encodings import DistributedEncoding, SharedEncoding

MOST_ELEMENTS = 1 << 20
THREADS = 32


def drawn(encodings: Sequence[str], shape: tuple[int, ...], bits: int, arch: int) -> Drawn:
    """The layouts on `shape` of elements of `bits`. Raises `MinitritonError` for text that is no encoding, or does not fit the shape."""
    if not shape or any(size < 1 or size & (size - 1) for size in shape) or _product(shape) > MOST_ELEMENTS:
        raise MinitritonError(f"{'x'.join(map(str, shape))} is no shape that can be drawn")
    found = [read_encoding(text) for text in encodings]
    for one in found:
        if one.rank != len(shape):
            raise MinitritonError(f"the encoding has {one.rank} axes, and the tensor {len(shape)}")
    facts = [layout_fact(one, shape) for one in found]
    for one in facts:
        if one.sizes.get("lane", THREADS) != THREADS:
            raise MinitritonError(f"the layout is for warps of {one.sizes['lane']} threads: a warp has {THREADS}")
    return {
        "layouts": [one.plain() for one in facts],
        "cost": _cost(found, shape, bits, arch) if len(found) == 2 else None,
    }


def _cost(found: list[DistributedEncoding | SharedEncoding], shape: tuple[int, ...], bits: int, arch: int) -> str:
    match found:
        case [DistributedEncoding() as source, DistributedEncoding() as target]:
            return conversion_fact(source, target, shape, bits, arch).text()
        case [DistributedEncoding() as registers, SharedEncoding() as shared]:
            return local_cost(registers, shared, shape, bits, shape, arch, is_load=False).text()
        case [SharedEncoding() as shared, DistributedEncoding() as registers]:
            return local_cost(registers, shared, shape, bits, shape, arch, is_load=True).text()
        case _:
            raise MinitritonError("both are layouts of shared memory: nothing moves between buffers")


def _product(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count

"""A layout whose CTAs share the tensor in another way.

In: a layout, the shape of its tensor and the bases of `block`. Out: the layout with these bases, warps and lanes spread anew
over what one CTA then holds.

    with_cga(Blocked((1, 4), (8, 4), (4, 1), (1, 0), cga ((1, 0),)), (64, 16), 4, ((0, 1),))   ->   ... cga ((0, 1),)
"""

from __future__ import annotations

from collections.abc import Sequence

from minitriton.layouts.builders import blocked_for_cga
from minitriton.layouts.encodings import Bases, Blocked, DistributedEncoding, Slice


def with_cga(
    layout: DistributedEncoding, shape: Sequence[int], num_warps: int, cga: Bases
) -> DistributedEncoding | None:
    """`layout` with `cga`; None if it cannot have it: neither blocked nor a slice of such a one, or of another rank."""
    if isinstance(layout, Blocked):
        if any(len(basis) != layout.rank for basis in cga):
            return None
        return blocked_for_cga(shape, layout.size_per_thread, layout.order, num_warps, 32, cga)
    if isinstance(layout, Slice):
        dim = layout.dim
        inner = tuple((*basis[:dim], 0, *basis[dim:]) for basis in cga)
        parent = with_cga(layout.parent, (*shape[:dim], 1, *shape[dim:]), num_warps, inner)
        return None if parent is None else Slice(dim, parent)
    return None

"""`tt.gather` within a warp: which lane and which register hold the element that an index names.

In: the layouts of source and indices, and the axis. Out: a `WarpGather`, or None where an element may be in another warp.

    source, indices: lane 0..31 along the axis, one row a warp      the lane is the index itself, the register that of the index
    source with two registers along the axis                        two shuffles for each index, and a choice by one of its bits

The source is read through a right inverse P of its layout S. With I the layout of the indices, c the coordinates besides the axis and
a index along the axis, the element is in P(c) ^ P(a). It may be fetched in the warp w that asks if S also has it there: S(w ^ P(c)w) = 0
for each basis of I, and S(P(a)w) = 0 for each bit a.
"""

from __future__ import annotations

from typing import NamedTuple

from minitriton.layouts import f2
from minitriton.layouts.linear_layout import LinearLayout

_OUTER = ("warp", "block")
_MOST_SHUFFLES = 4
"""For each index; beyond, the way through shared memory takes less."""


class WarpGather(NamedTuple):
    """The lane is the sum (xor) of what the bits of thread, block, index register and index add to it."""

    thread_lanes: tuple[int, ...]
    block_lanes: tuple[int, ...]
    register_lanes: tuple[int, ...]
    """For each register of the indices."""
    index_lanes: tuple[int, ...]
    first_registers: tuple[int, ...]
    """For each register of the indices, the register of the source where the index is 0."""
    index_registers: tuple[int, ...]
    """What the bits of the index add to that register."""

    @property
    def choices(self) -> list[int]:
        """All that an index can add to the register, ascending."""
        span = {0}
        for added in self.index_registers:
            span |= {choice ^ added for choice in span}
        return sorted(span)


def plan_warp_gather(source: LinearLayout, indices: LinearLayout, axis: int) -> WarpGather | None:
    """How each warp gathers from its own lanes."""
    dims = source.get_out_dim_names()
    inverse = source.pseudoinvert()
    along = [
        inverse.apply({dim: (1 << bit) * (dim == dims[axis]) for dim in dims})
        for bit in range(f2.log2(source.get_out_dim_size(dims[axis])))
    ]
    owners: dict[str, list[dict[str, int]]] = {}
    for dim, images in indices.bases.items():
        owners[dim] = [
            inverse.apply({out: 0 if out == dims[axis] else basis[n] for n, out in enumerate(dims)}) for basis in images
        ]
        for bit, owner in enumerate(owners[dim]):
            own = {outer: owner.get(outer, 0) ^ ((1 << bit) * (dim == outer)) for outer in _OUTER}
            if _moves(source, own) or (dim != "register" and owner.get("register", 0)):
                return None
    if any(_moves(source, owner) for owner in along):
        return None
    of_registers = owners.get("register", [])
    count = range(1 << len(of_registers))

    def column(owners_: list[dict[str, int]], dim: str) -> tuple[int, ...]:
        return tuple(owner.get(dim, 0) for owner in owners_)

    plan = WarpGather(
        column(owners.get("lane", []) + owners.get("warp", []), "lane"),
        column(owners.get("block", []), "lane"),
        tuple(f2.apply(column(of_registers, "lane"), register) for register in count),
        column(along, "lane"),
        tuple(f2.apply(column(of_registers, "register"), register) for register in count),
        column(along, "register"),
    )
    return plan if len(plan.choices) <= _MOST_SHUFFLES else None


def _moves(source: LinearLayout, at: dict[str, int]) -> bool:
    """Whether another warp or block holds other elements."""
    point = {dim: at.get(dim, 0) if dim in _OUTER else 0 for dim in source.get_in_dim_names()}
    return any(source.apply(point).values())

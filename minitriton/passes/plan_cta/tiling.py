"""How dots, reductions and stores want a tensor to be shared among the CTAs of a cluster.

In: an op. Out: the layouts of its operands and results, chosen so that the op needs nothing from another CTA.

    tt.dot        tiles of 64 or more rows and columns, more CTAs along the rows first
    tt.reduce     no CTA boundary along the axis; if there is no other axis, every CTA reduces everything
    stores        as the first of them has it

A layout whose CTAs share the tensor in another way.

In: a layout, the shape of its tensor and the bases of `block`. Out: the layout with these bases, warps and lanes spread anew
over what one CTA then holds.

    with_cga(Blocked((1, 4), (8, 4), (4, 1), (1, 0), cga ((1, 0),)), (64, 16), 4, ((0, 1),))   ->   ... cga ((0, 1),)
"""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from minitriton.dialects import ttg
from minitriton.dialects.facts.memory_access import DescriptorAccess, MemoryAccess
from minitriton.layouts.builders import blocked_for_cga, cga_from_split
from minitriton.layouts.encodings import Bases, Blocked, DistributedEncoding, DotOperand, Slice
from minitriton.layouts.properties import contig_per_thread, get_order
from minitriton.passes.tensor_layouts import layout_of_value, shape_of
from minitriton.pipeline.choice import Candidate, Choice, note


def with_cga(
    layout: DistributedEncoding, shape: Sequence[int], num_warps: int, cga: Bases
) -> DistributedEncoding | None:
    """`layout` with `cga`; None if it cannot have it: neither blocked nor a slice of such a one, or of another rank."""
    if isinstance(layout, Blocked):
        if any(len(basis) != layout.rank for basis in cga):
            return None
        return blocked_for_cga(
            shape, layout.size_per_thread, layout.order, num_warps, prod(layout.threads_per_warp), cga
        )
    if isinstance(layout, Slice):
        dim = layout.dim
        inner = tuple((*basis[:dim], 0, *basis[dim:]) for basis in cga)
        parent = with_cga(layout.parent, (*shape[:dim], 1, *shape[dim:]), num_warps, inner)
        return None if parent is None else Slice(dim, parent)
    return None


LayoutOrNone = DistributedEncoding | None
_LARGEST_TILE, _SMALLEST_TILE = 128, 64
"""Rows and columns of a CTA's part of a dot: Triton's numbers (PlanCTA.cpp); no measurement of them is on record."""


def dot_layouts(dot: Operation, ctas_along_rows: int = 0) -> tuple[list[LayoutOrNone], list[LayoutOrNone]] | None:
    """The layouts of a dot's operands and of its result, with so many CTAs along rows if possible; None for a dot that is not laid out by blocks."""
    result = dot.results[0]
    layout = layout_of_value(result)
    if not isinstance(layout, Blocked):
        return None
    shape = shape_of(result)
    split_m, split_n = _split_of_dot(dot, shape[-2], shape[-1], layout.num_ctas, ctas_along_rows)
    parts = (*(1,) * (len(shape) - 2), split_m, split_n)
    cga = cga_from_split(parts, parts, tuple(range(len(shape) - 1, -1, -1)))
    new = blocked_for_cga(
        shape, layout.size_per_thread, layout.order, ttg.num_warps(dot), ttg.threads_per_warp(dot), cga
    )
    return [DotOperand(0, new, 0), DotOperand(1, new, 0), new], [new]


def _split_of_dot(dot: Operation, m: int, n: int, num_ctas: int, given: int) -> tuple[int, int]:
    """CTAs along rows and columns of the result: `given` along rows where each CTA has a tile then, else as Triton splits it."""
    rule = _tritons_split(m, n, num_ctas)
    splits = [(rows, num_ctas // rows) for rows in (1 << bit for bit in range(num_ctas.bit_length()))]
    possible = [split for split in splits if min(m // split[0], n // split[1]) >= 16]
    taken = next((split for split in possible if split[0] == given), rule)
    tiles = ((rows, m // rows, n // columns) for rows, columns in (*possible, rule))
    found = [Candidate(str(ctas), rows + columns, f"a CTA has {rows}x{columns}") for ctas, rows, columns in tiles]
    subject, unit = f"CTAs along the rows of {dot.name}", "rows and columns that a CTA loads"
    option = "triton-nvidia-gpu-plan-cta{ctas-along-rows=@}"
    note(dot, lambda: Choice.of(subject, unit, option, found, str(taken[0])))
    return taken


def _tritons_split(m: int, n: int, num_ctas: int) -> tuple[int, int]:
    tile_m = _LARGEST_TILE
    while True:
        split_m = max(1, min(m // tile_m, num_ctas))
        split_n = num_ctas // split_m
        tile_m //= 2
        if n // split_n >= _SMALLEST_TILE or tile_m < _SMALLEST_TILE:
            return split_m, split_n


def reduction_layouts(reduce: Operation) -> tuple[list[LayoutOrNone], list[LayoutOrNone]] | None:
    """The layouts of a reduction's operands and results; None where the operands' layout cannot be changed."""
    source = reduce.operands[0]
    layout = layout_of_value(source)
    axis_attr = reduce.properties["axis"]
    assert layout is not None and isinstance(axis_attr, IntegerAttr)
    axis = axis_attr.value.data
    cga = _cga_of_reduction(layout, shape_of(source), axis, layout.num_ctas)
    new = with_cga(layout, shape_of(source), ttg.num_warps(reduce), cga)
    if new is None:
        return None
    result = Slice(axis, new) if len(shape_of(source)) > 1 else None
    return [new] * len(reduce.operands), [result] * len(reduce.results)


def _cga_of_reduction(layout: DistributedEncoding, shape: Sequence[int], axis: int, num_ctas: int) -> Bases:
    order, per_thread = get_order(layout, shape), contig_per_thread(layout, shape)
    ctas = [1] * len(shape)
    left = num_ctas
    others = [dim for dim in reversed(order) if dim != axis]
    for dim in others:
        ctas[dim] = min(shape[dim] // per_thread[dim], left)
        left //= ctas[dim]
    if others:
        ctas[others[0]] *= left
    split = list(ctas)
    if not others:
        ctas[axis] = left
    return cga_from_split(ctas, split, layout.cta_order)


def store_layouts(stores: Sequence[Operation]) -> list[tuple[Operation, DistributedEncoding]]:
    """Ops that write memory, with the layout for all their tensors."""
    found: list[tuple[Operation, DistributedEncoding]] = []
    cga: Bases | None = None
    for store in stores:
        access = MemoryAccess.of(store)
        assert access is not None
        value = access.data_of(store) if isinstance(access, DescriptorAccess) else access.pointer_of(store)
        layout = layout_of_value(value)
        if layout is None:
            continue
        if cga is None:
            cga = layout.cga
        new = with_cga(layout, shape_of(value), ttg.num_warps(store), cga)
        if new is not None:
            found.append((store, new))
    return found


def is_store(op: Operation) -> bool:
    """Whether the op writes memory through pointers or a descriptor."""
    access = MemoryAccess.of(op)
    return access is not None and access.value is not None

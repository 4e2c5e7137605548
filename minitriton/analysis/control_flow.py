"""How control moves between straight-line pieces of code, through graphs of blocks and through structured ops alike.

A segment begins at a `Point` (the start of a block, or just behind an op with control flow inside) and ends at the next op with
control flow or at the block's terminator. `successors_of` that last op gives the points where control may go on.

    a; scf.if { b } ; c        segments: [a], [b], [c]    successors of the scf.if: [b] and [c]; of b's scf.yield: [c]
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, Region
from xdsl.traits import IsTerminator

from minitriton.analysis.operations import ops_in

Point = tuple[Block, Operation | None]
"""A block, and the op behind which the segment starts (None: at the block's start)."""

STRUCTURED = frozenset({"scf.for", "scf.if", "scf.while", "scf.execute_region", "ttg.warp_specialize"})


def is_segment_end(op: Operation) -> bool:
    """Whether control may leave the straight line at `op`."""
    return op.name in STRUCTURED or (op.next_op is None and op.has_trait(IsTerminator, value_if_unregistered=False))


def entry_blocks(root: Operation) -> Iterator[Block]:
    """Blocks that control enters from nowhere else in `root`: the body of a function, of each partition, of a reduction."""
    for op in ops_in(root):
        if op.regions and op.name not in STRUCTURED:
            for region in op.regions:
                if region.first_block is not None:
                    yield region.first_block


def successors_of(end: Operation | None) -> list[Point]:
    """Where control may go behind the last op of a segment."""
    if end is None:
        return []
    if end.successors:
        return [(block, None) for block in end.successors]
    if end.name in STRUCTURED:
        return _into(end)
    parent = end.parent_op()
    if parent is not None and parent.name in STRUCTURED and end.parent is not None:
        return _out_of(end, parent)
    return []


def _start(region: Region) -> list[Point]:
    return [] if region.first_block is None else [(region.first_block, None)]


def _behind(op: Operation) -> list[Point]:
    return [] if op.parent is None else [(op.parent, op)]


def _into(op: Operation) -> list[Point]:
    regions = op.regions
    if op.name == "scf.for":
        return [*_start(regions[0]), *_behind(op)]
    if op.name == "scf.if":
        otherwise = _start(regions[1])
        return [*_start(regions[0]), *(otherwise or _behind(op))]
    return _start(regions[0])


def _out_of(terminator: Operation, parent: Operation) -> list[Point]:
    if parent.name == "scf.for":
        return [*_start(parent.regions[0]), *_behind(parent)]
    if parent.name == "scf.while":
        if terminator.name == "scf.condition":
            return [*_start(parent.regions[1]), *_behind(parent)]
        return _start(parent.regions[0])
    return _behind(parent)

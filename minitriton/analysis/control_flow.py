"""How control moves between straight-line parts of code, through graphs of blocks and through structured ops alike.

A segment begins at a `Point` (the start of a block, or just after an op with control flow inside) and ends at the next op with
control flow or at the block's terminator. `successors_of` that last op gives the points where control may go on.

    a; scf.if { b } ; c        segments: [a], [b], [c]    successors of the scf.if: [b] and [c]; of b's scf.yield: [c]
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, Region
from xdsl.traits import IsTerminator

from minitriton.dialects.facts.region_flow import RegionFlow
from minitriton.dialects.fast_paths.operations import ops_in

Point = tuple[Block, Operation | None]
"""A block, and the op after which the segment starts (None: at the block's start)."""


def is_segment_end(op: Operation) -> bool:
    """Whether control may leave the straight line at `op`."""
    return RegionFlow.of(op) is not None or (
        op.next_op is None and op.has_trait(IsTerminator, value_if_unregistered=False)
    )


def entry_blocks(root: Operation) -> Iterator[Block]:
    """Blocks that control enters from nowhere else in `root`: the body of a function, of each partition, of a reduction."""
    for op in ops_in(root):
        if op.regions and RegionFlow.of(op) is None:
            for region in op.regions:
                if region.first_block is not None:
                    yield region.first_block


def successors_of(end: Operation | None) -> list[Point]:
    """Where control may go after the last op of a segment."""
    if end is None:
        return []
    if end.successors:
        return [(block, None) for block in end.successors]
    flow = RegionFlow.of(end)
    if flow is not None:
        return _points(end, flow, None)
    parent = end.parent_op()
    flow = None if parent is None else RegionFlow.of(parent)
    if parent is not None and flow is not None and end.parent is not None:
        return _points(parent, flow, end.parent.parent)
    return []


def _points(op: Operation, flow: RegionFlow, origin: Region | None) -> list[Point]:
    """Where control may go from the end of region `origin` of `op`, or as `op` begins; not into other groups of warps."""
    targets = [branch.target for branch in flow.branches(op) if branch.origin is origin and not branch.concurrent]
    found: list[Point] = []
    for target in dict.fromkeys(targets):
        if target is None:
            found.extend([] if op.parent is None else [(op.parent, op)])
        elif target.first_block is not None:
            found.append((target.first_block, None))
    return found

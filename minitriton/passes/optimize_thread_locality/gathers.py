"""A `tt.gather` whose source and indices lie so that shuffles within a warp do.

    %2 = tt.gather %src[%idx] {axis = 0} : #a                 %s = ttg.convert_layout %src : #a -> #warp_columns
                                                        =>    %i = ttg.convert_layout %idx : #a -> #warp_columns
                                                              %2 = tt.gather %s[%i] {axis = 0} efficient_layout : #warp_columns

Each warp spans whole columns along the axis. A thread does `elements of the source` times `indices along the axis` shuffles; the
first is given by the shape, so threads go along the axis as far as it reaches, which keeps the second small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from minitriton.dialects import tt, ttg
from minitriton.dialects.facts.layout import axis_of, has_efficient_layout
from minitriton.layouts.encodings import Blocked, DistributedEncoding
from minitriton.layouts.properties import thread_order, warp_order
from minitriton.passes.optimize_thread_locality.settling import settle_layout
from minitriton.passes.tensor_layouts import layout_of_value, shape_of, with_layout
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter

GATHER_PATTERNS = PatternSet()


@GATHER_PATTERNS.pattern(tt.GatherOp)
def gather_within_warps(op: tt.GatherOp, rewriter: Rewriter) -> bool:
    """Chooses the layout, once."""
    source = op.operands[0]
    shape = shape_of(source)
    if has_efficient_layout(op) or len(shape) == 1:
        return False
    now = cast(DistributedEncoding, layout_of_value(source))
    layout = warp_local_layout(shape, axis_of(op), now, ttg.threads_per_warp(op), ttg.num_warps(op))
    for index in (0, 1):
        operand = op.operands[index]
        convert = rewriter.insert(ttg.ConvertLayoutOp(operand, with_layout(operand.type, layout)), op)
        op.operands[index] = convert.results[0]
    settle_layout(op, layout, rewriter)
    return True


def warp_local_layout(
    shape: Sequence[int], axis: int, like: DistributedEncoding, threads_per_warp: int, num_warps: int
) -> Blocked:
    """Threads along `axis` first, then along the other dimensions in the order of `like`; one warp along `axis`."""
    rank = len(shape)
    threads, warps, order = [1] * rank, [1] * rank, [axis]
    threads[axis] = min(shape[axis], threads_per_warp)
    left = threads_per_warp // threads[axis]
    for dim in thread_order(like, tuple(shape)):
        if dim != axis:
            order.append(dim)
            threads[dim] = min(shape[dim], left)
            left //= threads[dim]
    left_warps = num_warps
    for dim in warp_order(like, tuple(shape)):
        if dim != axis:
            warps[dim] = min(shape[dim] // threads[dim], left_warps)
            left_warps //= warps[dim]
    size = [1] * rank
    size[axis] = shape[axis] // threads[axis]
    # What is left over holds copies along the axis.
    threads[axis] *= left
    warps[axis] *= left_warps
    return Blocked(tuple(size), tuple(threads), tuple(warps), tuple(order), like.cga)

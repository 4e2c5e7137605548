"""A `tt.reshape` that may reorder elements keeps the axis of the reduction behind it in one thread.

    %1 = tt.reshape %0 allow_reorder : -> tensor<32x4xf32, #threads_along_1>
    %2 = "tt.reduce"(%1) <{axis = 1}>
becomes
    %1 = tt.reshape %0 allow_reorder efficient_layout : -> tensor<32x4xf32, #threads_along_0>
    %c = ttg.convert_layout %1 : #threads_along_0 -> #threads_along_1
    %2 = "tt.reduce"(%c) <{axis = 1}>

The removal of layout conversions then takes the conversion away.
"""

from __future__ import annotations

from typing import cast

from xdsl.ir import Operation

from minitriton.dialects import tt, ttg
from minitriton.dialects.facts.layout import allows_reorder, axis_of
from minitriton.layouts.builders import blocked
from minitriton.layouts.encodings import Blocked, DistributedEncoding
from minitriton.layouts.properties import get_order, is_expensive_view
from minitriton.passes.optimize_thread_locality.settling import settle_layout
from minitriton.passes.tensor_layouts import layout_of_value, shape_of
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter

VIEW_PATTERNS = PatternSet()


@VIEW_PATTERNS.pattern(tt.ReshapeOp)
def keep_reduced_axis_in_threads(op: tt.ReshapeOp, rewriter: Rewriter) -> bool:
    """Threads along the other dimensions first; the reduced one comes last."""
    if not allows_reorder(op):
        return False
    axis = _reduced_axis(op)
    if axis is None:
        return False
    result = op.results[0]
    now = cast(DistributedEncoding, layout_of_value(result))
    if (
        isinstance(now, Blocked)
        and now.threads_per_warp[axis] == now.warps_per_cta[axis] == now.ctas_per_cga[axis] == 1
    ):
        return False
    shape = shape_of(result)
    order = (*(dim for dim in get_order(now, shape) if dim != axis), axis)
    layout = blocked(shape, (1,) * len(shape), order, ttg.num_warps(op), ttg.threads_per_warp(op), ttg.num_ctas(op))
    source = op.operands[0]
    if layout == now or is_expensive_view(
        cast(DistributedEncoding, layout_of_value(source)), shape_of(source), layout, shape
    ):
        return False
    settle_layout(op, layout, rewriter)
    return True


def _reduced_axis(op: Operation) -> int | None:
    """The axis of all reductions that use `op`; None if there is none or they differ."""
    axes = {axis_of(use.operation) for use in op.results[0].uses if use.operation.name == "tt.reduce"}
    return axes.pop() if len(axes) == 1 else None

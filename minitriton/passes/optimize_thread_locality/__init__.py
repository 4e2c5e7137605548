"""`tritongpu-optimize-thread-locality`: keep reductions and gathers inside threads and warps.

In: TTGIR after the first removal of layout conversions. Out: reshapes and gathers with layouts that need less exchange, and
loops that accumulate per thread and reduce across threads once, after the loop.

    below            a `tt.reshape` that may reorder keeps the axis of the reduction after it in one thread
                     source and indices of a `tt.gather` get layouts with which shuffles within a warp do
    loop_reductions  sum over i of reduce(load i)  =>  reduce(sum over i of (registers of load i reduced))

Counterpart of lib/Dialect/TritonGPU/Transforms/OptimizeThreadLocality.cpp.

A `tt.gather` whose source and indices are such that shuffles within a warp do.

    %2 = tt.gather %src[%idx] {axis = 0} : #a                 %s = ttg.convert_layout %src : #a -> #warp_columns
                                                        =>    %i = ttg.convert_layout %idx : #a -> #warp_columns
                                                              %2 = tt.gather %s[%i] {axis = 0} efficient_layout : #warp_columns

Each warp spans whole columns along the axis. A thread does `elements of the source` times `indices along the axis` shuffles; the
first is given by the shape, so threads go along the axis as far as it reaches, which keeps the second small.

A `tt.reshape` that may reorder elements keeps the axis of the reduction after it in one thread.

    %1 = tt.reshape %0 allow_reorder : -> tensor<32x4xf32, #threads_along_1>
    %2 = "tt.reduce"(%1) <{axis = 1}>
becomes
    %1 = tt.reshape %0 allow_reorder efficient_layout : -> tensor<32x4xf32, #threads_along_0>
    %c = ttg.convert_layout %1 : #threads_along_0 -> #threads_along_1
    %2 = "tt.reduce"(%c) <{axis = 1}>

The removal of layout conversions then takes the conversion away.
"""

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation

from minitriton.dialects import tt, ttg
from minitriton.dialects.facts.layout import allows_reorder, axis_of, has_efficient_layout
from minitriton.layouts.builders import blocked
from minitriton.layouts.encodings import Blocked, DistributedEncoding
from minitriton.layouts.properties import get_order, is_expensive_view, thread_order, warp_order
from minitriton.passes.optimize_thread_locality.loop_reductions import reduce_after_loops
from minitriton.passes.tensor_layouts import insert_after_value, layout_of_value, set_layout, shape_of, with_layout
from minitriton.pipeline.choice import Candidate, Choice, note
from minitriton.pipeline.pass_registry import POWERS_OF_TWO, Pass, Property, register_pass
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter


def settle_layout(op: tt.GatherOp | tt.ReshapeOp, layout: DistributedEncoding, rewriter: Rewriter) -> None:
    """Gives the result `layout` for good (`efficient_layout`); who used it gets it converted back."""
    result = op.results[0]
    back = ttg.ConvertLayoutOp(result, result.type)
    back.location = op.location
    rewriter.replace_all_uses(result, back.results[0])
    back.operands[0] = result
    set_layout(result, layout)
    op.properties["efficient_layout"] = UnitAttr()
    insert_after_value(back, result)
    rewriter.add(back)
    rewriter.modified(op)


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
    axes = {axis_of(use.operation) for use in op.results[0].uses if isinstance(use.operation, tt.ReduceOp)}
    return axes.pop() if len(axes) == 1 else None


def gather_within_warps(op: tt.GatherOp, rewriter: Rewriter, lanes: int = 0) -> bool:
    """Chooses the layout, once. `lanes`: of a warp along the axis; 0: as many as it reaches."""
    source = op.operands[0]
    shape = shape_of(source)
    if has_efficient_layout(op) or len(shape) == 1:
        return False
    now = cast(DistributedEncoding, layout_of_value(source))
    axis, most = axis_of(op), min(shape[axis_of(op)], ttg.threads_per_warp(op))
    lanes = min(lanes or most, most)
    note(op, lambda: _lanes_choice(op, axis, most, lanes))
    layout = warp_local_layout(shape, axis, now, ttg.threads_per_warp(op), ttg.num_warps(op), lanes)
    for index in (0, 1):
        operand = op.operands[index]
        convert = rewriter.insert(ttg.ConvertLayoutOp(operand, with_layout(operand.type, layout)), op)
        op.operands[index] = convert.results[0]
    settle_layout(op, layout, rewriter)
    return True


def _lanes_choice(op: tt.GatherOp, axis: int, most: int, taken: int) -> Choice:
    shape, indices = shape_of(op.operands[0]), shape_of(op.operands[1])
    found = [
        Candidate(
            str(lanes),
            shape[axis] // lanes * max(indices[axis] // lanes, 1),
            f"{shape[axis] // lanes} elements a thread",
        )
        for lanes in (1 << bit for bit in range(most.bit_length()))
    ]
    option = "tritongpu-optimize-thread-locality{gather-lanes=@}"
    return Choice.of(
        "lanes along the axis of tt.gather", "shuffles a thread for each column", option, found, str(taken)
    )


def warp_local_layout(
    shape: Sequence[int], axis: int, like: DistributedEncoding, threads_per_warp: int, num_warps: int, lanes: int
) -> Blocked:
    """`lanes` threads along `axis` first, then along the other dimensions in the order of `like`; one warp along `axis`."""
    rank = len(shape)
    threads, warps, order = [1] * rank, [1] * rank, [axis]
    threads[axis] = lanes
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


@cache
def _layout_patterns(gather_lanes: int) -> PatternSet:
    gathers = PatternSet()
    gathers.pattern(tt.GatherOp)(partial(gather_within_warps, lanes=gather_lanes))
    return PatternSet(VIEW_PATTERNS, gathers)


@register_pass
class OptimizeThreadLocality(Pass, stage="ttgir", origin="triton"):
    """Keeps reductions and gathers inside threads and warps."""

    name = "tritongpu-optimize-thread-locality"
    requires = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    beyond_triton: ClassVar[Mapping[str, object]] = {"any_axis": False}
    any_axis: bool = False
    """Whether reductions along any axis, of anything computed, leave their loops (in Triton: of a load, along the contiguous axis)."""
    after_loops: bool = True
    """Whether reductions leave their loops at all."""
    gather_lanes: int = 0
    """Lanes along the axis of a `tt.gather`; 0: as many as it reaches."""

    values = {"gather_lanes": POWERS_OF_TWO}

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        """Choose layouts of views and gathers, then move reductions out of loops."""
        return self._rewrite(op, is_simplified=False)

    def apply_to_folded(self, ctx: Context, op: ModuleOp) -> bool:
        return self._rewrite(op, is_simplified=True)

    def _rewrite(self, op: ModuleOp, *, is_simplified: bool) -> bool:
        changed = apply_patterns_greedily(op, _layout_patterns(self.gather_lanes), is_simplified=is_simplified)
        return reduce_after_loops(op, self.any_axis, self.after_loops) or changed

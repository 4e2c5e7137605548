"""Integer-range rules of what begins an index (ranges, the grid) and of ops that move, pick or gather elements.

In: an op and the ranges of its operands. Out: one range for all of its results.

    %0 = tt.make_range {start = 0, end = 128}       [0, 127]
    %1 = tt.get_program_id y                        [0, 65534]
    %2 = tt.reduce(%0) by arith.maxsi               [0, 127]          by arith.addi: [0, 16256]
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from minitriton.analysis.axis_info.types import axis_lengths, integer_width
from minitriton.analysis.integer_range.fact import NO_INTEGER, RULES, IntegerRange, full, join, unsigned, wrapped
from minitriton.analysis.integer_range.rules import Ranges
from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.facts import IntegerExtremum
from minitriton.dialects.narrowing import instance_of


@RULES.add(tt.MakeRangeOp)
def make_range(op: tt.MakeRangeOp, ranges: Ranges) -> IntegerRange:
    """start, start + 1, ..., end - 1"""
    return wrapped(32, op.start.value.data, op.end.value.data - 1)


@RULES.add(
    tt.SplatOp,
    tt.UnsplatOp,
    tt.ExpandDimsOp,
    tt.BroadcastOp,
    tt.ReshapeOp,
    tt.TransOp,
    tt.SplitOp,
    tt.GatherOp,
    ttg.ConvertLayoutOp,
)
def same(op: Operation, ranges: Ranges) -> IntegerRange:
    """The elements of the first operand, elsewhere"""
    return ranges[0]


@RULES.add(tt.JoinOp, tt.CatOp)
def either(op: tt.JoinOp | tt.CatOp, ranges: Ranges) -> IntegerRange:
    """Elements of both operands"""
    return join(ranges[0], ranges[1])


@RULES.add(tt.HistogramOp)
def histogram(op: tt.HistogramOp, ranges: Ranges) -> IntegerRange:
    """Counts of elements"""
    return unsigned(integer_width(op.results[0].type), 0, prod(axis_lengths(op.operands[0].type)))


@RULES.add(tt.ReduceOp, tt.ScanOp)
def combined(op: tt.ReduceOp | tt.ScanOp, ranges: Ranges) -> IntegerRange:
    """A reduction or scan by one op: an extremum is an element, a sum at most the count times the greatest"""
    if len(ranges) != 1 or not instance_of(op.operands[0].type, TensorType):
        return NO_INTEGER
    a, ops = ranges[0], list(op.regions[0].block.ops)
    if not a.width or len(ops) != 2 or len(op.results) != 1:
        return full(integer_width(op.results[0].type)) if a.width else NO_INTEGER
    if IntegerExtremum.of(ops[0]):
        return a
    if not isinstance(ops[0], arith.AddiOp):
        return full(a.width)
    count = op.operands[0].type.get_shape()[op.axis.value.data]
    least = 1 if isinstance(op, tt.ScanOp) else count
    ends = (least * a.smin, least * a.smax, count * a.smin, count * a.smax)
    return wrapped(a.width, min(ends), max(ends))

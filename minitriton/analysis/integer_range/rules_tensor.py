"""Integer-range rules of what begins an index (ranges, the grid) and of ops that move, pick or gather elements.

In: an op and the ranges of its operands. Out: one range for all of its results.

    %0 = tt.make_range {start = 0, end = 128}       [0, 127]
    %1 = tt.get_program_id y                        [0, 65534]
    %2 = tt.reduce(%0) by arith.maxsi               [0, 127]          by arith.addi: [0, 16256]
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Operation

from minitriton.analysis.axis_info.types import integer_width, shape_of
from minitriton.analysis.integer_range.fact import NO_INTEGER, IntegerRange, full, join, unsigned, wrapped
from minitriton.analysis.integer_range.rules import Ranges, Rule

_KEEPS_BOUNDS = frozenset({"arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui"})


def _number(op: Operation, name: str) -> int:
    attribute = op.properties[name]
    assert isinstance(attribute, IntegerAttr)
    return attribute.value.data


def make_range(op: Operation, ranges: Ranges) -> IntegerRange:
    """start, start + 1, ..., end - 1"""
    return wrapped(32, _number(op, "start"), _number(op, "end") - 1)


def same(op: Operation, ranges: Ranges) -> IntegerRange:
    """The elements of the first operand, elsewhere"""
    return ranges[0]


def either(op: Operation, ranges: Ranges) -> IntegerRange:
    """Elements of both operands"""
    return join(ranges[0], ranges[1])


def histogram(op: Operation, ranges: Ranges) -> IntegerRange:
    """Counts of elements"""
    return unsigned(integer_width(op.results[0].type), 0, prod(shape_of(op.operands[0].type)))


def combined(op: Operation, ranges: Ranges) -> IntegerRange:
    """A reduction or scan by one op: an extremum is an element, a sum at most the count times the greatest"""
    if len(ranges) != 1 or not isinstance(op.operands[0].type, TensorType):
        return NO_INTEGER
    a, ops = ranges[0], list(op.regions[0].block.ops)
    if not a.width or len(ops) != 2 or len(op.results) != 1:
        return full(integer_width(op.results[0].type)) if a.width else NO_INTEGER
    if ops[0].name in _KEEPS_BOUNDS:
        return a
    if ops[0].name != "arith.addi":
        return full(a.width)
    count = op.operands[0].type.get_shape()[_number(op, "axis")]
    least = 1 if op.name == "tt.scan" else count
    ends = (least * a.smin, least * a.smax, count * a.smin, count * a.smax)
    return wrapped(a.width, min(ends), max(ends))


RULES: dict[str, Rule] = {
    "tt.make_range": make_range,
    "tt.splat": same,
    "tt.unsplat": same,
    "tt.expand_dims": same,
    "tt.broadcast": same,
    "tt.reshape": same,
    "tt.trans": same,
    "tt.split": same,
    "tt.gather": same,
    "ttg.convert_layout": same,
    "tt.join": either,
    "tt.cat": either,
    "tt.histogram": histogram,
    "tt.reduce": combined,
    "tt.scan": combined,
}

"""`triton-combine`: pairs of ops that one op can do.

tt.dot %a, %b, 0  + %c                        =>  tt.dot %a, %b, %c
tt.addptr (tt.addptr %p, %i), %j              =>  tt.addptr %p, (%i + %j), where the sum cannot overflow
select %c, (tt.load %p, splat %c, _), %other  =>  tt.load %p, splat %c, %other
sum over k of x[:, :, None] * y[None, :, :]   =>  tt.dot %x, %y, 0
reshape to one dimension, then reduce         =>  the same reshape, free to reorder
reshape of a descriptor load of a unit dim    =>  a load of fewer dimensions
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr, f16, f32
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.exchangeable import exchangeable
from minitriton.dialects import arith, tt
from minitriton.dialects.attribute_values import i32_array, integer, is_true
from minitriton.dialects.fast_paths.op_access import defining, operand_at, operand_values
from minitriton.dialects.narrowing import instance_of
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.constants import constant_attr, float_attr, int_constant, number_of, width_of
from minitriton.rewriting.effects import reads_same_at
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter

patterns = PatternSet()

_KEPT_ON_ADDPTR = ("tt.divisibility", "tt.contiguity", "tt.constancy")
_SMALLEST_DOT = 16
"""Rows, columns and depth of what `tl.dot` takes; less is not worth one."""


def _add_into_dot(imprecise_sum_allowed: bool) -> Callable[[Operation, Rewriter], bool]:
    def rewrite(op: Operation, rewriter: Rewriter) -> bool:
        lhs, rhs = operand_values(op)
        dot, other = defining(rhs, tt.DotOp), lhs
        if dot is None:
            dot, other = defining(lhs, tt.DotOp), rhs
        if dot is None or not dot.results[0].has_one_use() or dot.parent is not op.parent:
            return False
        if number_of(constant_attr(operand_at(dot, 2))) != 0:
            return False
        if not imprecise_sum_allowed and is_true(dot.max_num_imprecise_acc):
            return False
        dot.operands[2] = other
        rewriter.move_before(dot, op)
        rewriter.replace_all_uses(op.results[0], dot.results[0])
        return True

    return rewrite


patterns.pattern(arith.AddiOp)(_add_into_dot(imprecise_sum_allowed=True))
patterns.pattern(arith.AddfOp)(_add_into_dot(imprecise_sum_allowed=False))


@patterns.pattern(arith.SelectOp, benefit=3)
def select_of_masked_load(op: Operation, rewriter: Rewriter) -> bool:
    """select(c, load(p, splat c, _), other) = load(p, splat c, other), where nothing writes between the load and the select"""
    condition, true, false = operand_values(op)
    load = defining(true, tt.LoadOp)
    if not isinstance(load, tt.LoadOp) or load.mask is None:
        return False
    splat = defining(load.mask, tt.SplatOp)
    if splat is None or operand_at(splat, 0) is not condition:
        return False
    if not load.results[0].has_one_use() or not reads_same_at(load, op):
        return False
    properties = dict(load.properties)
    properties["operandSegmentSizes"] = i32_array((1, 1, 1))
    new = tt.LoadOp.create(
        operands=[load.ptr, load.mask, false], result_types=[op.results[0].type], properties=properties
    )
    rewriter.replace_with(op, new)
    return True


def _offset_constant(value: SSAValue) -> int | None:
    splat = defining(value, tt.SplatOp)
    return int_constant(value if splat is None else operand_at(splat, 0))


def _sum_fits(first: SSAValue, second: SSAValue) -> bool:
    """True if the offsets have one type and their sum, as wide as a pointer or constant, does not overflow."""
    if first.type != second.type:
        return False
    width = width_of(first.type)
    if width == 64:
        return True
    a, b = _offset_constant(first), _offset_constant(second)
    if a is None or b is None:
        return False
    return -(1 << (width - 1)) <= a + b < 1 << (width - 1)


@patterns.pattern(tt.AddPtrOp, benefit=2)
def merge_offsets(op: Operation, rewriter: Rewriter) -> bool:
    """(p + i) + j = p + (i + j)"""
    inner = defining(operand_at(op, 0), tt.AddPtrOp)
    if inner is None or not _sum_fits(operand_at(inner, 1), operand_at(op, 1)):
        return False
    rewriter.at(op, inner)
    total = rewriter.insert(arith.AddiOp(operand_at(inner, 1), operand_at(op, 1)))
    kept = {name: attr for name, attr in op.attributes.items() if name in _KEPT_ON_ADDPTR}
    rewriter.replace_with(
        op,
        tt.AddPtrOp.create(
            operands=[operand_at(inner, 0), total.results[0]], result_types=[op.results[0].type], attributes=kept
        ),
    )
    return True


def _dot_operand(value: SSAValue, axis: int, full: tuple[int, ...]) -> SSAValue | None:
    """The matrix that `value`, of shape `full`, copies along `axis` alone."""
    broadcast = defining(value, tt.BroadcastOp)
    expanded = None if broadcast is None else defining(operand_at(broadcast, 0), tt.ExpandDimsOp)
    if expanded is None or integer(expanded.axis) != axis:
        return None
    matrix = operand_at(expanded, 0)
    assert instance_of(matrix.type, TensorType)
    return matrix if matrix.type.get_shape() == (*full[:axis], *full[axis + 1 :]) else None


@patterns.pattern(tt.ReduceOp)
def sum_of_products(op: Operation, rewriter: Rewriter) -> bool:
    """sum(broadcast(expand_dims(x, 2)) * broadcast(expand_dims(y, 0)), axis 1) = dot(x, y, 0)

    Of f32 by multiply-adds of f32: tensor cores would round its factors. Of f16 on tensor cores, which round less often than the
    program; they have no sums of bf16 in bf16.
    """
    assert isinstance(op, tt.ReduceOp)
    if len(op.operands) != 1 or op.axis.value.data != 1 or not isinstance(op.single_combiner(), arith.AddfOp):
        return False
    product = defining(operand_at(op, 0), arith.MulfOp)
    full = operand_at(op, 0).type
    if product is None or not instance_of(full, TensorType) or full.element_type not in (f32, f16):
        return False
    shape = full.get_shape()
    if len(shape) != 3 or min(shape) < _SMALLEST_DOT:
        return False
    lhs, rhs = (_dot_operand(v, axis, shape) for v, axis in zip(operand_values(product), (2, 0), strict=True))
    if lhs is None or rhs is None:
        return False
    zero = rewriter.constant(float_attr(full.element_type, 0.0))
    accumulator = rewriter.insert(tt.SplatOp(zero, op.results[0].type))
    rewriter.replace_with(op, tt.DotOp(lhs, rhs, accumulator.results[0]))
    return True


@patterns.pattern(tt.ReshapeOp)
def reorder_before_reduction(op: Operation, rewriter: Rewriter) -> bool:
    """Whole reductions and histograms take their elements in any order, unless indices or a mask go with them, or operands may not be exchanged."""
    if "allow_reorder" in op.properties:
        return False
    result = op.results[0]
    if not instance_of(result.type, TensorType) or len(result.type.get_shape()) != 1:
        return False
    users = [use.operation for use in result.uses]
    if not all(map(_takes_any_order, users)):
        return False
    op.properties["allow_reorder"] = UnitAttr()
    rewriter.modified(op)
    return True


def _takes_any_order(op: Operation) -> bool:
    if len(operand_values(op)) > 1:
        return False
    return isinstance(op, tt.HistogramOp) or (isinstance(op, tt.ReduceOp) and exchangeable(op))


@patterns.pattern(tt.ReshapeOp)
def load_fewer_dimensions(op: Operation, rewriter: Rewriter) -> bool:
    """A descriptor load gives the shape without leading dimensions of size 1 directly."""
    load = defining(operand_at(op, 0), tt.DescriptorLoadOp)
    if load is None or not load.results[0].has_one_use():
        return False
    loaded, result_type = load.results[0].type, op.results[0].type
    assert instance_of(loaded, TensorType) and instance_of(result_type, TensorType)
    full, reduced = loaded.get_shape(), result_type.get_shape()
    dropped = len(full) - len(reduced)
    if dropped <= 0 or any(size != 1 for size in full[:dropped]) or full[dropped:] != reduced:
        return False
    rewriter.set_type(load.results[0], result_type)
    rewriter.add(load)
    rewriter.replace_op(op, load.results[0])
    return True


@register_pass
class Combine(Pass, stage="ttir", origin="triton"):
    """Combines pairs of ops: reduced multiplications into dots, offsets of pointers, selects into masked loads."""

    name: ClassVar[str] = "triton-combine"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TTIR})

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        return apply_patterns_greedily(op, patterns)

    def apply_to_folded(self, ctx: Context, op: ModuleOp) -> bool:
        return apply_patterns_greedily(op, patterns, is_simplified=True)

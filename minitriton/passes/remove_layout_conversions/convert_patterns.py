"""Patterns that make conversions vanish into their source or their user.

In: any TTGIR op. Out: a set of patterns for the greedy driver, run between the steps of the pass.

    convert(x : #a) : #a              ->  x
    convert(convert(x) : #b) : #c     ->  convert(x) : #c
    convert(splat s : #a) : #b        ->  splat s : #b            (make_range, splat constants, histograms, cheap cats)
    convert(local_load m : #a) : #b   ->  local_load m : #b
    local_alloc(convert(x))           ->  local_alloc(x)          (local_store, gather's source, histogram's source)

Counterpart of `ConvertLayoutOp::getCanonicalizationPatterns` of lib/Dialect/TritonGPU/IR/Ops.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, SSAValue

from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.facts.layout import allows_reorder, has_efficient_layout, order_of
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.encodings import DistributedEncoding, DotOperand, NvidiaMma
from minitriton.layouts.properties import are_layouts_equivalent, is_expensive_view
from minitriton.passes.remove_layout_conversions.slices import gives_any_layout
from minitriton.passes.tensor_layouts import layout_of_value, result_layout, retyped_elements, shape_of, with_layout
from minitriton.rewriting.constants import splat_bytes
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter

CONVERT_PATTERNS = PatternSet()


def _source_convert(op: Operation) -> ttg.ConvertLayoutOp | None:
    """The conversion that gives the first operand of `op`."""
    owner = op.operands[0].owner if op.operands else None
    return owner if isinstance(owner, ttg.ConvertLayoutOp) else None


def _is_trivial(convert: Operation) -> bool:
    """Whether a conversion only renames its layout."""
    source, result = convert.operands[0], convert.results[0]
    return are_layouts_equivalent(shape_of(source), _layout(source), _layout(result))


def _layout(value: SSAValue) -> DistributedEncoding:
    return cast(DistributedEncoding, layout_of_value(value))


@CONVERT_PATTERNS.pattern(ttg.ConvertLayoutOp)
def fold_into_source(op: ttg.ConvertLayoutOp, rewriter: Rewriter) -> bool:
    """A conversion that is none, or that its source can take over."""
    source, result = op.operands[0], op.results[0]
    if source.type == result.type:
        rewriter.replace_op(op, source)
        return True
    origin = source.owner
    if not isinstance(origin, Operation):
        return False
    rule = _SOURCES.get(origin.__class__)
    if rule is None:
        return False
    if isinstance(layout_of_value(result), DotOperand) and isinstance(layout_of_value(source), NvidiaMma):
        return False
    return rule(rewriter, op, origin)


def _of_convert(rewriter: Rewriter, op: Operation, origin: Operation) -> bool:
    rewriter.set_operand(op, 0, origin.operands[0])
    rewriter.add(origin)
    return True


def _of_producer(rewriter: Rewriter, op: Operation, origin: Operation) -> bool:
    """splat, make_range, histogram: the op again, with the other layout."""
    rewriter.replace_with(op, _again(origin, op))
    return True


def _again(origin: Operation, op: Operation) -> Operation:
    return type(origin).create(
        operands=tuple(origin.operands),
        result_types=(op.results[0].type,),
        properties=origin.properties,
        attributes=origin.attributes,
        location=op.location,
    )


def _of_local_load(rewriter: Rewriter, op: Operation, origin: Operation) -> bool:
    # Next to the first load: there may be writes between it and the conversion.
    load = rewriter.insert(_again(origin, op), origin)
    rewriter.replace_op(op, load.results[0])
    return True


def _of_constant(rewriter: Rewriter, op: Operation, origin: Operation) -> bool:
    value = origin.properties["value"]
    if not instance_of(value, DenseIntOrFPElementsAttr) or splat_bytes(value) is None:
        return False
    constant = _again(origin, op)
    constant.properties["value"] = retyped_elements(value, op.results[0].type)
    rewriter.replace_with(op, constant)
    return True


def _of_cat(rewriter: Rewriter, op: Operation, origin: Operation) -> bool:
    return gives_any_layout(origin, _layout(op.results[0])) and _of_producer(rewriter, op, origin)


def _of_reshape(rewriter: Rewriter, op: Operation, origin: Operation) -> bool:
    layout = _layout(op.results[0])
    if not gives_any_layout(origin, layout):
        return False
    # Elements of dot operands may be packed in registers: a view must not see through that.
    if isinstance(layout, DotOperand) or isinstance(layout_of_value(op.operands[0]), DotOperand):
        return False
    view = type(origin).create(
        operands=(origin.results[0],),
        result_types=(op.results[0].type,),
        properties={"allow_reorder": origin.properties["allow_reorder"]},
    )
    rewriter.replace_with(op, view)
    return True


_SOURCES: dict[type[Operation], Callable[[Rewriter, Operation, Operation], bool]] = {
    arith.ConstantOp: _of_constant,
    tt.CatOp: _of_cat,
    tt.HistogramOp: _of_producer,
    tt.MakeRangeOp: _of_producer,
    tt.ReshapeOp: _of_reshape,
    tt.SplatOp: _of_producer,
    ttg.ConvertLayoutOp: _of_convert,
    ttg.LocalLoadOp: _of_local_load,
}


@CONVERT_PATTERNS.pattern(ttg.LocalAllocOp, ttg.LocalStoreOp)
def store_before_converting(op: Operation, rewriter: Rewriter) -> bool:
    """Shared memory takes any layout."""
    convert = _source_convert(op)
    if convert is None:
        return False
    rewriter.set_operand(op, 0, convert.operands[0])
    rewriter.add(convert)
    return True


@CONVERT_PATTERNS.pattern(tt.GatherOp)
def gather_before_converting(op: tt.GatherOp, rewriter: Rewriter) -> bool:
    """Unless its layout was chosen, a gather goes through shared memory."""
    return not has_efficient_layout(op) and store_before_converting(op, rewriter)


@CONVERT_PATTERNS.pattern(tt.HistogramOp)
def count_before_converting(op: tt.HistogramOp, rewriter: Rewriter) -> bool:
    """A histogram takes its source in any layout, but the mask has to have the same."""
    convert = _source_convert(op)
    if convert is None:
        return False
    source = convert.operands[0]
    if len(op.operands) > 1:
        mask = op.operands[1]
        new = rewriter.insert(ttg.ConvertLayoutOp(mask, with_layout(mask.type, _layout(source))), op)
        op.operands[1] = new.results[0]
    rewriter.set_operand(op, 0, source)
    rewriter.add(convert)
    return True


@CONVERT_PATTERNS.pattern(tt.ReshapeOp)
def reshape_before_converting(op: tt.ReshapeOp, rewriter: Rewriter) -> bool:
    """A reshape that may reorder, or of a conversion that only renames."""
    convert = _source_convert(op)
    if convert is None:
        return False
    free = allows_reorder(op) and not is_expensive_view(
        _layout(convert.operands[0]), shape_of(convert.operands[0]), _layout(op.results[0]), shape_of(op.results[0])
    )
    return (free or _is_trivial(convert)) and _skip(op, convert, rewriter)


@CONVERT_PATTERNS.pattern(tt.TransOp)
def trans_before_converting(op: tt.TransOp, rewriter: Rewriter) -> bool:
    """A transpose that is none is a conversion; one of a conversion that only renames skips it."""
    order = order_of(op)
    if order == tuple(range(len(order))):
        rewriter.replace_with(op, ttg.ConvertLayoutOp(op.operands[0], op.results[0].type))
        return True
    convert = _source_convert(op)
    return convert is not None and _is_trivial(convert) and _skip(op, convert, rewriter)


@CONVERT_PATTERNS.pattern(tt.SplitOp)
def split_before_converting(op: tt.SplitOp, rewriter: Rewriter) -> bool:
    """Several layouts of the source give the halves the same one."""
    convert = _source_convert(op)
    if convert is None or result_layout(op, _layout(convert.operands[0])) != layout_of_value(op.results[0]):
        return False
    return _skip(op, convert, rewriter)


def _skip(op: Operation, convert: Operation, rewriter: Rewriter) -> bool:
    rewriter.set_operand(op, 0, convert.operands[0])
    rewriter.add(convert)
    return True

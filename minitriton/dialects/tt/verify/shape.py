"""What ops of `tt` that change a tensor's shape demand.

'tt.join' op result shape must be (32, 2), but got 64
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation

from minitriton.dialects.encodings import layout_of
from minitriton.dialects.facts.layouts_fit import show
from minitriton.dialects.tt import inference as tt_inference
from minitriton.dialects.tt.shape import (
    BroadcastOp,
    CatOp,
    ExpandDimsOp,
    JoinOp,
    MakeRangeOp,
    ReshapeOp,
    SplatOp,
    SplitOp,
    TransOp,
    UnsplatOp,
)
from minitriton.dialects.tt.types import shape_of
from minitriton.dialects.tt.verify.base import (
    encoding_complaint,
    has_encoding,
    inferred_complaint,
    same_element_complaint,
    tensor,
)
from minitriton.dialects.tt.verify.checks import VERIFIERS
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.layouts.inference import reshape_dst, split_dst
from minitriton.layouts.properties import are_layouts_equivalent


def _broadcast_complaint(op: Operation) -> str | None:
    source, result = shape_of(op.operands[0].type), shape_of(op.results[0].type)
    if len(source) != len(result):
        return "rank of source must be same as rank of result"
    for index, (a, b) in enumerate(zip(source, result, strict=True)):
        if a not in (1, b):
            return (
                f"Different dimensions at index {index} between source and result.  "
                "Broadcast requires the source dimension to be 1."
            )
    return same_element_complaint(op) or encoding_complaint(op)


def _reshape_complaint(op: ReshapeOp) -> str | None:
    source, result = tensor(op.src), tensor(op.result)
    if prod(source.get_shape()) != prod(result.get_shape()):
        return "number of src and dst elements of reshape must be the same"
    if has_encoding(source) != has_encoding(result):
        return "Op requires that either (a) src and dst both have encodings, or (b) neither does."
    before, after = layout_of(source), layout_of(result)
    if isinstance(before, DistributedEncoding) and isinstance(after, DistributedEncoding) and not op.allow_reorder:
        inferred = reshape_dst(source.get_shape(), before, result.get_shape())
        if inferred is None or not are_layouts_equivalent(result.get_shape(), inferred, after):
            return f"Expected result encoding {inferred} but was {after}"
    return same_element_complaint(op)


def _join_complaint(op: JoinOp) -> str | None:
    source, result = tensor(op.lhs), tensor(op.result)
    shape = (*source.get_shape(), 2)
    if result.get_shape() != shape:
        return f"'tt.join' op result shape must be ({show(shape)}), but got {show(result.get_shape())}"
    if source.element_type != result.element_type:
        return "'tt.join' op result element type must match the input element type"
    if not has_encoding(result):
        return "'tt.join' op result encoding must be specified" if has_encoding(source) else None
    before, after = layout_of(source), layout_of(result)
    if isinstance(before, DistributedEncoding) and isinstance(after, DistributedEncoding):
        inferred = split_dst(after, shape)
        if inferred is None or not are_layouts_equivalent(source.get_shape(), inferred, before):
            return "'tt.join' op incompatible join layout"
    return None


def _split_complaint(op: SplitOp) -> str | None:
    return inferred_complaint(op, lambda: [tt_inference.infer_split(tensor(op.src))] * 2)


def _expand_dims_complaint(op: ExpandDimsOp) -> str | None:
    return inferred_complaint(op, lambda: [tt_inference.infer_expand_dims(tensor(op.src), op.axis.value.data)])


def _trans_complaint(op: TransOp) -> str | None:
    order = op.order.get_values()
    if len(order) != len(tensor(op.src).get_shape()):
        return "order must have the same size as the rank of the operand and result"
    if sorted(order) != list(range(len(order))):
        return "order must be a permutation of [0, ..., rank - 1]"
    return inferred_complaint(op, lambda: [tt_inference.infer_trans(tensor(op.src), order)])


def _unsplat_complaint(op: UnsplatOp) -> str | None:
    return None if prod(tensor(op.src).get_shape()) == 1 else "source tensor must have exactly one element"


def _make_range_complaint(op: MakeRangeOp) -> str | None:
    start, end = op.start.value.data, op.end.value.data
    shape = tensor(op.result).get_shape()
    if start >= end:
        return "'tt.make_range' op start must be less than end"
    if len(shape) != 1:
        return "'tt.make_range' op return type must be a 1D tensor"
    if shape[0] != end - start:
        return (
            f"'tt.make_range' op number of elements in returned tensor, {shape[0]}, must match size of range "
            f"[{start}, {end}), which has {end - start} elements"
        )
    return (
        None if tensor(op.result).element_type == i32 else "'tt.make_range' op returned tensor must have i32 elements"
    )


VERIFIERS.update(
    {
        BroadcastOp: _broadcast_complaint,
        CatOp: same_element_complaint,
        ExpandDimsOp: _expand_dims_complaint,
        JoinOp: _join_complaint,
        MakeRangeOp: _make_range_complaint,
        ReshapeOp: _reshape_complaint,
        SplatOp: same_element_complaint,
        SplitOp: _split_complaint,
        TransOp: _trans_complaint,
        UnsplatOp: _unsplat_complaint,
    }
)

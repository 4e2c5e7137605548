"""What ops of `tt` that change a tensor's shape demand.

'tt.join' op result shape must be (32, 2), but got 64
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation

from minitriton.dialects.encodings import layout_of
from minitriton.dialects.tt import inference as tt_inference
from minitriton.dialects.tt.verify.base import (
    encoding_complaint,
    has_encoding,
    inferred_complaint,
    same_element_complaint,
    shape_of,
    show,
)
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


def _reshape_complaint(op: Any) -> str | None:
    source, result = op.src.type, op.result.type
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


def _join_complaint(op: Any) -> str | None:
    source, result = op.lhs.type, op.result.type
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


def _split_complaint(op: Any) -> str | None:
    return inferred_complaint(op, lambda: [tt_inference.infer_split(op.src.type)] * 2)


def _expand_dims_complaint(op: Any) -> str | None:
    return inferred_complaint(op, lambda: [tt_inference.infer_expand_dims(op.src.type, op.axis.value.data)])


def _trans_complaint(op: Any) -> str | None:
    order = op.order.get_values()
    if len(order) != len(op.src.type.get_shape()):
        return "order must have the same size as the rank of the operand and result"
    if sorted(order) != list(range(len(order))):
        return "order must be a permutation of [0, ..., rank - 1]"
    return inferred_complaint(op, lambda: [tt_inference.infer_trans(op.src.type, order)])


def _unsplat_complaint(op: Any) -> str | None:
    return None if prod(op.src.type.get_shape()) == 1 else "source tensor must have exactly one element"


def _make_range_complaint(op: Any) -> str | None:
    start, end = op.start.value.data, op.end.value.data
    shape = op.result.type.get_shape()
    if start >= end:
        return "'tt.make_range' op start must be less than end"
    if len(shape) != 1:
        return "'tt.make_range' op return type must be a 1D tensor"
    if shape[0] != end - start:
        return (
            f"'tt.make_range' op number of elements in returned tensor, {shape[0]}, must match size of range "
            f"[{start}, {end}), which has {end - start} elements"
        )
    return None if op.result.type.element_type == i32 else "'tt.make_range' op returned tensor must have i32 elements"


COMPLAINTS: dict[str, Callable[[Any], str | None]] = {
    "tt.broadcast": _broadcast_complaint,
    "tt.cat": same_element_complaint,
    "tt.expand_dims": _expand_dims_complaint,
    "tt.join": _join_complaint,
    "tt.make_range": _make_range_complaint,
    "tt.reshape": _reshape_complaint,
    "tt.splat": same_element_complaint,
    "tt.split": _split_complaint,
    "tt.trans": _trans_complaint,
    "tt.unsplat": _unsplat_complaint,
}

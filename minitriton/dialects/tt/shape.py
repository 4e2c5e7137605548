"""Ops of `tt` that give a tensor another shape: splat, broadcast, reshape, transpose, join, split, ...

%1 = tt.expand_dims %0 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
%2 = tt.broadcast %1 : tensor<64x1xi32> -> tensor<64x32xi32>
"""

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, UnitAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import ParsePropInAttrDict, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import NoMemoryEffect, Pure

from minitriton.dialects.attribute_values import i32_array, i32_attr
from minitriton.dialects.encodings import layout_of
from minitriton.dialects.facts import KeepsData, MayLoseContiguity, MovesElements, ViewOfTensor, Widens
from minitriton.dialects.facts.gpu_traits import show
from minitriton.dialects.facts.layout import (
    AnchorIfReordering,
    AnyForThreads,
    AnyIfReordering,
    AnyLayout,
    Joins,
    Reshapes,
    SameLayout,
    Splits,
    Transposes,
    Unsqueezes,
)
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.traits import (
    ANY_TT,
    INT_TENSOR,
    TENSOR,
    TensorLayouts,
    encoding_complaint,
    follows,
    has_encoding,
    inferred_complaint,
    same_element_complaint,
    tensor,
    var,
)
from minitriton.dialects.tt.types import (
    element_type,
    infer_expand_dims,
    infer_join,
    infer_split,
    infer_trans,
    shape_of,
    tensor_type,
)
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.layouts.inference import reshape_dst, split_dst
from minitriton.layouts.properties import are_layouts_equivalent

UNIT = UnitAttr()
ARROW_FORMAT = "$src attr-dict `:` type($src) `->` type($result)"


class SplatOp(Op):
    """A tensor whose elements all are `src`."""

    name = "tt.splat"
    src = operand_def(ANY_TT)
    result = result_def(TENSOR)
    assembly_format = ARROW_FORMAT
    traits = traits_def(Pure(), TensorLayouts(), SameLayout(), AnyLayout(), MovesElements())

    @from_fields
    def __init__(self, src: SSAValue, result_type: Attribute) -> None: ...

    def complaint(self) -> str | None:
        return same_element_complaint(self)


class UnsplatOp(Op):
    """The only element of a tensor."""

    T: ClassVar = var("T", TENSOR)
    name = "tt.unsplat"
    src = operand_def(T)
    result = result_def(follows("T", element_type, "result is the element type of src"))
    assembly_format = "$src attr-dict `:` type($src)"
    traits = traits_def(Pure(), TensorLayouts())

    def __init__(self, src: SSAValue) -> None:
        Operation.__init__(self, operands=(src,), result_types=(element_type(src.type),))

    def complaint(self) -> str | None:
        return None if prod(tensor(self.src).get_shape()) == 1 else "source tensor must have exactly one element"


class ExpandDimsOp(Op):
    """Inserts a dimension of size 1 at `axis`."""

    name = "tt.expand_dims"
    src = operand_def(TENSOR)
    axis = prop_def(IntegerAttr.constr(i32))
    result = result_def(TENSOR)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = ARROW_FORMAT
    traits = traits_def(Pure(), TensorLayouts(), Unsqueezes(), Widens(), ViewOfTensor(), MovesElements())

    def __init__(self, src: SSAValue, *, axis: int, result_type: Attribute | None = None) -> None:
        if result_type is None:
            result_type = infer_expand_dims(src.type, axis)
        Operation.__init__(self, operands=(src,), result_types=(result_type,), properties={"axis": i32_attr(axis)})

    def complaint(self) -> str | None:
        return inferred_complaint(self, lambda: [infer_expand_dims(tensor(self.src), self.axis.value.data)])


class ReshapeOp(Op):
    """The same elements in another shape; in any order if `allow_reorder`. `efficient_layout` asks to keep the result's layout."""

    name = "tt.reshape"
    src = operand_def(TENSOR)
    allow_reorder = opt_prop_def(UnitAttr)
    efficient_layout = opt_prop_def(UnitAttr)
    result = result_def(TENSOR)
    assembly_format = (
        "$src (`allow_reorder` $allow_reorder^)? (`efficient_layout` $efficient_layout^)? attr-dict "
        "`:` type($src) `->` type($result)"
    )
    traits = traits_def(
        Pure(),
        TensorLayouts(),
        Reshapes(),
        AnchorIfReordering(),
        AnyIfReordering(),
        ViewOfTensor(),
        MayLoseContiguity(),
        MovesElements(),
    )

    @from_fields
    def __init__(
        self, src: SSAValue, result_type: Attribute, *, allow_reorder: bool = False, efficient_layout: bool = False
    ) -> None: ...

    def complaint(self) -> str | None:
        source, result = tensor(self.src), tensor(self.result)
        if prod(source.get_shape()) != prod(result.get_shape()):
            return "number of src and dst elements of reshape must be the same"
        if has_encoding(source) != has_encoding(result):
            return "Op requires that either (a) src and dst both have encodings, or (b) neither does."
        before, after = layout_of(source), layout_of(result)
        if (
            isinstance(before, DistributedEncoding)
            and isinstance(after, DistributedEncoding)
            and not self.allow_reorder
        ):
            inferred = reshape_dst(source.get_shape(), before, result.get_shape())
            if inferred is None or not are_layouts_equivalent(result.get_shape(), inferred, after):
                return f"Expected result encoding {inferred} but was {after}"
        return same_element_complaint(self)


class BroadcastOp(Op):
    """Repeats a tensor along its dimensions of size 1."""

    name = "tt.broadcast"
    src = operand_def(TENSOR)
    result = result_def(TENSOR)
    assembly_format = ARROW_FORMAT
    traits = traits_def(Pure(), TensorLayouts(), SameLayout(), Widens(), MovesElements(), KeepsData())

    @from_fields
    def __init__(self, src: SSAValue, result_type: Attribute) -> None: ...

    def complaint(self) -> str | None:
        source, result = shape_of(self.src.type), shape_of(self.result.type)
        if len(source) != len(result):
            return "rank of source must be same as rank of result"
        for index, (a, b) in enumerate(zip(source, result, strict=True)):
            if a not in (1, b):
                return (
                    f"Different dimensions at index {index} between source and result.  "
                    "Broadcast requires the source dimension to be 1."
                )
        return same_element_complaint(self) or encoding_complaint(self)


class CatOp(Op):
    """The elements of two tensors in one, in any order."""

    T: ClassVar = var("T", TENSOR)
    name = "tt.cat"
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(TENSOR)
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"
    traits = traits_def(NoMemoryEffect(), TensorLayouts(), AnyForThreads())

    def __init__(self, lhs: SSAValue, rhs: SSAValue, result_type: Attribute | None = None) -> None:
        if result_type is None:
            type_ = lhs.type
            assert instance_of(type_, TensorType)
            first, *rest = type_.get_shape()
            result_type = tensor_type((2 * first, *rest), type_.element_type, type_.encoding)
        Operation.__init__(self, operands=(lhs, rhs), result_types=(result_type,))

    def complaint(self) -> str | None:
        return same_element_complaint(self)


class JoinOp(Op):
    """Two tensors next to each other along a new last dimension."""

    T: ClassVar = var("T", TENSOR)
    name = "tt.join"
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(TENSOR)
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"
    traits = traits_def(Pure(), TensorLayouts(), Joins(), ViewOfTensor(), MayLoseContiguity())

    def __init__(self, lhs: SSAValue, rhs: SSAValue, result_type: Attribute | None = None) -> None:
        if result_type is None:
            result_type = infer_join(lhs.type)
        Operation.__init__(self, operands=(lhs, rhs), result_types=(result_type,))

    def complaint(self) -> str | None:
        source, result = tensor(self.lhs), tensor(self.result)
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


class SplitOp(Op):
    """The two halves of a tensor whose last dimension is 2."""

    T: ClassVar = var("T", TENSOR)
    name = "tt.split"
    src = operand_def(TENSOR)
    out_lhs = result_def(T)
    out_rhs = result_def(T)
    ASM_RESULT_NAMES: ClassVar[dict[str, str]] = {"out_lhs": "outLHS", "out_rhs": "outRHS"}
    assembly_format = "$src attr-dict `:` type($src) `->` type($out_lhs)"
    traits = traits_def(Pure(), TensorLayouts(), Splits(), ViewOfTensor(), MayLoseContiguity())

    def __init__(self, src: SSAValue, result_type: Attribute | None = None) -> None:
        if result_type is None:
            result_type = infer_split(src.type)
        Operation.__init__(self, operands=(src,), result_types=(result_type, result_type))

    def complaint(self) -> str | None:
        return inferred_complaint(self, lambda: [infer_split(tensor(self.src))] * 2)


class TransOp(Op):
    """Dimension `i` of the result is dimension `order[i]` of `src`."""

    name = "tt.trans"
    src = operand_def(TENSOR)
    order = prop_def(DenseArrayBase.constr(i32))
    result = result_def(TENSOR)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = ARROW_FORMAT
    traits = traits_def(Pure(), TensorLayouts(), Transposes(), ViewOfTensor(), MovesElements())

    def __init__(self, src: SSAValue, *, order: Sequence[int], result_type: Attribute | None = None) -> None:
        order = tuple(order)
        if result_type is None:
            result_type = infer_trans(src.type, order)
        Operation.__init__(self, operands=(src,), result_types=(result_type,), properties={"order": i32_array(order)})

    def complaint(self) -> str | None:
        order = self.order.get_values()
        if len(order) != len(tensor(self.src).get_shape()):
            return "order must have the same size as the rank of the operand and result"
        if sorted(order) != list(range(len(order))):
            return "order must be a permutation of [0, ..., rank - 1]"
        return inferred_complaint(self, lambda: [infer_trans(tensor(self.src), order)])


class MakeRangeOp(Op):
    """The integers from `start` up to but not including `end`."""

    name = "tt.make_range"
    start = prop_def(IntegerAttr.constr(i32))
    end = prop_def(IntegerAttr.constr(i32))
    result = result_def(INT_TENSOR)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `:` type($result)"
    traits = traits_def(Pure(), TensorLayouts(), AnyLayout())

    def __init__(self, result_type: Attribute | None = None, *, start: int, end: int) -> None:
        if result_type is None:
            result_type = tensor_type((end - start,), i32)
        Operation.__init__(
            self, result_types=(result_type,), properties={"end": i32_attr(end), "start": i32_attr(start)}
        )

    def complaint(self) -> str | None:
        start, end = self.start.value.data, self.end.value.data
        shape = tensor(self.result).get_shape()
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
            None
            if tensor(self.result).element_type == i32
            else "'tt.make_range' op returned tensor must have i32 elements"
        )

"""Ops of `tt` that combine elements of a tensor: reduce, scan, histogram, gather.

%1 = "tt.reduce"(%0) <{axis = 0 : i32}> ({
^bb0(%a: f32, %b: f32):
  %s = arith.addf %a, %b : f32
  tt.reduce.return %s : f32
}) : (tensor<64xf32>) -> f32
"""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, UnitAttr, i32
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import HasParent, IsTerminator, Pure, ReturnLike

from minitriton.dialects.attribute_values import bool_attr, i32_attr
from minitriton.dialects.facts.layout import (
    AnchorIfEfficient,
    AnyLayout,
    NeverRematerializedIfEfficient,
    NoLayoutRule,
    OneLayout,
    Squeezes,
)
from minitriton.dialects.facts.region_flow import ScalarRegions
from minitriton.dialects.facts.synchronization import ScratchBarrier
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.tt.traits import (
    ANY_TT,
    INT_TENSOR,
    TENSOR,
    TensorLayouts,
    encoding_complaint,
    follows,
    inferred_complaint,
    shape_complaint,
    tensor,
    var,
)
from minitriton.dialects.tt.types import element_type, i1_same_shape, infer_gather, infer_reduce, shape_of

UNIT = UnitAttr()


class ReduceOp(Op):
    """Combines the elements along `axis` with the region, which takes two of each source and returns one of each."""

    name = "tt.reduce"
    srcs = var_operand_def(TENSOR)
    axis = prop_def(IntegerAttr.constr(i32))
    result = var_result_def(ANY_TT)
    combine_op = region_def("single_block")
    traits = traits_def(Pure(), TensorLayouts(), Squeezes(), ScalarRegions(), ScratchBarrier())

    def __init__(
        self,
        srcs: Sequence[SSAValue],
        combine_op: Region,
        *,
        axis: int,
        result_types: Sequence[Attribute] | None = None,
    ) -> None:
        if result_types is None:
            result_types = [infer_reduce(value.type, axis) for value in srcs]
        Operation.__init__(
            self, operands=srcs, result_types=result_types, regions=(combine_op,), properties={"axis": i32_attr(axis)}
        )

    def single_combiner(self) -> Operation | None:
        """The op that combines two elements when the region is just that op and its return, else None."""
        block = self.combine_op.block
        first = block.first_op
        if first is None or first.next_op is not block.last_op or len(block.args) != 2 or len(first.operands) != 2:
            return None
        returned = block.last_op
        if returned is None or len(returned.operands) != 1 or returned.operands[0] not in first.results:
            return None
        return first if set(first.operands) == set(block.args) else None

    def complaint(self) -> str | None:
        return _combine_complaint(self)


class ReduceReturnOp(Op):
    """Ends the region of a `tt.reduce`."""

    name = "tt.reduce.return"
    result = var_operand_def()
    assembly_format = "$result attr-dict `:` type($result)"
    traits = traits_def(Pure(), IsTerminator(), ReturnLike(), HasParent(ReduceOp))

    @from_fields
    def __init__(self, result: Sequence[SSAValue]) -> None: ...


class ScanOp(Op):
    """The running combination of the elements along `axis`, from the last if `reverse`."""

    name = "tt.scan"
    srcs = var_operand_def(TENSOR)
    axis = prop_def(IntegerAttr.constr(i32))
    reverse = prop_def(BoolAttr)
    result = var_result_def(TENSOR)
    combine_op = region_def("single_block")
    traits = traits_def(Pure(), TensorLayouts(), OneLayout(), ScalarRegions(), ScratchBarrier())

    def __init__(self, srcs: Sequence[SSAValue], combine_op: Region, *, axis: int, reverse: bool = False) -> None:
        Operation.__init__(
            self,
            operands=srcs,
            result_types=[value.type for value in srcs],
            regions=(combine_op,),
            properties={"axis": i32_attr(axis), "reverse": bool_attr(reverse)},
        )

    def complaint(self) -> str | None:
        return _combine_complaint(self)


class ScanReturnOp(Op):
    """Ends the region of a `tt.scan`."""

    name = "tt.scan.return"
    result = var_operand_def()
    assembly_format = "$result attr-dict `:` type($result)"
    traits = traits_def(Pure(), IsTerminator(), ReturnLike(), HasParent(ScanOp))

    @from_fields
    def __init__(self, result: Sequence[SSAValue]) -> None: ...


class HistogramOp(Op):
    """How often each integer from 0 up to the result's size occurs in `src` where `mask` is true."""

    T: ClassVar = var("T", INT_TENSOR)
    name = "tt.histogram"
    src = operand_def(T)
    mask = opt_operand_def(follows("T", i1_same_shape, "mask type matches src type"))
    result = result_def(INT_TENSOR)
    assembly_format = "$src (`,` $mask^)? attr-dict `:` type($src) `->` type($result)"
    traits = traits_def(Pure(), TensorLayouts(), AnyLayout(), ScratchBarrier())

    @from_fields
    def __init__(self, src: SSAValue, mask: SSAValue | None, result_type: Attribute) -> None: ...


class GatherOp(Op):
    """Picks, along `axis`, the elements of `src` at `indices`. `efficient_layout` asks to keep the layouts."""

    name = "tt.gather"
    src = operand_def(TENSOR)
    indices = operand_def(INT_TENSOR)
    axis = prop_def(IntegerAttr.constr(i32))
    efficient_layout = opt_prop_def(UnitAttr)
    result = result_def(TENSOR)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$src `[` $indices `]` attr-dict `:` functional-type(operands, results)"
    traits = traits_def(
        Pure(),
        TensorLayouts(),
        NoLayoutRule(),
        AnchorIfEfficient(),
        NeverRematerializedIfEfficient(),
        ScratchBarrier(),
    )

    def __init__(
        self,
        src: SSAValue,
        indices: SSAValue,
        *,
        axis: int,
        efficient_layout: bool = False,
        result_type: Attribute | None = None,
    ) -> None:
        if result_type is None:
            result_type = infer_gather(src.type, indices.type)
        properties: dict[str, Attribute] = {"axis": i32_attr(axis)}
        if efficient_layout:
            properties["efficient_layout"] = UNIT
        Operation.__init__(self, operands=(src, indices), result_types=(result_type,), properties=properties)

    def complaint(self) -> str | None:
        source, indices, result = tensor(self.src), tensor(self.indices), tensor(self.result)
        axis = self.axis.value.data
        shape, index_shape = source.get_shape(), indices.get_shape()
        found = None
        if index_shape != result.get_shape():
            found = "indices and output shapes must match"
        elif indices.encoding != result.encoding:
            found = "indices and output encodings must match"
        elif source.element_type != result.element_type:
            found = "input and output element types must match"
        elif len(shape) != len(index_shape):
            found = "input and indices ranks must match"
        elif not 0 <= axis < len(shape):
            found = "gather dimension must be less than the input rank"
        else:
            wrong = [d for d in range(len(shape)) if d != axis and shape[d] != index_shape[d]]
            if wrong:
                found = f"indices dimension {wrong[0]} must match the corresponding input dimension"
        return None if found is None else f"'tt.gather' op {found}"


def _combine_complaint(op: ReduceOp | ScanOp) -> str | None:
    """Of `tt.reduce` and `tt.scan`."""
    name = f"'{op.name}' op"
    if not op.operands:
        return f"{name} must have at least 1 operand"
    rank, axis = len(shape_of(op.operands[0].type)), op.axis.value.data
    if not 0 <= axis < rank:
        return f"{name} axis {axis} is not one of the {rank} dimensions of its operands"
    if isinstance(op, ReduceOp) and len({shape_of(type_) for type_ in op.operand_types}) > 1:
        return f"{name} requires the same shape for all operands"
    if isinstance(op, ScanOp) and (wrong := shape_complaint(op) or encoding_complaint(op)):
        return wrong
    if len(op.operands) != len(op.results):
        return f"{name} must have the same number of inputs as outputs"
    elements = [element_type(type_) for type_ in op.operand_types]
    if elements != [element_type(type_) for type_ in op.result_types]:
        return f"{name} operand types and result types must agree"
    if isinstance(op, ReduceOp):
        wrong = inferred_complaint(op, lambda: [infer_reduce(t, axis) for t in op.operand_types])
        if wrong is not None:
            return wrong
    return _combine_region_complaint(op, name, elements)


def _combine_region_complaint(op: ReduceOp | ScanOp, name: str, elements: list[Attribute]) -> str | None:
    block = op.combine_op.block
    if len(block.args) != 2 * len(elements):
        return f"{name} nested block must take {2 * len(elements)} arguments, but given block with {len(block.args)} arguments"
    returned = block.last_op
    if returned is None or returned.name != op.name + ".return":
        return f"{name} combine operation must be terminated with a ReduceReturnOp but got {returned and returned.name}"
    if len(returned.operands) != len(elements):
        return f"{name} expected combine operation to return {len(elements)} values but got {len(returned.operands)}"
    for found, wanted in ((block.arg_types, elements * 2), (returned.operand_types, elements)):
        for index, (a, b) in enumerate(zip(found, wanted, strict=True)):
            if a != b:
                return (
                    f"{name} type mismatch on combine operation. Expected argument {index} to have type {b} but got {a}"
                )
    return None

"""What ops of `tt` that compute demand: conversions, dots, combinations of elements, foreign code.

element types of operands A and B must have same bit width
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import Float8E4M3FNType, Float32Type, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.traits import MemoryEffectKind, get_effects

from minitriton.dialects.encodings import layout_of
from minitriton.dialects.tt import inference as tt_inference
from minitriton.dialects.tt.dot import DotOp, DotScaledOp
from minitriton.dialects.tt.elementwise import (
    BitcastOp,
    ElementwiseInlineAsmOp,
    FpToFpOp,
    MapElementwiseOp,
    MapElementwiseReturnOp,
)
from minitriton.dialects.tt.reduce import GatherOp, ReduceOp, ScanOp
from minitriton.dialects.tt.types import PointerType, element_type, shape_of
from minitriton.dialects.tt.verify.base import (
    encoding_complaint,
    has_encoding,
    inferred_complaint,
    shape_complaint,
    tensor,
    width_of,
)
from minitriton.dialects.tt.verify.checks import VERIFIERS
from minitriton.layouts.encodings import DotOperand, NvidiaMma


def _bitcast_complaint(op: Operation) -> str | None:
    source, target = element_type(op.operands[0].type), element_type(op.results[0].type)
    if isinstance(source, PointerType) or isinstance(target, PointerType):
        if not isinstance(source, PointerType) or not isinstance(target, PointerType):
            return "Cannot bitcast pointer to non-pointer type"
        if source.address_space != target.address_space:
            return "Cannot bitcast pointer between different address spaces"
        return None
    if width_of(source) != width_of(target):
        return f"Cannot bitcast data-type of size {width_of(source)} to data-type of size {width_of(target)}"
    return None


def _fp_to_fp_complaint(op: Operation) -> str | None:
    if width_of(op.results[0].type) < width_of(op.operands[0].type) and "rounding" not in op.properties:
        return "Rounding mode is required for FP downcast"
    return None


def _inline_asm_complaint(op: ElementwiseInlineAsmOp) -> str | None:
    if not op.operands:
        return None
    type_ = op.operands[0].type
    count = prod(type_.get_shape()) if isinstance(type_, TensorType) else 0
    packed = op.packed_element.value.data
    if packed <= 0 or count % packed:
        return f"number of input elements {count} must be a multiple of the op's packed_element attribute, {packed}"
    return None


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
        wrong = inferred_complaint(op, lambda: [tt_inference.infer_reduce(t, axis) for t in op.operand_types])
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


def _map_elementwise_complaint(op: MapElementwiseOp) -> str | None:
    pack = op.pack.value.data
    if not op.operands:
        return f"'{op.name}' op MapElementwiseOp must have at least 1 operand"
    if pack <= 0 or pack & (pack - 1):
        return f"'{op.name}' op Pack must be a power of 2"
    block = op.scalar_op.first_block
    arguments = [element_type(type_) for type_ in op.operand_types for _ in range(pack)]
    if block is None or len(block.args) != len(arguments):
        return f"'{op.name}' op region has wrong number of arguments"
    if list(block.arg_types) != arguments:
        return "argument types did not match"
    wrong = shape_complaint(op) or encoding_complaint(op)
    if wrong is not None:
        return wrong
    results = [element_type(type_) for type_ in op.result_types for _ in range(pack)]
    for inner in op.scalar_op.walk():
        effects = get_effects(inner)
        if effects and any(effect.kind is MemoryEffectKind.WRITE for effect in effects):
            return f"'{inner.name}' op Stores are not supported inside map_elementwise"
        if isinstance(inner, MapElementwiseReturnOp) and list(inner.operand_types) != results:
            return "region return does not match map_elementwise result"
    return None


def _gather_complaint(op: GatherOp) -> str | None:
    source, indices, result = tensor(op.src), tensor(op.indices), tensor(op.result)
    axis = op.axis.value.data
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


def _dims_complaint(op: Operation, inner: tuple[int, int], outer: tuple[int, int]) -> str | None:
    """Of dots: ranks and dimensions; `inner` is K of both operands, `outer` what M and N should be."""
    a, b, c = (shape_of(op.operands[index].type) for index in range(3))
    found = None
    if inner[0] != inner[1]:
        found = "expected the last dimension of the first operand to be equal to the second-to-last dimension of the second operand"
    elif len(a) == 3 and not a[0] == b[0] == c[0]:
        found = "expected the first dimension of the first operand to be equal to the first dimension of the result"
    elif c[-2:] != outer:
        found = (
            "expected the output shape to be the concatenation of the last dimension of the first operand "
            "and the last dimension of the second"
        )
    return None if found is None else f"'{op.name}' op {found}"


def _ranks_complaint(op: Operation) -> str | None:
    ranks = [len(shape_of(op.operands[index].type)) for index in range(3)]
    if ranks[0] not in (2, 3):
        return f"'{op.name}' op expected operands to be 2d or 3d"
    return None if len(set(ranks)) == 1 else f"'{op.name}' op expected all operands to have the same rank"


def _dot_complaint(op: DotOp) -> str | None:
    a, b = shape_of(op.a.type), shape_of(op.b.type)
    found = _ranks_complaint(op) or _dims_complaint(op, (a[-1], b[-2]), (a[-2], b[-1]))
    if found is not None:
        return found
    if width_of(op.a.type) != width_of(op.b.type):
        return "element types of operands A and B must have same bit width"
    if not has_encoding(op.a.type) and not has_encoding(op.b.type):
        return None
    if not has_encoding(op.a.type) or not has_encoding(op.b.type):
        return "mismatching encoding between A and B operands"
    if not has_encoding(op.c.type):
        return "miss encoding of C operand"
    return _dot_layouts_complaint(op)


def _dot_layouts_complaint(op: DotOp) -> str | None:
    a, b, c = layout_of(op.a.type), layout_of(op.b.type), layout_of(op.c.type)
    if not isinstance(a, DotOperand) and not isinstance(b, DotOperand):
        return None
    if not isinstance(a, DotOperand) or not isinstance(b, DotOperand):
        return "mismatching encoding between A and B operands"
    if a.k_width != b.k_width:
        return "mismatching kWidth between A and B operands"
    units = [layout for layout in (a.parent, b.parent, c) if isinstance(layout, NvidiaMma)]
    if units and len(units) < 3:
        return "mismatching MMA encoding"
    if len({unit.version_major for unit in units}) > 1:
        return "mismatched MMA version."
    for index, operand in enumerate((a, b)):
        if operand.op_idx != index:
            return f"'tt.dot' op Wrong opIdx: expected {index}, found {operand.op_idx}"
        if operand.parent != c:
            return f"'tt.dot' op Incompatible parent encoding: expected {c}, found {operand.parent}"
    if units and isinstance(element_type(op.a.type), Float32Type) and op.input_precision.data.value != "tf32":
        return "unsupported MMA version"
    return None


def _dot_scaled_complaint(op: DotScaledOp) -> str | None:
    found = _ranks_complaint(op)
    if found is not None:
        return found
    a, b, c = shape_of(op.a.type), shape_of(op.b.type), shape_of(op.c.type)
    fp4 = (op.a_elem_type.data.value == "e2m1", op.b_elem_type.data.value == "e2m1")
    along_k = (op.lhs_k_pack.value.data != 0, op.rhs_k_pack.value.data != 0)
    k_factors = [2 if is_fp4 and is_k else 1 for is_fp4, is_k in zip(fp4, along_k, strict=True)]
    factors = [2 if is_fp4 and not is_k else 1 for is_fp4, is_k in zip(fp4, along_k, strict=True)]
    k = a[-1] * k_factors[0]
    found = _dims_complaint(op, (k, b[-2] * k_factors[1]), (a[-2] * factors[0], b[-1] * factors[1]))
    if found is not None:
        return found
    for scale, size, what in ((op.a_scale, c[-2], "M"), (op.b_scale, c[-1], "N")):
        if scale is None:
            continue
        shape = shape_of(scale.type)
        if shape[-2] != size:
            return f"scales {what} dimension must match the operand {what} dimension"
        if shape[-1] != k // (16 if isinstance(element_type(scale.type), Float8E4M3FNType) else 32):
            return "scales K dimension must match the operand K divided by the scale factor"
    return None


VERIFIERS.update(
    {
        BitcastOp: _bitcast_complaint,
        DotOp: _dot_complaint,
        DotScaledOp: _dot_scaled_complaint,
        ElementwiseInlineAsmOp: _inline_asm_complaint,
        FpToFpOp: _fp_to_fp_complaint,
        GatherOp: _gather_complaint,
        MapElementwiseOp: _map_elementwise_complaint,
        ReduceOp: _combine_complaint,
        ScanOp: _combine_complaint,
    }
)

"""What the ops of `tt` demand beyond the types of their operands, with Triton's words.

`complaint_of(op)` looks the op up in `COMPLAINTS`; each function there says what is wrong with an op, or None. The answer
starts with the op's name where Triton's does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import Float8E4M3FNType, Float32Type, NoneAttr, TensorType, i32
from xdsl.ir import Attribute, Operation
from xdsl.traits import MemoryEffectKind, get_effects

from minitriton.dialects import tt_inference
from minitriton.dialects.tt_types import PointerType, TensorDescType, element_type, pointer_same_shape
from minitriton.dialects.ttg_attributes import layout_of
from minitriton.errors import IRError
from minitriton.layouts.encodings import DistributedEncoding, DotOperand, NvidiaMma
from minitriton.layouts.inference import reshape_dst, split_dst
from minitriton.layouts.properties import are_layouts_equivalent

MAX_ELEMENTS = 2**20


def complaint_of(op: Operation) -> str | None:
    """What is wrong with `op`, None if nothing."""
    rule = COMPLAINTS.get(op.name)
    return None if rule is None else rule(op)


def _shape(type_: Attribute) -> tuple[int, ...]:
    """The shape of a tensor or of what a block pointer points to; () otherwise."""
    if isinstance(type_, PointerType):
        type_ = type_.pointee_type
    return type_.get_shape() if isinstance(type_, TensorType) else ()


def _has_encoding(type_: Attribute) -> bool:
    return isinstance(type_, TensorType) and not isinstance(type_.encoding, NoneAttr)


def _types(op: Operation) -> list[Attribute]:
    return [*op.operand_types, *op.result_types]


def _width(type_: Attribute) -> int:
    width: Any = getattr(element_type(type_), "bitwidth", 64)
    return width


def _show(values: Iterable[int]) -> str:
    return ", ".join(map(str, values))


def size_complaint(op: Operation) -> str | None:
    """Tensors have a power of two of elements, at most `MAX_ELEMENTS`."""
    for type_ in _types(op):
        if isinstance(type_, TensorType):
            count = prod(type_.get_shape())
            if count > MAX_ELEMENTS:
                return f"Maximum allowed number of elements is {MAX_ELEMENTS}, but {op.name} has more than that"
            if count & (count - 1):
                return (
                    f"Number of elements must be power-of-two, but {op.name} doesn't follow the rule ({count}) elements"
                )
    return None


def elementwise_complaint(op: Operation) -> str | None:
    """Tensors among operands and results have one shape and one encoding."""
    tensors = [type_ for type_ in _types(op) if isinstance(type_, TensorType)]
    if not tensors:
        return None
    if not all(isinstance(type_, TensorType) for type_ in op.result_types):
        return f"'{op.name}' op if an operand is non-scalar, then all results must be non-scalar"
    if len({type_.get_shape() for type_ in tensors}) > 1:
        return f"'{op.name}' op all non-scalar operands/results must have the same shape and base type"
    return _encoding_complaint(op)


def _encoding_complaint(op: Operation) -> str | None:
    encodings = {type_.encoding for type_ in _types(op) if isinstance(type_, TensorType)}
    if len(encodings - {NoneAttr()}) > 1:
        return f"'{op.name}' op requires the same encoding for all operands and results"
    return None


def _access_complaint(op: Operation) -> str | None:
    """Of loads, stores and atomics: all operands have the pointer's shape and encoding."""
    shape = _shape(op.operands[0].type)
    if any(_shape(type_) != shape for type_ in _types(op)):
        what = "operands and results" if op.results else "operands"
        return f"'{op.name}' op requires the same shape for all {what}"
    return _encoding_complaint(op)


def _atomic_rmw_complaint(op: Operation) -> str | None:
    ptr, value = op.operands[0].type, op.operands[1].type
    if ptr != pointer_same_shape(value):
        return f"'{op.name}' op failed to verify that ptr type matches value type"
    return _access_complaint(op)


def _atomic_cas_complaint(op: Operation) -> str | None:
    ptr, compare, value = (operand.type for operand in op.operands)
    for type_, what in ((compare, "cmp"), (value, "value")):
        if ptr != pointer_same_shape(type_):
            return f"'{op.name}' op failed to verify that ptr type matches {what} type"
    return _access_complaint(op)


def _bitcast_complaint(op: Operation) -> str | None:
    source, target = element_type(op.operands[0].type), element_type(op.results[0].type)
    if isinstance(source, PointerType) or isinstance(target, PointerType):
        if not isinstance(source, PointerType) or not isinstance(target, PointerType):
            return "Cannot bitcast pointer to non-pointer type"
        if source.address_space != target.address_space:
            return "Cannot bitcast pointer between different address spaces"
        return None
    if _width(source) != _width(target):
        return f"Cannot bitcast data-type of size {_width(source)} to data-type of size {_width(target)}"
    return None


def _fp_to_fp_complaint(op: Operation) -> str | None:
    if _width(op.results[0].type) < _width(op.operands[0].type) and "rounding" not in op.properties:
        return "Rounding mode is required for FP downcast"
    return None


def _inline_asm_complaint(op: Any) -> str | None:
    if not op.operands:
        return None
    count = prod(op.operands[0].type.get_shape()) if isinstance(op.operands[0].type, TensorType) else 0
    packed = op.packed_element.value.data
    if packed <= 0 or count % packed:
        return f"number of input elements {count} must be a multiple of the op's packed_element attribute, {packed}"
    return None


def _same_element_complaint(op: Operation) -> str | None:
    if len({element_type(type_) for type_ in _types(op)}) > 1:
        return f"'{op.name}' op requires the same element type for all operands and results"
    return None


def _broadcast_complaint(op: Operation) -> str | None:
    source, result = _shape(op.operands[0].type), _shape(op.results[0].type)
    if len(source) != len(result):
        return "rank of source must be same as rank of result"
    for index, (a, b) in enumerate(zip(source, result, strict=True)):
        if a not in (1, b):
            return (
                f"Different dimensions at index {index} between source and result.  "
                "Broadcast requires the source dimension to be 1."
            )
    return _same_element_complaint(op) or _encoding_complaint(op)


def _reshape_complaint(op: Any) -> str | None:
    source, result = op.src.type, op.result.type
    if prod(source.get_shape()) != prod(result.get_shape()):
        return "number of src and dst elements of reshape must be the same"
    if _has_encoding(source) != _has_encoding(result):
        return "Op requires that either (a) src and dst both have encodings, or (b) neither does."
    before, after = layout_of(source), layout_of(result)
    if isinstance(before, DistributedEncoding) and isinstance(after, DistributedEncoding) and not op.allow_reorder:
        inferred = reshape_dst(source.get_shape(), before, result.get_shape())
        if inferred is None or not are_layouts_equivalent(result.get_shape(), inferred, after):
            return f"Expected result encoding {inferred} but was {after}"
    return _same_element_complaint(op)


def _join_complaint(op: Any) -> str | None:
    source, result = op.lhs.type, op.result.type
    shape = (*source.get_shape(), 2)
    if result.get_shape() != shape:
        return f"'tt.join' op result shape must be ({_show(shape)}), but got {_show(result.get_shape())}"
    if source.element_type != result.element_type:
        return "'tt.join' op result element type must match the input element type"
    if not _has_encoding(result):
        return "'tt.join' op result encoding must be specified" if _has_encoding(source) else None
    before, after = layout_of(source), layout_of(result)
    if isinstance(before, DistributedEncoding) and isinstance(after, DistributedEncoding):
        inferred = split_dst(after, shape)
        if inferred is None or not are_layouts_equivalent(source.get_shape(), inferred, before):
            return "'tt.join' op incompatible join layout"
    return None


def _equivalent(a: Attribute, b: Attribute) -> bool:
    """Whether tensors of the two types hold the same elements in the same places."""
    if a == b or not isinstance(a, TensorType) or not isinstance(b, TensorType):
        return a == b
    if a.element_type != b.element_type or a.get_shape() != b.get_shape():
        return False
    one, other = layout_of(a), layout_of(b)
    if not isinstance(one, DistributedEncoding) or not isinstance(other, DistributedEncoding):
        return False
    return are_layouts_equivalent(a.get_shape(), one, other)


def _inferred_complaint(op: Operation, infer: Callable[[], Sequence[Attribute]]) -> str | None:
    """Results have the types that the op infers, up to equivalent layouts."""
    try:
        inferred = infer()
    except IRError as error:
        return f"{error.message}; '{op.name}' op failed to infer returned types"
    if len(inferred) == len(op.results) and all(map(_equivalent, inferred, op.result_types)):
        return None
    wanted, found = (", ".join(f"'{type_}'" for type_ in types) for types in (inferred, op.result_types))
    return (
        f"'{op.name}' op inferred type(s) {wanted} are incompatible with return type(s) of operation {found}; "
        f"'{op.name}' op failed to infer returned types"
    )


def _split_complaint(op: Any) -> str | None:
    return _inferred_complaint(op, lambda: [tt_inference.infer_split(op.src.type)] * 2)


def _expand_dims_complaint(op: Any) -> str | None:
    return _inferred_complaint(op, lambda: [tt_inference.infer_expand_dims(op.src.type, op.axis.value.data)])


def _trans_complaint(op: Any) -> str | None:
    order = op.order.get_values()
    if len(order) != len(op.src.type.get_shape()):
        return "order must have the same size as the rank of the operand and result"
    if sorted(order) != list(range(len(order))):
        return "order must be a permutation of [0, ..., rank - 1]"
    return _inferred_complaint(op, lambda: [tt_inference.infer_trans(op.src.type, order)])


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


def _combine_complaint(op: Any) -> str | None:
    """Of `tt.reduce` and `tt.scan`."""
    name = f"'{op.name}' op"
    if not op.operands:
        return f"{name} must have at least 1 operand"
    if len({_shape(type_) for type_ in op.operand_types}) > 1:
        what = "operands and results" if op.name == "tt.scan" else "operands"
        return f"{name} requires the same shape for all {what}"
    if op.name == "tt.scan" and {_shape(type_) for type_ in _types(op)} != {_shape(op.operands[0].type)}:
        return f"{name} requires the same shape for all operands and results"
    if len(op.operands) != len(op.results):
        return f"{name} must have the same number of inputs as outputs"
    elements = [element_type(type_) for type_ in op.operand_types]
    if elements != [element_type(type_) for type_ in op.result_types]:
        return f"{name} operand types and result types must agree"
    return _combine_region_complaint(op, name, elements)


def _combine_region_complaint(op: Any, name: str, elements: list[Attribute]) -> str | None:
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


def _map_elementwise_complaint(op: Any) -> str | None:
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
    results = [element_type(type_) for type_ in op.result_types for _ in range(pack)]
    for inner in op.scalar_op.walk():
        effects = get_effects(inner)
        if effects and any(effect.kind is MemoryEffectKind.WRITE for effect in effects):
            return f"'{inner.name}' op Stores are not supported inside map_elementwise"
        if inner.name == "tt.map_elementwise.return" and list(inner.operand_types) != results:
            return "region return does not match map_elementwise result"
    return None


def _gather_complaint(op: Any) -> str | None:
    source, indices, result = op.src.type, op.indices.type, op.result.type
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
    a, b, c = (_shape(op.operands[index].type) for index in range(3))
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
    ranks = [len(_shape(op.operands[index].type)) for index in range(3)]
    if ranks[0] not in (2, 3):
        return f"'{op.name}' op expected operands to be 2d or 3d"
    return None if len(set(ranks)) == 1 else f"'{op.name}' op expected all operands to have the same rank"


def _dot_complaint(op: Any) -> str | None:
    a, b = _shape(op.a.type), _shape(op.b.type)
    found = _ranks_complaint(op) or _dims_complaint(op, (a[-1], b[-2]), (a[-2], b[-1]))
    if found is not None:
        return found
    if _width(op.a.type) != _width(op.b.type):
        return "element types of operands A and B must have same bit width"
    if not _has_encoding(op.a.type) and not _has_encoding(op.b.type):
        return None
    if not _has_encoding(op.a.type) or not _has_encoding(op.b.type):
        return "mismatching encoding between A and B operands"
    if not _has_encoding(op.c.type):
        return "miss encoding of C operand"
    return _dot_layouts_complaint(op)


def _dot_layouts_complaint(op: Any) -> str | None:
    a, b, c = layout_of(op.a.type), layout_of(op.b.type), layout_of(op.c.type)
    if not isinstance(a, DotOperand) and not isinstance(b, DotOperand):
        return None
    if not isinstance(a, DotOperand) or not isinstance(b, DotOperand):
        return "mismatching encoding between A and B operands"
    if a.k_width != b.k_width:
        return "mismatching kWidth between A and B operands"
    units = [layout for layout in (a.parent, b.parent, c) if isinstance(layout, NvidiaMma)]
    if not units:
        return None
    if len(units) < 3:
        return "mismatching MMA encoding"
    if len({unit.version_major for unit in units}) > 1:
        return "mismatched MMA version."
    if isinstance(element_type(op.a.type), Float32Type) and op.input_precision.data.value != "tf32":
        return "unsupported MMA version"
    return None


def _dot_scaled_complaint(op: Any) -> str | None:
    found = _ranks_complaint(op)
    if found is not None:
        return found
    a, b, c = _shape(op.a.type), _shape(op.b.type), _shape(op.c.type)
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
        shape = _shape(scale.type)
        if shape[-2] != size:
            return f"scales {what} dimension must match the operand {what} dimension"
        if shape[-1] != k // (16 if isinstance(element_type(scale.type), Float8E4M3FNType) else 32):
            return "scales K dimension must match the operand K divided by the scale factor"
    return None


def _block_complaint(op: Operation, descriptor: Attribute, tensor: Attribute) -> str | None:
    """Of loads and stores of a descriptor's block, leading dimensions of 1 aside."""
    assert isinstance(descriptor, TensorDescType) and isinstance(tensor, TensorType)
    block = descriptor.signless_block_type
    extra = max(block.get_num_dims() - tensor.get_num_dims(), 0)
    if any(size != 1 for size in block.get_shape()[:extra]):
        return f"'{op.name}' op ranked reduce load only allowed for unit dimension leading dim."
    if block.get_shape()[extra:] != tensor.get_shape() or block.element_type != tensor.element_type:
        return f"'{op.name}' op tensor descriptor block and tensor types must match"
    return None


def gather_scatter_complaint(op: Operation, block: TensorType, tensor: TensorType, offsets: TensorType) -> str | None:
    """Of gathering rows into `tensor`, or scattering them from it: what TMA can do."""
    shape, wanted = tensor.get_shape(), block.get_shape()
    width = _width(tensor)
    found = None
    if len(wanted) != 2:
        found = f"block must be a 2D tensor, but got '{block}'"
    elif wanted[0] != 1:
        found = f"block must have exactly 1 row, but got '{block}'"
    elif offsets.get_num_dims() != 1:
        found = f"x offsets must be a 1D tensor, but got '{offsets}'"
    elif len(shape) != 2:
        found = f"result must be a 2D tensor, but got '{tensor}'"
    elif shape[0] < 8:
        found = f"gather must have at least 8 rows, but got {shape[0]}"
    elif width > 32:
        found = "TMA dtype cannot be greater than 32 bits"
    elif shape[1] < 32 // width * 8:
        found = f"gather of '{tensor.element_type}' must have at least {32 // width * 8} columns, but got {shape[1]}"
    elif shape[0] != offsets.get_shape()[0]:
        found = f"result tensor must have as many rows as indices ({offsets.get_shape()[0]}), but got '{tensor}'"
    elif shape[1] != wanted[1]:
        found = f"result tensor number of columns must match block ({wanted[1]}), but got '{tensor}'"
    elif tensor.element_type != block.element_type:
        found = f"result tensor element type must match block ('{block.element_type}'), but got '{tensor}'"
    return None if found is None else f"'{op.name}' op {found}"


def _descriptor_gather_complaint(op: Any) -> str | None:
    return gather_scatter_complaint(op, op.desc.type.signless_block_type, op.result.type, op.x_offsets.type)


def _descriptor_scatter_complaint(op: Any) -> str | None:
    return gather_scatter_complaint(op, op.desc.type.signless_block_type, op.src.type, op.x_offsets.type)


def _return_complaint(op: Operation) -> str | None:
    function: Any = op.parent_op()
    if function is None or function.name != "tt.func":
        return None
    wanted = function.function_type.outputs.data
    name = function.sym_name.data
    if len(wanted) != len(op.operands):
        return f"'tt.return' op has {len(op.operands)} operands, but enclosing function (@{name}) returns {len(wanted)}"
    for index, (found, type_) in enumerate(zip(op.operand_types, wanted, strict=True)):
        if found != type_:
            return (
                f"type of return operand {index} ('{found}') doesn't match function result type ('{type_}') "
                f"in function @{name}"
            )
    return None


COMPLAINTS: dict[str, Callable[[Any], str | None]] = {
    "tt.atomic_cas": _atomic_cas_complaint,
    "tt.atomic_rmw": _atomic_rmw_complaint,
    "tt.bitcast": _bitcast_complaint,
    "tt.broadcast": _broadcast_complaint,
    "tt.cat": _same_element_complaint,
    "tt.descriptor_gather": _descriptor_gather_complaint,
    "tt.descriptor_load": lambda op: _block_complaint(op, op.desc.type, op.result.type),
    "tt.descriptor_scatter": _descriptor_scatter_complaint,
    "tt.descriptor_store": lambda op: _block_complaint(op, op.desc.type, op.src.type),
    "tt.dot": _dot_complaint,
    "tt.dot_scaled": _dot_scaled_complaint,
    "tt.elementwise_inline_asm": _inline_asm_complaint,
    "tt.expand_dims": _expand_dims_complaint,
    "tt.fp_to_fp": _fp_to_fp_complaint,
    "tt.gather": _gather_complaint,
    "tt.join": _join_complaint,
    "tt.load": _access_complaint,
    "tt.make_range": _make_range_complaint,
    "tt.map_elementwise": _map_elementwise_complaint,
    "tt.reduce": _combine_complaint,
    "tt.reshape": _reshape_complaint,
    "tt.return": _return_complaint,
    "tt.scan": _combine_complaint,
    "tt.splat": _same_element_complaint,
    "tt.split": _split_complaint,
    "tt.store": _access_complaint,
    "tt.trans": _trans_complaint,
    "tt.unsplat": _unsplat_complaint,
}

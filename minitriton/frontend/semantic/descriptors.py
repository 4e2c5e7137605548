"""Tensor descriptors: making them, and moving blocks through them.

desc.load([i, j])     tt.descriptor_load %desc[%i, %j] : !tt.tensordesc<tensor<64x64xf16>> -> tensor<64x64xf16>
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Attribute, SSAValue

from minitriton.dialects import tt
from minitriton.dialects.tt.types import TensorDescType, tensor_type
from minitriton.frontend.builder import IRBuilder, ir_type
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.semantic.casts import cast
from minitriton.frontend.semantic.memory import PADDINGS, choice, index_values
from minitriton.frontend.semantic.values import scalar_constant
from minitriton.language import dtypes as dt
from minitriton.language.descriptors import tensor_descriptor, tensor_descriptor_type
from minitriton.language.dtypes import block_of, block_type, dtype, pointer_type
from minitriton.language.values import Operand, tensor
from minitriton.language.values import tuple as language_tuple

_descriptor_types: dict[str, TensorDescType] = {}


def descriptor_ir_type(type: tensor_descriptor_type) -> Attribute:
    """The IR's type of descriptors, built once."""
    if type.__class__ is not tensor_descriptor_type:
        return ir_type(type)
    block = type.block_type
    found = _descriptor_types.get(block.name)
    if found is None:
        element = ir_type(block.element_ty)
        found = _descriptor_types[block.name] = TensorDescType.of_block(
            tensor_type(block.shape, element), block.element_ty.is_int_signed()
        )
    return found


def _scalar(b: IRBuilder, value: Operand, type: dtype) -> tensor:
    if isinstance(value, tensor) and not value.type.is_block():
        return cast(b, value, type)
    return scalar_constant(b, value, type)


def _described(
    base: object, shape: Sequence[object], strides: Sequence[object], block_shape: Sequence[int]
) -> tuple[tensor, dtype]:
    """The pointer to what is described, and its dtype. Raises where the ranks differ."""
    rank = len(shape)
    if not 1 <= rank <= 5:
        raise LanguageValueError(f"Expected 1 <= ndim <= 5 but got {rank} dimensions")
    for what, given in (("strides", strides), ("block_shape dimensions", block_shape)):
        if len(given) != rank:
            raise LanguageValueError(f"Expected {rank} {what} but got {len(given)}")
    if not isinstance(base, tensor) or not isinstance(base.type, pointer_type):
        raise LanguageTypeError(f"a descriptor is made of a pointer, got {base}")
    return base, base.type.element_ty


def descriptor_parts(
    b: IRBuilder, base: object, shape: Sequence[Operand], strides: Sequence[Operand], block_shape: Sequence[int]
) -> tuple[tensor, list[tensor], list[tensor], block_type]:
    """What every descriptor is made of: pointer, sizes, strides, its blocks."""
    pointer, element = _described(base, shape, strides, block_shape)
    sizes = [_scalar(b, x, dt.int32) for x in shape]
    steps = [_scalar(b, x, dt.int64) for x in strides]
    return pointer, sizes, steps, block_of(element, tuple(block_shape))


def descriptor_operands(
    b: IRBuilder,
    base: object,
    shape: Sequence[Operand],
    strides: Sequence[Operand],
    block_shape: Sequence[int],
    padding_option: str,
) -> tuple[tensor, list[tensor], list[tensor], block_type, str]:
    """What a descriptor for TMA is made of, checked: pointer, sizes, strides, its blocks, the padding."""
    _, element = _described(base, shape, strides, block_shape)
    size = element.primitive_bitwidth // 8
    if block_shape[-1] * size < 16:
        raise LanguageValueError(
            f"Descriptor block shape must have at least 16 bytes in the last dimension, but got {block_shape[-1]} * "
            f"{size} = {block_shape[-1] * size} bytes",
            f"make it {-(-16 // size)} or more, or load by pointers",
        )
    if isinstance(strides[-1], tensor) or strides[-1] != 1:
        raise LanguageValueError(
            f"Tensor descriptor last dim must be 1 but got {strides[-1]}",
            "give the number 1 and let the last dimension be the contiguous one (tl.trans turns a block), or load by pointers",
        )
    padding = choice(PADDINGS, padding_option, "Padding option") or "zero"
    if element.is_int() and padding == "nan":
        raise LanguageValueError("Padding option `nan` is not supported for integer blocks")
    return *descriptor_parts(b, base, shape, strides, block_shape), padding


def make_tensor_descriptor(
    b: IRBuilder,
    base: object,
    shape: Sequence[Operand],
    strides: Sequence[Operand],
    block_shape: Sequence[int],
    padding_option: str = "zero",
) -> tensor_descriptor:
    """A new descriptor."""
    pointer, sizes, steps, block, padding = descriptor_operands(b, base, shape, strides, block_shape, padding_option)
    type = tensor_descriptor_type(block, *(language_tuple(values).type for values in (sizes, steps)))
    op = tt.MakeTensorDescOp(
        pointer.handle,
        [x.handle for x in sizes],
        [x.handle for x in steps],
        descriptor_ir_type(type),
        padding=padding,
    )
    return type.value(b.value(op), sizes, steps)


def _indices(b: IRBuilder, desc: object, offsets: Sequence[Operand]) -> list[SSAValue]:
    if not isinstance(desc, tensor_descriptor):
        raise LanguageTypeError(f"expected a tensor descriptor, got {desc}", "make one with tl.make_tensor_descriptor")
    rank = len(desc.block_shape)
    if len(offsets) != rank:
        raise LanguageValueError(f"expected {rank} offsets, but got {len(offsets)}")
    return index_values(b, offsets, wide=False)


def load_tensor_descriptor(b: IRBuilder, desc: tensor_descriptor, offsets: Sequence[Operand]) -> tensor:
    """A block read."""
    indices = _indices(b, desc, offsets)
    return tensor(b.value(tt.DescriptorLoadOp(desc.handle, indices, ir_type(desc.block_type))), desc.block_type)


def _block(desc: tensor_descriptor, value: object) -> tensor:
    if not isinstance(value, tensor) or not value.type.is_block() or value.type.shape != desc.block_shape:
        raise LanguageValueError(f"expected a block of shape {list(desc.block_shape)}, got {value}")
    return value


def store_tensor_descriptor(b: IRBuilder, desc: tensor_descriptor, offsets: Sequence[Operand], value: tensor) -> None:
    """A block written."""
    indices_of = _block(desc, value)
    stored = cast(b, indices_of, desc.dtype)
    b.insert(tt.DescriptorStoreOp(desc.handle, stored.handle, _indices(b, desc, offsets)))


def _reduce(kind: str, dtypes: tuple[str, ...]) -> Callable[..., None]:
    """The emitter of an atomic update of a block in memory."""

    def emit(b: IRBuilder, desc: tensor_descriptor, offsets: Sequence[Operand], value: tensor) -> None:
        indices = _indices(b, desc, offsets)
        if desc.dtype.name not in dtypes:
            raise LanguageTypeError(f"Unsupported dtype {desc.dtype} for atomic {kind}", f"use {', '.join(dtypes)}")
        if kind in ("min", "max") and desc.dtype.is_floating() and not b.target.features.has_tma:
            raise LanguageTypeError(
                f"16-bit float types require native tma support for atomic {kind}",
                f"the target is {b.target.features.sm}, which lacks tensor copies",
            )
        block = _block(desc, value)
        if ir_type(block.type) != ir_type(desc.block_type):
            raise LanguageTypeError(
                f"atomic {kind} on blocks of {desc.dtype} got a value of {block.dtype}",
                f"cast the value first: .to(tl.{desc.dtype.codegen_name()})",
            )
        b.insert(tt.DescriptorReduceOp(desc.handle, block.handle, indices, kind=kind))

    return emit


"""The first architecture with tensor copies."""
_WORDS = ("uint32", "int32", "uint64", "int64")
descriptor_atomic_add = _reduce("add", ("uint32", "int32", "uint64", "fp32", "fp16", "bf16"))
descriptor_atomic_min = _reduce("min", (*_WORDS, "fp16", "bf16"))
descriptor_atomic_max = _reduce("max", (*_WORDS, "fp16", "bf16"))
descriptor_atomic_and = _reduce("and", _WORDS)
descriptor_atomic_or = _reduce("or", _WORDS)
descriptor_atomic_xor = _reduce("xor", _WORDS)


def _check_rows(desc: object, x_offsets: object, what: str) -> None:
    if not isinstance(desc, tensor_descriptor) or len(desc.block_shape) != 2 or desc.block_shape[0] != 1:
        raise LanguageValueError(f"descriptor {what} takes a descriptor with blocks of one row, got {desc}")
    if not isinstance(x_offsets, tensor) or not x_offsets.type.is_block() or len(x_offsets.type.shape) != 1:
        raise LanguageValueError(f"x offsets must be 1D, but got {x_offsets}")
    if x_offsets.type.shape[0] < 8:
        raise LanguageValueError(f"descriptor {what} must have at least 8 rows, but got {x_offsets}")
    least = 32 // desc.dtype.primitive_bitwidth * 8
    if desc.block_shape[1] < least:
        raise LanguageValueError(
            f"descriptor {what} of {desc.dtype} must have at least {least} columns, but got {desc.block_shape[1]}"
        )


def descriptor_gather(b: IRBuilder, desc: tensor_descriptor, x_offsets: tensor, y_offset: Operand) -> tensor:
    """Rows read."""
    _check_rows(desc, x_offsets, "gather")
    (column,) = index_values(b, y_offset, wide=False)
    result = block_of(desc.dtype, (x_offsets.type.shape[0], desc.block_shape[1]))
    return tensor(b.value(tt.DescriptorGatherOp(desc.handle, x_offsets.handle, column, ir_type(result))), result)


def descriptor_scatter(
    b: IRBuilder, desc: tensor_descriptor, value: tensor, x_offsets: tensor, y_offset: Operand
) -> None:
    """Rows written."""
    _check_rows(desc, x_offsets, "scatter")
    (column,) = index_values(b, y_offset, wide=False)
    b.insert(tt.DescriptorScatterOp(desc.handle, x_offsets.handle, column, value.handle))

"""Types of the `tt` dialect, and questions about types that many ops ask.

    PointerType(f32)                          !tt.ptr<f32>
    PointerType(f16, 3)                       !tt.ptr<f16, 3>
    TensorDescType(tensor_type((64,), f16))   !tt.tensordesc<tensor<64xf16>>

The constructors of pointer and tensor types are costly next to a look-up: `pointer_type` and `tensor_type` keep what they built.

Result types that ops infer, encodings included, or an `IRError` where the operand's type allows none:

    infer_expand_dims(tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>, 1)      tensor<64x1xi32, #blocked>
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from xdsl.dialects.builtin import IntAttr, IntegerType, NoneAttr, Signedness, TensorType, i1
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from minitriton.dialects.narrowing import instance_of
from minitriton.errors import IRError
from minitriton.layouts import encodings as enc
from minitriton.layouts import inference

NO_ENCODING = NoneAttr()
GLOBAL_ADDRESS_SPACE = 1


@irdl_attr_definition
class PointerType(ParametrizedAttribute, TypeAttribute):
    """A pointer to a scalar, or to a block of a tensor (`!tt.ptr<tensor<8x8xf16>>`)."""

    name = "tt.ptr"

    pointee_type: Attribute
    address_space: IntAttr

    def __init__(self, pointee_type: Attribute, address_space: int = GLOBAL_ADDRESS_SPACE) -> None:
        super().__init__(pointee_type, IntAttr(address_space))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            pointee = parser.parse_type()
            space = GLOBAL_ADDRESS_SPACE
            if parser.parse_optional_punctuation(",") is not None:
                space = parser.parse_integer()
        return [pointee, IntAttr(space)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.pointee_type)
            if self.address_space.data != GLOBAL_ADDRESS_SPACE:
                printer.print_string(f", {self.address_space.data}")


@irdl_attr_definition
class TensorDescType(ParametrizedAttribute, TypeAttribute):
    """A descriptor of a tensor in device memory, split into blocks of `block_type`.

    Integer elements carry their signedness here (`si8`, `ui8`), which tensors do not.
    """

    name = "tt.tensordesc"

    block_type: TensorType

    @classmethod
    def of_block(cls, block_type: TensorType, is_signed: bool) -> TensorDescType:
        """The descriptor of blocks of `block_type`, whose integers are signed or not."""
        element = block_type.element_type
        if instance_of(element, IntegerType):
            signedness = Signedness.SIGNED if is_signed else Signedness.UNSIGNED
            block_type = with_element(block_type, IntegerType(element.width.data, signedness))
        return cls(block_type)

    @property
    def signless_block_type(self) -> TensorType:
        """The block's type as ops compute with it: integers without signedness."""
        element = self.block_type.element_type
        if instance_of(element, IntegerType):
            return with_element(self.block_type, IntegerType(element.width.data))
        return self.block_type

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [parser.parse_type()]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.block_type)


@cache
def pointer_type(pointee: Attribute, address_space: int = GLOBAL_ADDRESS_SPACE) -> PointerType:
    """The pointer type to `pointee`, built once."""
    return PointerType(pointee, address_space)


@cache
def tensor_type(shape: tuple[int, ...], element: Attribute, encoding: Attribute = NO_ENCODING) -> TensorType:
    """The tensor type of `shape`, built once."""
    return TensorType(element, shape, encoding)


def with_element(type_: Attribute, element: Attribute) -> TensorType:
    """The tensor `type_` with another element type."""
    assert instance_of(type_, TensorType)
    return tensor_type(type_.get_shape(), element, type_.encoding)


def element_type(type_: Attribute) -> Attribute:
    """The element type of a tensor, any other type itself."""
    return type_.element_type if instance_of(type_, TensorType) else type_


def shape_of(type_: Attribute) -> tuple[int, ...]:
    """The shape of a tensor or of what a block pointer points to; () otherwise."""
    if isinstance(type_, PointerType):
        type_ = type_.pointee_type
    return type_.get_shape() if instance_of(type_, TensorType) else ()


def same_shape_as(type_: Attribute, element: Attribute) -> Attribute:
    """`element` for a scalar type, a tensor of it for a tensor type."""
    return with_element(type_, element) if instance_of(type_, TensorType) else element


def pointee_type(type_: Attribute) -> Attribute:
    """What loading through `type_` gives: a pointer's pointee, a tensor of pointees for a tensor of pointers."""
    if instance_of(type_, TensorType) and isinstance(type_.element_type, PointerType):
        return with_element(type_, type_.element_type.pointee_type)
    return type_.pointee_type if isinstance(type_, PointerType) else type_


def i1_same_shape(type_: Attribute) -> Attribute:
    """The type of a mask over `type_`."""
    return same_shape_as(type_, i1)


def pointer_same_shape(type_: Attribute) -> Attribute:
    """The type of the pointer, or tensor of pointers, to values of `type_`."""
    return same_shape_as(type_, pointer_type(element_type(type_)))


def is_tensor_pointer(type_: Attribute) -> bool:
    """Whether `type_` is a block pointer, `!tt.ptr<tensor<...>>`."""
    return isinstance(type_, PointerType) and instance_of(type_.pointee_type, TensorType)


def _tensor(type_: Attribute) -> TensorType:
    if not instance_of(type_, TensorType):
        raise IRError(f"expected a tensor, got {type_}")
    return type_


def _encoding(
    type_: TensorType, change: Callable[[enc.DistributedEncoding], enc.Encoding | None], what: str
) -> Attribute:
    """The encoding of `type_` after `change`; encodings that are not layouts stay as they are."""
    from minitriton.dialects.encodings import encoding_attr, layout_of

    if isinstance(type_.encoding, NoneAttr):
        return NO_ENCODING
    layout = layout_of(type_)
    if not isinstance(layout, enc.DistributedEncoding):
        return type_.encoding
    changed = change(layout)
    if changed is None:
        raise IRError(f"no layout for the result of {what} from {type_.encoding}")
    return encoding_attr(changed)


def infer_expand_dims(src: Attribute, axis: int) -> TensorType:
    """`src` with a dimension of size 1 inserted at `axis`."""
    type_ = _tensor(src)
    shape = list(type_.get_shape())
    if not 0 <= axis <= len(shape):
        raise IRError(f"axis {axis} of tt.expand_dims is outside 0..{len(shape)}")
    shape.insert(axis, 1)
    encoding = _encoding(type_, lambda layout: inference.expand_dims_dst(layout, axis), "tt.expand_dims")
    return tensor_type(tuple(shape), type_.element_type, encoding)


def infer_trans(src: Attribute, order: Sequence[int]) -> TensorType:
    """`src` with its dimensions in `order`."""
    type_ = _tensor(src)
    shape = type_.get_shape()
    if sorted(order) != list(range(len(shape))):
        raise IRError(f"order {list(order)} must be a permutation of 0..{len(shape) - 1}")
    encoding = _encoding(type_, lambda layout: inference.trans_dst(layout, shape, order), "tt.trans")
    return tensor_type(tuple(shape[d] for d in order), type_.element_type, encoding)


def infer_join(src: Attribute) -> TensorType:
    """Two tensors like `src` along a new last dimension."""
    type_ = _tensor(src)
    shape = type_.get_shape()
    encoding = _encoding(type_, lambda layout: inference.join_dst(layout, shape), "tt.join")
    return tensor_type((*shape, 2), type_.element_type, encoding)


def infer_split(src: Attribute) -> TensorType:
    """`src` without its last dimension, which must be 2."""
    type_ = _tensor(src)
    shape = type_.get_shape()
    if not shape or shape[-1] != 2:
        raise IRError("last dimension of input tensor must be 2")
    encoding = _encoding(type_, lambda layout: inference.split_dst(layout, shape), "tt.split")
    return tensor_type(shape[:-1], type_.element_type, encoding)


def infer_reduce(src: Attribute, axis: int) -> Attribute:
    """`src` without dimension `axis`; a scalar if that was the only one."""
    type_ = _tensor(src)
    shape = type_.get_shape()
    if not 0 <= axis < len(shape):
        raise IRError(f"axis {axis} of tt.reduce is outside 0..{len(shape) - 1}")
    if len(shape) == 1:
        return type_.element_type
    encoding = _encoding(type_, lambda layout: inference.reduce_dst(layout, axis), "tt.reduce")
    return tensor_type(shape[:axis] + shape[axis + 1 :], type_.element_type, encoding)


def infer_gather(src: Attribute, indices: Attribute) -> TensorType:
    """Elements of `src` in the shape and layout of `indices`."""
    index_type = _tensor(indices)
    return tensor_type(index_type.get_shape(), _tensor(src).element_type, index_type.encoding)

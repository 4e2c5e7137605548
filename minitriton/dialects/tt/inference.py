"""Result types that the ops of `tt` infer, encodings included.

infer_expand_dims(tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>, 1)      tensor<64x1xi32, #blocked>

All raise `IRError` where the operand's type allows no result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import NoneAttr, TensorType
from xdsl.ir import Attribute

from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import NO_ENCODING, tensor_type
from minitriton.errors import IRError
from minitriton.layouts import encodings as enc
from minitriton.layouts import inference


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

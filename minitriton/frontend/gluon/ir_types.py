"""The IR's types of Gluon's values, and its encodings of layouts.

distributed_type(float32, [64], BlockedLayout(...))        tensor<64xf32, #blocked>
shared_memory_descriptor_type(float16, [64], ..., [3, 64]) !ttg.memdesc<64xf16, #shared, #smem, mutable, 3x64>
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute

from minitriton.dialects.encodings import SMEM, encoding_attr
from minitriton.dialects.gluon import AUTO, COALESCED
from minitriton.dialects.tt.types import TensorDescType, tensor_type
from minitriton.dialects.ttg.types import MemDescType
from minitriton.dialects.ttng.attributes import TMEM, TensorMemoryEncodingAttr, TensorMemoryScalesEncodingAttr
from minitriton.frontend.builder import ir_type
from minitriton.frontend.errors import LanguageTypeError
from minitriton.language.descriptors import tensor_descriptor_type as plain_descriptor_type
from minitriton.language.dtypes import base_type
from minitriton.language.gluon.layouts import (
    AutoLayout,
    CoalescedLayout,
    Layout,
    SharedLayout,
    read_layout,
)
from minitriton.language.gluon.nvidia.blackwell.tensor_memory import (
    TensorMemoryLayout,
    TensorMemoryScalesLayout,
    tensor_memory_descriptor_type,
)
from minitriton.language.gluon.types import (
    distributed_type,
    memory_descriptor_type,
    shared_memory_descriptor_type,
    tensor_descriptor_type,
    warpgroup_mma_accumulator_type,
)

_ATTRIBUTES: dict[type[Layout], Callable[[Any], Attribute]] = {
    AutoLayout: lambda _: AUTO,
    CoalescedLayout: lambda _: COALESCED,
    TensorMemoryLayout: lambda x: TensorMemoryEncodingAttr(
        *map(IntAttr, (*x.block, x.col_stride, *x.cta_split, int(x.two_ctas)))
    ),
    TensorMemoryScalesLayout: lambda x: TensorMemoryScalesEncodingAttr(*map(IntAttr, x.cta_split)),
}
"""Of layouts that no encoding is the value of."""


def encoding_of(layout: object) -> Attribute:
    """The attribute of `layout`. Raises `LanguageTypeError` for what is not one, `IRError` for parameters that none has."""
    if not isinstance(layout, Layout):
        raise LanguageTypeError(f"expected a layout, got {layout!r}", "for example ttgl.BlockedLayout(...)")
    attribute = _ATTRIBUTES.get(type(layout))
    return encoding_attr(layout.encoding()) if attribute is None else attribute(layout)


def descriptor_with_layout(type: plain_descriptor_type, text: str) -> tensor_descriptor_type:
    """The type of descriptors whose blocks have the layout that `text` writes as Python does: `NVMMASharedLayout(128, 16, 2)`."""
    layout = read_layout(text)
    if not isinstance(layout, SharedLayout):
        raise LanguageTypeError(
            f"{text!r} is not a layout of a descriptor's blocks", "for example NVMMASharedLayout(...)"
        )
    return tensor_descriptor_type(type.block_type, type.shape_type, type.strides_type, layout)


def _tensor(type: distributed_type) -> Attribute:
    return tensor_type(type.shape, ir_type(type.element_ty), encoding_of(type.layout))


def _buffer(type: memory_descriptor_type) -> Attribute:
    space = SMEM if isinstance(type, shared_memory_descriptor_type) else TMEM
    return MemDescType(type.shape, ir_type(type.element_ty), encoding_of(type.layout), space, True, type.alloc_shape)


def _accumulator(type: warpgroup_mma_accumulator_type) -> Attribute:
    return ir_type(type.tensor_type)


def _descriptor(type: tensor_descriptor_type) -> Attribute:
    block = type.block_type
    element = ir_type(block.element_ty)
    return TensorDescType.of_block(
        tensor_type(block.shape, element, encoding_of(type.layout)), block.element_ty.is_int_signed()
    )


GLUON_TYPES: dict[type[base_type], Callable[[Any], Attribute]] = {
    distributed_type: _tensor,
    shared_memory_descriptor_type: _buffer,
    tensor_memory_descriptor_type: _buffer,
    warpgroup_mma_accumulator_type: _accumulator,
    tensor_descriptor_type: _descriptor,
}

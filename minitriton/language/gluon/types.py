"""Types and values of Gluon: tensors with a layout, views of shared memory, descriptors with the layout of their blocks.

distributed_type(float32, [64, 64], BlockedLayout(...))     what `x.type` of a tensor is
shared_memory_descriptor_type(float16, [64], layout, [64])  what `x.type` of a buffer is
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from minitriton.language.descriptors import tensor_descriptor as plain_descriptor
from minitriton.language.descriptors import tensor_descriptor_type as plain_descriptor_type
from minitriton.language.dtypes import block_type, dtype, int32, tuple_type
from minitriton.language.gluon.layouts import (
    AutoLayout,
    CoalescedLayout,
    DistributedLayout,
    Layout,
    LayoutError,
    SharedLayout,
    SliceLayout,
    conversion_to,
    distributed_layout_of,
)
from minitriton.language.values import Named, handle_type, handle_value, unwrap
from minitriton.layouts import encodings as enc
from minitriton.layouts import inference

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

D = TypeVar("D", bound=Named)

_SLICED = "ttgl.convert_layout(x, ttgl.SliceLayout({}, ...))"
_UNRESOLVED = (AutoLayout, CoalescedLayout)


class distributed_type(block_type):
    """A block with a layout. Raises `LayoutError` for what is not a layout in registers, or is one of another rank."""

    layout: DistributedLayout

    def __init__(self, element_ty: dtype, shape: Sequence[int], layout: DistributedLayout) -> None:
        super().__init__(element_ty, unwrap(shape))
        layout = unwrap(layout)
        if not isinstance(layout, DistributedLayout):  # pyright: ignore[reportUnnecessaryIsInstance] (from a kernel)
            raise LayoutError("tensor layout must be a DistributedLayout")
        if not isinstance(layout, _UNRESOLVED) and layout.rank != len(self.shape):
            raise LayoutError(
                f"tensor shape and layout rank mismatch: shape={list(self.shape)}, layout={layout}, "
                f"shape rank={len(self.shape)}, layout rank={layout.rank}"
            )
        self.layout = layout
        self.name = f"<{list(self.shape)}, {element_ty}, {layout}>"

    def with_element_ty(self, element_ty: dtype) -> distributed_type:
        return distributed_type(element_ty, self.shape, self.layout)

    def with_shape(self, shape: tuple[int, ...]) -> distributed_type:
        return distributed_type(self.scalar, shape, self.layout)

    def with_layout(self, layout: DistributedLayout) -> distributed_type:
        """The same block with another layout."""
        return distributed_type(self.scalar, self.shape, layout)

    def _inferred(
        self, shape: Sequence[int], infer: Callable[[enc.DistributedEncoding], Any], what: str
    ) -> distributed_type:
        """A block of `shape` with the layout with which `what` moves no data; layouts that are not resolved stay."""
        if isinstance(self.layout, _UNRESOLVED):
            return self.with_shape(tuple(shape))
        found = infer(self.layout.encoding())
        if found is None:
            raise ValueError(f"no layout is that of {what} of a tensor with {self.layout}")
        return distributed_type(self.scalar, shape, distributed_layout_of(found))

    def expanded(self, axis: int) -> distributed_type:
        shape = (*self.shape[:axis], 1, *self.shape[axis:])
        if isinstance(self.layout, _UNRESOLVED):
            return self.with_shape(shape)
        if not isinstance(self.layout, SliceLayout):
            message = f"expected expand_dims input to have a SliceLayout, but got: {self.layout}"
            raise LayoutError(message, help=f"{_SLICED.format(axis)}, with the layout that the result shall have")
        if self.layout.dim != axis:
            message = f"expected expand_dims input layout to be sliced in axis {axis} but got {self.layout.dim}"
            raise LayoutError(message, help=conversion_to("x", SliceLayout(axis, self.layout.parent)))
        return distributed_type(self.scalar, shape, self.layout.parent)

    def reshaped(self, shape: tuple[int, ...]) -> distributed_type:
        return self._inferred(shape, lambda src: inference.reshape_dst(self.shape, src, shape), "a reshape")

    def permuted(self, order: Sequence[int]) -> distributed_type:
        shape = tuple(self.shape[d] for d in order)
        return self._inferred(shape, lambda src: inference.trans_dst(src, self.shape, order), "a permutation")

    def joined(self) -> distributed_type:
        return self._inferred((*self.shape, 2), lambda src: inference.join_dst(src, self.shape), "a join")

    def halved(self) -> distributed_type:
        return self._sliced(len(self.shape) - 1)

    def reduced(self, axis: int) -> dtype:
        return self._sliced(axis) if len(self.shape) > 1 else self.scalar

    def _sliced(self, axis: int) -> distributed_type:
        layout = self.layout if isinstance(self.layout, _UNRESOLVED) else SliceLayout(axis, self.layout)
        return distributed_type(self.scalar, (*self.shape[:axis], *self.shape[axis + 1 :]), layout)

    def indices(self, axis: int) -> distributed_type:
        layout: DistributedLayout = self.layout
        if not isinstance(layout, _UNRESOLVED):
            for dim in reversed([d for d in range(len(self.shape)) if d != axis]):
                layout = SliceLayout(dim, layout)
        return distributed_type(int32, self.shape[axis : axis + 1], layout)

    def mangle(self) -> str:
        return f"{self.scalar.mangle()}S{'_'.join(map(str, self.shape))}SL{self.layout.mangle()}L"


class memory_descriptor_type(handle_type):
    """A view as `shape` of a buffer of `alloc_shape`."""

    kind: ClassVar[str]
    value_class: ClassVar[builtins.type[memory_descriptor]]

    def __init__(self, element_ty: dtype, shape: Sequence[int], layout: Layout, alloc_shape: Sequence[int]) -> None:
        self.element_ty = unwrap(element_ty)
        self.shape: list[int] = list(unwrap(shape))
        self.layout = unwrap(layout)
        self.alloc_shape: list[int] = list(unwrap(alloc_shape))
        self.name = f"{self.kind}<{self.element_ty}, {self.shape}, {self.layout}, {self.alloc_shape}>"

    def value(self, handle: SSAValue) -> memory_descriptor:
        return self.value_class(handle, self)

    def mangle(self) -> str:
        shape = "_".join(map(str, self.shape))
        return f"MD{self.element_ty.mangle()}S{shape}SL{self.layout.mangle()}LAS{self.alloc_shape}ASMD"


class memory_descriptor(handle_value):
    """A view of a buffer in a kernel."""

    type: memory_descriptor_type  # pyright: ignore[reportIncompatibleMethodOverride]

    @classmethod
    def method(cls, declaration: D) -> D:
        """Makes a declared function a method of such views."""
        cls.members[declaration.__name__] = declaration
        return declaration

    @classmethod
    def private_method(cls, declaration: D) -> D:
        """The same, with Triton's `_` before the name."""
        cls.members[f"_{declaration.__name__}"] = declaration
        return declaration

    @property
    def dtype(self) -> dtype:
        return self.type.element_ty

    @property
    def shape(self) -> list[int]:
        return self.type.shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def layout(self) -> Any:
        return self.type.layout


class shared_memory_descriptor(memory_descriptor):
    """A view of a buffer in shared memory. Methods (`load`, `store`, `index`, ...) are `members`."""

    members: ClassVar[dict[str, Named]] = {}
    as_tensor = "x.load(layout) gives its content"


class shared_memory_descriptor_type(memory_descriptor_type):
    """The type of a view of shared memory."""

    kind = "shared_memory_descriptor"
    value_class = shared_memory_descriptor

    def __init__(
        self, element_ty: dtype, shape: Sequence[int], layout: SharedLayout, alloc_shape: Sequence[int]
    ) -> None:
        super().__init__(element_ty, shape, layout, alloc_shape)
        if not isinstance(self.layout, SharedLayout):
            raise LayoutError(f"a buffer in shared memory has a SharedLayout, got {self.layout}")


class tensor_descriptor_type(plain_descriptor_type):
    """The type of a TMA descriptor: its blocks, and their layout in shared memory."""

    def __init__(
        self, block_type: block_type, shape_type: tuple_type, strides_type: tuple_type, layout: SharedLayout
    ) -> None:
        super().__init__(block_type, shape_type, strides_type)
        self.layout = layout
        self.name = f"tensor_descriptor<{block_type}, {layout}>"

    def value(self, handle: SSAValue, shape: Sequence[object], strides: Sequence[object]) -> tensor_descriptor:
        return tensor_descriptor(handle, shape, strides, self.block_type, self.layout)

    def __str__(self) -> str:
        return self.name

    def mangle(self) -> str:
        return f"TD{self.block_type.mangle()}_{self.layout.mangle()}TD"


class tensor_descriptor(plain_descriptor):
    """A TMA descriptor in a kernel."""

    members: ClassVar[dict[str, Named]] = {}

    def __init__(
        self,
        handle: SSAValue,
        shape: Sequence[object],
        strides: Sequence[object],
        block_type: block_type,
        layout: SharedLayout,
    ) -> None:
        super().__init__(handle, shape, strides, block_type)
        self.type = tensor_descriptor_type(block_type, self.shape.type, self.strides.type, layout)

    @property
    def layout(self) -> SharedLayout:
        assert isinstance(self.type, tensor_descriptor_type)
        return self.type.layout


class warpgroup_mma_accumulator_type(handle_type):
    """The type of what an asynchronous `warpgroup_mma` gives: a tensor of `tensor_type` once it is waited for."""

    def __init__(self, tensor_type: dtype) -> None:
        self.tensor_type = tensor_type
        self.name = f"warpgroup_mma_accumulator<{tensor_type}>"

    def value(self, handle: SSAValue) -> warpgroup_mma_accumulator:
        return warpgroup_mma_accumulator(handle, self)

    def mangle(self) -> str:
        return f"FT{self.tensor_type.mangle()}FT"


class warpgroup_mma_accumulator(handle_value):
    """An accumulator that may still be in flight."""

    as_tensor = "wait for it: warpgroup_mma_wait(0, deps=[acc]) gives the tensor"

    type: warpgroup_mma_accumulator_type  # pyright: ignore[reportIncompatibleMethodOverride]

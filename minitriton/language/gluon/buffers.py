"""Methods of `shared_memory_descriptor`: loads, stores and views of a buffer. Declarations, see `declare.py`.

buffer.index(i).store(x)
y = buffer.slice(0, 16).load(layout)
"""

# Declarations have no bodies: what they give is what the frontend emits.
# pyright: reportReturnType=false

from __future__ import annotations

from collections.abc import Sequence

from minitriton.language.declare import builtin
from minitriton.language.gluon.core import LayoutArgument
from minitriton.language.gluon.layouts import SharedLayout
from minitriton.language.gluon.types import shared_memory_descriptor
from minitriton.language.values import ConstInt, ConstInts, ConstType, Operand, constexpr, tensor

_method, _private_method = shared_memory_descriptor.method, shared_memory_descriptor.private_method


@_method
@builtin
def load(buffer: shared_memory_descriptor, layout: LayoutArgument) -> tensor:
    """The content of a buffer as a tensor with `layout`."""


@_method
@builtin
def store(buffer: shared_memory_descriptor, value: tensor) -> None:
    """Stores a tensor of the buffer's shape and dtype."""


@_method
@builtin
def slice(
    buffer: shared_memory_descriptor, start: ConstInt, length: ConstInt, dim: ConstInt = 0
) -> shared_memory_descriptor:
    """A view of `length` elements from `start` on along `dim`."""


@_method
@builtin
def index(buffer: shared_memory_descriptor, index: Operand) -> shared_memory_descriptor:
    """A view of one element along the first dimension."""


@_method
@builtin
def permute(buffer: shared_memory_descriptor, order: Sequence[ConstInt]) -> shared_memory_descriptor:
    """A view with the dimensions in `order`."""


@_method
@builtin
def reshape(buffer: shared_memory_descriptor, shape: ConstInts) -> shared_memory_descriptor:
    """A view with another shape over the same elements."""


@_private_method
@builtin
def reinterpret(
    buffer: shared_memory_descriptor, dtype: ConstType, shape: ConstInts, layout: SharedLayout | constexpr
) -> shared_memory_descriptor:
    """The buffer's bytes as another dtype, shape and layout."""


@_private_method
@builtin
def keep_alive(buffer: shared_memory_descriptor) -> None:
    """A use after which the buffer's memory may be used again."""

"""Result types that the ops of `ttg` infer.

infer_memdesc_trans(!ttg.memdesc<3x128x64xf16, ...>, (0, 2, 1))      !ttg.memdesc<3x64x128xf16, ...>, its layout permuted too
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute

from minitriton.dialects.encodings import encoding_attr, layout_of
from minitriton.dialects.ttg.types import MemDescType
from minitriton.errors import IRError
from minitriton.layouts.encodings import SharedEncoding
from minitriton.layouts.inference import memdesc_reshape_dst, trans_dst


def _memdesc(type_: Attribute) -> tuple[MemDescType, SharedEncoding]:
    layout = layout_of(type_)
    if not isinstance(type_, MemDescType) or not isinstance(layout, SharedEncoding):
        raise IRError(f"expected a memory descriptor with a shared layout, got {type_}")
    return type_, layout


def infer_memdesc_trans(src: Attribute, order: Sequence[int]) -> MemDescType:
    """The type of a view of `src` with its dimensions in `order`. Raises `IRError` where no layout says that."""
    type_, layout = _memdesc(src)
    shape, alloc = type_.get_shape(), type_.get_alloc_shape()
    permuted = trans_dst(layout, shape, tuple(order))
    if permuted is None:
        raise IRError(f"no layout is the transpose of {type_.encoding}")
    inner = alloc[len(alloc) - len(order) :]
    return type_.with_(
        shape=[shape[d] for d in order],
        encoding=encoding_attr(permuted),
        alloc_shape=[*alloc[: len(alloc) - len(order)], *(inner[d] for d in order)],
    )


def infer_memdesc_reshape(src: Attribute, shape: Sequence[int]) -> MemDescType:
    """The type of a view of `src` as `shape`. Raises `IRError` where no layout says that."""
    type_, layout = _memdesc(src)
    reshaped = memdesc_reshape_dst(type_.get_shape(), layout, tuple(shape))
    if reshaped is None:
        raise IRError(f"{type_} cannot be seen as {list(shape)}")
    alloc = type_.get_alloc_shape()
    return type_.with_(
        shape=shape, encoding=encoding_attr(reshaped), alloc_shape=[*alloc[: len(alloc) - type_.get_num_dims()], *shape]
    )

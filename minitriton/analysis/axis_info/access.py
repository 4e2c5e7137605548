"""How the layout of a tensor of pointers meets the facts about it: its fastest axis, and what a thread holds along it.

In: a tensor type with an encoding. Out: an `AccessShape`.

    tensor<64x32x!tt.ptr<f16>, #blocked<sizePerThread = [1, 8], order = [1, 0]>>      fastest_dim 1, contiguous_per_thread 8
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from xdsl.dialects.builtin import TensorType

from minitriton.dialects import ttg
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.layouts.properties import contig_per_thread, get_order


class AccessShape(NamedTuple):
    """`contiguous_per_thread` elements of a thread lie next to each other along axis `fastest_dim`."""

    fastest_dim: int
    contiguous_per_thread: int


def access_shape(type_: TensorType) -> AccessShape:
    """The access shape of a tensor with a distributed encoding; without one, the last axis element by element."""
    encoding = ttg.layout_of(type_)
    if not isinstance(encoding, DistributedEncoding):
        return AccessShape(len(type_.shape.data) - 1, 1)
    return _access_shape(encoding, type_.get_shape())


@lru_cache(maxsize=4096)
def _access_shape(encoding: DistributedEncoding, shape: tuple[int, ...]) -> AccessShape:
    fastest = get_order(encoding, shape)[0]
    return AccessShape(fastest, contig_per_thread(encoding, shape)[fastest])

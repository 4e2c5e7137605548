"""What authors ask of layouts, on the host or while a kernel is compiled.

bank_conflicts(tensor_type, buffer_type)     0 if every wavefront of ld.shared uses each bank once
linear_layout(BlockedLayout(...), [64, 64])  DistributedLinearLayout(reg_bases=[[0, 1], ...], ...)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from minitriton.language.gluon.layouts import (
    AutoLayout,
    CoalescedLayout,
    DistributedLayout,
    DistributedLinearLayout,
    Layout,
    PaddedSharedLayout,
    SharedLayout,
    SharedLinearLayout,
    layout_of,
)
from minitriton.language.gluon.types import distributed_type, shared_memory_descriptor_type
from minitriton.layouts import f2
from minitriton.layouts.conversion import minimal_cvt_layout
from minitriton.layouts.encodings import PaddedShared, SharedEncoding
from minitriton.layouts.memory import local_access
from minitriton.layouts.to_linear import linear_encoding_of, to_linear_layout

_WAVEFRONT_BYTES = 128
"""What shared memory gives in one access: 32 banks of 4 bytes (CUDA C++ programming guide, shared memory)."""


_WORD_BITS = 32


def linear_layout(layout: Layout, shape: Sequence[int]) -> Layout:
    """`layout` for a tensor or buffer of `shape`, by its bases."""
    if isinstance(layout, (AutoLayout, CoalescedLayout, DistributedLinearLayout)):
        return layout
    linear = to_linear_layout(layout.encoding(), tuple(shape))
    if isinstance(layout, DistributedLayout):
        return layout_of(linear_encoding_of(linear))
    offset, block = ([list(basis) for basis in linear.bases.get(name, ())] for name in ("offset", "block"))
    return SharedLinearLayout(offset, block)


def is_trivial(have: DistributedLayout, want: DistributedLayout, shape: Sequence[int]) -> bool:
    """Whether a conversion moves no element to another thread; not known of layouts that are not resolved."""
    if have == want:
        return True
    if isinstance(have, (AutoLayout, CoalescedLayout)) or isinstance(want, (AutoLayout, CoalescedLayout)):
        return False
    moved = minimal_cvt_layout(have.encoding(), want.encoding(), tuple(shape)).get_in_dim_names()
    return moved in ([], ["register"])


def bank_conflicts(tensor: distributed_type, buffer: shared_memory_descriptor_type) -> int:
    """Accesses that each wavefront of `ld.shared` or `st.shared` takes beyond one.

    Lanes that differ in an address beyond a wavefront's bytes, and not within them, meet at a bank. Raises `ValueError` for a tensor and a
    buffer of different shape or dtype, and for a part of a buffer.
    """
    shape, layout = tensor.shape, buffer.layout
    if list(shape) != buffer.shape:
        raise ValueError(f"register shape {list(shape)} and shared shape {buffer.shape} must match")
    if tensor.element_ty != buffer.element_ty:
        raise ValueError(
            f"mismatched dtypes between register ({tensor.element_ty}) and shared ({buffer.element_ty}) layouts"
        )
    if buffer.shape != buffer.alloc_shape[-len(buffer.shape) :]:
        raise ValueError(
            f"bank_conflicts takes whole buffers. Got shape {buffer.shape} and alloc_shape {buffer.alloc_shape}"
        )
    assert isinstance(layout, SharedLayout)
    access = local_access(tensor.layout.encoding(), layout.encoding(), shape, tensor.primitive_bitwidth)
    words = max(1, access.vector * access.bitwidth // 32)
    lanes = access.lane[: len(access.lane) - f2.log2(words)]
    if isinstance(layout, PaddedSharedLayout):
        return _padded_conflicts(layout.encoding(), lanes, words, tensor.primitive_bitwidth)
    return (1 << (f2.rank(lanes) - f2.rank([lane % _WAVEFRONT_BYTES for lane in lanes]))) - 1


def _padded_conflicts(layout: SharedEncoding, lanes: Sequence[int], words: int, bits: int) -> int:
    """The same where padding follows: the words of each bank are counted. `lanes`, in bytes, is without it."""
    assert isinstance(layout, PaddedShared)
    starts = [0]
    for lane in lanes:
        starts += [start ^ lane for start in starts]
    first = {layout.padded_offset(start * 8 // bits) * bits // _WORD_BITS for start in starts}
    banks = Counter((start + word) % (_WAVEFRONT_BYTES * 8 // _WORD_BITS) for start in first for word in range(words))
    return max(banks.values()) - 1

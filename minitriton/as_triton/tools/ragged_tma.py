"""Ragged arrays through one descriptor: rows that belong to batches of unequal sizes, one batch after the other.

    desc = create_ragged_descriptor(rows, [32, 128])                           on the host
    x = load_ragged(desc, batch_offset, batch_size, [row, column])            in a kernel: rows of the batch, zeros after its end

A read or write stays inside of rows `batch_offset` to `batch_offset + batch_size`, by the copy unit's own check of bounds. The
descriptor has two dimensions more than the array. Along the ragged dimension it pretends to 2**30 rows, so a batch that is to
end at row `e` begins at row 2**30 - `batch_size`; the two others move the address back by 2**30 rows and forward to `e`. The
first has a stride of 2**34 elements less a row; 2**30 of these are a multiple of 2**64 less 2**30 rows: addresses wrap around.
"""

# Kernels are no typed Python: their arguments are what a launch passes.
# pyright: standard

from __future__ import annotations

import minitriton
import minitriton.language as tl
from minitriton.as_triton.tools.tensor_descriptor import DescribedArray, TensorDescriptor, require

__all__ = ["atomic_add_ragged", "create_ragged_descriptor", "load_ragged", "store_ragged", "to_ragged_indices"]

_ROWS = 2**30
_MOST = 0x7FFF0000
_MOST_DIMS = 3


@minitriton.jit
def to_ragged_indices(batch_offset, batch_size, row):
    """The indices along the two added dimensions and the ragged one for row `row` of a batch."""
    rows = 0x40000000
    return rows, batch_offset + batch_size, rows - batch_size + row


@minitriton.jit
def load_ragged(TMA, batch_offset, batch_size, coords, ragged_dim: tl.constexpr = tl.constexpr(0)):
    """The block at `coords` of a batch; zeros after its last row."""
    tl.static_assert(len(TMA.shape) == len(coords) + 2, "TMA must be a read-write ragged descriptor")
    back, end, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    block = TMA.load([back, end] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1 :])  # noqa: RUF005
    return tl.reshape(block, block.shape[2:])


@minitriton.jit
def store_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = tl.constexpr(0)):
    """Stores a block at `coords` of a batch; nothing after its last row."""
    back, end, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    block = tl.reshape(data, [1, 1] + data.shape)  # noqa: RUF005
    TMA.store([back, end] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1 :], block)  # noqa: RUF005


@minitriton.jit
def atomic_add_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = tl.constexpr(0)):
    """Adds a block at `coords` of a batch, each element atomically; nothing after its last row."""
    back, end, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    block = tl.reshape(data, [1, 1] + data.shape)  # noqa: RUF005
    TMA.atomic_add([back, end] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1 :], block)  # noqa: RUF005


def create_ragged_descriptor(T: DescribedArray, block_shape: list[int], ragged_dim: int = 0) -> TensorDescriptor:
    """A descriptor of the 2- or 3-dimensional array `T`, whose dimension `ragged_dim` (not the last) holds the batches.

    Raises `DescriptorError` for an array of other dimensions or with more than 2**30 rows.
    """
    shape = list(T.shape)
    rank = len(shape)
    dim = ragged_dim + rank if ragged_dim < 0 else ragged_dim
    require(0 <= dim < rank - 1, "last dimension cannot be ragged")
    require(rank <= _MOST_DIMS, f"a ragged descriptor has at most {_MOST_DIMS} dimensions, not {rank}")
    require(len(block_shape) == rank, f"a block of {rank} dimensions is wanted, got {list(block_shape)}")
    require(shape[dim] <= _ROWS, f"a ragged descriptor has at most 2**30 rows, not {shape[dim]}")
    whole = TensorDescriptor.from_tensor(T, list(block_shape))
    shape[dim] = _ROWS
    row = whole.strides[dim]
    strides = [2**34 - row, row, *whole.strides]
    return TensorDescriptor(T, [_MOST, _MOST, *shape], strides, [1, 1, *block_shape])

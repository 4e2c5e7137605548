"""What kernels call to read and write one batch of a ragged array (`tools.ragged_tma` says how its descriptor is made)."""

# Kernels are no typed Python: their arguments are what a launch passes.
# pyright: standard

from __future__ import annotations

import minitriton
import minitriton.language as tl


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

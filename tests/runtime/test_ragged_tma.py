"""Batches of unequal sizes in one array, read and written through one descriptor without leaking into each other."""

import numpy as np
import pytest

import minitriton as triton
from minitriton.tools.ragged_tma import atomic_add_ragged, create_ragged_descriptor, load_ragged, store_ragged
from minitriton.tools.tensor_descriptor import DescriptorError


@triton.jit
def copy_batch(x, y, x_first, y_first, x_size, y_size):
    store_ragged(y, y_first, y_size, [0, 0], load_ragged(x, x_first, x_size, [0, 0]))


@triton.jit
def add_batch(x, y, x_first, y_first, x_size, y_size):
    atomic_add_ragged(y, y_first, y_size, [0, 0], load_ragged(x, x_first, x_size, [0, 0]))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int32])
def test_a_batch_is_read_with_zeros_behind_it_and_written_up_to_its_end(dtype) -> None:
    x = np.arange(1, 64 * 16 + 1).reshape(64, 16).astype(dtype)
    y = np.full((64, 16), 7, dtype)
    source, target = create_ragged_descriptor(x, [16, 16]), create_ragged_descriptor(y, [16, 16])
    copy_batch[(1,)](source, target, 9, 20, 5, 8)
    add_batch[(1,)](source, target, 9, 20, 5, 8)
    expected = np.full((64, 16), 7, dtype)
    expected[20:25], expected[25:28] = x[9:14] + x[9:14], 0
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(
    ("shape", "block", "dim", "message"),
    [
        ((8, 16), [8, 16], 1, "last dimension cannot be ragged"),
        ((2, 2, 2, 16), [1, 1, 1, 16], 0, "at most 3 dimensions"),
        ((8, 16), [8], 0, "a block of 2 dimensions"),
    ],
)
def test_what_cannot_be_ragged_is_refused(shape, block, dim, message) -> None:
    with pytest.raises(DescriptorError, match=message):
        create_ragged_descriptor(np.zeros(shape, np.float32), block, dim)

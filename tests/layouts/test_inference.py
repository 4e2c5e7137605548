"""Encodings through ops that change the shape: every thread keeps its elements."""

import layout_machine as machine
import layout_strategies as strategies
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitriton.layouts.encodings import (
    Blocked,
    DotOperand,
    Encoding,
    Linear,
    NvidiaMma,
    NVMMAShared,
    SharedLinear,
    Slice,
    SwizzledShared,
)
from minitriton.layouts.inference import (
    expand_dims_dst,
    fp4_to_fp_dst,
    fp4_to_fp_src,
    inverse_permutation,
    join_dst,
    memdesc_reshape_dst,
    reduce_dst,
    reshape_decomposition,
    reshape_dst,
    split_dst,
    trans_dst,
)
from minitriton.layouts.properties import are_layouts_equivalent
from minitriton.layouts.to_linear import to_linear_layout

ROWS = Blocked((1, 4), (8, 4), (4, 1), (1, 0))


def coordinates(encoding: Encoding, shape: tuple[int, ...]) -> np.ndarray:
    """What each `[warp, lane, register]` holds, as a row-major number."""
    held = machine.held_by(to_linear_layout(encoding, shape))
    number = np.zeros_like(held)
    for size in shape:
        number = number * size
        number += held % size
        held = held // size
    return number


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_transpose_moves_nothing_and_has_an_inverse(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = data.draw(strategies.shapes(rank))
    encoding = data.draw(strategies.distributed(rank, 4, shape))
    order = tuple(data.draw(st.permutations(range(rank))))
    new_shape = tuple(shape[i] for i in order)
    result = trans_dst(encoding, shape, order)
    assert result is not None
    before = np.transpose(np.arange(int(np.prod(shape))).reshape(shape), order).ravel()
    assert (before[coordinates(result, new_shape)] == coordinates(encoding, shape)).all()
    back = trans_dst(result, new_shape, inverse_permutation(order))
    assert back is not None
    assert are_layouts_equivalent(shape, back, encoding)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_reshape_moves_nothing_and_has_an_inverse(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = data.draw(strategies.shapes(rank))
    encoding = data.draw(strategies.distributed(rank, 4, shape))
    new_shape = data.draw(strategies.split(int(np.prod(shape)), data.draw(st.integers(1, 3))))
    result = reshape_dst(shape, encoding, new_shape)
    assert result is not None
    old, new = coordinates(encoding, shape), coordinates(result, new_shape)
    # Threads that hold copies may hold other copies in a default layout; what one register bit tells stays the same.
    if old.shape == new.shape and len(np.unique(old)) == old.size:
        assert (old == new).all()
    back = reshape_dst(new_shape, result, shape)
    assert back is not None
    assert are_layouts_equivalent(shape, back, encoding)


def test_blocked_encodings_stay_blocked_where_they_can() -> None:
    assert reshape_dst((32, 4), Blocked((4, 4), (32, 1), (4, 1), (1, 0)), (128,)) == Blocked((16,), (32,), (4,), (0,))
    result = reshape_dst((2, 2, 32), Blocked((1, 1, 4), (2, 2, 8), (1, 1, 4), (2, 1, 0)), (4, 32))
    assert result == Blocked((1, 4), (4, 8), (1, 4), (1, 0))
    assert isinstance(reshape_dst((32, 32), Blocked((2, 2), (8, 4), (4, 1), (1, 0)), (1024,)), Linear)
    assert reshape_dst((32, 32), ROWS, (32, 16)) is None


@pytest.mark.parametrize(
    ("src", "dst", "want"),
    [
        ((4, 4, 4), (2, 2, 8, 2), [([0], [0, 1]), ([1, 2], [2, 3])]),
        ((4, 4), (16,), [([0, 1], [0])]),
        ((4, 1), (4,), [([0, 1], [0])]),
        ((8, 2), (8, 2), [([0], [0]), ([1], [1])]),
    ],
)
def test_reshapes_fall_into_independent_steps(src: tuple, dst: tuple, want: list) -> None:
    assert reshape_decomposition(src, dst) == want


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_joining_and_splitting_undo_each_other(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = data.draw(strategies.shapes(rank))
    encoding = data.draw(strategies.distributed(rank, 4, shape))
    joined = join_dst(encoding, shape)
    back = split_dst(joined, (*shape, 2))
    assert back is not None
    assert are_layouts_equivalent(shape, back, encoding)
    old, new = coordinates(encoding, shape), coordinates(joined, (*shape, 2))
    if new.shape[2] == 2 * old.shape[2] and len(np.unique(old)) == old.size:
        assert (np.sort(new // 2, axis=2) == np.repeat(np.sort(old, axis=2), 2, axis=2)).all()
        if not (isinstance(encoding, Slice) and joined == encoding.parent):
            assert (new.reshape(*old.shape, 2) // 2 == old[..., None]).all()


def test_what_is_joined_of_slices_is_in_the_layout_they_are_slices_of() -> None:
    """Even where that has the elements of a pair in one thread, but not next to each other."""
    parent = Blocked((1, 1, 1), (32, 1, 1), (4, 1, 1), (0, 1, 2))
    assert join_dst(Slice(2, parent), (128, 2)) == parent


def test_a_split_needs_both_elements_in_one_thread() -> None:
    assert split_dst(Blocked((1, 1), (16, 2), (4, 1), (1, 0)), (64, 2)) is None
    assert split_dst(Blocked((1, 4), (8, 4), (4, 1), (1, 0)), (64, 4)) is None
    assert split_dst(Blocked((1, 2), (32, 1), (4, 1), (1, 0)), (64, 2)) == Blocked((1,), (32,), (4,), (0,))


def test_a_slice_joins_to_its_parent_if_that_has_pairs() -> None:
    parent = Blocked((1, 2), (32, 1), (4, 1), (0, 1))
    assert join_dst(Slice(1, parent), (128,)) == parent
    assert join_dst(Slice(1, ROWS), (128,)) != ROWS


def test_reductions_and_new_dimensions_go_through_slices() -> None:
    assert reduce_dst(ROWS, 1) == Slice(1, ROWS)
    assert expand_dims_dst(Slice(1, ROWS), 1) == ROWS
    assert expand_dims_dst(Blocked((1,), (32,), (4,), (0,)), 0) is None


def test_transposing_permutes_ctas_and_the_order() -> None:
    encoding = Blocked((1, 4), (8, 4), (4, 1), (1, 0), ((1, 0),))
    assert trans_dst(encoding, (64, 32), (1, 0)) == Blocked((4, 1), (4, 8), (1, 4), (0, 1), ((0, 1),))
    assert trans_dst(encoding, (64, 32), (0, 1)) is encoding
    assert trans_dst(encoding, (64, 32, 2), (1, 0, 2)) is None
    assert inverse_permutation((2, 0, 1)) == (1, 2, 0)


def test_transposed_buffers() -> None:
    assert trans_dst(SwizzledShared(8, 1, 8, (1, 0)), (64, 32), (1, 0)) == SwizzledShared(8, 1, 8, (0, 1))
    assert trans_dst(NVMMAShared(128, False, 16), (64, 64), (1, 0)) == NVMMAShared(128, True, 16)
    three = trans_dst(NVMMAShared(128, False, 16, rank=3), (2, 8, 64), (0, 2, 1))
    assert isinstance(three, SharedLinear)
    assert three.alignment == 1024


def test_reshaped_buffers_stay_nvmma_while_it_is_true() -> None:
    encoding = NVMMAShared(128, False, 16, rank=3)
    assert memdesc_reshape_dst((2, 64, 64), encoding, (128, 64)) == NVMMAShared(128, False, 16)
    assert isinstance(memdesc_reshape_dst((128, 64), NVMMAShared(128, False, 16), (64, 128)), SharedLinear)
    assert memdesc_reshape_dst((128, 64), NVMMAShared(128, False, 16), (64, 64)) is None


def test_unpacking_fp4_doubles_what_a_thread_holds_along_the_axis() -> None:
    assert fp4_to_fp_dst(ROWS, (64, 32), 1) == Blocked((1, 8), (8, 4), (4, 1), (1, 0))
    assert fp4_to_fp_src(Blocked((1, 8), (8, 4), (4, 1), (1, 0)), (64, 64), 1) == ROWS
    assert fp4_to_fp_src(Blocked((1, 1), (8, 4), (4, 1), (1, 0)), (64, 64), 1) is None
    linear = fp4_to_fp_dst(NvidiaMma(2, 0, (4, 1), (16, 8)), (64, 32), 1)
    assert isinstance(linear, Linear)
    assert linear.register[0] == (0, 1)
    assert fp4_to_fp_src(linear, (64, 64), 1) is not None


def test_operands_stay_operands_when_fp4_is_unpacked_along_k() -> None:
    operand = DotOperand(1, NvidiaMma(2, 0, (2, 2), (16, 8)), 2)
    assert fp4_to_fp_dst(operand, (32, 64), 0) == DotOperand(1, operand.parent, 4)
    assert fp4_to_fp_src(DotOperand(1, operand.parent, 4), (64, 64), 0) == operand
    assert isinstance(fp4_to_fp_dst(operand, (64, 32), 1), Linear)

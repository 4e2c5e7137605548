"""What a thread holds along an axis, over random blocked layouts."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from minitriton.layouts.encodings import Blocked
from minitriton.layouts.inference import reshape_dst
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.passes.optimize_thread_locality.loop_reductions import own_positions


@st.composite
def blocked_and_shape(draw: st.DrawFn) -> tuple[Blocked, tuple[int, ...]]:
    """A blocked layout of 32 lanes and 4 warps in 1 or 2 dimensions, and a shape."""
    rank = draw(st.integers(1, 2))
    order = tuple(draw(st.permutations(range(rank))))

    def spread(bits: int) -> tuple[int, ...]:
        first = draw(st.integers(0, bits)) if rank == 2 else bits
        return (1 << first, 1 << (bits - first))[:rank]

    size = tuple(1 << draw(st.integers(0, 3)) for _ in range(rank))
    shape = tuple(1 << draw(st.integers(3, 8)) for _ in range(rank))
    return Blocked(size, spread(5), spread(2), order), shape


@settings(max_examples=150, deadline=None)
@given(blocked_and_shape(), st.integers(0, 1))
def test_the_view_that_splits_off_a_threads_own_positions_keeps_them_in_the_thread(
    found: tuple[Blocked, tuple[int, ...]], axis: int
) -> None:
    layout, shape = found
    axis %= len(shape)
    high, low = own_positions(layout, shape, axis)
    middle = shape[axis] // (high * low)
    assert high * middle * low == shape[axis]
    split = (*shape[:axis], high, middle, low, *shape[axis + 1 :])
    view = reshape_dst(shape, layout, split)
    assert view is not None
    linear = to_linear_layout(view, split)
    for name in ("lane", "warp"):
        for basis in linear.bases[name]:
            assert basis[axis] == basis[axis + 2] == 0


@settings(max_examples=150, deadline=None)
@given(blocked_and_shape(), st.integers(0, 1))
def test_what_is_left_of_the_axis_has_other_threads_at_both_ends(
    found: tuple[Blocked, tuple[int, ...]], axis: int
) -> None:
    """Nothing more could be split off: lanes or warps set the lowest and the highest bit of what is left."""
    layout, shape = found
    axis %= len(shape)
    high, low = own_positions(layout, shape, axis)
    moved = {b[axis] for name in ("lane", "warp") for b in to_linear_layout(layout, shape).bases[name]}
    left = shape[axis] // (high * low)
    assert left == 1 or {low, low * left // 2} <= moved

"""Questions about encodings, answered from their linear layouts."""

import layout_strategies as strategies
from hypothesis import given, settings
from hypothesis import strategies as st

from minitriton.layouts.encodings import (
    Blocked,
    DotOperand,
    NvidiaMma,
    NVMMAShared,
    PaddedShared,
    SharedLinear,
    SwizzledShared,
)
from minitriton.layouts.properties import (
    are_layouts_equivalent,
    buffer_bytes,
    contig_per_thread,
    elems_per_thread,
    get_order,
    is_expensive_cat,
    is_expensive_view,
    order_for_memory,
    shared_alignment,
    size_per_thread,
    thread_order,
    threads_per_warp,
    total_elems_per_thread,
    warp_order,
    warps_per_cta,
)
from minitriton.layouts.to_linear import to_linear_encoding, to_linear_layout

ROWS = Blocked((1, 4), (8, 4), (4, 1), (1, 0))
MMA = NvidiaMma(2, 0, (2, 2), (16, 8))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_blocked_encoding_on_its_own_tile_says_what_its_fields_say(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    encoding = data.draw(strategies.blocked(rank, 4))
    parts = encoding.size_per_thread, encoding.threads_per_warp, encoding.warps_per_cta
    shape = tuple(s * t * w for s, t, w in zip(*parts, strict=True))
    assert threads_per_warp(encoding, shape) == encoding.threads_per_warp
    assert warps_per_cta(encoding, shape) == encoding.warps_per_cta
    assert elems_per_thread(encoding, shape) == encoding.size_per_thread
    assert total_elems_per_thread(encoding, shape) == to_linear_layout(encoding, shape).get_in_dim_size("register")


def test_registers_lanes_and_warps_of_a_tensor_larger_than_the_tile() -> None:
    shape = (128, 64)
    assert elems_per_thread(ROWS, shape) == (4, 16)
    assert size_per_thread(ROWS, shape) == (1, 4)
    assert contig_per_thread(ROWS, shape) == (1, 4)
    assert get_order(ROWS, shape) == thread_order(ROWS, shape) == (1, 0)


def test_a_tensor_smaller_than_the_tile_has_fewer_threads_with_elements_of_their_own() -> None:
    assert threads_per_warp(ROWS, (8, 8)) == (8, 2)
    assert warps_per_cta(ROWS, (8, 8)) == (1, 1)


def test_orders_of_tensor_core_layouts() -> None:
    assert get_order(MMA, (64, 64)) == (1, 0)
    assert warp_order(MMA, (64, 64)) == (1, 0)
    assert warp_order(NvidiaMma(3, 0, (4, 2), (16, 32, 16)), (64, 64)) == (0, 1)
    assert get_order(DotOperand(1, MMA, 2), (64, 64)) == (0, 1)
    assert contig_per_thread(MMA, (64, 64)) == (1, 2)


def test_a_buffer_follows_the_lanes_if_registers_say_nothing() -> None:
    assert order_for_memory(Blocked((1, 1), (32, 1), (4, 1), (0, 1)), (128, 1)) == (0, 1)
    assert order_for_memory(ROWS, (128, 64)) == (1, 0)


def test_orders_of_buffers() -> None:
    assert get_order(SwizzledShared(1, 1, 1, (0, 1)), (64, 64)) == (0, 1)
    assert get_order(NVMMAShared(128, True, 16), (64, 64)) == (0, 1)
    assert get_order(NVMMAShared(128, False, 16, rank=3), (2, 64, 64)) == (2, 1, 0)
    assert get_order(PaddedShared((2,), (2,), ((1, 0), (0, 1))), (2, 2)) == (0, 1)
    assert get_order(SharedLinear(((0, 1), (1, 0))), (2, 2)) == (1, 0)


def test_alignment_and_size_of_buffers() -> None:
    assert [shared_alignment(NVMMAShared(width, False, 16)) for width in (0, 32, 64, 128)] == [128, 256, 512, 1024]
    assert shared_alignment(SwizzledShared(1, 1, 1, (0,))) == 16
    assert shared_alignment(SharedLinear(((1,),), (), 64)) == 64
    assert buffer_bytes(NVMMAShared(128, False, 8, fp4_padded=True), (32, 64), 8) == 32 * 128
    assert buffer_bytes(SwizzledShared(1, 1, 1, (1, 0), ((1, 0),)), (32, 64), 16) == 16 * 64 * 2


def test_views_are_expensive_if_registers_or_copies_change() -> None:
    line = Blocked((4,), (32,), (4,), (0,))
    assert not is_expensive_view(line, (512,), Blocked((1, 4), (8, 4), (4, 1), (1, 0)), (32, 16))
    assert is_expensive_view(line, (512,), Blocked((1, 4), (8, 4), (4, 1), (1, 0)), (8, 16))
    assert is_expensive_cat(line, Blocked((1,), (32,), (4,), (0,)), (128,))
    assert not is_expensive_cat(line, line, (512,))


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_an_encoding_is_equivalent_to_its_bases(data: st.DataObject) -> None:
    shape = data.draw(strategies.shapes(2))
    encoding = data.draw(strategies.distributed(2, 4, cga=True))
    assert are_layouts_equivalent(shape, encoding, to_linear_encoding(encoding, shape))

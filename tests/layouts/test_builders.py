"""The encodings that Triton chooses by default."""

from hypothesis import given
from hypothesis import strategies as st

from minitriton.layouts.builders import (
    blocked,
    cga_from_split,
    default_blocked,
    nvmma_shared,
    swizzled_shared_for_dot,
    swizzled_shared_for_mma,
)
from minitriton.layouts.encodings import Blocked, DotOperand, NVMMAShared, SwizzledShared


def test_the_default_fills_the_last_dimension_with_lanes_then_warps() -> None:
    assert default_blocked((1024,), 4) == Blocked((1,), (32,), (4,), (0,))
    assert default_blocked((128, 64), 4) == Blocked((1, 1), (1, 32), (2, 2), (1, 0))
    assert default_blocked((128, 8), 4) == Blocked((1, 1), (4, 8), (4, 1), (1, 0))
    assert default_blocked((1, 1), 4) == Blocked((1, 1), (32, 1), (4, 1), (1, 0))


def test_larger_pieces_leave_lanes_for_the_other_dimensions() -> None:
    assert blocked((128, 64), (1, 8), (1, 0), 4) == Blocked((1, 8), (4, 8), (4, 1), (1, 0))
    assert blocked((64, 128), (8, 1), (0, 1), 8) == Blocked((8, 1), (8, 4), (1, 8), (0, 1))


def test_ctas_split_the_slowest_dimension_first() -> None:
    assert blocked((128, 64), (1, 8), (1, 0), 4, num_ctas=2).cga == ((1, 0),)
    assert blocked((1, 64), (1, 8), (1, 0), 4, num_ctas=4).cga == ((0, 1), (0, 2))
    assert blocked((1, 8), (1, 8), (1, 0), 4, num_ctas=2).cga == ((0, 0),)
    assert cga_from_split((4, 2), (2, 2), (1, 0)) == ((0, 1), (1, 0), (0, 0))


@given(st.lists(st.integers(0, 8), min_size=1, max_size=3), st.integers(0, 3), st.integers(0, 3), st.data())
def test_lanes_and_warps_are_all_used(exponents: list[int], warps: int, size: int, data: st.DataObject) -> None:
    rank = len(exponents)
    order = data.draw(st.permutations(range(rank)))
    sizes = [1] * rank
    sizes[order[0]] = 1 << size
    made = blocked([1 << e for e in exponents], sizes, order, 1 << warps)
    lanes = warp_count = 1
    for lane, warp in zip(made.threads_per_warp, made.warps_per_cta, strict=True):
        lanes, warp_count = lanes * lane, warp_count * warp
    assert (lanes, warp_count) == (32, 1 << warps)


def test_buffers_for_mma_operands_are_swizzled_over_a_line_of_banks() -> None:
    assert swizzled_shared_for_mma(0, 2, (128, 64), (1, 0), (), 16) == SwizzledShared(8, 1, 8, (1, 0))
    assert swizzled_shared_for_mma(0, 2, (128, 32), (1, 0), (), 16) == SwizzledShared(8, 2, 4, (1, 0))
    assert swizzled_shared_for_mma(1, 2, (32, 128), (1, 0), (), 16) == SwizzledShared(8, 1, 8, (1, 0))
    assert swizzled_shared_for_mma(0, 1, (128, 64), (0, 1), (), 32) == SwizzledShared(8, 1, 4, (0, 1))


def test_buffers_for_fused_multiply_adds_are_plain() -> None:
    operand = DotOperand(0, default_blocked((64, 64), 4))
    assert swizzled_shared_for_dot(operand, (64, 32), (1, 0), (), 32) == SwizzledShared(1, 1, 1, (1, 0))


def test_nvmma_buffers_take_the_widest_swizzle_that_a_row_fills() -> None:
    assert nvmma_shared((128, 64), (1, 0), (), 16) == NVMMAShared(128, False, 16)
    assert nvmma_shared((64, 128), (0, 1), (), 16) == NVMMAShared(128, True, 16)
    assert nvmma_shared((128, 16), (1, 0), (), 16).swizzling_byte_width == 32
    assert nvmma_shared((128, 8), (1, 0), (), 16).swizzling_byte_width == 0
    assert nvmma_shared((4, 64), (1, 0), (), 16).swizzling_byte_width == 0
    assert nvmma_shared((2, 4, 64), (2, 1, 0), (), 16) == NVMMAShared(128, False, 16, rank=3)

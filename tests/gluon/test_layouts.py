"""Gluon's layouts: the same values as in the IR, there and back; what cannot be is refused."""

from __future__ import annotations

import pytest

from minitriton.errors import IRError
from minitriton.experimental.gluon import language as gl
from minitriton.language.gluon.conversions import is_trivial, linear_layout
from minitriton.language.gluon.layouts import LayoutError, layout_of

BLOCKED = gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])
MMA = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
LAYOUTS = [
    BLOCKED,
    gl.SliceLayout(1, BLOCKED),
    gl.DistributedLinearLayout([[0, 1]], [[0, 2], [1, 0]], [[2, 0]], [], [4, 4]),
    MMA,
    gl.DotOperandLayout(1, MMA, 2),
    gl.NVMMASharedLayout(64, 16, 2, transposed=True),
    gl.SwizzledSharedLayout(8, 1, 8, [1, 0]),
    gl.SharedLinearLayout([[0, 1], [1, 0]], [], 32),
    gl.PaddedSharedLayout.with_identity_for([[4, 2]], [8, 8], [1, 0]),
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: type(layout).__name__)
def test_a_layout_is_a_value_of_the_ir_and_back(layout: gl.BlockedLayout) -> None:
    assert layout_of(layout.encoding()) == layout
    assert hash(layout_of(layout.encoding())) == hash(layout)


def test_lists_and_tuples_are_alike() -> None:
    assert gl.BlockedLayout((1, 4), (8, 4), (4, 1), (1, 0)) == BLOCKED  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: gl.BlockedLayout([1], [8, 4], [4, 1], [1, 0]),
        lambda: gl.NVMMASharedLayout(48, 16),
        lambda: gl.NVMMASharedLayout(64, 12),
        lambda: gl.PaddedSharedLayout([[4, 2], [4, 1]], [[1]], [], [2]),
        lambda: gl.SharedLinearLayout([]),
        lambda: gl.distributed_type(gl.float32, [64], BLOCKED),
        lambda: gl.distributed_type(gl.float32, [64, 64], gl.SwizzledSharedLayout(1, 1, 1, [0])),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_is_refused(make: object) -> None:
    with pytest.raises(LayoutError):
        make()  # type: ignore[operator]


def test_sizes_that_are_no_powers_of_two_are_refused_by_the_value() -> None:
    with pytest.raises(IRError, match="power of two"):
        gl.BlockedLayout([3], [32], [4], [0]).encoding()


@pytest.mark.parametrize(
    ("width", "rows", "columns"), [(128, 64, 64), (64, 64, 32), (32, 8, 16), (0, 64, 8), (0, 4, 64)]
)
def test_the_default_for_a_block_has_the_widest_swizzle_that_fits(width: int, rows: int, columns: int) -> None:
    assert gl.NVMMASharedLayout.get_default_for([rows, columns], gl.float16).swizzle_byte_width == width


def test_a_swizzle_takes_bank_conflicts_away() -> None:
    rows = gl.distributed_type(gl.float32, [32, 32], gl.BlockedLayout([1, 1], [32, 1], [1, 4], [0, 1]))

    def conflicts(layout: object) -> int:
        return gl.bank_conflicts(rows, gl.shared_memory_descriptor_type(gl.float32, [32, 32], layout, [32, 32]))

    assert conflicts(gl.SwizzledSharedLayout(1, 1, 1, [1, 0])) == 31
    assert conflicts(gl.SwizzledSharedLayout(1, 1, 32, [1, 0])) == 0
    assert [conflicts(gl.PaddedSharedLayout.with_identity_for([[32, n]], [32, 32], [1, 0])) for n in (1, 2, 4)] == [
        0,
        1,
        3,
    ]


def test_a_trivial_conversion_moves_nothing_between_threads() -> None:
    line = gl.BlockedLayout([1], [32], [4], [0])
    assert is_trivial(gl.SliceLayout(1, gl.BlockedLayout([1, 128], [32, 1], [4, 1], [0, 1])), line, [128])
    assert not is_trivial(gl.BlockedLayout([4], [32], [1], [0]), line, [128])
    assert linear_layout(line, [128]) == gl.DistributedLinearLayout(
        [], [[1], [2], [4], [8], [16]], [[32], [64]], [], [128]
    )

"""Operations on layouts: permutations of bits, fitting to a shape, vector widths."""

import pytest
from bank_conflicts import largest_vectorisation, reg_perm_for_divide

from minitriton.errors import MinitritonError
from minitriton.layouts.algebra import (
    ColumnAction,
    action_remove_broadcasted_regs,
    divide_left,
    ensure_layout_not_larger_than,
    ensure_layout_not_smaller_than,
    remove_standard_dim,
    reshape_layout,
    transpose_linear_layout,
)
from minitriton.layouts.linear_layout import LinearLayout


def registers(*bases: int, size: int = 64) -> LinearLayout:
    return LinearLayout({"register": [(b,) for b in bases], "lane": [(8,)], "warp": []}, {"offset": size})


def test_an_action_reorders_bases_and_values_alike() -> None:
    action = ColumnAction((2, 0, 1), "register", 3)
    assert action.apply(registers(1, 2, 4)).bases["register"] == ((4,), (1,), (2,))
    assert action.permute("abcdefgh") == list("aebfcgdh")
    assert ColumnAction((2, 0), "register", 3).apply(registers(1, 4, 2)).bases["register"] == ((2,), (1,))


def test_an_action_on_bits_that_are_not_there_is_refused() -> None:
    with pytest.raises(MinitritonError, match="names bits"):
        ColumnAction((3,), "register", 3)
    with pytest.raises(MinitritonError, match="has 2 bits"):
        ColumnAction.identity("register", 3).apply(registers(1, 2))


def test_copies_in_registers_are_dropped() -> None:
    action = action_remove_broadcasted_regs(registers(0, 1, 0, 2))
    assert action.action == (1, 3)
    assert action.apply(registers(0, 1, 0, 2)).bases["register"] == ((1,), (2,))


def test_registers_are_put_in_the_order_that_a_division_needs() -> None:
    tile = LinearLayout.identity_1d(4, "register", "offset")
    layout = registers(16, 2, 1)
    action = reg_perm_for_divide(layout, tile, left=True)
    assert action is not None
    assert action.action == (2, 1, 0)
    assert divide_left(action.apply(layout), tile) is not None
    assert reg_perm_for_divide(registers(16, 2), tile, left=True) is None
    high = LinearLayout({"register": [(1,)]}, {"offset": 2})
    right = reg_perm_for_divide(registers(32, 1, 2), high, left=False)
    assert right is not None
    assert right.action == (1, 2, 0)


@pytest.mark.parametrize(
    ("layout", "bitwidth", "limit", "want"),
    [
        (registers(1, 2, 4), 32, None, 4),
        (registers(1, 2, 4), 16, None, 8),
        (registers(2, 1), 32, None, 4),
        (registers(2, 1), 32, 4, 1),
        (registers(1, 16, 2), 32, None, 4),
        (registers(16, 2), 32, None, 1),
    ],
)
def test_vectors_are_as_wide_as_16_bytes_and_the_layout_allow(
    layout: LinearLayout, bitwidth: int, limit: int | None, want: int
) -> None:
    assert largest_vectorisation(layout, bitwidth, limit)[0] == want


def test_fitting_a_layout_to_a_shape_copies_the_largest_bases_away() -> None:
    # 32 elements cut down to 8: lanes 2 and register 1 pointed to the upper halves.
    layout = LinearLayout.from_bases({"register": [[8], [4], [1]], "lane": [[2], [16]]}, ["dim0"])
    fitted = ensure_layout_not_larger_than(layout, {"dim0": 8})
    assert fitted.bases == {"register": ((0,), (4,), (1,)), "lane": ((2,), (0,))}
    dropped = ensure_layout_not_larger_than(layout, {"dim0": 8}, broadcast_registers=False)
    assert dropped.bases == {"register": ((4,), (1,)), "lane": ((2,), (0,))}
    grown = ensure_layout_not_smaller_than(layout, {"dim0": 128})
    assert grown.bases["register"][3:] == ((32,), (64,))


def test_removing_reshaping_and_transposing_dimensions() -> None:
    layout = LinearLayout({"register": [[0, 1], [1, 0]], "lane": [[0, 2], [2, 0]]}, {"dim0": 4, "dim1": 4})
    assert remove_standard_dim(layout, 0).bases == {"register": ((1,), (0,)), "lane": ((2,), (0,))}
    assert reshape_layout(layout, (16,)).bases == {"register": ((1,), (4,)), "lane": ((2,), (8,))}
    assert transpose_linear_layout(layout, (1, 0)).bases["register"] == ((1, 0), (0, 1))

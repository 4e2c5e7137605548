"""Layouts as text."""

import layout_strategies as strategies
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitriton.layouts.encodings import Blocked, SwizzledShared
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.to_linear import to_linear_layout


def test_every_element_names_its_threads() -> None:
    layout = to_linear_layout(Blocked((1, 2), (2, 2), (1, 1), (1, 0)), (2, 4))
    assert layout.get_distributed_view(False) == (
        "[[T0:0, T0:1, T1:0, T1:1]\n"  #
        "[ T2:0, T2:1, T3:0, T3:1]]\n"
    )
    assert layout.get_distributed_view(True) == ("Warp0:\n(0,0), (0,2), (1,0), (1,2)\n(0,1), (0,3), (1,1), (1,3)\n")


def test_every_place_names_its_element() -> None:
    layout = to_linear_layout(SwizzledShared(1, 1, 2, (1, 0)), (2, 2))
    assert layout.get_shared_view(False) == "[[(0:0),(0:1)]\n[ (1:1),(1:0)]]\n"
    assert layout.get_shared_view(True).splitlines()[:2] == ["Block: 0:", "Offset: 0 -> (0,0)"]


@pytest.mark.oracle
@settings(max_examples=40)
@given(st.data())
def test_the_pictures_are_triton_s(data: st.DataObject) -> None:
    triton = pytest.importorskip("triton._C.libtriton")

    def same(layout: LinearLayout) -> object:
        bases = [(dim, [list(basis) for basis in images]) for dim, images in layout.bases.items()]
        return triton.linear_layout.LinearLayout.from_bases(
            bases, list(layout.out_dims), list(layout.out_dims.values()), False
        )

    rank = data.draw(st.integers(1, 3))
    shape = data.draw(strategies.shapes(rank).filter(lambda shape: max(shape) <= 32))
    registers = to_linear_layout(data.draw(strategies.distributed(rank, 2, cga=True)), shape)
    shared = to_linear_layout(data.draw(strategies.swizzled(rank)), shape)
    for hardware in (False, True):
        assert registers.get_distributed_view(hardware) == same(registers).get_distributed_view(hardware)
        assert shared.get_shared_view(hardware) == same(shared).get_shared_view(hardware)
        assert str(registers) == str(same(registers))

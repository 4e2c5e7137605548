"""Layouts as text: of command lines, of recorded launches, of descriptors' types, of hooks, of a message; there and back, for every class."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from minitriton.commands.signature import parse_signature
from minitriton.experimental import gluon
from minitriton.experimental.gluon import language as gl
from minitriton.experimental.gluon.language.nvidia import blackwell
from minitriton.experimental.gluon.language.nvidia.hopper import mbarrier
from minitriton.explorer import triton_child
from minitriton.lab.launches.recorded import read
from minitriton.lab.launches.recorded import written as recorded
from minitriton.language.gluon.layouts import Layout, LayoutError, read_layout, written
from minitriton.runtime.launching.launch_hooks import _decoded, _encoded  # pyright: ignore[reportPrivateUsage]

BLOCKED = gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])
MMA = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
LAYOUTS: list[Layout] = [
    gl.AutoLayout(),
    gl.CoalescedLayout(),
    BLOCKED,
    gl.BlockedLayout([1], [32], [4], [0], cga_layout=[[1]]),
    gl.SliceLayout(1, BLOCKED),
    gl.DistributedLinearLayout([[0, 1]], [[0, 2], [1, 0]], [[2, 0]], [], [4, 4]),
    MMA,
    gl.DotOperandLayout(0, MMA, 2),
    gl.NVMMASharedLayout(64, 16),
    gl.NVMMASharedLayout(128, 8, 3, transposed=True, fp4_padded=True, cga_layout=[[0, 1, 0]]),
    gl.SwizzledSharedLayout(8, 1, 8, [1, 0]),
    gl.PaddedSharedLayout.with_identity_for([[4, 2]], [8, 8], [1, 0]),
    gl.SharedLinearLayout([[0, 1], [1, 0]], [], 32),
    gl.amd.AMDMFMALayout(3, [32, 32, 8], True, [2, 2]),
    gl.amd.AMDWMMALayout(2, True, [2, 2]),
    mbarrier.MBarrierLayout(),
    mbarrier.MBarrierLayout([[0]]),
    blackwell.TensorMemoryLayout([128, 64], 1),
    blackwell.TensorMemoryLayout([128, 64], 1, cta_split_num=[2, 1], two_ctas=True),
    blackwell.TensorMemoryScalesLayout(),
]
EACH = pytest.mark.parametrize("layout", LAYOUTS, ids=written)


def _classes(base: type[Layout] = Layout) -> Iterator[type[Layout]]:
    for cls in base.__subclasses__():
        if cls.mangle is not Layout.mangle:
            yield cls
        yield from _classes(cls)


def test_every_class_is_here() -> None:
    assert set(_classes()) == {type(layout) for layout in LAYOUTS}


@gluon.jit
def kernel(layout: gl.constexpr, among: gl.constexpr):
    pass


@EACH
def test_a_layout_reads_as_it_is_written(layout: Layout) -> None:
    assert read_layout(written(layout)) == read_layout(repr(layout)) == layout


@EACH
def test_a_layout_stands_in_a_signature(layout: Layout) -> None:
    alone, among = parse_signature(f"{written(layout)},among=({layout!r}, 4)", kernel)
    assert alone.constant == layout and among.constant == (layout, 4)


@EACH
def test_a_layout_stands_in_a_recording_and_in_what_hooks_are_given(layout: Layout) -> None:
    assert read(json.loads(json.dumps(recorded((layout, 4), {}))), {}) == (layout, 4)
    assert _decoded(json.loads(json.dumps(_encoded((layout, 4))))) == (layout, 4)


@pytest.mark.oracle
@EACH
def test_triton_has_the_layout_that_is_written(layout: Layout) -> None:
    pytest.importorskip("triton")
    theirs = triton_child._value({"layout": written(layout)})  # pyright: ignore[reportPrivateUsage]
    assert repr(theirs) == repr(layout)


def test_a_field_that_a_class_sets_itself_cannot_be_another() -> None:
    with pytest.raises(LayoutError, match="MBarrierLayout takes no 'vec'"):
        read_layout(repr(mbarrier.MBarrierLayout()).replace("vec=1", "vec=2"))

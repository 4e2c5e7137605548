"""The lines of a Gluon kernel that write a layout, with the layout as a picture needs it."""

from __future__ import annotations

import pytest

from minitriton.explorer.session import ExplorerSession

KERNEL = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

LAYOUT: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0])  # global annotated
SHARED = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 32, [1, 0]))  # global


@gluon.constexpr_function
def rows_of(warps):  # function
    wide = 32
    return gl.BlockedLayout([1, 1], [1, wide], [warps, 1], [1, 0])  # return


@gluon.jit
def converted(
    x,
    at: gl.constexpr,  # parameter of a helper
):
    return gl.convert_layout(x, at)


def made():
    column: gl.constexpr = gl.SliceLayout(1, rows_of(4))  # of the function around it

    @gluon.jit
    def kernel(
        x,
        out,
        layout: gl.constexpr,  # parameter
    ):
        rows: gl.constexpr = rows_of(4)  # call
        i = gl.arange(0, 32, column)[:, None]
        j = gl.arange(0, 32, gl.SliceLayout(0, rows))[None, :]  # within a line
        tile = gl.allocate_shared_memory(gl.float32, [32, 32], SHARED)
        unused: gl.constexpr = gl.BlockedLayout([2], [32], [4], [0])  # unused
        tile.store(converted(gl.load(x + i * 32 + j), layout))
        gl.store(out + i * 32 + j, gl.convert_layout(gl.convert_layout(tile.load(rows), LAYOUT), rows))

    return kernel


kernel = made()
"""
ROWS = "ttgl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])"
GIVEN = "ttgl.BlockedLayout([2, 2], [4, 8], [2, 2], [1, 0])"
DECLARED = {
    "# global annotated": "ttgl.BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0])",
    "# global\n": "ttgl.SwizzledSharedLayout(1, 1, 32, [1, 0])",
    "# function": ROWS,
    "# return": ROWS,
    "# parameter of a helper": GIVEN,
    "# of the function around it": f"ttgl.SliceLayout(1, {ROWS})",
    "# parameter\n": GIVEN,
    "# call": ROWS,
    "# within a line": f"ttgl.SliceLayout(0, {ROWS})",
    "# unused": "ttgl.BlockedLayout([2], [32], [4], [0])",
}


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[dict[str, object]]]:
    """What the page is sent, by line."""
    file = tmp_path_factory.mktemp("declared") / "kernel.py"
    file.write_text(KERNEL)
    signature = "*fp32:16,*fp32:16,BlockedLayout([2, 2], [4, 8], [2, 2], [1, 0])"
    answer = ExplorerSession().answer("compile", {"asked": {"source": f"{file}:kernel", "signature": signature}})
    found: dict[int, list[dict[str, object]]] = {}
    for one in answer["declared"]:
        assert answer["files"][one["file"]] == str(file)
        found.setdefault(one["line"], []).append(one)
    return found


@pytest.mark.parametrize("mark", DECLARED, ids=str.strip)
def test_a_line_that_writes_a_layout_has_it(mark: str, declared: dict[int, list[dict[str, object]]]) -> None:
    line = KERNEL[: KERNEL.index(mark)].count("\n") + 1
    assert declared[line][0]["text"] == DECLARED[mark]


def test_the_layout_is_on_the_largest_shape_that_has_it(declared: dict[int, list[dict[str, object]]]) -> None:
    shapes = {str(one["text"]): one["layout"]["shape"] for ones in declared.values() for one in ones}  # type: ignore[index]
    assert shapes[ROWS] == (32, 32) and shapes[DECLARED["# unused"]] == (256,)

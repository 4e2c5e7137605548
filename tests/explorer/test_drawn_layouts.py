"""Layouts that are being written: what a picture needs, what the way between two costs, why one is refused."""

from __future__ import annotations

import pytest

from minitriton.errors import MinitritonError
from minitriton.explorer.session import ExplorerSession, drawn

ROWS = "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>"
COLUMNS = "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [32, 1], warpsPerCTA = [1, 4], order = [0, 1]}>"
SHARED = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = %d, order = [1, 0]}>"


def test_a_layout_is_drawn_with_its_bases() -> None:
    found = drawn([ROWS], (4, 32), 32, 90)
    assert found["cost"] is None and found["layouts"][0]["encoding"] == ROWS
    assert found["layouts"][0]["bases"]["lane"] == ((0, 1), (0, 2), (0, 4), (0, 8), (0, 16))


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        (ROWS, ROWS, "nothing moves"),
        (ROWS, COLUMNS, "bytes of shared memory"),
        (COLUMNS, SHARED % 1, "32 times the passes"),
        (COLUMNS, SHARED % 32, "no conflicts"),
        (SHARED % 1, COLUMNS, "ld.shared"),
    ],
)
def test_the_way_from_one_to_the_other_has_a_cost(source: str, target: str, said: str) -> None:
    assert said in (drawn([source, target], (32, 32), 32, 90)["cost"] or "")


@pytest.mark.parametrize(
    ("encodings", "shape", "why"),
    [
        (["#ttg.blocked<{sizePerThread = [1]}>"], (32,), "cannot read"),
        ([ROWS], (32,), "2 axes"),
        ([ROWS], (24, 32), "is not a shape"),
        ([ROWS.replace("[1, 32]", "[2, 32]")], (32, 32), "64 threads"),
        ([SHARED % 1, SHARED % 2], (32, 32), "both are layouts of shared memory"),
    ],
)
def test_what_is_no_layout_says_why(encodings: list[str], shape: tuple[int, ...], why: str) -> None:
    with pytest.raises(MinitritonError, match=why):
        drawn(encodings, shape, 32, 90)


def test_a_page_asks_for_them() -> None:
    found = ExplorerSession().answer("layout", {"encodings": [SHARED % 8], "shape": [32, 32], "bits": 16, "arch": 80})
    assert found["layouts"][0]["kind"] == "shared"
    with pytest.raises(MinitritonError, match="needs encodings"):
        ExplorerSession().answer("layout", {"shape": [32]})

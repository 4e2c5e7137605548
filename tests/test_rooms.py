"""The way in: every folder of the package says what it is, and `docs/architecture.md` names each."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "minitriton"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
FOLDERS = sorted(p.parent for p in PACKAGE.rglob("__init__.py"))
RUN = {"__main__", "__init__"}


def rooms() -> set[str]:
    """The folders of the table of rooms: in a cell `passes/pipelining/`, `warp_specialization/` both are of `passes`."""
    found: set[str] = set()
    for cell in re.findall(r"^\| (`[^|]*/`) \|", PAGE, re.MULTILINE):
        base = ""
        for path in re.findall(r"`([\w/]+)/`", cell):
            whole = path if (PACKAGE / path).is_dir() else f"{base}/{path}"
            base = whole.rpartition("/")[0]
            found.add(whole)
    return found


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_folder_says_what_it_is(folder: Path) -> None:
    assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))


def test_the_page_names_every_module_at_the_top() -> None:
    top = {p.stem for p in PACKAGE.glob("*.py")} | {p.name for p in FOLDERS if p.parent == PACKAGE}
    assert top - RUN <= set(re.findall(r"`(\w+)/?`", PAGE))


def test_every_folder_is_a_room_of_the_page_or_in_one() -> None:
    inner = [p.relative_to(PACKAGE) for p in FOLDERS if len(p.relative_to(PACKAGE).parts) > 1]
    listed = rooms()
    assert not [str(p) for p in inner if not {str(p), *map(str, p.parents)} & listed]


def test_every_room_of_the_page_is_there() -> None:
    assert not [name for name in rooms() if not (PACKAGE / name).is_dir()]

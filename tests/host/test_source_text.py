"""A file that a location names is shown only if it is ordinary source text in a folder that the user gave."""

from __future__ import annotations

import ast
import json
import linecache
import os
from pathlib import Path

import pytest

from minitriton import knobs
from minitriton.explorer.session import ExplorerSession
from minitriton.host import source_text
from minitriton.host.source_text import give_folder_of, line_at, text_at

PACKAGE = Path(__file__).parents[2] / "minitriton"


@pytest.fixture(autouse=True)
def nothing_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_text, "_given", set())


def test_text_outside_of_the_folders_given_is_not_shown(tmp_path: Path) -> None:
    secret = tmp_path / "a" / "secret.py"
    secret.parent.mkdir()
    secret.write_text("key = 1\n")
    assert text_at(str(secret)) is None
    give_folder_of(tmp_path / "kernel.ttir")
    assert text_at(str(secret)) == "key = 1\n"
    assert line_at(str(secret), 1) == "key = 1" and line_at(str(secret), 9) is None


def test_a_trusted_folder_is_given_by_a_setting(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("x = 1")
    with knobs.runtime.scope():
        knobs.runtime.trusted = f"{tmp_path}{os.pathsep}/elsewhere"
        assert text_at(str(tmp_path / "kernel.py")) == "x = 1"


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "secret.py").write_text("key = 1")
    (tmp_path / "given" / "link.py").symlink_to(tmp_path / "secret.py")
    give_folder_of(tmp_path / "given" / "kernel.ttir")
    assert text_at(str(tmp_path / "given" / "link.py")) is None
    assert text_at(str(tmp_path / "given" / ".." / "secret.py")) is None


def test_what_is_no_source_text_is_not_shown(tmp_path: Path) -> None:
    give_folder_of(tmp_path / "kernel.ttir")
    (tmp_path / "id_ed25519").write_text("key")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "zero.py").symlink_to("/dev/zero")
    with (tmp_path / "large.py").open("wb") as file:
        file.truncate(1 << 40)
    for name in ("id_ed25519", "pipe.py", "zero.py", "large.py", "missing.py", "nul\0.py", ""):
        assert text_at(str(tmp_path / name)) is None, name
    assert text_at("/dev/zero") is None


def test_the_cells_of_a_notebook_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(linecache.cache, "<cell 1>", (7, None, ["x = 1\n", "y = 2\n"], "<cell 1>"))
    assert line_at("<cell 1>", 2) == "y = 2"


def test_a_page_does_not_hold_files_that_foreign_ir_names(tmp_path: Path) -> None:
    (tmp_path / "ir").mkdir()
    (tmp_path / "secret.py").write_text("the secret")
    os.mkfifo(tmp_path / "ir" / "pipe.py")
    names = [tmp_path / "secret.py", tmp_path / "ir" / "pipe.py", Path("/dev/zero")]
    stores = "\n".join(f'    tt.store %x, %c : !tt.ptr<i32> loc("{name}":1:1)' for name in names)
    (tmp_path / "ir" / "k.ttir").write_text(
        f"module {{\n  tt.func public @k(%x: !tt.ptr<i32>) {{\n    %c = arith.constant 1 : i32\n{stores}\n    tt.return\n  }}\n}}\n"
    )
    answer = json.dumps(ExplorerSession().answer("compile", {"asked": {"source": str(tmp_path / "ir" / "k.ttir")}}))
    assert "secret.py" in answer and "the secret" not in answer


def test_only_one_module_opens_source_text_by_a_name() -> None:
    users = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if _opens_source(path)}
    assert users == {"host/source_text.py"}
    by_user = {
        str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if "source_text(" in path.read_text()
    } - {"host/source_text.py", "emulator/report.py"}
    named = {"explorer/explain_command.py", "explorer/server.py"}
    assert by_user == named, "the file of FILE.py:LINE, or of the kernel that is opened, which the user named"


def _opens_source(path: Path) -> bool:
    text = path.read_text()
    for node in ast.walk(ast.parse(text)) if "linecache" in text or "tokenize" in text else ():
        name = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        if name.startswith(("linecache.", "tokenize.open")):
            return True
    return False

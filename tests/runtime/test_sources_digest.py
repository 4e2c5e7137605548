"""The digest of the compiler's sources changes with them, and is read from the files once."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from minitriton.runtime import cache
from minitriton.runtime.cache import sources_digest


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    root = tmp_path / "package"
    (root / "inner").mkdir(parents=True)
    (root / "__init__.py").write_text("")
    (root / "inner/code.py").write_text("x = 1\n")
    return root


def test_it_changes_with_a_file_and_with_a_file_more(package: Path) -> None:
    first = sources_digest(package)
    (package / "inner/code.py").write_text("x = 22\n")
    second = sources_digest(package)
    (package / "inner/more.py").write_text("")
    assert len({first, second, sources_digest(package)}) == 3


def test_it_is_of_contents_not_of_times(package: Path) -> None:
    first = sources_digest(package)
    os.utime(package / "inner/code.py", (1, 1))
    assert sources_digest(package) == first


def test_unchanged_files_are_not_read_again(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = sources_digest(package)
    monkeypatch.setattr(cache, "_digest_of_contents", lambda *_: pytest.fail("read again"))
    assert sources_digest(package) == first


def test_a_damaged_note_is_written_anew(package: Path) -> None:
    first = sources_digest(package)
    (note,) = (package / "__pycache__").glob("*.sources")
    note.write_text("nonsense")
    assert sources_digest(package) == first
    assert note.read_text().endswith(first)


def test_nothing_is_written_where_python_writes_no_bytecode(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    sources_digest(package)
    assert not (package / "__pycache__").exists()

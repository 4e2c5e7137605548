"""What is written is there as a whole or not at all: a full disk leaves the old file, and nothing beside it."""

from __future__ import annotations

import ast
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from minitriton.errors import MinitritonError
from minitriton.host.subcommands import write_output
from minitriton.host.whole_file import whole_folder, write_whole

PACKAGE = Path(__file__).parents[2] / "minitriton"


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every temporary file takes three bytes."""
    real = tempfile.NamedTemporaryFile

    def short(*given: Any, **named: Any) -> Any:
        file = real(*given, **named)

        def write(content: bytes) -> int:
            file.file.write(content[:3])
            raise OSError(28, "No space left on device")

        file.write = write
        return file

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", short)


def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path: Path, full_disk: None) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")
    with pytest.raises(MinitritonError, match=r"cannot write .*page.html: No space left"):
        write_output(page, "new")
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]
    assert page.read_text() == "old"


def test_a_file_keeps_its_mode_and_a_new_one_gets_that_of_new_files(tmp_path: Path) -> None:
    old, plain, new = tmp_path / "old", tmp_path / "plain", tmp_path / "new"
    old.touch()
    old.chmod(0o640)
    plain.touch()
    write_whole(old, "text")
    write_whole(new, b"bytes")
    assert (old.read_text(), new.read_bytes()) == ("text", b"bytes")
    assert old.stat().st_mode & 0o777 == 0o640
    assert new.stat().st_mode == plain.stat().st_mode


def test_a_link_is_followed_and_a_pipe_written_to(tmp_path: Path) -> None:
    link, file = tmp_path / "link", tmp_path / "file"
    link.symlink_to(file)
    write_whole(link, "text")
    assert link.is_symlink() and file.read_text() == "text"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_whole(tmp_path / "pipe", "through")
    assert os.read(reader, 99) == b"through"
    os.close(reader)


def test_a_folder_is_there_with_all_of_its_files_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), whole_folder(tmp_path / "000-add") as folder:
        (folder / "a").write_text("half")
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())
    with whole_folder(tmp_path / "000-add") as folder:
        (folder / "a").write_text("a")
        assert not (tmp_path / "000-add").exists()
    assert [one.name for one in (tmp_path / "000-add").iterdir()] == ["a"]


TEMPORARY = {
    "as_triton/_filecheck.py", "codegen/assemblers.py", "explorer/triton_child.py", "explorer/triton_reference.py", "explorer/verdicts.py", "fuzz/mutation/mutants.py",
    "fuzz/running/oracles.py", "runtime/build.py",
}  # fmt: skip
"""Modules that write into a temporary folder of their own."""
INTO_WHOLE_FOLDERS = {"runtime/cache.py", "lab/launches/recorder.py"}
APPENDED = {"pipeline/stages.py", "lab/sweeping/timing.py"}
"""A log, to which lines are added."""


def test_only_one_module_writes_files() -> None:
    allowed = {"host/whole_file.py"} | TEMPORARY | INTO_WHOLE_FOLDERS | APPENDED
    found = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if _writes(path)}
    assert found - allowed == set()


def _writes(path: Path) -> bool:
    text = path.read_text()
    is_plain = not any(word in text for word in (".write_text", ".write_bytes", "open(", "savetxt", "to_csv"))
    for node in () if is_plain else ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        mode = node.args[0 if isinstance(node.func, ast.Attribute) else 1 :][:1] if name == "open" else []
        if name in ("write_text", "write_bytes", "savetxt", "to_csv") and node.args:
            return True
        if any(isinstance(one, ast.Constant) and str(one.value)[:1] in tuple("wax") for one in mode):
            return True
    return False

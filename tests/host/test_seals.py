"""What a user wrote is known by a key that only the user can read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from minitriton.host import seals
from minitriton.host.seals import is_own, seal


def test_a_seal_is_of_one_text_one_kind_and_one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITRITON_KEY_FILE", str(tmp_path / "a" / "key"))
    found = seal("launch", "text")
    assert is_own("launch", "text", found)
    assert (
        not is_own("launch", "texts", found) and not is_own("state", "text", found) and not is_own("launch", "text", "")
    )
    assert (tmp_path / "a" / "key").stat().st_mode & 0o077 == 0
    monkeypatch.setenv("MINITRITON_KEY_FILE", str(tmp_path / "b" / "key"))
    assert not is_own("launch", "text", found)


@pytest.mark.parametrize("why", ["others may read it", "it is short", "its folder cannot be made"])
def test_without_a_key_of_ones_own_nothing_is_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"k" * (32 if why != "it is short" else 5))
    key.chmod(0o644 if why == "others may read it" else 0o600)
    monkeypatch.setenv("MINITRITON_KEY_FILE", str(key / "key" if "folder" in why else key))
    assert seal("launch", "text") == "" and not is_own("launch", "text", "")


def test_processes_that_begin_at_once_have_one_key(tmp_path: Path) -> None:
    program = "import sys\nfrom minitriton.host.seals import seal\nprint(seal('a', 'b'))"
    environment = {
        "MINITRITON_KEY_FILE": str(tmp_path / "new" / "key"),
        "PYTHONPATH": str(Path(seals.__file__).parents[2]),
    }
    running = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) for _ in range(4)
    ]
    said = {one.communicate()[0] for one in running}
    assert len(said) == 1 and len(said.pop()) == 65
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["key"]

"""A damaged cache entry is rebuilt without a word; a cache that cannot be written is no error."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.compiler import ASTSource
from minitriton.runtime.cache import KernelCache
from minitriton.target import GPUTarget


@triton.jit
def doubles(x):
    tl.store(x, tl.load(x) * 2.0)


def compiled() -> Any:
    return triton.compile(ASTSource(doubles, {"x": "*fp32"}), GPUTarget("cuda", 90))


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the kernel's entry in a cache of its own."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    return KernelCache(tmp_path).path(compiled().hash)


def reseal(entry: Path) -> None:
    """Writes the manifest anew, so that what was changed counts as whole."""
    names = [path.name for path in entry.iterdir() if path.name != "manifest.json"]
    sums = {name: hashlib.sha256((entry / name).read_bytes()).hexdigest() for name in names}
    (entry / "manifest.json").write_text(json.dumps(sums))


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def without_a_key(path: Path) -> None:
    metadata = json.loads(path.read_text())
    del metadata["name"]
    path.write_text(json.dumps(metadata))


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "truncated metadata": lambda e: truncate(e / "metadata.json"),
    "truncated PTX": lambda e: truncate(e / "doubles.ptx"),
    "missing PTX": lambda e: (e / "doubles.ptx").unlink(),
    "missing metadata": lambda e: (e / "metadata.json").unlink(),
    "missing manifest": lambda e: (e / "manifest.json").unlink(),
    "manifest of garbage": lambda e: (e / "manifest.json").write_bytes(b"\xff\xfe\x00"),
    "manifest of another shape": lambda e: (e / "manifest.json").write_text("[1, 2]"),
    "manifest nested too deeply": lambda e: (e / "manifest.json").write_text("[" * 200_000),
    "a pipe for a manifest": lambda e: ((e / "manifest.json").unlink(), os.mkfifo(e / "manifest.json")),
    "a folder for a manifest": lambda e: ((e / "manifest.json").unlink(), (e / "manifest.json").mkdir()),
    "a pipe for the PTX": lambda e: ((e / "doubles.ptx").unlink(), os.mkfifo(e / "doubles.ptx")),
    "a manifest that leaves the entry": lambda e: (e / "manifest.json").write_text('{"../../x": "0"}'),
    "a file for the entry": lambda e: (shutil.rmtree(e), e.write_text("")),
    "metadata nested too deeply": lambda e: ((e / "metadata.json").write_text("[" * 200_000), reseal(e)),
    "empty manifest": lambda e: (e / "manifest.json").write_text("{}"),
    "metadata that is no JSON": lambda e: ((e / "metadata.json").write_text("{"), reseal(e)),
    "metadata of another shape": lambda e: ((e / "metadata.json").write_text("[]"), reseal(e)),
    "metadata without target": lambda e: ((e / "metadata.json").write_text("{}"), reseal(e)),
    "metadata without name": lambda e: (without_a_key(e / "metadata.json"), reseal(e)),
    "metadata for no target": lambda e: (
        (e / "metadata.json").write_text(json.dumps({"target": {"backend": "hip", "arch": 1}})), reseal(e)
    ),
    "no metadata, sealed": lambda e: ((e / "metadata.json").unlink(), reseal(e)),
    "text that is no text": lambda e: ((e / "doubles.ttir").write_bytes(b"\xff\xfe"), reseal(e)),
    "file without suffix": lambda e: ((e / "stray").write_text(""), reseal(e)),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_rebuilt_silently(
    damage: str, entry: Path, capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    whole = (entry / "doubles.ptx").read_bytes()
    DAMAGES[damage](entry)
    assert compiled().asm["ptx"].encode() == whole
    assert (entry / "doubles.ptx").read_bytes() == whole, "the entry must be whole again"
    assert json.loads((entry / "metadata.json").read_text())["name"] == "doubles"
    assert capfd.readouterr() == ("", "") and not recwarn.list


def test_a_cache_below_a_file_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert ".entry doubles" in compiled().asm["ptx"]


def test_a_cache_that_refuses_to_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    assert ".entry doubles" in compiled().asm["ptx"]
    assert not list(tmp_path.iterdir())

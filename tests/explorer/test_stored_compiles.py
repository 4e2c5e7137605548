"""What was opened once is there at once in a later process, until something changes that the compile read."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minitriton import knobs
from minitriton.explorer import stored_compiles
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.stored_compiles import is_stored, stored
from minitriton.explorer.worker import Worker

KERNEL = """
import json
from pathlib import Path
import triton
import triton.language as tl
from helpers_of_a_kernel import scaled
SHIFT = tl.constexpr(json.loads(Path(__file__).with_name("shift.json").read_text()))

@triton.jit
def k(x_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, scaled(tl.load(x_ptr + at)) + SHIFT)
"""
HELPER = """
import triton
from helpers_of_a_helper import FACTOR

@triton.jit
def scaled(x):
    return x * FACTOR
"""
FACTOR = "import triton.language as tl\nFACTOR = tl.constexpr(2.5)\n"


class Opening:
    """A folder with a kernel, two modules that it needs and a file that it reads; a process that compiles it."""

    def __init__(self, folder: Path, worker: Worker) -> None:
        self.folder, self.worker = folder, worker
        for name, text in (
            ("kernel.py", KERNEL),
            ("helpers_of_a_kernel.py", HELPER),
            ("helpers_of_a_helper.py", FACTOR),
            ("shift.json", "7.125"),
        ):
            (folder / name).write_text(text)

    def question(self, **given: Any) -> dict[str, Any]:
        asked = CompileRequest(f"{self.folder}/kernel.py:k", "*fp32:16,BLOCK=128", **given)
        return {"asked": asked.plain(), "opens": True}

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """What the worker says, once it is stored."""
        found = json.loads(self.worker.ask("compile", question))["ok"]
        end = time.monotonic() + 10
        while stored(question) is None:
            assert time.monotonic() < end, "it is not stored"
            time.sleep(0.01)
        return found


@pytest.fixture
def opening(tmp_path: Path) -> Iterator[Opening]:
    with Worker(keeps=False) as worker:
        yield Opening(tmp_path, worker)


def first_text(found: dict[str, Any]) -> str:
    return "\n".join(found["lines"]["text"][line] for line in found["states"][0]["at"])


def test_a_compile_is_stored_until_a_file_that_it_read_changes(opening: Opening) -> None:
    question = opening.question()
    assert stored(question) is None
    found = opening.answer(question)
    assert "2.500000e+00" in first_text(found) and "7.125000e+00" in first_text(found)
    known = json.loads(stored(question) or b"")["ok"]
    assert known.pop("stored") is True and known == found
    changes = {
        "helpers_of_a_helper.py": (FACTOR.replace("2.5", "3.5"), "3.500000e+00"),
        "shift.json": ("8.125", "8.125000e+00"),
        "helpers_of_a_kernel.py": (HELPER.replace("x * FACTOR", "x - FACTOR"), "arith.subf"),
        "kernel.py": (KERNEL.replace("+ SHIFT", "* SHIFT"), "arith.mulf"),
    }
    # Within one second and with as many characters: neither the stored answer nor Python's bytecode may be taken for the file's.
    for name, (text, shows) in changes.items():
        assert shows not in first_text(found)
        (opening.folder / name).write_text(text)
        assert stored(question) is None, name
        refused = json.loads(
            opening.worker.ask("inspect", {"asked": question["asked"], "stamp": found["stamp"], "step": 0})
        )
        assert name in refused["error"]["message"] and "load the page again" in refused["error"]["help"]
        found = opening.answer(question)
        assert shows in first_text(found), name


def test_what_else_a_compile_depends_on_names_its_entry(
    opening: Opening, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    question = opening.question()
    opening.answer(question)
    for other in (
        {"options": ("num_warps=8",)},
        {"arch": 80},
        {"edits": (("skip", "cse"),)},
        {"pipeline": "inline"},
        {"anyway": True},
    ):
        assert stored(opening.question(**other)) is None, other
    with monkeypatch.context() as changed:
        changed.setenv("BLOCK", "256")
        assert stored(question) is None
    with monkeypatch.context() as changed:
        changed.setattr(stored_compiles, "compiler_fingerprint", lambda: "another compiler")
        assert stored(question) is None
    with monkeypatch.context() as changed:
        changed.chdir(tmp_path)
        assert stored(question) is None
    monkeypatch.setenv("SHLVL", "17")
    assert stored(question) is not None


def test_a_process_stores_for_the_environment_that_its_server_has_now(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a fork of one that began when the server did."""
    question = opening.question()
    opening.answer(question)
    monkeypatch.setenv("BLOCK", "256")
    with Worker(keeps=False) as later:
        Opening(opening.folder, later).answer(question)


def test_only_whole_compiles_of_files_as_they_are_are_stored() -> None:
    asked = {"source": "k.py:k"}
    assert is_stored("compile", {"asked": asked}) and is_stored("states", {"asked": asked, "opens": True})
    assert not is_stored("compile", {"asked": asked, "look": ["cse", 1]}) and not is_stored(
        "compile", {"asked": asked, "again": True}
    )
    assert not is_stored("compile", {"asked": {**asked, "kernel_text": ""}}) and not is_stored(
        "inspect", {"asked": asked}
    )


def test_a_damaged_entry_is_none(opening: Opening) -> None:
    question = opening.question()
    opening.answer(question)
    for file in Path(knobs.cache.dir).glob("*/answer"):
        with contextlib.suppress(OSError):
            file.write_bytes(b"damaged")
    assert stored(question) is None

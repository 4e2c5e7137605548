"""Every command is machine-readable: each takes `--json`, and prints one JSON value."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from minitriton.commands.cli import _parser, main

VECTOR_ADD = ("minitriton_kernels/vector_add.py:vector_add", "--signature", "*fp32:16,*fp32:16,*fp32:16,i32,BLOCK=128")
BLOCKED = "blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"


def commands() -> dict[str, argparse.ArgumentParser]:
    return dict(_parser([])[1])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a few points of one kernel."""
    path = tmp_path_factory.mktemp("store") / "sweep.db"
    assert main(["sweep", "running_sums", "--count", "2", "--store", str(path)]) == 0
    return path


def arguments(name: str, folder: Path, store: Path) -> list[str]:
    """A short run of each command."""
    return {
        "compile": [*VECTOR_ADD, "--emit", "ttgir", "--timings", "--statistics"],
        "passes": ["tritongpu-coalesce"],
        "check": [*VECTOR_ADD, "--reproducers", str(folder)],
        "cache": ["size"],
        "sweep": ["running_sums", "--count", "1", "--best", "instructions"],
        "corpus": ["reducing"],
        "measure": [str(store), "--metrics", "instructions"],
        "search": ["running_sums", "--budget", "2"],
        "ablate": ["running_sums"],
        "report": [str(store), "--html", str(folder / "page.html"), "--no-passes"],
        "bisect": ["running_sums"],
        "diff": [*VECTOR_ADD],
        "explore": ["minitriton_kernels/nothing.py:nothing", "--html", str(folder / "page.html")],
        "explain": ["minitriton_kernels/vector_add.py:11", *VECTOR_ADD[1:]],
        "run": [*VECTOR_ADD],
        "layout": [BLOCKED, "--shape", "16x32"],
        "fuzz": ["--count", "1", "--jobs", "0", "--oracles", "interpreter,ttgir"],
        "mutate": ["--count", "1", "--jobs", "1", "--kinds", "ttir"],
        "tune": ["minitriton_kernels/matmul.py:matmul"],
        "demo": [],
    }[name]  # fmt: skip


HOLDS: dict[str, Any] = {
    "compile": "text", "passes": 0, "check": "rows", "record": "tested by tests/lab/test_recorded_launches.py", "cache": "kernels", "sweep": "configurations", "corpus": "reducing",
    "measure": "configurations", "search": "best", "ablate": "change_without", "report": "page", "bisect": "error", "diff": 0, "explore": "error",
    "explain": "accesses", "run": "total", "layout": "layouts", "fuzz": "findings", "mutate": "findings", "tune": "kept", "demo": "stages",
}  # fmt: skip
"""What stands in the answer; "error" where the arguments are wrong on purpose."""


def test_every_command_takes_it() -> None:
    without = [name for name, parser in commands().items() if "--json" not in parser._option_string_actions]
    assert without == [] and set(commands()) == set(HOLDS)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [name for name in HOLDS if name != "record"])
def test_what_is_printed_is_one_value(
    name: str, tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    status = main([name, *arguments(name, tmp_path, store), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found[HOLDS[name]] is not None and status == int(HOLDS[name] == "error"), found


def test_an_error_says_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "k.py"
    file.write_text("import triton\n\n@triton.jit\ndef k(x):\n    nothing(x)\n")
    assert main(["compile", f"{file}:k", "--signature", "*fp32", "--json"]) == 1
    said = capsys.readouterr()
    error = json.loads(said.out)["error"]
    assert error["line"] == 5 and error["file"] == str(file) and "nothing" in error["message"] and "nothing" in said.err


def test_a_gpu_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    from minitriton.runtime.cuda_driver import has_gpu

    if has_gpu():
        pytest.skip("there is a GPU")
    assert main(["run", *VECTOR_ADD, "--gpu", "--json"]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["message"] == "no GPU was found" and "emulator" in error["help"]


def test_colour_is_left_out_where_nobody_looks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments in (
        ["diff", *VECTOR_ADD, "--pass", "tritongpu-coalesce"],
        ["layout", BLOCKED, "--shape", "16x32"],
        ["run", *VECTOR_ADD],
    ):
        assert main(arguments) == 0
        said = capsys.readouterr()
        assert "\x1b" not in said.out + said.err
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert main(["layout", BLOCKED, "--shape", "16x32"]) == 0
    assert "\x1b[" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["layout", BLOCKED, "--shape", "16x32"]) == 0
    assert "\x1b" not in capsys.readouterr().out

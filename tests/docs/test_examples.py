"""The programs of `examples/` do what the pages say of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from minitriton.commands.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_program_to_record_is_recorded_and_its_launch_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-m", "minitriton", "record", str(EXAMPLES / "scaled_rows.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "recorded/000-scaled_rows  grid 16x1x1" in done.stderr
    monkeypatch.chdir(tmp_path)
    assert main(["check", "--launch", "recorded/000-scaled_rows", "--pipeline", "inline,canonicalize,cse"]) == 0
    assert "scaled_rows: 3 steps, none wrong" in capsys.readouterr().out

"""Every command of the README's table runs; those that need a file of the reader's, a GPU or a browser show their help."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from minitriton.as_triton import run_as_triton
from minitriton.commands import cli, opt

README = (Path(__file__).parents[2] / "README.md").read_text()
ROWS = re.findall(r"^\| ([^|`]+) \| (.*`.*) \|$", README, re.MULTILINE)
TOOLS = {"minitriton": cli.main, "minitriton-opt": opt.main, "python": run_as_triton.main}
ONLY_HELP = re.compile(r"[A-Z]+\.py|explore")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("task", "cell"), ROWS, ids=[task for task, _ in ROWS])
def test_a_row_runs(task: str, cell: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [each for each in re.findall(r"`([^`]+)`", cell) if each.split()[0] in TOOLS and " " in each]
    assert commands, cell
    for command in commands:
        tool, *arguments = shlex.split(command)
        arguments = arguments[2:] if tool == "python" else arguments
        if ONLY_HELP.search(command):
            _shows_help(tool, arguments[:1] if tool == "minitriton" else [])
        else:
            assert TOOLS[tool](arguments) == 0, command


def _shows_help(tool: str, command: list[str]) -> None:
    try:
        assert not TOOLS[tool]([*command, "--help"])
    except SystemExit as end:
        assert not end.code, command


def test_the_table_has_as_many_rows_as_a_reader_reads() -> None:
    assert 12 <= len(ROWS) <= 14

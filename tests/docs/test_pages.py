"""What pages say that a command prints is what it prints."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from minitriton.commands import cli, opt

ROOT = Path(__file__).parents[2]
PAGES = ("layouts.md", "pipelining.md", "shared-memory.md")
TOOLS = {"minitriton": cli.main, "minitriton-opt": opt.main}

SHOWN = [
    pytest.param(command, printed, id=f"{page}-{number}")
    for page in PAGES
    for number, (command, printed) in enumerate(
        re.findall(r"```console\n\$ (.*)\n((?:.*\n)*?)```", (ROOT / "docs" / page).read_text())
    )
]


@pytest.mark.parametrize(("command", "printed"), SHOWN)
def test_a_command_prints_what_the_page_shows(
    command: str, printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("NO_COLOR", "1")
    tool, *arguments = shlex.split(command)
    assert TOOLS[tool](arguments) == 0
    assert capsys.readouterr().out.rstrip("\n") == printed.rstrip("\n")


@pytest.mark.parametrize("page", PAGES)
def test_python_on_the_page_gives_what_it_shows(page: str) -> None:
    failed, _ = doctest.testfile(str(ROOT / "docs" / page), module_relative=False)
    assert failed == 0

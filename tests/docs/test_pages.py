"""What pages say that a command prints is what it prints."""

from __future__ import annotations

import doctest
import re
import shlex
from functools import cache
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


SOURCES = [*ROOT.glob("minitriton/**/*.py"), *ROOT.glob("tests/**/*.py"), *ROOT.glob("benchmarks/**/*.py")]
TEXTS = [*sorted((ROOT / "docs").glob("**/*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
_IDENTIFIER = re.compile(r"(?<![\w.#/\"-])[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+\b")
_CODE = re.compile(r"```python\n(.*?)```|```.*?```|`([^`\n]+)`", re.DOTALL)
TRITONS = {"TritonGPU", "TritonNvidiaGPU"}
"""Names of Triton's dialects."""


@cache
def names_in_sources() -> frozenset[str]:
    """Those of code: what only a docstring names need not exist."""
    codes = (re.sub(r'""".*?"""', "", path.read_text(), flags=re.DOTALL) for path in SOURCES)
    return frozenset(name for code in codes for name in _IDENTIFIER.findall(code))


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_every_class_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text()
    named = {name for code in _CODE.findall(text) for part in code for name in _IDENTIFIER.findall(part)}
    declared = set(re.findall(r"class (\w+)", text) + re.findall(r"(\w+) = named\(", text))
    assert named - names_in_sources() - declared - TRITONS == set()

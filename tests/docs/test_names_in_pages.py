"""What pages, docstrings and messages name exists: commands with their options, scripts with theirs, files and modules."""

from __future__ import annotations

import argparse
import functools
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from minitriton.commands import cli

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "benchmarks/results").glob("*.md")),
]
SOURCES = sorted((ROOT / "minitriton").rglob("*.py"))
TEXTS = [pytest.param(path, id=str(path.relative_to(ROOT))) for path in PAGES]

TRITONS_FILES = {"pass-by-pass.md", "tritons-tests.md"}
"""Pages that name files of Triton's sources."""

_COMMAND = re.compile(r"\bminitriton ([a-z]+)\b((?:[^`\n]|\\\n)*)")
_SCRIPT = re.compile(r"\bpython ((?:benchmarks|tests|examples)/[\w/]+\.py)((?:[^`\n]|\\\n)*)")
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
_FILE = re.compile(r"`((?:[\w.-]+/)+[\w.{},*-]+\.(?:py|md|csv|mlir|toml))`")
_MODULE = re.compile(r"`minitriton((?:\.[A-Za-z_]\w*)+)")
_PACKAGES = "analysis|host|lab|as_triton|codegen|dialects|emulator|explorer|frontend|fuzz|interpreter|layouts|passes|pipeline|rewriting|runtime"
_INNER = re.compile(rf"`((?:{_PACKAGES})(?:\.(?!py\b|skip\b)[a-z_]\w*)+(?:\.[A-Z]\w*)?)")
_ENDS_A_COMMAND = re.compile(r"  +|[;|)]| — |: ")


@functools.cache
def subcommands() -> dict[str, argparse.ArgumentParser]:
    _, commands = cli._parser([])
    return dict(commands)


def wrong_options(text: str) -> Iterator[str]:
    """Commands and options that do not exist."""
    for name, rest in _COMMAND.findall(text):
        rest = re.split(r"\bminitriton\b", rest)[0]
        if name == "record":
            rest = rest.partition(".py")[0]  # what follows is the program's
        options = _OPTION.findall(rest)
        parser = subcommands().get(name)
        if parser is None:
            if options:
                yield f"minitriton {name}"
            continue
        known = {option for action in parser._actions for option in action.option_strings}
        yield from (f"minitriton {name} {option}" for option in options if option not in known)


def wrong_scripts(text: str) -> Iterator[str]:
    """Scripts of the repository, and options of them, that do not exist."""
    for name, rest in _SCRIPT.findall(text):
        path = ROOT / name
        if not path.is_file():
            yield name
            continue
        source = path.read_text()
        for module in re.findall(r"^from (\w+) import", source, re.MULTILINE):
            if (other := path.parent / f"{module}.py").is_file():
                source += other.read_text()
        yield from (
            f"{name} {option}"
            for option in _OPTION.findall(_ENDS_A_COMMAND.split(rest)[0])
            if f'"{option}"' not in source
        )


@functools.cache
def files() -> frozenset[str]:
    """Files of the repository with every end of their path."""
    folders = ("minitriton", "minitriton_kernels", "tests", "benchmarks", "examples", "docs", "web", "typings")
    paths = [path.relative_to(ROOT).as_posix() for folder in folders for path in (ROOT / folder).rglob("*.*")]
    return frozenset("/".join(path.split("/")[start:]) for path in paths for start in range(path.count("/") + 1))


@pytest.mark.parametrize("page", TEXTS)
def test_commands_and_options_of_a_page_exist(page: Path) -> None:
    text = page.read_text()
    assert [*wrong_options(text), *wrong_scripts(text)] == []


def test_commands_and_options_in_the_sources_exist() -> None:
    wrong = {
        path.relative_to(ROOT).as_posix(): found
        for path in SOURCES
        if (found := [*wrong_options(text := path.read_text()), *wrong_scripts(text)])
    }
    assert wrong == {}


@pytest.mark.parametrize("page", TEXTS[: len(TEXTS) - len(list((ROOT / "benchmarks/results").glob("*.md")))])
def test_files_and_modules_of_a_page_exist(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    named = set() if page.name in TRITONS_FILES else set(_FILE.findall(text))
    assert {name for name in named if not set("{*") & set(name) and name not in files()} == set()
    modules = {*_MODULE.findall(text), *(f".{name}" for name in _INNER.findall(text))}
    assert {f"minitriton{name}" for name in modules if not exists(f"minitriton{name}")} == set()


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or what a module has."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[count:]:
            annotated = getattr(found, "__annotations__", {})
            if not hasattr(found, attribute) and attribute not in annotated:
                return False
            found = getattr(found, attribute, None)
        return True
    return False


def test_the_architecture_names_every_module_that_only_import_triton_finds() -> None:
    page = (
        (ROOT / "docs/architecture.md").read_text().partition("## What `import triton` finds")[2].partition("\n## ")[0]
    )
    named = {
        name
        for row in page.splitlines()
        if row.startswith("| `")
        for name in re.findall(r"`([\w]+)/?`", row.split("|")[1])
    }
    folder = ROOT / "minitriton/as_triton"
    assert named == {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()} - {
        "__init__",
        "__pycache__",
    }


_PASS = re.compile(r"`((?:tritongpu|minitriton|triton-nvidia|nvgpu)-[\w-]+)(?=[`{])")
ABSENT = {
    "triton-nvidia-optimize-tmem-layouts",
    "triton-nvidia-interleave-tmem",
    "triton-nvidia-check-matmul-two-cta",
    "triton-nvidia-mma-lowering",
}
"""Passes of Triton that pages say are not here."""


def test_passes_that_pages_name_are_in_the_sources() -> None:
    sources = "".join(path.read_text() for path in [*SOURCES, *(ROOT / "tests/plugins").rglob("*.py")])
    named = {name for page in (ROOT / "docs").glob("*.md") for name in _PASS.findall(page.read_text())}
    assert {name for name in named - ABSENT if f'"{name}' not in sources} == set()


def test_the_index_leads_to_every_page() -> None:
    index = (ROOT / "docs/index.md").read_text()
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert {name for name in pages if f"]({name})" not in index} == set()

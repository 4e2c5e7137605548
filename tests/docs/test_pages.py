"""What pages say that a command prints is what it prints; links lead to something; cells of tables are short."""

from __future__ import annotations

import doctest
import importlib.util
import re
import sys
from functools import cache
from pathlib import Path

import pytest

from minitriton.as_triton.tools.disasm import find_tool

sys.path.insert(0, __file__.rpartition("/")[0])
import shown

ROOT = Path(__file__).parents[2]
SHOWN = [
    pytest.param(command, printed, id=f"{page}-{number}")
    for page in shown.PAGES
    for number, (command, printed) in enumerate(shown.blocks(page))
]
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINKING = [*TEXTS, ROOT / "CHANGELOG.md", *sorted((ROOT / "benchmarks" / "results").glob("*.md"))]
LONGEST_CELL = 25


@pytest.mark.parametrize(("command", "printed"), SHOWN)
def test_a_command_prints_what_the_page_shows(command: str, printed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "--emit sass" in command and find_tool("nvdisasm") is None:
        pytest.skip("needs nvdisasm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert shown.printed_by(command) == printed.rstrip("\n"), "python tests/docs/shown.py writes the pages anew"


@pytest.mark.parametrize("page", shown.PAGES)
def test_python_on_the_page_gives_what_it_shows(page: str) -> None:
    failed, _ = doctest.testfile(str(ROOT / "docs" / page), module_relative=False)
    assert failed == 0


def test_the_tour_shows_the_kernel_as_it_is() -> None:
    source = re.search(r"```python\n(.*?)```", (ROOT / "docs/tour.md").read_text(), re.DOTALL)
    assert source and source[1] in (ROOT / "minitriton_kernels/vector_add.py").read_text()


@pytest.mark.parametrize("page", LINKING, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        name, _, heading = target.partition("#")
        path = (page.parent / name) if name else page
        assert path.exists(), f"{page.name}: {target}"
        if heading:
            assert heading in _headings(path), f"{page.name}: {target}"


def test_the_site_has_every_page_and_only_modules_that_there_are() -> None:
    named = set(re.findall(r"[\w./-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    pages = {str(page.relative_to(ROOT)) for page in (ROOT / "docs").glob("*.md")}
    sys.path.insert(0, str(ROOT / "docs"))
    import make_site

    assert pages <= named, f"mkdocs.yml lacks {sorted(pages - named)}"
    notebooks = {str(path.relative_to(ROOT).with_suffix(".md")) for path in make_site.NOTEBOOKS}
    assert notebooks == {name for name in named if name.startswith("docs/notebooks/")}
    missing = [name for name in named - notebooks if not name.startswith("reference/") and not (ROOT / name).exists()]
    assert not missing
    assert {name for name in named if name.startswith("reference/")} == {
        f"reference/{title.lower()}.md" for title in make_site.REFERENCE
    }
    for modules in make_site.REFERENCE.values():
        for module in modules:
            assert importlib.util.find_spec(module) is not None


def _headings(page: Path) -> set[str]:
    """The anchors that GitHub makes of the headings of a page."""
    titles = re.findall(r"^#+ (.*)", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_cells_of_tables_are_short(page: Path) -> None:
    cells = [
        cell
        for line in page.read_text().splitlines()
        if line.startswith("|")
        for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))
    ]
    long = [cell.strip() for cell in cells if len(cell.split()) > LONGEST_CELL]
    assert not long, f"cells over {LONGEST_CELL} words: write sentences after the table"


READABLE = (
    "architecture.md",
    "differences-from-triton.md",
    "from-a-call-to-a-kernel.md",
    "glossary.md",
    "lab.md",
    "sweep.md",
    "tensor-cores.md",
)
LONGEST_SENTENCE = 30


@pytest.mark.parametrize("page", READABLE)
def test_sentences_are_short(page: str) -> None:
    text = re.sub(r"^```.*?^```", "", (ROOT / "docs" / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    prose = "\n".join("" if line.startswith(("    ", "|")) else line for line in text.splitlines())
    prose = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "`", prose))
    sentences = [
        sentence
        for block in re.split(r"\n\s*\n|\n(?=[-#\d])", prose)
        for sentence in re.split(r"(?<=[.!?;:])\s", " ".join(block.split()))
    ]
    assert not [sentence for sentence in sentences if len(sentence.split()) > LONGEST_SENTENCE]


SOURCES = [*ROOT.glob("minitriton/**/*.py"), *ROOT.glob("tests/**/*.py"), *ROOT.glob("benchmarks/**/*.py")]
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

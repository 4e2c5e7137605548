"""The documentation as a site: the pages of docs/, the measurements, the notebooks with what they show, an API reference from docstrings,
an explorer page of a matmul.

    make docs                                     into site/: search, light and dark, no network needed to read it
    python docs/make_site.py [--without-explorer]

Pages stay where they are in the repository, so that their links hold in both; MkDocs refuses (`--strict`) one that leads nowhere.
"""

from __future__ import annotations

import argparse
import contextlib
import html
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "build" / "site"
REFERENCE = {
    "Language": ("minitriton.language",),
    "Launching": ("minitriton.runtime.jit", "minitriton.runtime.autotuner"),
    "Compiling": (
        "minitriton.pipeline.stages",
        "minitriton.pipeline.pass_manager",
        "minitriton.pipeline.pipeline_spec",
    ),
    "Layouts": ("minitriton.layouts.encodings", "minitriton.layouts.linear_layout"),
    "Emulator": ("minitriton.emulator.launch", "minitriton.emulator.report"),
    "Interpreter": ("minitriton.interpreter.launch",),
    "Explorer": ("minitriton.explorer.recording", "minitriton.explorer.timeline", "minitriton.explorer.values"),
    "Laboratory": ("minitriton.lab",),
    "Targets": ("minitriton.target", "minitriton.target.architectures"),
    "Errors": ("minitriton.errors",),
}
"""Modules by the page that describes them."""
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
EXPLORED = (
    "minitriton_kernels/lessons/tour.py:matmul", "--signature", "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,i32:16,BM=128,BN=128,BK=64",
    "--arg", "m=256", "--arg", "n=256", "--arg", "k=512", "--option", "num_warps=8", "--against", "--option num_stages=1",
)  # fmt: skip


def written_pages() -> list[Path]:
    """The pages that people write: what the site has of the repository."""
    return [
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "benchmarks" / "results").glob("*.md")),
    ]


def assemble(into: Path) -> None:
    """Copies pages, and the files that they name, to where they are in the repository."""
    shutil.rmtree(into, ignore_errors=True)
    for page in written_pages():
        text = page.read_text("utf-8")
        _copy(page, into)
        if ".ipynb)" in text:
            (into / page.relative_to(ROOT)).write_text(text.replace(".ipynb)", ".md)"), "utf-8")
        for link in LINK.findall(text):
            target = (page.parent / link).resolve()
            if target.is_file() and target.is_relative_to(ROOT) and target.suffix not in (".md", ".ipynb"):
                _copy(target, into)
    for title, modules in REFERENCE.items():
        path = into / "reference" / f"{title.lower()}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {title}\n\n" + "\n".join(f"::: {module}\n" for module in modules), "utf-8")


def write_notebook(notebook: Path, into: Path) -> None:
    """Runs a notebook, and writes it as a page with what its cells display. What is embedded (the explorer) is a file next to it."""
    from IPython.core.interactiveshell import InteractiveShell

    shell: Any = InteractiveShell()
    shell.colors = "nocolor"
    lines: list[str] = []
    page = into / notebook.relative_to(ROOT).with_suffix(".md")
    page.parent.mkdir(parents=True, exist_ok=True)
    for at, cell in enumerate(json.loads(notebook.read_text("utf-8"))["cells"]):
        text = "".join(cell["source"])
        if cell["cell_type"] != "code":
            lines += [text, ""]
            continue
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            done = shell.run_cell(text)
        done.raise_error()
        said = re.sub(r"\s*Out\[\d+\]: .*", "", printed.getvalue(), flags=re.DOTALL)
        shown = {} if done.result is None else shell.display_formatter.format(done.result)[0]
        found = shown.get("text/html") or f"<pre>{html.escape(shown.get('text/plain', ''))}</pre>" * bool(shown)
        found = (f"<pre>{html.escape(said)}</pre>" if said.strip() else "") + found
        if embedded := re.search(r'<iframe srcdoc="([^"]*)"', found):
            beside = page.with_name(f"{page.stem}-{at}.html")
            beside.write_text(html.unescape(embedded[1]), "utf-8")
            frame = f'<iframe src="{beside.name}" style="width: 100%; height: 40rem; border: 0" title="the explorer"></iframe>'
            found = re.sub(r"<iframe.*?</iframe>", frame, found, flags=re.DOTALL)
        lines += ["```python", text, "```", "", *([f'<div class="output">{found}</div>', ""] if found else [])]
    page.write_text("\n".join(lines), "utf-8")


def _copy(file: Path, into: Path) -> None:
    to = into / file.relative_to(ROOT)
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, to)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--without-explorer", action="store_true", help="leave the explorer's page out, which takes half a minute"
    )
    given = parser.parse_args()
    assemble(PAGES)
    for notebook in NOTEBOOKS:
        write_notebook(notebook, PAGES)
    page = PAGES / "explorer.html"
    if given.without_explorer:
        page.write_text("This site was built without it.\n")
    else:
        subprocess.run(
            [sys.executable, "-m", "minitriton", "explore", *EXPLORED, "--html", str(page)], cwd=ROOT, check=True
        )
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"], cwd=ROOT, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())

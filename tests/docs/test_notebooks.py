"""The notebooks of `docs/notebooks` run from beginning to end, show what they say in colour, and names complete."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("IPython", reason="needs minitriton[notebook]")
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))
SHOWN = {
    "1_first_kernel": ("ld.global", "requests", "emit-ptx"),
    "2_layouts": ("T0:0", "background:hsl(", "ttg.convert_layout"),
    "3_pass_orders": ("12 right", "--insert", "<iframe srcdoc="),
    "4_finding_a_race": ("poison: ",),
    "5_tuning": ("num_warps=",),
}


@pytest.fixture
def shell() -> Any:
    made = InteractiveShell()
    made.colors = "nocolor"
    return made


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_says(path: Path, shell: Any) -> None:
    shown = ""
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert not cell["outputs"], "commit notebooks without outputs"
        done = shell.run_cell("".join(cell["source"]))
        assert done.success, (cell["source"], done.error_in_exec or done.error_before_exec)
        shown += shell.display_formatter.format(done.result)[0].get("text/html", "") if done.result is not None else ""
    for text in SHOWN[path.stem]:
        assert text in shown, text
    assert '<span style="color:' in shown or "background:hsl(" in shown


def test_there_is_a_notebook_for_each_thing_to_try() -> None:
    assert [path.stem for path in NOTEBOOKS] == list(SHOWN)


@pytest.mark.parametrize(
    ("line", "name"),
    [("lab.swe", "sweep"), ("lab.corpus.ca", "cases"), ("triton.j", "jit"), ("tl.atomic_a", "atomic_add"), ("lab.sweep(coun", "count=")],
)  # fmt: skip
def test_names_complete(line: str, name: str, shell: Any) -> None:
    shell.run_cell("import minitriton as triton\nimport minitriton.language as tl\nfrom minitriton import lab")
    with provisionalcompleter():
        assert name in [found.text for found in shell.Completer.completions(line, len(line))]


def test_the_site_shows_what_cells_print_and_display(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(NOTEBOOKS[0].parents[1]))
    import make_site

    frame = "type('F', (), {'_repr_html_': lambda _: '<iframe srcdoc=\"a &lt; b\"></iframe>'})()"
    cells = [("markdown", "# Two"), ("code", "print(1 + 1)\n3 < 4"), ("code", frame), ("code", "x = 1")]
    notebook = tmp_path / "two.ipynb"
    notebook.write_text(json.dumps({"cells": [{"cell_type": kind, "source": [text]} for kind, text in cells]}))
    monkeypatch.setattr(make_site, "ROOT", tmp_path)
    make_site.write_notebook(notebook, tmp_path / "site")
    page = (tmp_path / "site" / "two.md").read_text()
    assert page.startswith("# Two\n") and '<div class="output"><pre>2</pre><pre>True</pre></div>' in page
    assert '<iframe src="two-2.html"' in page and (tmp_path / "site" / "two-2.html").read_text() == "a < b"
    assert page.count('class="output"') == 2

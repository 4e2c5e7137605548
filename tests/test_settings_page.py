"""docs/settings.md lists every variable that `knobs` reads, beside its knob; nothing else reads the environment."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from minitriton import knobs

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "settings.md").read_text()
WITHOUT_EFFECT = ("amd", "proton")
"""Groups that the page names as a whole."""


def test_the_page_lists_every_variable_with_its_knob() -> None:
    rows = dict(re.findall(r"^\| `([\w-]+)` \| `(\w+)` \|", PAGE, re.MULTILINE))
    groups = {n: g for n, g in vars(knobs).items() if isinstance(g, knobs.base_knobs) and n not in WITHOUT_EFFECT}
    read = {d.key: name for group in groups.values() for name, d in group.knob_descriptors.items()}
    read |= {"TRITON_DEBUG": "debug", "TRITON_INSTRUMENTATION_MODE": "instrumentation_mode"}
    assert rows == read


def reads_environment(path: Path) -> bool:
    """Whether a file looks a variable up (`environ.get`, `environ[...]` on the right, `getenv`)."""
    for node in ast.walk(ast.parse(path.read_text())):
        name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if name in ("os.environ.get", "os.getenv", "environ.get"):
            return True
    return False


OTHERS = {
    "as_triton/run_as_triton.py": "PYTHONPATH of child processes",
    "explorer/terminal.py": "NO_COLOR, which is every program's",
    "commands/demo.py": "puts a variable back that it has set",
    "as_triton/_C/libtriton/__init__.py": "Triton's `getenv`, for programs",
    "fuzz/mutation/verdict.py": "puts a variable back that it has set",
    "fuzz/running/oracles.py": "puts a variable back that it has set",
    "fuzz/running/known.py": "Triton's own, for its compiler, and puts it back",
}


def test_settings_are_read_in_one_place() -> None:
    package = ROOT / "minitriton"
    found = {str(path.relative_to(package)) for path in package.rglob("*.py") if reads_environment(path)}
    assert found - {"knobs/__init__.py"} - set(OTHERS) == set(), "read it in knobs, and list it in docs/settings.md"

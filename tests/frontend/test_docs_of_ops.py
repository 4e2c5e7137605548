"""The pages on adding ops and encodings, followed literally: their snippets applied to a copy of the package, their kernels run."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from minitriton.codegen.nvidia.device_library import find_libdevice

ROOT = Path(__file__).parents[2]
_STEP = re.compile(
    r"`(minitriton/[\w/]+\.py)`, (?:at the (end)|before `([^`]+)`):\n\n( *)```python\n(.*?)\n *```", re.DOTALL
)
_KERNEL = re.compile(r"^```python\n(import numpy.*?)^```", re.DOTALL | re.MULTILINE)

PAGES = {"add-an-op.md": 4, "frontend.md": 3, "add-a-memory-op.md": 6, "add-an-encoding.md": 3}
"""How many files each touches."""


def applied(page: str, package: Path, leave_out: str = "") -> list[str]:
    """Applies the steps of a page to a copy of the package, but for that in file `leave_out`; the files that they touch."""
    steps = _STEP.findall((ROOT / "docs" / page).read_text())
    for file, _, marker, indent, snippet in steps:
        if file == leave_out:
            continue
        path = package.parent / file
        text, added = (
            path.read_text(),
            textwrap.indent(snippet, "").replace("\n" + indent, "\n").removeprefix(indent) + "\n",
        )
        if marker:
            assert text.count(marker) == 1, f"{page}: {marker!r} is not one place in {file}"
            text = text.replace(marker, added + marker)
        else:
            text += added
        path.write_text(text)
    return [file for file, *_ in steps]


def kernels_of(page: str) -> str:
    found = _KERNEL.findall((ROOT / "docs" / page).read_text())
    assert found
    return "\n".join(found)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "minitriton", tmp_path / "minitriton", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "minitriton"


def run(page: str, package: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    script = package.parent / "kernel.py"
    script.write_text(kernels_of(page))
    settings = {"PYTHONPATH": str(package.parent), "TRITON_CACHE_DIR": str(package.parent / "cache"), **environment}
    command = [sys.executable, str(script)]
    return subprocess.run(command, env={**os.environ, **settings}, cwd=package.parent, capture_output=True, text=True)


@pytest.mark.parametrize("page", PAGES)
def test_the_page_followed_literally_gives_a_kernel_that_runs(page: str, package: Path) -> None:
    assert len(set(applied(page, package))) == PAGES[page]
    interpreted = run(page, package, MINITRITON_INTERPRET="1")
    assert interpreted.returncode == 0, interpreted.stderr
    if find_libdevice() is None:
        pytest.skip("there is no libdevice here")
    emulated = run(page, package)
    assert emulated.returncode == 0, emulated.stderr


ENCODING = "add-an-encoding.md"
MEMORY = "add-a-memory-op.md"
LEFT_OUT = [
    ("add-an-op.md", "minitriton/codegen/nvidia/math.py", "", "minitriton/codegen/nvidia/math.py"),
    ("add-an-op.md", "minitriton/dialects/math.py", "", "minitriton/dialects/math.py"),
    (
        "add-an-op.md",
        "minitriton/interpreter/numbers/libdevice.py",
        "1",
        "minitriton/interpreter/numbers/libdevice.py",
    ),
    (MEMORY, "minitriton/frontend/emitters.py", "", "minitriton/frontend/emitters.py"),
    (MEMORY, "minitriton/interpreter/memory/atomics.py", "1", "minitriton/interpreter/"),
    (MEMORY, "minitriton/codegen/nvidia/atomics.py", "", "minitriton/codegen/lowering/"),
    (ENCODING, "minitriton/layouts/to_linear.py", "", "minitriton/layouts/to_linear.py"),
]


@pytest.mark.parametrize(("page", "leave_out", "interpret", "named"), LEFT_OUT)
def test_what_is_left_out_is_named_with_its_file(
    page: str, leave_out: str, interpret: str, named: str, package: Path
) -> None:
    applied(page, package, leave_out)
    failed = run(page, package, **({"MINITRITON_INTERPRET": interpret} if interpret else {}))
    assert failed.returncode != 0
    assert named in failed.stderr


def test_an_op_without_a_lowering_names_the_folder(package: Path) -> None:
    applied("add-an-op.md", package)
    path = package / "dialects/math.py"
    path.write_text(path.read_text().replace(', _device("logb")', ""))
    failed = run("add-an-op.md", package)
    assert "no lowering to LLVM for 'math.logb'" in failed.stderr
    assert "minitriton/codegen/nvidia/math.py" in failed.stderr

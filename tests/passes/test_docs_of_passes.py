"""The page on adding passes, followed literally: its files written down, its commands run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-a-pass.md").read_text()
_FILE = re.compile(r"^```python\n# (\w+\.py)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^    (minitriton (?:passes|compile|diff) .*)$", re.MULTILINE)

KERNELS = """
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i) / 4.0)


add = scale
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("add_a_pass")
    for name, text in _FILE.findall(PAGE):
        (folder / name).write_text(text)
    (folder / "kernel.py").write_text(KERNELS)
    return folder


def run(folder: Path, command: str) -> str:
    command = command.replace("minitriton", "-m minitriton", 1).replace("'...'", "'*fp32:16,*fp32:16,BLOCK=128'")
    done = subprocess.run(
        f"{sys.executable} {command}",
        shell=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "TRITON_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_has_two_files_and_three_commands() -> None:
    assert [name for name, _ in _FILE.findall(PAGE)] == ["count_loads.py", "reciprocals.py"]
    assert len(_COMMAND.findall(PAGE)) == 3


@pytest.mark.parametrize(("number", "told"), list(enumerate(("count-loads", "found 1\n", "arith.mulf"))))
def test_each_command_of_the_page_does_what_it_says(folder: Path, number: int, told: str) -> None:
    assert told in run(folder, _COMMAND.findall(PAGE)[number])

"""Files and terminals as they come: other encodings, packages, full disks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from minitriton.commands import cli

KERNEL = """import triton
import triton.language as tl

@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)  # \u00e9
"""
SIGNATURE = ("--signature", "*fp32,*fp32,i32,BLOCK=128")

TEXTS = {
    "a mark": b"\xef\xbb\xbf" + KERNEL.encode(),
    "latin-1": b"# -*- coding: latin-1 -*-\n" + KERNEL.encode("latin-1").replace(b"\n\n", b"\n", 1),
    "carriage returns": KERNEL.replace("\n", "\r\n").encode(),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_line_is_read_as_python_reads_it(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kernel.py"
    file.write_bytes(TEXTS[kind])
    assert cli.main(["explain", f"{file}:7", *SIGNATURE]) == 0
    assert "tl.store(y + i" in capsys.readouterr().out
    assert cli.main(["run", f"{file}:copy", *SIGNATURE]) == 0
    assert "mask=i < n)  # \u00e9" in capsys.readouterr().out


def test_a_kernel_of_a_package_may_import_from_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "layers_of_a_test" / "norms"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").touch()
    (folder.parent / "sizes.py").write_text("import triton.language as tl\nTWO = tl.constexpr(2)\n")
    (folder / "kernel.py").write_text(
        "from ..sizes import TWO\nfrom . import __name__\n" + KERNEL.replace("tl.load(", "TWO * tl.load("), "utf-8"
    )
    assert cli.main(["compile", f"{folder / 'kernel.py'}:copy", *SIGNATURE, "--emit", "ttir"]) == 0
    assert "dense<2.000000e+00>" in capsys.readouterr().out


def command(*arguments: str, stdout: int, **variables: str) -> subprocess.CompletedProcess[bytes]:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment = {**os.environ, **plain, **variables}
    run = [sys.executable, "-m", "minitriton", *arguments]
    return subprocess.run(run, stdout=stdout, stderr=subprocess.PIPE, env=environment)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a file that is always full")
def test_a_full_disk_is_an_error_without_a_traceback() -> None:
    with Path("/dev/full").open("wb") as full:
        done = command("passes", stdout=full.fileno())
    assert (done.returncode, done.stderr) == (1, b"cannot write: No space left on device\n")


def test_a_terminal_without_the_letters_gets_escapes_and_pages_are_read_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL, "utf-8")
    done = command("run", f"{file}:copy", *SIGNATURE, stdout=subprocess.PIPE)
    assert b"mask=i < n)  # \\xe9" in done.stdout, done.stderr
    page = tmp_path / "page.html"
    done = command("explore", f"{file}:copy", *SIGNATURE, "--html", str(page), stdout=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    assert page.stat().st_size > 100_000

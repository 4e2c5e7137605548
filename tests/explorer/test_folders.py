"""A cache folder of Triton's, or Inductor's output, is opened: a kernel for each that lies in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from minitriton.cli import main
from minitriton.errors import MinitritonError
from minitriton.explorer.folders import kernels_in


def test_the_earliest_stage_of_each_kernel_is_taken_newest_first(tmp_path: Path) -> None:
    for at, (folder, name) in enumerate((("ab", "add.ttir"), ("ab", "add.ttgir"), ("triton/0/cd", "softmax.ttgir"))):
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        os.utime(path, (at, at))
    assert [path.name for path in kernels_in(tmp_path)] == ["softmax.ttgir", "add.ttir"]


def test_a_folder_without_kernels_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MinitritonError, match=r"no \.ttir"):
        kernels_in(tmp_path)


def test_kernels_of_a_folder_stand_side_by_side_on_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    signature = "*fp32:16,*fp32:16,*fp32:16,i32,BLOCK=128"
    for folder in ("ab", "cd"):
        (tmp_path / folder).mkdir()
        main(
            [
                "compile",
                "examples/kernels/vector_add.py:vector_add",
                "--signature",
                signature,
                "--emit",
                "ttir",
                "-o",
                str(tmp_path / folder / "add.ttir"),
            ]
        )
    out = tmp_path / "page.html"
    assert main(["explore", str(tmp_path), "--html", str(out)]) == 0
    assert out.read_text().count('"kernel":"vector_add"') == 2

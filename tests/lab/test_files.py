"""A check of IR text, from the stage that the file has reached on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import minitriton
from minitriton.commands.cli import main
from minitriton.commands.kernel_files import load_kernel
from minitriton.commands.signature import ast_source

KERNELS = Path(__file__).parents[2] / "minitriton_kernels"
SIGNATURE = "*fp32:16,*fp32:16,i32,i32,i32,i32,BLOCK=256"
OF_TEXT = ["--signature", "*fp32,*fp32,i32,i32,i32,i32"]


@pytest.fixture(scope="module")
def softmax(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every stage of a softmax for sm_80."""
    folder = tmp_path_factory.mktemp("stages")
    source = ast_source(load_kernel(f"{KERNELS / 'softmax.py'}:softmax"), SIGNATURE)
    kernel = minitriton.compile(source, minitriton.target.GPUTarget("cuda", 80, 32), assemble=False)
    for stage in ("ttir", "ttgir", "llir", "ptx"):
        (folder / f"softmax.{stage}").write_text(kernel.asm[stage])
    return folder


def steps(printed: str) -> list[str]:
    """The first column of the table."""
    return [line.split()[0] for line in printed.splitlines()[1:] if line.count("  ") > 5]


@pytest.mark.parametrize(
    ("stage", "first", "more"),
    [
        ("ttir", "convert-triton-to-tritongpu", []),
        ("ttgir", "tritongpu-allocate-warp-groups", []),
        ("llir", "emit-ptx", OF_TEXT),
        ("ptx", None, OF_TEXT),
    ],
)
def test_the_passes_that_are_left_are_checked(
    softmax: Path, stage: str, first: str | None, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(softmax / f"softmax.{stage}"), *more]) == 0
    found = steps(capsys.readouterr().out)
    assert found[0] == f"softmax.{stage}"
    assert found[1:2] == ([first] if first else [])
    assert found[-1] == ("emit-ptx" if first else "softmax.ptx")


def test_a_ptx_file_without_its_barriers_is_unsound(softmax: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (softmax / "softmax.ptx").read_text()
    (softmax / "racy.ptx").write_text(re.sub(r"bar\.sync\s+0;", "", text))
    assert main(["check", str(softmax / "racy.ptx"), *OF_TEXT]) == 1
    printed = capsys.readouterr().out
    assert "'racy.ptx' is broken" in printed
    assert "shared-race" in printed


def test_names_of_arguments_are_those_of_the_text(softmax: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(softmax / "softmax.ttir")
    assert main(["check", path, "--arg", "n_rows=2", "--size", "out_ptr=4000"]) == 0
    assert main(["check", path, "--arg", "rows=2"]) == 1
    assert "its arguments: out_ptr, in_ptr, in_stride" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("*fp32,*fp32", "2 types for the kernel of softmax.ttgir, which takes 6 arguments"),
        ("i32,*fp32,i32,i32,i32,i32", "argument 'out_ptr' of softmax.ttgir is *fp32, and the signature says 'i32'"),
    ],
)
def test_a_signature_that_does_not_fit_the_text_is_refused(
    softmax: Path, signature: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(softmax / "softmax.ttgir"), "--signature", signature]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("kernel.mlir", "a file *.ttir, *.ttgir, *.llir, *.ptx"),
        ("missing.ttir", "No such file"),
        (f"{KERNELS / 'reductions.py'}", "with one of: sum_rows, max_rows"),
        (f"{KERNELS / 'softmax.py'}:sofmax", "it has: softmax"),
    ],
)
def test_what_cannot_be_checked_says_what_can(name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", name]) == 1
    assert message in capsys.readouterr().err

"""Layouts in command lines: of parameters, of descriptors, left open, drawn; and at which line a kernel in Gluon is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitriton.commands.cli import main
from minitriton.errors import MinitritonError
from minitriton.language.gluon.layouts import read_layout

KERNELS = Path(__file__).with_name("tool_kernels.py")
BLOCK = "tensordesc<fp32[16, 32],NVMMASharedLayout(128, 32, 2)>"
SIGNATURES = {
    "copy": "*fp32:16,*fp32:16,i32:16,BLOCK=512,layout=gl.BlockedLayout([4], [32], [4], [0])",
    "copy_left_open": "*fp32:16,*fp32:16,i32,BLOCK=512",
    "softmax": "*fp32:16,*fp32:16,columns=100,BLOCK=128",
    "transpose": "*fp32:16,*fp32:16,SIZE=32",
    "copy_in_background": "*fp32:16,*fp32:16,BLOCK=512,WAITS=False",
    "copy_by_tma": f"{BLOCK},{BLOCK}",
}


def _said(capsys: pytest.CaptureFixture[str], command: str, kernel: str, *more: str, code: int = 0) -> str:
    assert main([command, f"{KERNELS}:{kernel}", "--signature", SIGNATURES.get(kernel, ""), *more]) == code
    streams = capsys.readouterr()
    return streams.out if code == 0 else streams.out + streams.err


def _line(text: str) -> int:
    return next(n for n, line in enumerate(KERNELS.read_text().splitlines(), 1) if text in line)


def test_compile_gives_each_stage(capsys: pytest.CaptureFixture[str]) -> None:
    ttgir = _said(capsys, "compile", "copy", "--emit", "ttgir")
    assert "sizePerThread = [4]" in ttgir and "gluon" not in ttgir.split("loc(")[0]
    assert "ld.global.v4.b32" in _said(capsys, "compile", "copy", "--emit", "ptx")


def test_an_error_is_at_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", f"{KERNELS}:in_two_layouts", "--signature", "*fp32,*fp32", "--emit", "ptx"]) == 1
    said = capsys.readouterr().err
    assert f"{KERNELS.name}:{_line('gl.arange(0, 128, other)')}" in said and "help: convert one of them" in said


@pytest.mark.parametrize("kernel", ["copy_left_open", "copy_by_tma"])
def test_check_runs_the_kernel_after_every_pass(kernel: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = _said(capsys, "check", kernel)
    assert "gluon-resolve-auto-encodings" in said and "none wrong" in said and "not executable" not in said


def test_check_finds_a_missing_wait(capsys: pytest.CaptureFixture[str]) -> None:
    said = _said(capsys, "check", "copy_in_background", code=1)
    assert f"{KERNELS.name}:{_line('gl.store(out + i, buffer.load(ROW))')}" in said and "no wait covers" in said


def test_explain_knows_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    line = _line("tile.permute([1, 0]).load(rows)")
    assert main(["explain", f"{KERNELS}:{line}", "--signature", SIGNATURES["transpose"]]) == 0
    assert "no conflicts" in capsys.readouterr().out


def test_a_layout_of_another_number_of_warps_says_what_to_launch_with(capsys: pytest.CaptureFixture[str]) -> None:
    layout = "layout=BlockedLayout([4], [32], [8], [0])"
    assert (
        main(["compile", f"{KERNELS}:copy", "--signature", f"*fp32,*fp32,i32,BLOCK=1024,{layout}", "--emit", "ptx"])
        == 1
    )
    assert "help: launch with num_warps=8, or give the layout 4 warps" in capsys.readouterr().err


def test_explain_draws_on_layouts_and_speaks_gluon(capsys: pytest.CaptureFixture[str]) -> None:
    line = _line("swizzled: gl.constexpr")
    assert main(["explain", f"{KERNELS}:{line}", "--signature", SIGNATURES["transpose"]]) == 0
    assert "layout 'ttgl.SwizzledSharedLayout(1, 1, 32, [1, 0])' --shape 32x32" in capsys.readouterr().out
    line = _line("gl.load(x + i, mask=i < n), mask=i < n)")
    signature = "*fp32:16,*fp32:16,i32,BLOCK=512,layout=BlockedLayout([4], [32], [4], [0])"
    assert main(["explain", f"{KERNELS}:{line}", "--signature", signature]) == 0
    said = capsys.readouterr().out
    assert "write gl.assume(n % 16 == 0)" in said and "  ttgl.BlockedLayout([4], [32], [4], [0])\n" in said


def test_search_varies_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert "instructions" in _said(capsys, "search", "softmax", "--budget", "1")


def test_layout_draws_what_a_kernel_writes(capsys: pytest.CaptureFixture[str]) -> None:
    registers, shared = "gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])", "SwizzledSharedLayout(1, 1, 32, [1, 0])"
    assert main(["layout", registers, "--shape", "32x32", "--to", shared]) == 0
    assert "load from the buffer: 8 ld.shared a warp" in capsys.readouterr().out
    assert main(["layout", "AutoLayout()", "--shape", "32"]) == 1
    assert "the compiler chooses AutoLayout" in capsys.readouterr().err


def test_what_is_no_layout_is_refused() -> None:
    with pytest.raises(MinitritonError, match="cannot read the layout"):
        read_layout("BlockedLayout([1], [32])")
    with pytest.raises(MinitritonError, match="unknown layout of Gluon: 'print'"):
        read_layout("print(1)")

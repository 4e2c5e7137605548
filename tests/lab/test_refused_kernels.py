"""A kernel that the target cannot run is refused by the pass that finds it out; none is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitriton.commands.cli import main

KERNEL = """
import minitriton as triton, minitriton.language as tl

@triton.jit
def widen(x, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(y + at, tl.load(x + at, mask=at < n).to(tl.float32), mask=at < n)
"""


def checked(capsys: pytest.CaptureFixture[str], tmp_path: Path, *more: str) -> tuple[int, str]:
    path = tmp_path / "widen.py"
    path.write_text(KERNEL)
    given = ["check", f"{path}:widen", "--signature", "*fp8e4nv:16,*fp32:16,i32,B=128", "--reproducers", str(tmp_path)]
    return main([*given, *more]), capsys.readouterr().out


def test_what_the_target_lacks_is_said_at_the_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, said = checked(capsys, tmp_path, "--arch", "80")
    assert code == 1
    assert "pass 'convert-triton-gpu-to-llvm' refuses the kernel" in said and "widen.py:7" in said
    assert "needs compute capability 8.9" in said and said.rstrip().endswith("refused by convert-triton-gpu-to-llvm")
    assert "broken" not in said


def test_where_the_target_has_it_nothing_is_wrong(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, said = checked(capsys, tmp_path, "--arch", "89")
    assert code == 0 and "none wrong" in said

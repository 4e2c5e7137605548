"""What a command is at is said on a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys

import pytest

from minitriton.commands.shared_options import progress, show_progress
from minitriton.lab.checker import no_progress


class Terminal(io.StringIO):
    """A stream that says that somebody looks."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_what_is_done_and_is_left_empty_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Terminal()
    monkeypatch.setattr(sys, "stderr", seen)
    with pytest.raises(ValueError, match="wrong"), progress() as show:
        show("checking softmax: 12 of 72 passes, cse")
        raise ValueError("wrong")
    assert "12 of 72 passes, cse…" in seen.getvalue() and seen.getvalue().endswith("\r\x1b[K")


def test_a_long_text_stays_on_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Terminal()
    monkeypatch.setattr(sys, "stderr", seen)
    monkeypatch.setenv("COLUMNS", "20")
    show_progress("x" * 100)
    assert seen.getvalue().count("x") == 18


def test_a_pipe_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as show:
        show("compiling")
    assert capsys.readouterr().err == ""


def test_check_says_which_pass_of_how_many_it_is_at(monkeypatch: pytest.MonkeyPatch) -> None:
    from minitriton.commands.cli import main

    seen = Terminal()
    monkeypatch.setattr(sys, "stderr", seen)
    signature = "*fp32:16,*fp32:16,i32,i32,i32,i32,BLOCK=64"
    given = ["--grid", "1", "--arg", "n_rows=1", "--arg", "n_cols=50", "--pipeline", "inline,canonicalize,cse"]
    no_progress(0, 3, "cse")
    assert main(["check", "minitriton_kernels/softmax.py:softmax", "--signature", signature, *given]) == 0
    assert "checking softmax: 2 of 3 passes, cse…" in seen.getvalue()

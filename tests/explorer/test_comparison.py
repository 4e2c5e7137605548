"""Comparison: the same kernel compiled with other arguments too, or by Triton, in one page or file."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from minitriton.commands.cli import main
from minitriton.explorer import command
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.session import ExplorerSession

ADD = "minitriton_kernels/vector_add.py:vector_add"


def test_against_adds_the_same_kernel_with_other_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[CompileRequest] = []
    session = ExplorerSession(keeps=False)
    monkeypatch.setattr(command, "_write_page", lambda path, given, as_json: asked.extend(given) or 0)
    assert (
        main(["explore", ADD, "--arg", "n=64", "--against", "--option num_warps=2 --arch 80", "--html", "x.html"]) == 0
    )
    first, other = (session.answer("compile", {"asked": one.plain()}) for one in asked)
    assert (first["kernel"], first["arch"], first["options"]["num_warps"]) == ("vector_add", 90, 4)
    assert (other["kernel"], other["arch"], other["options"]["num_warps"]) == ("vector_add", 80, 2)
    assert (
        first["asked"]["source"] == other["asked"]["source"] and first["asked"]["numbers"] == other["asked"]["numbers"]
    )
    for one, warps in ((first, 4), (other, 2)):
        assert len(session.answer("timeline", {"asked": one["asked"]})["warps"]) == warps


def test_what_against_does_not_know_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", ADD, "--against", "--nosuch 1", "--html", str(tmp_path / "x.html")]) != 0
    assert "--against takes arguments of explore" in capsys.readouterr().err


@pytest.mark.oracle
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton's wheel")
def test_what_triton_compiles_is_run_and_assembled_too() -> None:
    session = ExplorerSession(keeps=False)
    asked = {"asked": CompileRequest(ADD).plain()}
    ours, theirs = session.answer("run", asked), session.answer("triton", asked)["kept"]
    assert theirs["run"]["arrays"] == ours["arrays"]
    assert session.answer("apart", asked)["distances"] == {name: {"differing": 0} for name in ours["arrays"]}
    assert theirs["sass"]["resources"]["registers"] > 0 and theirs["timelines"]["l2"]["cycles"] > 0

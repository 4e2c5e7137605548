"""What is asked fits in a link and on a command line, and comes back as it was."""

from __future__ import annotations

import shlex
import threading
from pathlib import Path

import pytest

from minitriton.cli import main
from minitriton.errors import MinitritonError
from minitriton.explorer import program
from minitriton.explorer.asked import Asked, EditedState
from minitriton.explorer.program import open_program

SOFTMAX = "examples/kernels/softmax.py:softmax"


def test_a_code_says_all_of_it() -> None:
    asked = Asked(
        "a.py:k", "*fp32", options=("num_warps=8",), edits=(("skip", "cse"),), states=(EditedState(3, "module {}"),)
    )
    assert Asked.of_code(asked.code()) == asked


def test_the_command_line_shows_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    asked = Asked("log_sum_exp", edits=(("skip", "tritongpu-coalesce"),), options=("num_warps=2",))
    assert main(shlex.split(asked.command("diff"))[1:]) == 0
    said = capsys.readouterr().out
    assert "tritongpu-coalesce" not in said and "convert-triton-to-tritongpu" in said


def test_edited_text_is_in_the_code_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    text = Path("examples/kernels/softmax.py").read_text().replace("tl.exp(x)", "tl.exp2(x)")
    asked = Asked(SOFTMAX, "*fp32:16,*fp32:16,i32,i32,i32,i32,BLOCK=256", kernel_text=text)
    assert main([*shlex.split(asked.command("diff"))[1:], "--pass", "inline"]) == 0
    assert "math.exp2" in capsys.readouterr().out


def test_an_edited_file_is_whole_while_another_process_writes_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python reads it for the source of each function: found half written, it has none."""
    text = Path("examples/kernels/softmax.py").read_text() + "# and more\n" * 200_000
    asked = Asked(SOFTMAX, "*fp32:16,*fp32:16,i32,i32,i32,i32,BLOCK=256", kernel_text=text)
    monkeypatch.setattr(program, "_shared", [str(tmp_path)])
    open_program(asked)
    copy = next(tmp_path.glob("*/softmax.py"))
    path = SOFTMAX.partition(":")[0]
    again = threading.Thread(target=lambda: [program._with_text(asked, path) for _ in range(50)])
    again.start()
    sizes = {copy.stat().st_size}
    while again.is_alive():
        sizes.add(copy.stat().st_size)
    assert sizes == {len(text)}


@pytest.mark.parametrize("code", ["", "abc", "eJwrLk0G", Asked("x").code()[:-4]])
def test_a_damaged_code_is_an_error(code: str) -> None:
    with pytest.raises(MinitritonError, match="state"):
        Asked.of_code(code)


def test_a_signature_is_made_up_where_none_is_given() -> None:
    program = open_program(Asked("examples/kernels/vector_add.py:vector_add"))
    assert set(program.source.signature.values()) >= {"*fp32", "i32", "constexpr"}

"""What is asked fits in a link and on a command line, and comes back as it was."""

from __future__ import annotations

import base64
import json
import shlex
import threading
import zlib
from pathlib import Path

import pytest

from minitriton.commands.cli import main
from minitriton.errors import MinitritonError
from minitriton.explorer import program
from minitriton.explorer.compile_request import CompileRequest, EditedState
from minitriton.explorer.program import open_program
from minitriton.host.seals import seal

SOFTMAX = "minitriton_kernels/softmax.py:softmax"


def test_a_code_says_all_of_it() -> None:
    asked = CompileRequest(
        "a.py:k", "*fp32", options=("num_warps=8",), edits=(("skip", "cse"),), states=(EditedState(3, "module {}"),)
    )
    assert CompileRequest.of_code(asked.code()) == asked


def test_the_command_line_shows_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    asked = CompileRequest("log_sum_exp", edits=(("skip", "tritongpu-coalesce"),), options=("num_warps=2",))
    assert main(shlex.split(asked.command("diff"))[1:]) == 0
    said = capsys.readouterr().out
    assert "tritongpu-coalesce" not in said and "convert-triton-to-tritongpu" in said


def test_edited_text_is_in_the_code_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    text = Path("minitriton_kernels/softmax.py").read_text().replace("tl.exp(x)", "tl.exp2(x)")
    asked = CompileRequest(SOFTMAX, "*fp32:16,*fp32:16,i32,i32,i32,i32,BLOCK=256", kernel_text=text)
    assert main([*shlex.split(asked.command("diff"))[1:], "--pass", "inline"]) == 0
    assert "math.exp2" in capsys.readouterr().out


def test_an_edited_file_is_whole_while_another_process_writes_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python reads it for the source of each function: found half written, it has none."""
    text = Path("minitriton_kernels/softmax.py").read_text() + "# and more\n" * 200_000
    asked = CompileRequest(SOFTMAX, "*fp32:16,*fp32:16,i32,i32,i32,i32,BLOCK=256", kernel_text=text)
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


@pytest.mark.parametrize("code", ["", "abc", "eJwrLk0G", "without its end"])
def test_a_damaged_code_is_an_error(code: str) -> None:
    with pytest.raises(MinitritonError, match="state"):
        CompileRequest.of_code(CompileRequest("x").code()[:-4] if code == "without its end" else code)


def code_of(text: str) -> str:
    return base64.urlsafe_b64encode(zlib.compress(text.encode())).decode()


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "3", '{"source": 3}', '{"source": "x", "options": 3}', "x" * (1 << 25)]
)
def test_a_code_that_nobody_made_is_an_error(text: str) -> None:
    with pytest.raises(MinitritonError, match="state"):
        CompileRequest.of_code(code_of(text))


@pytest.mark.parametrize(
    "asked",
    [
        CompileRequest(SOFTMAX, "*fp32", kernel_text="raise SystemExit('this ran')"), CompileRequest(SOFTMAX), CompileRequest("log_sum_exp", loads=("passes.py",)),
        CompileRequest("log_sum_exp", options=("extern_libs=/dev/zero",)),
    ],
)  # fmt: skip
def test_python_of_another_users_state_is_run_only_if_it_is_trusted(
    asked: CompileRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = asked.code()
    assert CompileRequest.of_code(code) == asked
    monkeypatch.setenv("MINITRITON_KEY_FILE", str(tmp_path / "another" / "key"))
    assert main(["diff", "--state", code]) == 1
    assert "the state was made by another user" in capsys.readouterr().err
    assert CompileRequest.of_code(code, is_trusted=True) == asked
    assert (
        CompileRequest.of_code(CompileRequest("log_sum_exp", edits=(("skip", "cse"),)).code()).source == "log_sum_exp"
    )


def test_a_seal_of_another_state_is_none(tmp_path: Path) -> None:
    plain = {"source": SOFTMAX, "kernel_text": "evil", "seal": seal("state", json.dumps({"source": SOFTMAX}))}
    with pytest.raises(MinitritonError, match="another user"):
        CompileRequest.of_code(code_of(json.dumps(plain)))


def test_a_signature_is_made_up_where_none_is_given() -> None:
    program = open_program(CompileRequest("minitriton_kernels/vector_add.py:vector_add"))
    assert set(program.source.signature.values()) >= {"*fp32", "i32", "constexpr"}

"""What is opened: names that there are not are refused in the terminal, launches of a kernel's own file come before made-up inputs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from minitriton.commands.cli import main
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.session import ExplorerSession
from minitriton.explorer.start_page import catalogue, remember, require_program
from minitriton.lab import corpus
from minitriton.lab.launches.own_launch import own_launch
from minitriton.lab.report import one_of_each

KERNELS = Path(corpus.KERNELS)

PROGRAM = """
import numpy as np
import triton
import triton.language as tl

@triton.jit
def gathered(x_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(index_ptr + at, mask=at < n, other=0)
    tl.store(out_ptr + at, tl.load(x_ptr + index * 5000000, mask=at < n), mask=at < n)

@triton.jit
def overlapping(out_ptr, stride, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.program_id(0) * (stride - stride) + tl.arange(0, BLOCK), tl.program_id(0))
"""
LAUNCH = """
if __name__ == "__main__":
    x = np.arange(4, dtype=np.float32)
    index, out = np.zeros(48, np.int32), np.zeros(48, np.float32)
    gathered[(3,)](x, index, out, 48, BLOCK=16)
    raise SystemExit("nobody comes here")
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "gathered.py"
    path.write_text(PROGRAM)
    return path


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nosuch", "the corpus lacks a kernel 'nosuch'"),
        ("nosuch.py:add", "no such file: nosuch.py"),
        (f"{KERNELS}/matmul.py:matmol", "matmul_batched"),
        (f"{KERNELS}/matmul.py", "write"),
        ("nosuch.ttgir", "no such file"),
    ],
)
def test_a_name_that_there_is_not_is_an_error_in_the_terminal(
    given: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explore", given, "--no-browser"]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("signature", "said"),
    [
        ("*fp33,n=i32", "'fp33' is not the name of an argument type"),
        ("*i32,*i32,*i32,i32,BLOCK=64,i8", "more types than parameters at 'i8'"),
        ("*i32,M=64", "the kernel lacks a parameter 'M'"),
        ("*i32", "no type given for parameter 'index_ptr'"),
        ("*i32:7,*i32,*i32,i32,64", "unknown hint '7'"),
    ],
)
def test_a_wrong_signature_is_an_error_at_the_kernel(
    signature: str, said: str, program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explore", f"{program}:gathered", "--signature", signature, "--no-browser", "--port", "0"]) == 1
    error = capsys.readouterr().err
    assert said in error and f"{program}:7: error" in error and "def gathered(" in error


def test_a_signature_that_decorators_complete_is_none_that_is_refused(program: Path) -> None:
    text = PROGRAM.replace(
        "@triton.jit\ndef gathered", "@triton.autotune(configs=[], key=[])\n@triton.jit\ndef gathered"
    )
    program.write_text(text)
    require_program(CompileRequest(f"{program}:gathered", "*fp32,index_ptr=*i32,out_ptr=(*fp32, i32),n=@len"))


def test_a_declared_case_is_what_a_kernel_is_opened_with() -> None:
    asked = CompileRequest(f"{KERNELS}/softmax.py:softmax").with_own_launch()
    assert asked.launch is not None
    session = ExplorerSession()
    found = session.answer("inputs", {"asked": asked.plain()})
    assert found["grid"] == [8, 1, 1] and found["doubt"] == ""
    assert {row["whose"] for row in found["rows"]} == {"recorded"}
    assert session.answer("compile", {"asked": asked.plain()})["made_up"] == ""


def test_the_first_matmul_is_opened_with_the_strides_of_a_launch() -> None:
    found = own_launch("minitriton_kernels/matmul.py:matmul")
    assert found is not None and found.grid == (4, 1, 1)
    asked = CompileRequest("minitriton_kernels/matmul.py:matmul").with_own_launch()
    compiled = ExplorerSession().answer("compile", {"asked": asked.plain()})
    assert any("async_copy_global_to_local" in json.dumps(state) for state in compiled["states"])


def test_what_is_said_on_the_command_line_comes_before_it() -> None:
    asked = CompileRequest(f"{KERNELS}/softmax.py:softmax", grid="2")
    assert asked.with_own_launch() is asked


def test_the_launch_of_a_program_is_used_and_found_again(program: Path) -> None:
    program.write_text(PROGRAM + LAUNCH)
    launch = own_launch(f"{program}:gathered")
    assert launch is not None and launch.grid == (3, 1, 1)
    assert [one.value for one in launch.arguments if one.name == "n"] == [48]
    again = own_launch(f"{program}:gathered")
    assert again is not None and again.folder == launch.folder


def test_a_launch_of_the_same_name_is_of_the_file_and_a_program_that_fails_is_asked_again(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program.with_name("other_file.py").write_text(PROGRAM)
    other = "    open('numbers.txt').close()\n    import other_file\n    other_file.gathered[(1,)](x, index, out, 48, BLOCK=64)\n"
    program.write_text(PROGRAM + LAUNCH.replace("    gathered[", other + "    gathered["))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(program.parent)
        assert own_launch(f"{program}:gathered") is None
        assert "it launched no gathered" in capsys.readouterr().err
        Path("numbers.txt").touch()
        found = own_launch(f"{program}:gathered")
    assert found is not None and found.grid == (3, 1, 1), "the other file's has one program"


def test_an_index_out_of_range_is_said_to_come_from_made_up_inputs(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", f"{program}:gathered"]) == 1
    assert "it may be they that are wrong, not the kernel" in capsys.readouterr().err
    given = program.with_name("given.npz")
    np.savez(given, x_ptr=np.zeros(4, np.float32), index_ptr=np.ones(16, np.int32), out_ptr=np.zeros(16, np.float32))
    assert main(["run", f"{program}:gathered", "--arg", "n=16", "--grid", "1", "--inputs", str(given)]) == 1
    assert "made up" not in capsys.readouterr().err.partition("error:")[2]


def test_a_race_is_said_to_come_from_made_up_inputs(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", f"{program}:overlapping"])
    said = capsys.readouterr().out
    assert "a race, of inputs that were made up" in said and "stride = 112" in said
    assert "your kernel races" not in said


def test_a_check_takes_the_launch_of_the_kernels_file(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text(PROGRAM + LAUNCH)
    assert main(["check", f"{program}:gathered"]) == 0
    assert "made up" not in "".join(capsys.readouterr())


def test_races_of_one_kind_at_one_line_are_said_once() -> None:
    found = [
        "k.py:3:5: global-race: at byte 0\n    ptx:1",
        "k.py:3:5: global-race: at byte 4\n    ptx:2",
        "k.py:4:5: global-race: x",
    ]
    assert one_of_each(found) == [
        "k.py:3:5: global-race: at byte 0 and 1 more of this kind\n    ptx:1",
        "k.py:4:5: global-race: x",
    ]
    assert one_of_each(["thread-race: at byte 0", "thread-race: at byte 8"]) == [
        "thread-race: at byte 0 and 1 more of this kind"
    ]


def test_passes_are_left_out_of_a_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "running_sums", "--skip", "tritongpu-coalesce"]) == 0
    assert "tritongpu-coalesce " not in capsys.readouterr().out


def test_ptx_from_a_file_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sums.ptx"
    assert main(["compile", "running_sums", "--emit", "ptx", "-o", str(path)]) == 0
    capsys.readouterr()
    assert main(["run", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["instructions"] > 0


def test_the_start_page_offers_examples_the_corpus_and_what_was_opened_before() -> None:
    remember([CompileRequest("running_sums"), CompileRequest("add.py:add", kernel_text="secret")])
    groups = {group["title"]: [kernel["title"] for kernel in group["kernels"]] for group in catalogue()}
    assert groups["Opened before"][0] == "running_sums" and "add" not in groups["Opened before"]
    assert "matmul" in groups["Kernels in Triton"] and "tile_of" not in groups["Kernels in Triton"]
    assert "matmul_tile" in groups["Kernels in Gluon"]
    assert "running_sums" in groups["Corpus: scanning"]


def test_a_number_that_was_made_up_can_be_given(program: Path) -> None:
    session = ExplorerSession()
    asked = CompileRequest(f"{program}:overlapping", numbers=("stride=16",))
    rows = session.answer("inputs", {"asked": asked.plain()})["rows"]
    assert [(row["name"], row["value"], row["whose"]) for row in rows] == [
        ("out_ptr", "128", "made up"),
        ("stride", "16", "given"),
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--arch", "91"], "supported: 70, 75, 80, 86, 87, 89, 90, 100, 120"),
        (["--arch", "gfx9"], "known: 70, 75"),
        (["--option", "num_warps=3"], "num_warps must be a power of 2, got 3"),
        (["--option", "stages=3"], "unknown compile option 'stages'"),
        (["--grid", "0"], "--grid takes integers from 1"),
        (["--size", "x=many"], "--size takes integers, got 'many'"),
        (["--inputs", "nothing.npz"], "no such file: nothing.npz"),
    ],
)
def test_what_no_page_could_compile_is_refused_in_the_terminal(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explore", "minitriton_kernels/softmax.py:softmax", "--no-browser", *options]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", ["explore", "run", "diff", "compile", "check", "sweep", "explain", "tune"])
def test_a_kernel_of_the_corpus_has_its_own_types(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "running_sums", "--signature", "*fp32"]) == 1
    assert "has its own types and launch, and --signature would change them" in capsys.readouterr().err

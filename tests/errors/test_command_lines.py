"""The commands print an error that says what to do, no traceback, and end with an exit code that is not zero."""

from __future__ import annotations

import importlib.metadata
import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from minitriton import run_as_triton
from minitriton.codegen.assembled_code import Cubin
from minitriton.commands import cli, opt

KERNELS = """import triton
import triton.language as tl

@triton.jit
def double(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tl.load(x + i) * 2.0)

@triton.jit
def wrong(n):
    tl.load(n)
"""


@pytest.fixture
def kernels(tmp_path: Path) -> str:
    path = tmp_path / "some_kernels.py"
    path.write_text(KERNELS)
    return str(path)


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


WRONG_COMPILES = [
    (":nope", ["--signature", "*fp32,N=64"], "lacks kernel 'nope'", "help: it has: double, wrong"),
    (":double", ["--signature", "*fp32"], "no type given for parameter 'N'", "help: name all of: x, N"),
    (":double", ["--signature", "*fp32,N=64,i32"], "more types than parameters at 'i32'", "help: parameters: x, N"),
    (
        ":double",
        ["--signature", "*fp33,N=64"],
        "parameter 'x' is given '*fp33': 'fp33' is not the name of an argument type",
        "help: did you mean 'fp32'? write one of",
    ),
    (":double", ["--signature", ",N=64"], "'' is not the name of an argument type", "help: write one of"),
    (":double", ["--signature", "*fp32,M=64"], "the kernel lacks a parameter 'M'", "help: parameters: x, N"),
    (":double", ["--signature", "*fp32:7,N=64"], "unknown hint '7'", "help: :16 says divisible by 16"),
    (":double", ["--signature", "*fp32,N=63"], "some_kernels.py:6:9: error: arange's range", "help: use 64"),
    (":wrong", ["--signature", "i32"], "some_kernels.py:11:5: error: Unsupported ptr type", "help: pass a pointer"),
    (":double", ["--signature", "*fp32,N=64", "--arch", "60"], "unsupported architecture sm_60", "help: supported: 70"),
    (":double", ["--signature", "*fp32,N=64", "--option", "num_warps=3"], "must be a power of 2, got 3", "help: "),
    (":double", ["--signature", "*fp32,N=64", "--option", "num_warps"], "num_warps must be an integer", "help: "),
    (":double", ["--signature", "*fp32,N=64", "--pipeline", "inlin"], "unknown pass 'inlin'", "did you mean 'inline'?"),
    (":double", ["--signature", "*fp32,N=64", "--pipeline", "inline"], "lacks stage 'ptx'", "help: "),
    (":double", ["--signature", "*fp32,N=64", "-o", "/nonexistent/k.ptx"], "cannot write /nonexistent/k.ptx", "help: "),
]


WRONG_CHECKS = [
    (["--grid", "0"], "--grid takes integers from 1", "got 0"),
    (["--grid", "2,-1"], "--grid takes integers from 1", "got -1"),
    (["--grid", "2,2,2,2"], "--grid has 4 dimensions", "help: write x, x,y or x,y,z"),
    (["--grid", "70000,70000"], "4900000000 programs", "help: "),
    (["--grid", "x"], "--grid takes integers, got 'x'", ""),
    (["--size", "x=-1"], "--size takes integers from 1", "got -1"),
    (["--size", "x=1e999"], "--size takes integers, got", ""),
    (["--size", "nope=4"], "the launch lacks an argument 'nope'", "help: its arguments: x"),
    (["--size", "x"], "expected NAME=VALUE, got 'x'", ""),
    (["--seed", "-1"], "a seed is an integer from 0 on, got -1", ""),
    (["--emulator-seconds", "-1"], "--emulator-seconds takes a number of seconds, got -1", "help: 0: no limit"),
    (["--emulator-seconds", "nan"], "--emulator-seconds takes a number of seconds, got nan", ""),
]


@pytest.mark.parametrize("row", WRONG_CHECKS, ids=[" ".join(row[0]) for row in WRONG_CHECKS])
def test_a_wrong_check_is_explained(row: tuple[list[str], str, str], kernels: str, fails: Callable[..., str]) -> None:
    arguments, *pieces = row
    fails(cli.main, ["check", f"{kernels}:double", "--signature", "*fp32,N=64", *arguments], *pieces)


@pytest.mark.parametrize("command", ["fuzz", "mutate"])
def test_a_folder_that_cannot_be_written_is_said_before_the_run(
    command: str, tmp_path: Path, fails: Callable[..., str]
) -> None:
    (tmp_path / "file").write_text("")
    fails(cli.main, [command, "--out", str(tmp_path / "file" / "findings")], "cannot write to ", "help: --out takes")


NOTHING = [
    (["fuzz", "--count", "0"], "argument --count: 0 is less than 1"),
    (["fuzz", "--count", "-3"], "argument --count: -3 is less than 1"),
    (["fuzz", "--count", "many"], "argument --count: 'many' is not an integer"),
    (["fuzz", "--seconds", "0"], "argument --seconds: 0 s is not more than 0"),
    (["fuzz", "--only", "-1"], "argument --only: -1 is less than 0"),
    (["mutate", "--count", "0"], "argument --count: 0 is less than 1"),
    (["mutate", "--jobs", "-1"], "argument --jobs: -1 is less than 1"),
    (["record", "--most", "0", "train.py"], "argument --most: 0 is less than 1"),
    (["record", "--each", "0", "train.py"], "argument --each: 0 is less than 1"),
    (["tune", "k.py:k", "--most", "0"], "argument --most: 0 is less than 1"),
    (["measure", "s.db", "--metrics", "cycles", "--jobs", "0"], "argument --jobs: 0 is less than 1"),
    (["fuzz", "--oracles", ""], "nothing to compare"),
    (["diff", "k.py:k", "--context", "-1"], "argument --context: -1 is less than 0"),
]


@pytest.mark.parametrize("row", NOTHING, ids=[" ".join(row[0]) for row in NOTHING])
def test_a_count_of_nothing_is_a_wrong_command_line(row: tuple[list[str], str], fails: Callable[..., str]) -> None:
    fails(cli.main, *row)


UNKNOWN_INSTRUCTION = """import triton
import triton.language as tl

@triton.jit
def frobnicate(x, N: tl.constexpr):
    i = tl.arange(0, N)
    y = tl.inline_asm_elementwise("frobnicate.b32 $0, $1;", "=r,r", [tl.load(x + i)], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x + i, y)
"""


@pytest.mark.parametrize(
    ("arch", "text"), [("90", "of the PTX: `frobnicate.b32 %r"), ("gfx942", "of the assembly: `frobnicate.b32 ")]
)
def test_an_instruction_that_the_emulator_lacks_is_named_at_the_kernels_line(
    arch: str, text: str, tmp_path: Path, fails: Callable[..., str]
) -> None:
    path = written(tmp_path, "k.py", UNKNOWN_INSTRUCTION)
    launch = [f"{path}:frobnicate", "--signature", "*i32:16,N=128", "--arch", arch]
    fails(cli.main, ["run", *launch], f"{path}:7:", "frobnicate", text, "help: docs/")


def test_a_check_that_could_run_nothing_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "k.py", UNKNOWN_INSTRUCTION)
    command = ["check", f"{path}:frobnicate", "--signature", "*i32:16,N=128"]
    assert cli.main(command) == 1
    said = capsys.readouterr().out
    assert "nothing was checked: none of" in said and "none wrong" not in said
    assert f"not executable: {path}:7:" in said
    assert cli.main([*command, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False


def test_a_cubin_is_not_written_to_a_terminal(
    kernels: str, fails: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minitriton.pipeline.stages.assemble", lambda *_: Cubin(b"\x7fELF"))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    command = ["compile", f"{kernels}:double", "--signature", "*fp32,N=64", "--emit", "cubin"]
    fails(cli.main, command, "cubin is binary, and standard output is a terminal", "help: write it to a file by -o")


def test_a_parameter_may_be_named_with_its_type(kernels: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compile", f"{kernels}:double", "--emit", "ttir", "--signature"]
    assert cli.main([*command, "N=64,x=*fp16:16"]) == 0
    by_name = capsys.readouterr().out
    assert "!tt.ptr<f16> {tt.divisibility = 16 : i32}" in by_name
    assert cli.main([*command, "*fp16:16,N=64"]) == 0
    assert capsys.readouterr().out == by_name


def test_the_version_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        cli.main(["--version"])
    assert exit.value.code == 0
    said = capsys.readouterr().out
    assert re.match(r"minitriton \d\S*, compatible with Triton 3\.6\.0\n", said)
    assert re.search(r"^llvmlite \d", said, re.MULTILINE) and "Python 3" in said


def test_a_tree_that_is_only_on_the_path_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacks(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", lacks)
    assert cli.main(["passes", "cse"]) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("command", ["compile", "check"])
def test_help_and_error_name_the_same_architectures(
    command: str, kernels: str, capsys: pytest.CaptureFixture[str], fails: Callable[..., str]
) -> None:
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    known = re.search(r"times ten \(([\d,\s]+)", capsys.readouterr().out)
    assert known is not None
    listed = ", ".join(re.findall(r"\d+", known[1]))
    fails(cli.main, [command, f"{kernels}:double", "--signature", "*fp32,N=64", "--arch", "60"], f"supported: {listed}")


def test_a_message_of_the_front_end_stands_once(kernels: str, fails: Callable[..., str]) -> None:
    said = fails(cli.main, ["compile", f"{kernels}:wrong", "--signature", "i32"], "Unsupported ptr type")
    assert said.count("Unsupported ptr type") == 1


@pytest.mark.parametrize("row", WRONG_COMPILES, ids=[" ".join([row[0], *row[1]]) for row in WRONG_COMPILES])
def test_a_wrong_compile_is_explained(
    row: tuple[str, list[str], str, str], kernels: str, fails: Callable[..., str]
) -> None:
    reference, arguments, *pieces = row
    fails(cli.main, ["compile", kernels + reference, *arguments], *pieces)


def test_a_file_of_kernels_that_is_not_there_is_named(tmp_path: Path, fails: Callable[..., str]) -> None:
    fails(cli.main, ["compile", f"{tmp_path}/none.py:k"], f"no such file: {tmp_path}/none.py", "help: ")


BROKEN_FILES = [
    ("broken_syntax.py", "x = 1\ndef f(:\n", ":2: error: ", "SyntaxError"),
    ("broken_code.py", "x = 1\n\nx / 0\n", ":3: error: ", "ZeroDivisionError: division by zero"),
    ("broken_import.py", "import no_such_thing\n", ":1: error: ", "No module named 'no_such_thing'"),
]


def test_a_file_imports_its_neighbours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "its_neighbour.py").write_text("WIDTH = 8\n")
    text = """
        import triton, triton.language as tl
        from its_neighbour import WIDTH
        @triton.jit
        def fill(x, BLOCK: tl.constexpr = WIDTH):
            tl.store(x + tl.arange(0, BLOCK), 1.0)
    """
    path = written(tmp_path, "k.py", inspect.cleandoc(text))
    cli.main(["compile", f"{path}:fill", "--signature", "*fp32", "--emit", "ttir"])
    assert "tensor<8xf32>" in capsys.readouterr().out


@pytest.mark.parametrize("row", BROKEN_FILES, ids=[row[0] for row in BROKEN_FILES])
def test_a_file_that_cannot_be_imported_is_named_with_its_line(
    row: tuple[str, ...], tmp_path: Path, fails: Callable[..., str]
) -> None:
    name, text, place, reason = row
    path = written(tmp_path, name, text)
    pieces = (path + place, "cannot be imported: ", reason, "help: ")
    fails(cli.main, ["compile", path + ":k"], *pieces)
    fails(cli.main, ["passes", "--load", path], *pieces)
    fails(opt.main, ["-", "--load", path, "-cse"], *pieces)


def test_a_plugin_that_is_not_there_is_named(tmp_path: Path, fails: Callable[..., str]) -> None:
    for path in (f"{tmp_path}/none.py", written(tmp_path, "plugin.txt", "")):
        fails(cli.main, ["passes", "--load", path], f"cannot load {path!r}", "help: --load takes a Python file")


def test_an_unknown_pass_has_no_documentation(fails: Callable[..., str]) -> None:
    fails(cli.main, ["passes", "canonicalise"], "unknown pass 'canonicalise'", "help: did you mean 'canonicalize'?")


TTIR = "module {\n  tt.func public @f(%x: !tt.ptr<f32>) {\n    %v = tt.load %x : !tt.ptr<f32>\n    tt.return\n  }\n}\n"

WRONG_PASSES = [
    (["-canonicalise"], "unknown pass 'canonicalise'", "help: did you mean 'canonicalize'?"),
    (["--qqqqqqqqqq"], "unknown pass 'qqqqqqqqqq'", "help: "),
    (["-convert-triton-to-tritongpu=wraps=4"], "lacks option 'wraps'", "help: its options: target"),
    (["-convert-triton-to-tritongpu"], "requires 'target' option", "help: write target=cuda:90"),
    (["-convert-triton-gpu-to-llvm"], "the module lacks a target", "help: "),
    (["--pass-pipeline=builtin.module(cse"], "unknown pass 'builtin.module'", "help: "),
    (["--run-reproducer"], "is not a reproducer", "help: it must end with a resource `mlir_reproducer`"),
    (["-o"], "-o needs a file name"),
    (["-cse", "-o", "/nonexistent/k.mlir"], "cannot write /nonexistent/k.mlir"),
]


@pytest.mark.parametrize("row", WRONG_PASSES, ids=[" ".join(row[0]) for row in WRONG_PASSES])
def test_a_wrong_command_line_of_opt_is_explained(
    row: tuple[list[str], ...], tmp_path: Path, fails: Callable[..., str]
) -> None:
    arguments, *pieces = row
    fails(opt.main, [written(tmp_path, "k.ttir", TTIR), *arguments], *pieces)


def test_files_that_opt_cannot_read_are_named(tmp_path: Path, fails: Callable[..., str]) -> None:
    fails(opt.main, [f"{tmp_path}/none.ttir", "-cse"], f"cannot read {tmp_path}/none.ttir")
    fails(opt.main, [str(tmp_path), "-cse"], f"cannot read {tmp_path}: Is a directory")
    (tmp_path / "bytes.ttir").write_bytes(b"\xff\xfe")
    fails(opt.main, [f"{tmp_path}/bytes.ttir", "-cse"], f"cannot read {tmp_path}/bytes.ttir: byte 0")


def test_truncated_text_is_refused_by_opt_at_its_line(tmp_path: Path, fails: Callable[..., str]) -> None:
    path = written(tmp_path, "k.ttir", TTIR[: TTIR.index("!tt.ptr<f32>\n")])
    fails(opt.main, [path, "-cse"], f"{path}:3:")


def test_a_program_that_is_not_there_is_named(tmp_path: Path, fails: Callable[..., str]) -> None:
    fails(run_as_triton.main, [f"{tmp_path}/none.py"], f"no such script: {tmp_path}/none.py")
    fails(run_as_triton.main, ["-m"], "usage: ")


def test_a_file_that_run_does_not_take_is_told_from_a_name_of_the_corpus(
    tmp_path: Path, fails: Callable[..., str]
) -> None:
    path = written(tmp_path, "k.txt", "not a kernel")
    fails(cli.main, ["run", path], "k.txt' cannot be run", "help: ", ".llir or .ptx file")

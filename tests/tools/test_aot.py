"""Kernels compiled ahead of time: C sources, one entry point of several, run against a stub of the driver."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from minitriton.backends.nvidia.driver import include_dirs
from minitriton.codegen.assemblers import assembler_available
from minitriton.commands.signature import Parameter, parse_signature
from minitriton.errors import MinitritonError
from minitriton.tools import compile as aot
from minitriton.tools import link
from minitriton.tools.compile import suffix_of

STUB = Path(__file__).parent / "cuda_stub.c"

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def add(x, y, n, stride, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i * stride, tl.load(x + i, mask=i < n), mask=i < n)
"""


class Taking:
    """Stands for a kernel with these parameters."""

    def __init__(self, *names: str) -> None:
        self.arg_names = list(names)
        self.params = [SimpleNamespace(name=name, has_default=False, is_constexpr=False) for name in names]


def test_a_signature_says_types_hints_and_constants() -> None:
    parameters = parse_signature("*fp32:16, i32:1, i32 , 1024,0.5", Taking("x", "one", "n", "BLOCK", "eps"))
    assert parameters == [
        Parameter("x", "*fp32", 16),
        Parameter("one", "i32", 1),
        Parameter("n", "i32"),
        Parameter("BLOCK", "constexpr", constant=1024, is_constant=True),
        Parameter("eps", "constexpr", constant=0.5, is_constant=True),
    ]
    assert suffix_of(parameters) == "0d1c234"
    assert [p.name for p in parameters if p.is_passed] == ["x", "n"]
    assert [p.name for p in parameters if not p.is_constant] == ["x", "one", "n"]


@pytest.mark.parametrize(
    ("signature", "message"), [("*fp32:8", "hint '8'"), ("*fp32, i32", "more types than parameters")]
)
def test_a_wrong_signature_is_refused(signature: str, message: str) -> None:
    with pytest.raises(MinitritonError, match=message):
        parse_signature(signature, Taking("x"))


def test_headers_of_triton_are_read_by_their_suffix() -> None:
    header = "// tt-linker: mul_0a1b2c3d_0d1c2:CUdeviceptr x, int32_t one, int32_t n:16_warps1xstages3\n"
    (variant,) = link.read_header(header)
    assert (variant.base, variant.algorithm) == ("mul", "mul_16_warps1xstages3")
    assert variant.hints == (16, 1, None)
    assert variant.condition == "(x % 16 == 0) && (one == 1)"
    assert variant.own_signature == ", CUdeviceptr x, int32_t n"


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ("", "declare no kernel"),
        ("// tt-linker: odd:int32_t n:a\n", "not a valid kernel name"),
        ("// tt-linker: f_00_1d:int32_t n:a\n", "not a valid kernel suffix"),
        ("// tt-linker: f_00_0:int32_t n:a\n// tt-linker: f_01_0:int64_t n:a\n", r"takes \(int64_t n\), f_00_0"),
    ],
)
def test_headers_that_cannot_be_linked_are_refused(headers: str, message: str) -> None:
    with pytest.raises(link.LinkerError, match=message):
        link.link(link.read_header(headers))


needs_tools = pytest.mark.skipif(
    shutil.which("gcc") is None or not (assembler_available() or shutil.which("ptxas")), reason="needs gcc and ptxas"
)


@pytest.fixture
def kernel_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    return path


def compiled(kernel_path: Path, signature: str, **others: object) -> tuple[str, list[Path]]:
    arguments = aot.CompileArgs(str(kernel_path), "add", signature, "(n + BLOCK - 1) / BLOCK, 2, 1", "cuda:90:32", 4)
    for name, value in others.items():
        setattr(arguments, name, value)
    return aot.compile_kernel(arguments)


@needs_tools
def test_the_most_specific_kernel_that_fits_is_launched(kernel_file: Path) -> None:
    folder = kernel_file.parent
    general, _ = compiled(kernel_file, "*fp32, *fp32, i32, i32, 64")
    aligned, _ = compiled(kernel_file, "*fp32:16, *fp32:16, i32:16, i32, 64")
    dense, files = compiled(kernel_file, "*fp32:16, *fp32:16, i32:16, i32:1, 64")
    other, _ = compiled(kernel_file, "*fp32, *fp32, i32, i32, 128")
    assert [path.suffix for path in files] == [".c", ".h"]
    headers = [str(path) for path in sorted(folder.glob("add.*.h"))]
    assert link.main([*headers, "-o", "linked"]) == 0
    (folder / "main.c").write_text("""
        #include "linked.h"
        #include <stdio.h>
        int main(void) {
          load_add();
          int codes[] = {
            add_default(0, 256, 512, 160, 1), add_default(0, 256, 512, 160, 2), add_default(0, 256, 516, 100, 1),
            add(0, 256, 512, 160, 1, add_get_num_algos() - 1), add(0, 256, 512, 160, 1, 2), add_default(0, 16, 16, 0, 1),
          };
          unload_add();
          for (int i = 0; i < 6; i++) printf("%d ", codes[i]);
          return 0;
        }
    """)
    sources = [str(path) for path in folder.glob("*.c")]
    command = [
        "gcc",
        "-Wall",
        "-Werror",
        *sources,
        str(STUB),
        "-I",
        include_dirs[0],
        "-I",
        str(folder),
        "-o",
        "program",
    ]
    subprocess.run(command, check=True, cwd=folder)
    log = folder / "log"
    done = subprocess.run([str(folder / "program")], env={"CUDA_STUB_LOG": str(log)}, capture_output=True, text=True)
    assert done.stdout.split() == ["0", "0", "0", "0", "1", "0"], done.stderr
    first, *_ = link.read_header(Path(headers[0]).read_text())
    block = 64 if "64" in first.algorithm else 128
    launches = [line for line in log.read_text().splitlines() if line.startswith("add ")]

    def grid(n: int, block: int) -> str:
        return f"grid {(n + block - 1) // block} 2 1 block 128"

    assert launches == [
        f"add {grid(160, block)} pointer 256 number 160",
        f"add {grid(160, block)} pointer 256 number 160",
        f"add {grid(100, block)} pointer 256 number 100",
        f"add {grid(160, 192 - block)} pointer 256 number 160",
    ]
    assert log.read_text().count("unload") == 4
    order = (folder / "linked.c").read_text()
    assert order.index(f"return {dense}(") < order.index(f"return {aligned}(") < order.index(f"return {general}(")
    assert f"return {other}(stream, x, y, n, stride)" in order


@needs_tools
def test_the_commands_run_as_scripts_from_any_folder(kernel_file: Path) -> None:
    script = [sys.executable, aot.__file__, str(kernel_file), "-n", "add", "-g", "1, 1, 1", "-o", "out", "-on", "mine"]
    subprocess.run(
        [*script, "-s", "*fp16, *fp16, i32, i32, 64", "-t", "cuda:80:32"], check=True, cwd=kernel_file.parent
    )
    (header,) = kernel_file.parent.glob("out.*.h")
    assert "CUresult mine_" in header.read_text()
    wrong = subprocess.run([*script, "-s", "*fp16"], capture_output=True, text=True, cwd=kernel_file.parent)
    assert wrong.returncode == 1
    assert "no type given for parameter" in wrong.stderr


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"kernel_name": "sub"}, "lacks kernel 'sub'"),
        ({"grid": "1"}, "three C expressions"),
        ({"target": "cuda:new"}, "write it as cuda:90:32"),
        ({"path": "missing.py"}, "no such file"),
    ],
)
def test_what_cannot_be_compiled_is_explained(kernel_file: Path, others: dict[str, str], message: str) -> None:
    with pytest.raises(MinitritonError, match=message):
        compiled(kernel_file, "*fp32, *fp32, i32, i32, 64", **others)

"""Without a signature, types come from a kernel's annotations and the names of its parameters, and inputs are made up for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minitriton.commands.cli import main
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.program import open_program

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def scaled(source: "*fp16", out_ptr, n: "i64", factor: "fp32", BLOCK: tl.constexpr = 64):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(source + at, mask=at < n).to(tl.float32) * factor, mask=at < n)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scaled.py"
    path.write_text(KERNEL)
    return path


def test_types_are_those_annotated(file: Path) -> None:
    source = open_program(CompileRequest(f"{file}:scaled")).source
    assert source.signature == {
        "source": "*fp16",
        "out_ptr": "*fp32",
        "n": "i64",
        "factor": "fp32",
        "BLOCK": "constexpr",
    }
    assert source.constants == {(4,): 64} and set(source.attrs) == {(0,), (1,)}


def test_inputs_fit_them_and_what_is_given_stays(file: Path) -> None:
    values = open_program(CompileRequest(f"{file}:scaled", numbers=("n=100",))).launch().arguments.values
    assert values[0].dtype == np.float16 and values[1].dtype == np.float32 and values[2] == 100
    assert values[0].size >= 100 and values[1].size >= 100


def test_a_kernel_without_a_signature_runs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", f"{file}:scaled", "--arg", "n=100"]) == 0
    assert "tl.load" in capsys.readouterr().out


DESCRIBED = """
import triton
import triton.language as tl

@triton.jit
def doubled(source, out, at):
    out.store([at, 32], source.load([at, 32]) * 2)
"""


def test_tensor_descriptors_are_made_up_of_two_tiles_along_each_axis(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "doubled.py"
    path.write_text(DESCRIBED)
    tile = "tensordesc<fp16[16,32]>"
    given = ["run", f"{path}:doubled", "--signature", f"{tile},{tile},i32", "--grid", "1", "--arg", "at=8"]
    source = np.arange(32 * 64, dtype=np.float16).reshape(32, 64) % 7
    np.savez(tmp_path / "inputs.npz", source=source)
    assert main([*given, "--inputs", str(tmp_path / "inputs.npz")]) == 0
    assert "source: 2048 elements, 0, 1, 2, 3, 4, 5" in capsys.readouterr().out
    program = open_program(CompileRequest(given[1], given[3], grid="1", numbers=("at=8",)))
    launch = program.launch()
    (first, _, _) = launch.arguments.values
    assert first.base.shape == (32, 64) and first.block_shape == [16, 32]
    assert main(["check", *given[1:]]) == 0
    assert main([*given, "--size", "source=100"]) == 1
    assert "has a shape, not a size" in capsys.readouterr().err

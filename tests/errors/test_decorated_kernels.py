"""Parameters that decorators give need not be named on a command line, or the error says what to name."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitriton.commands import cli

KERNELS = """import triton
import triton.language as tl

@triton.autotune([triton.Config({"BLOCK": 256}, num_warps=8), triton.Config({"BLOCK": 512})], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0, "HALF": lambda args: args["EVEN"] and 1})
@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr, EVEN: tl.constexpr, HALF: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at) if EVEN else tl.load(x + at, mask=at < n), mask=at < n)
"""


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    path = tmp_path / "decorated.py"
    path.write_text(KERNELS)
    return f"{path}:copy"


@pytest.mark.parametrize("command", ["compile", "check"])
@pytest.mark.parametrize(
    ("signature", "help"),
    [
        (
            "*fp32,*fp32,i32",
            "the first of 2 configurations is BLOCK=256 with --option num_warps=8 --option num_stages=3",
        ),
        ("*fp32,*fp32,i32,BLOCK=256", "EVEN is computed by @triton.heuristics, from arguments that are unknown here"),
        ("*fp32,*fp32,n=512,EVEN=True", "BLOCK is chosen by @triton.autotune"),
    ],
)
def test_what_decorators_cannot_give_is_asked_for(
    command: str, signature: str, help: str, kernel: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([command, kernel, "--signature", signature]) == 1
    said = capsys.readouterr().err
    assert f"help: {help}" in said or help in said
    assert "for example" not in said


@pytest.mark.parametrize(("given", "masked"), [("n=512,BLOCK=256", False), ("n=500,BLOCK=256", True)])
def test_heuristics_compute_from_the_values_that_are_given(
    given: str, masked: bool, kernel: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compile", kernel, "--signature", f"*fp32,*fp32,{given}", "--emit", "ttir"]) == 0
    load = next(line for line in capsys.readouterr().out.splitlines() if "tt.load" in line)
    assert ("," in load.partition(" : ")[0]) == masked


def test_a_value_that_is_given_is_not_computed(kernel: str, capsys: pytest.CaptureFixture[str]) -> None:
    signature = "*fp32,*fp32,n=512,BLOCK=256,EVEN=False,HALF=0"
    assert cli.main(["compile", kernel, "--signature", signature, "--emit", "ttir"]) == 0
    assert "tt.load" in capsys.readouterr().out

"""A pipeline that cannot be is refused before it runs: unknown passes, wrong options, impossible orders, missing stages."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.errors import PipelineError

TO_TTGIR = "convert-triton-to-tritongpu{target=cuda:90 num-warps=4}"
BEFORE = "inline,triton-rewrite-tensor-pointer"


@triton.jit
def doubles(x):
    i = tl.arange(0, 128)
    tl.store(x + i, tl.load(x + i) * 2.0)


def compiled(pipeline: str, **options: Any) -> Any:
    return doubles.warmup(triton.MockTensor(tl.float32), grid=(1,), pipeline=pipeline, **options)


WRONG = [
    ("canonicalise", "unknown pass 'canonicalise'", "help: did you mean 'canonicalize'?"),
    ("qqqqqqqqqq", "unknown pass 'qqqqqqqqqq'", "help: `minitriton passes` lists the registered passes"),
    ("inline,,cse", "malformed pipeline at ',cse'", "help: write pass{option=value}"),
    ("inline cse", "expected ',' before 'cse'", "help: separate the passes of a pipeline by commas"),
    ("inline{a=1", "malformed options of pass 'inline'", "help: write {key=value key=value}"),
    ("convert-triton-to-tritongpu{num-wraps=4}", "lacks option 'num-wraps'", "help: its options: target, num-warps"),
    ("convert-triton-to-tritongpu{num-warps=four}", "cannot be 'four'", "help: give a value of type int"),
    (f"tritongpu-coalesce,{TO_TTGIR}", "'tritongpu-coalesce' (number 1) needs", "help: run one of these before it"),
    (f"{BEFORE},{TO_TTGIR},{TO_TTGIR}", "(number 4) needs", "destroyed"),
    ("inline,emit-ptx", "pass 'emit-ptx' (number 2) needs: LLVM IR", "help: run one of these before it"),
]


@pytest.mark.parametrize("row", WRONG, ids=[row[0] for row in WRONG])
def test_a_wrong_pipeline_is_refused_before_it_runs(row: tuple[str, ...], refused: Callable[..., Any]) -> None:
    pipeline, *pieces = row
    assert isinstance(refused(lambda: compiled(pipeline), *pieces), PipelineError)


def test_options_that_a_pass_cannot_work_with_are_refused(refused: Callable[..., Any]) -> None:
    refused(
        lambda: compiled(f"{BEFORE},convert-triton-to-tritongpu{{target=cuda:90 num-warps=3}}"), "power of 2", "help: "
    )
    refused(
        lambda: compiled(f"{BEFORE},convert-triton-to-tritongpu"),
        "requires 'target' option",
        "help: write target=cuda:90",
    )
    many = f"{BEFORE},convert-triton-to-tritongpu{{target=cuda:90 num-warps={2**64}}}"
    refused(lambda: compiled(many), "no GPU has as many threads", "help: ")


def test_benchmarks_say_what_they_need() -> None:
    folder = Path(__file__).parents[2] / "benchmarks"
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    for name in ("speed", "launch_overhead", "matmul"):
        done = subprocess.run(
            [sys.executable, str(folder / f"{name}.py")], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 1 and "this benchmark needs " in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("stage", ["ptx", "llir", "cubin", "sass", "nonsense"])
def test_a_stage_that_the_pipeline_does_not_reach_is_named_with_those_it_does(
    stage: str, refused: Callable[..., Any]
) -> None:
    kernel = compiled("inline,canonicalize")
    error = refused(lambda: kernel.asm[stage], "this kernel lacks stage", "it has: ttir", "help: name one of those")
    assert isinstance(error, KeyError)

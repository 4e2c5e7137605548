"""Heuristics return candidates with cost and reason; an option takes another one."""

from __future__ import annotations

import re

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.compiler import ASTSource
from minitriton.errors import PipelineError
from minitriton.pipeline.choice import noting_choices
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.target import CUDAOptions, GPUTarget

H100 = GPUTarget("cuda", 90, 32)


@triton.jit
def copy(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i))


@triton.jit
def matmul(a, b, c, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(a + i[:, None] * N + i[None, :]), tl.load(b + i[:, None] * N + i[None, :])
    tl.store(c + i[:, None] * N + i[None, :], tl.dot(x, y))


SOURCES = {
    "copy": (copy, {"x": "*fp32", "y": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": 1024}, 2),
    "matmul": (matmul, {"a": "*fp16", "b": "*fp16", "c": "*fp32", "N": "constexpr"}, {"N": 64}, 3),
}


def compiled(name: str, step: str = "") -> triton.CompiledKernel:
    kernel, signature, constants, pointers = SOURCES[name]
    attrs = {(index,): [["tt.divisibility", 16]] for index in range(pointers)}
    pipeline = pipeline_for(H100, CUDAOptions())
    options = {"pipeline": str(pipeline.with_options(step) if step else pipeline)}
    return triton.compile(ASTSource(kernel, signature, constants, attrs), H100, options, assemble=False)


@pytest.mark.parametrize(("width", "instruction"), [(0, "v4"), (2, "v2"), (1, "")])
def test_an_option_takes_another_width(width: int, instruction: str) -> None:
    ptx = compiled("copy", f"tritongpu-coalesce{{width={width}}}").asm["ptx"]
    found = set(re.findall(r"ld\.global\.(?:(v\d)\.)?b32", ptx))
    assert found == {instruction}


@pytest.mark.parametrize(
    ("instruction", "expected"), [("wgmma", "wgmma.mma_async"), ("mma.sync", "mma.sync"), ("fma", "fma.rn.f32")]
)
def test_an_option_takes_another_instruction(instruction: str, expected: str) -> None:
    ptx = compiled("matmul", f"tritongpu-accelerate-matmul{{instruction={instruction}}}").asm["ptx"]
    names = ("wgmma.mma_async", "mma.sync", "fma.rn.f32")
    assert [name for name in names if name in ptx] == [expected]


@pytest.mark.parametrize("step", ["tritongpu-coalesce{width=3}", "tritongpu-accelerate-matmul{instruction=mfma}"])
def test_what_is_no_candidate_is_refused(step: str) -> None:
    with pytest.raises(PipelineError, match="give "):
        Pipeline.parse(step)


def test_choices_say_what_else_there_was() -> None:
    with noting_choices() as made:
        compiled("matmul", "canonicalize#1")
    loads = [choice for choice in made if choice.subject == "elements a thread of tt.load"]
    assert {choice.taken for choice in loads} == {"8"}
    assert [candidate.value for candidate in loads[0].candidates] == ["8", "4", "2", "1"]
    dot = next(choice for choice in made if choice.subject == "instruction of tt.dot")
    assert dot.taken == "wgmma" and [candidate.value for candidate in dot.candidates] == ["wgmma", "mma.sync", "fma"]
    assert dot.location is not None and dot.location.line == copy.starting_line_number + 10
    assert "tritongpu-accelerate-matmul{instruction=wgmma}" in dot.text()

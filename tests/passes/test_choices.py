"""Heuristics return candidates with cost and reason; an option takes another one."""

from __future__ import annotations

import re

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.compiler import ASTSource
from minitriton.errors import PipelineError
from minitriton.lab import Configuration, Evaluator, Space, corpus
from minitriton.lab.sweeping.correctness import Class
from minitriton.lab.sweeping.space import HEURISTICS
from minitriton.pipeline.choice import noting_choices
from minitriton.pipeline.pass_manager import PassManager, Pipeline
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


@pytest.mark.parametrize(
    "step",
    [
        "tritongpu-coalesce{width=3}",
        "tritongpu-accelerate-matmul{instruction=mfma}",
        "tritongpu-accelerate-matmul{warps-along-rows=3}",
        "tritongpu-accelerate-matmul{swizzle=16}",
        "triton-nvidia-gpu-plan-cta{ctas-along-rows=3}",
        "tritongpu-remove-layout-conversions{recompute=often}",
        "tritongpu-optimize-thread-locality{gather-lanes=3}",
        "tritongpu-assign-latencies{loads=few}",
        "nvgpu-warp-specialization{consumers=3}",
    ],
)
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


OTHERS = [
    ("gather_in_columns", 90, "tritongpu-optimize-thread-locality{gather-lanes=4}"),
    ("pipelined_rows", 90, "tritongpu-optimize-thread-locality{after-loops=false}"),
    ("pipelined_rows", 90, "tritongpu-assign-latencies{loads=none}"),
    ("bench_rms_norm", 90, "tritongpu-assign-latencies{loads=all}"),
    ("bench_matmul", 80, "tritongpu-assign-latencies{num-stages=5}"),
    ("bench_matmul", 80, "tritongpu-accelerate-matmul{warps-along-rows=1}"),
    ("bench_matmul", 90, "tritongpu-accelerate-matmul{swizzle=32}"),
    ("bench_linear_relu", 90, "tritongpu-accelerate-matmul{instruction=fma}"),
    ("bench_matmul", 80, "tritongpu-pipeline{swizzle=false}"),
    ("copied_attention", 80, "tritongpu-reduce-data-duplication{swizzle=false}"),
    ("copied_attention", 90, "minitriton-overlap-dots{registers=0}"),
    ("copied_attention", 90, "tritongpu-remove-layout-conversions{recompute=never}"),
    ("tiled_dot_of_clusters", 90, "triton-nvidia-gpu-plan-cta{ctas-along-rows=2}"),
    ("specialized_tiles", 90, "nvgpu-warp-specialization{consumers=1}"),
]
"""A kernel of the corpus, a target, and an option that takes another candidate there."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "arch", "step"), OTHERS)
def test_another_candidate_is_another_kernel_and_right(name: str, arch: int, step: str) -> None:
    task = corpus.task(name, arch=arch)
    evaluate = Evaluator(task, ["instructions"])
    default, other = (
        evaluate(Configuration.parse(str(line))) for line in (task.pipeline(), task.pipeline().with_options(step))
    )
    assert (default.result, other.result) == (Class.RIGHT, Class.RIGHT), other.reason
    assert default.program != other.program


def test_the_laboratory_varies_every_option_that_takes_another_candidate() -> None:
    varied = {f"{name}{{{option}}}" for (name, option), _ in Space(heuristics=True).pass_options}
    assert {step.partition("=")[0] + "}" for _, _, step in OTHERS} <= varied == {name for name, _ in HEURISTICS}


@pytest.mark.parametrize("name", ["copied_attention", "gather_in_columns", "pipelined_rows", "tiled_dot_of_clusters"])
def test_what_is_taken_is_a_candidate_and_its_option_exists(name: str) -> None:
    task = corpus.task(name)
    with noting_choices() as made:
        PassManager(task.pipeline()).run(task.context, task.make_ir())
    for choice in made:
        assert choice.taken in [candidate.value for candidate in choice.candidates], choice.text()
        assert [c.cost for c in choice.candidates] == sorted(c.cost for c in choice.candidates)
        for candidate in choice.candidates:
            if not choice.option.startswith("tl."):
                Pipeline.parse(choice.option.replace("@", candidate.value))


def test_remarks_show_choices(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_ENABLE_DIAGNOSTICS", "remarks,choices")
    compiled("matmul", "canonicalize#1")
    assert (
        "remark: instruction of tt.dot: wgmma, by tritongpu-accelerate-matmul{instruction=wgmma}"
        in capsys.readouterr().err
    )

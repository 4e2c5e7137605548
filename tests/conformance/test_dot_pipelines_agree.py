"""What keeps tensor cores fed is what Triton's passes make of the same IR, on kernels of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

triton = pytest.importorskip("triton")

from kernel_source import kernel_file
from pass_comparison import difference, flag_of, judge_step, texts_of_step
from pipelined_kernels import CASES
from triton_steps import steps_of

pytestmark = pytest.mark.oracle

PASSES = {
    "tritongpu-assign-latencies",
    "tritongpu-schedule-loops",
    "tritongpu-pipeline",
    "tritongpu-prefetch",
    "tritongpu-coalesce-async-copy",
    "triton-nvidia-tma-lowering",
    "triton-nvidia-gpu-fence-insertion",
    "triton-nvidia-optimize-descriptor-encoding",
    "triton-rewrite-tensor-descriptor-to-pointer",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_passes_around_dots(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path = tmp_path / "case.py"
    path.write_text(kernel_file(case.kernel, *case.arguments(), case.options, case.arch))
    record = steps_of(path)
    seen = 0
    for number, step in enumerate(record["steps"]):
        if flag_of(step) in PASSES:
            seen += step["before"] != step["after"]
            verdict = judge_step(record, number)
            _, theirs, ours = texts_of_step(record, number) if verdict.outcome == "differs" else ("", "", "")
            assert verdict.outcome == "equal", f"{verdict.name}: {verdict.detail}{difference(theirs, ours)}"
    assert seen >= 3

"""The target's default pipeline with passes put in.

with_passes({"cse": "my-pass"})      ..., cse, my-pass, symbol-dce, ...
"""

from __future__ import annotations

from collections.abc import Mapping

from minitriton.errors import PipelineError
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Step
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.target import CUDAOptions, GPUTarget


def with_passes(after: Mapping[str, str], *, arch: int = 90, options: Mapping[str, object] | None = None) -> Pipeline:
    """The pipeline for `arch` with the textual pipeline `after[name]` after the first step called `name`.

    Raises `PipelineError` for a name that is not in it.
    """
    target = GPUTarget("cuda", arch, 32)
    remaining = dict(after)
    steps: list[Step] = []
    for step in pipeline_for(target, CUDAOptions.for_target(target, **(options or {}))).steps:
        steps.append(step)
        if step.name in remaining:
            steps += Pipeline.parse(remaining.pop(step.name)).steps
    if remaining:
        raise PipelineError(
            f"the pipeline lacks pass {next(iter(remaining))!r}", help="it has: " + ", ".join(s.name for s in steps)
        )
    return Pipeline(tuple(steps))

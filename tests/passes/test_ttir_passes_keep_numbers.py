"""Every kernel of the corpus computes after each TTIR pass what the frontend's TTIR computes, as written and before any pass."""

import pytest

from minitriton.lab import corpus
from minitriton.lab.checker import check
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pipelines import ttir_passes
from minitriton.target import GPUTarget


@pytest.mark.sampled(2)
@pytest.mark.parametrize("family", corpus.families())
def test_no_ttir_pass_changes_a_kernel_of(family: str) -> None:
    for case in corpus.cases(family):
        kernel = corpus.task(case.name)
        passes = Pipeline.parse(",".join(ttir_passes(GPUTarget("cuda", 90, 32))))
        report = check(kernel.source, kernel.arguments(), kernel.grid, options=kernel.options, pipeline=passes)
        assert report.ok, report.text()

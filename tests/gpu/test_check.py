"""A check whose last step is the GPU itself: arrays go there and back without any library but the driver's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from minitriton_kernels.cases import CASES, Case, load_kernels

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))

from checked_kernels import mixed_call, of_a_tuple_call

from minitriton.lab import check_call
from minitriton.lab.comparison import Verdict
from minitriton.runtime.driver import get_driver

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_the_gpu_gives_the_numbers_of_every_pass(case: Case) -> None:
    kernel = getattr(load_kernels(case.file, "minitriton"), case.kernel)
    arguments = case.inputs(np.random.default_rng(0))
    options = {"num_warps": case.num_warps}
    arch = get_driver().target(0).arch
    report = check_call(kernel, arguments, case.grid, arch=arch, options=options, device="gpu", **case.constexprs)
    assert report.ok, report.text()
    assert report.rows[-1].level == "gpu"
    assert report.rows[-1].against_first in (Verdict.BIT_EQUAL, Verdict.CLOSE), report.text()


@pytest.mark.parametrize("call", [mixed_call, of_a_tuple_call])
def test_tuples_and_many_arrays_reach_the_gpu(call: object) -> None:
    assert callable(call)
    report = check_call(**call(), arch=get_driver().target(0).arch, device="gpu")
    assert report.ok, report.text()
    assert report.rows[-1].level == "gpu"

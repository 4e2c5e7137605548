"""The default pipeline keeps the numbers of every example kernel."""

import numpy as np
import pytest

from minitriton.lab import check_call
from minitriton.lab.comparison import Verdict
from minitriton_kernels.cases import CASES, Case, load_kernels


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_no_pass_of_the_default_pipeline_is_wrong(case: Case) -> None:
    kernel = getattr(load_kernels(case.file, "minitriton"), case.kernel)
    arguments = case.inputs(np.random.default_rng(0))
    report = check_call(kernel, arguments, case.grid, options={"num_warps": case.num_warps}, **case.constexprs)
    assert report.ok, report.text()
    assert Verdict.WRONG not in [row.against_first for row in report.rows]
    assert report.rows[-1].against_first in (Verdict.BIT_EQUAL, Verdict.CLOSE)

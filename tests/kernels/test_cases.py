"""Every example kernel without a GPU: its numbers on the interpreter, and each stage compiled and taken by Triton."""

import numpy as np
import pytest
from cases import CASES, Case, load_kernels

every_case = pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)


@every_case
def test_numbers_on_the_interpreter_equal_numpy(case: Case) -> None:
    arguments = case.inputs(np.random.default_rng(0))
    expected = case.expected(*arguments)
    getattr(load_kernels(case.file, "minitriton"), case.kernel)[case.grid](*arguments, **case.constexprs)
    for position, wanted in expected.items():
        np.testing.assert_allclose(arguments[position], wanted, rtol=case.tolerance, atol=case.tolerance)

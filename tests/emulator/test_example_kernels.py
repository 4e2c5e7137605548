"""The example kernels compiled for sm_80, and without the emulator's checks. `tests/parity` has sm_90 and Triton's PTX."""

from collections.abc import Callable

import numpy as np
import pytest

from minitriton import emulator
from minitriton_kernels.cases import CASES, Case

every_case = pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)


def run(case: Case, ptx: str, shared: int) -> tuple[list, emulator.Report]:
    arguments = case.inputs(np.random.default_rng(0))
    return arguments, emulator.run(ptx, case.kernel, case.grid, arguments, shared)


def check(case: Case, arguments: list, report: emulator.Report) -> None:
    assert report.ok, "\n".join(map(str, report.findings))
    for position, wanted in case.expected(*case.inputs(np.random.default_rng(0))).items():
        np.testing.assert_allclose(arguments[position], wanted, rtol=case.tolerance, atol=case.tolerance)


@pytest.mark.sampled(3)
@every_case
def test_our_ptx_for_sm_80_computes_what_numpy_does_and_is_sound(case: Case, compiled: Callable) -> None:
    arguments, report = run(case, *compiled(case.name, "minitriton", 80))
    check(case, arguments, report)


@pytest.mark.sampled(3)
@every_case
def test_without_checks_the_numbers_are_the_same(case: Case, compiled: Callable) -> None:
    ptx, shared = compiled(case.name, "minitriton", 90)
    checked, _ = run(case, ptx, shared)
    plain = case.inputs(np.random.default_rng(0))
    report = emulator.run(ptx, case.kernel, case.grid, plain, shared, check=False)
    assert report.ok
    for one, other in zip(checked, plain, strict=True):
        np.testing.assert_array_equal(one, other)

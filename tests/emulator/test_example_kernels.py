"""The example kernels, from both compilers, on the emulator: right numbers, equal bits, nothing to report."""

from collections.abc import Callable

import numpy as np
import pytest
from cases import CASES, Case

from minitriton import emulator

every_case = pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)


def run(case: Case, ptx: str, shared: int) -> tuple[list, emulator.Report]:
    arguments = case.inputs(np.random.default_rng(0))
    return arguments, emulator.run(ptx, case.kernel, case.grid, arguments, shared)


def check(case: Case, arguments: list, report: emulator.Report) -> None:
    assert report.ok, "\n".join(map(str, report.findings))
    for position, wanted in case.expected(*case.inputs(np.random.default_rng(0))).items():
        np.testing.assert_allclose(arguments[position], wanted, rtol=case.tolerance, atol=case.tolerance)


@every_case
@pytest.mark.parametrize("capability", [80, 90])
def test_our_ptx_computes_what_numpy_does_and_is_sound(case: Case, capability: int, compiled: Callable) -> None:
    arguments, report = run(case, *compiled(case.name, "minitriton", capability))
    check(case, arguments, report)


@pytest.mark.oracle
@every_case
def test_triton_ptx_computes_what_numpy_does_and_is_sound(case: Case, compiled: Callable) -> None:
    pytest.importorskip("triton")
    arguments, report = run(case, *compiled(case.name, "triton", 90))
    check(case, arguments, report)


@pytest.mark.oracle
@pytest.mark.parametrize("case", [c for c in CASES if c.exact_order], ids=lambda c: c.name)
def test_both_compilers_give_the_same_bits(case: Case, compiled: Callable) -> None:
    pytest.importorskip("triton")
    ours, _ = run(case, *compiled(case.name, "minitriton", 90))
    theirs, _ = run(case, *compiled(case.name, "triton", 90))
    for mine, other in zip(ours, theirs, strict=True):
        if isinstance(mine, np.ndarray):
            np.testing.assert_array_equal(mine.view(np.uint32), other.view(np.uint32))


@every_case
def test_without_checks_the_numbers_are_the_same(case: Case, compiled: Callable) -> None:
    ptx, shared = compiled(case.name, "minitriton", 90)
    checked, _ = run(case, ptx, shared)
    plain = case.inputs(np.random.default_rng(0))
    report = emulator.run(ptx, case.kernel, case.grid, plain, shared, check=False)
    assert report.ok
    for one, other in zip(checked, plain, strict=True):
        np.testing.assert_array_equal(one, other)

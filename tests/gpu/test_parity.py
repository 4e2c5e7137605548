"""Every case of the parity suite on the GPU: equal to Triton, to NumPy, and with the stages of the two compilers swapped."""

from pathlib import Path

import numpy as np
import pytest
from parity_cases import ALL_CASES

from minitriton_kernels.cases import Case

pytest.importorskip("torch")

import sys

sys.path.insert(0, str(Path(__file__).parent))
from launching import WITHOUT_TENSOR_MAPS, ours_from, run_compiled, run_with, triton_from, write_stage

STAGES = ["ttir", "ttgir", "llir", "ptx"]
every_case = pytest.mark.parametrize("case", ALL_CASES, ids=lambda c: c.name)
every_stage = pytest.mark.parametrize("stage", STAGES)


def check(case: Case, found: dict[int, np.ndarray], expected: dict[int, np.ndarray], exact: bool) -> None:
    for position, wanted in expected.items():
        if exact:
            np.testing.assert_array_equal(found[position], wanted, err_msg=f"argument {position}")
        else:
            np.testing.assert_allclose(found[position], wanted, rtol=case.tolerance, atol=case.tolerance)


@every_case
def test_numbers_equal_numpy(case: Case) -> None:
    host = case.inputs(np.random.default_rng(0))
    found, _ = run_with(case, "minitriton", host)
    check(case, found, case.expected(*host), exact=False)


@every_case
def test_numbers_equal_triton(case: Case) -> None:
    pytest.importorskip("triton")
    host = case.inputs(np.random.default_rng(1))
    ours, _ = run_with(case, "minitriton", host)
    theirs, _ = run_with(case, "triton", host)
    check(case, ours, theirs, exact=case.exact_order)


@every_stage
@every_case
def test_we_continue_from_triton_s_stage(case: Case, stage: str, tmp_path: Path) -> None:
    pytest.importorskip("triton")
    host = case.inputs(np.random.default_rng(2))
    theirs, kernel = run_with(case, "triton", host)
    swapped = ours_from(write_stage(tmp_path, case, kernel, stage), case)
    check(case, run_compiled(case, swapped, host), theirs, exact=case.exact_order)


@every_stage
@every_case
def test_triton_continues_from_our_stage(case: Case, stage: str, tmp_path: Path) -> None:
    pytest.importorskip("triton")
    host = case.inputs(np.random.default_rng(3))
    ours, kernel = run_with(case, "minitriton", host, **WITHOUT_TENSOR_MAPS)
    swapped = triton_from(write_stage(tmp_path, case, kernel, stage), case, kernel)
    check(case, run_compiled(case, swapped, host), ours, exact=case.exact_order)

"""Every parity case on every level without a GPU: the interpreter and the PTX of both compilers on the emulator give what
NumPy gives, and the two compilers' PTX give the same bits."""

import numpy as np
import pytest
from building import check, compiled, emulate, expected
from parity_cases import ALL_CASES

from minitriton_kernels.cases import Case, load_kernels

every_case = pytest.mark.parametrize("case", ALL_CASES, ids=lambda c: c.name, scope="module")
"""The tests of a case run one after the other: what one compiles the next has at hand."""


@pytest.mark.sampled(3)
@every_case
def test_numbers_on_the_interpreter_equal_numpy(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITRITON_INTERPRET", "1")
    arguments = case.inputs(np.random.default_rng(0))
    getattr(load_kernels(case.file, "minitriton"), case.kernel)[case.grid](*arguments, **case.constexprs)
    wanted = expected(case)
    check(case, {position: arguments[position] for position in wanted}, wanted, exact=False)


@pytest.mark.sampled(6)
@every_case
def test_our_ptx_on_the_emulator_equals_numpy(case: Case) -> None:
    kernel = compiled(case, "minitriton")
    check(case, emulate(case, kernel.asm["ptx"], kernel.metadata.shared), expected(case), exact=False)


@pytest.mark.sampled(6)
@pytest.mark.oracle
@every_case
def test_our_ptx_and_triton_s_give_the_same_bits(case: Case) -> None:
    pytest.importorskip("triton")
    theirs = compiled(case, "triton")
    found = emulate(case, theirs.asm["ptx"], theirs.metadata.shared)
    check(case, found, expected(case), exact=False)
    ours = compiled(case, "minitriton")
    check(case, emulate(case, ours.asm["ptx"], ours.metadata.shared), found, exact=case.exact_order)

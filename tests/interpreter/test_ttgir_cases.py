"""Every example kernel interpreted at the TTGIR level of our default pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ttgir_programs import assert_case_right, our_module, our_passes, place_memory_and_barriers

from minitriton.pipeline.pass_manager import Hook
from minitriton_kernels.cases import CASES, Case

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@every_case
def test_numbers_after_the_ttgir_passes_equal_numpy(case: Case) -> None:
    args = case.inputs(np.random.default_rng(0))
    assert_case_right(case, our_module(case, args), args)


@every_case
def test_memory_and_barriers_as_the_lowering_places_them_are_sound(case: Case) -> None:
    args = case.inputs(np.random.default_rng(0))
    module = place_memory_and_barriers(our_module(case, args))
    assert_case_right(case, module, args, barriers_placed=True)


@pytest.mark.sampled(3)
@every_case
def test_a_kernel_can_be_run_after_every_pass(case: Case) -> None:
    args = case.inputs(np.random.default_rng(0))
    ran: list[Any] = []

    class RunAfterEachPass(Hook):
        def after(self, step: Any, value: Any) -> None:
            assert_case_right(case, value, args)
            ran.append(step)

    our_module(case, args, [RunAfterEachPass()])
    assert len(ran) == len(our_passes(case.num_warps))

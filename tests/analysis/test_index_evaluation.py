"""Enumerated index values claim nothing false: random index programs, every value of every run compared with what is claimed."""

from __future__ import annotations

import random

import pytest
from index_programs import make_program
from index_runner import Run, Skip, random_arguments
from xdsl.ir import SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.lattice import AxisInfo
from minitriton.analysis.index import value as index_value
from minitriton.analysis.index.evaluation import IndexEvaluation

PROGRAMS = 400


class Enumerated(AxisInfoAnalysis):
    """Axis info, strengthened by enumeration; counts the values of which more is known."""

    def __init__(self, module) -> None:
        super().__init__(module)
        self.evaluation = IndexEvaluation(AxisInfoAnalysis(module))
        self.better: set[SSAValue] = set()

    def get(self, value: SSAValue) -> AxisInfo:
        found = self.evaluation.facts(value)
        if found is None:
            return super().get(value)
        self.better.add(value)
        return found


def run_program(seed: int) -> int:
    """Make and run program `seed`; of how many values enumeration knew more."""
    rng = random.Random(seed)
    module, entry, promised = make_program(rng)
    analysis = Enumerated(module)
    for _ in range(3):
        run = Run(analysis, rng)
        try:
            for argument, value in zip(entry.args, random_arguments(rng, promised), strict=True):
                run.set(argument, value)
            run.block(entry)
        except Skip:
            pass
    return len(analysis.better)


def test_no_enumerated_claim_about_a_random_program_is_false():
    assert sum(run_program(seed) for seed in range(PROGRAMS)) > PROGRAMS


def remainder_ignores_terms(self, a, divisor):
    return index_value.IndexValue(a.base % divisor)


def quotient_of_base(self, a, divisor):
    return index_value.IndexValue(a.base // divisor, a.terms)


def any_divisor(self, a, b):
    return max(abs(int(b.base.flat[0])), 8)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("remainder", remainder_ignores_terms), ("quotient", quotient_of_base), ("_uniform_divisor", any_divisor)],
)
def test_arithmetic_that_knows_too_much_is_caught(name: str, wrong, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(index_value.Unknowns, name, wrong)
    with pytest.raises(AssertionError):
        for seed in range(PROGRAMS):
            run_program(seed)

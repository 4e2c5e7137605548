"""No claim of axis info is false: random index programs, every value of every run compared with what is claimed of it."""

from __future__ import annotations

import random

import pytest
from index_programs import make_program
from index_runner import Run, Skip, random_arguments
from xdsl.ir import Operation

from minitriton.analysis.axis_info.analysis import RULES, AxisInfoAnalysis
from minitriton.analysis.axis_info.lattice import AxisInfo, Rule, divisibility_at
from minitriton.dialects import arith, tt

PROGRAMS = 10_000
RUNS = 3


def run_program(seed: int) -> int:
    """Make and run program `seed`; the number of values that were checked."""
    rng = random.Random(seed)
    module, entry, promised = make_program(rng)
    analysis = AxisInfoAnalysis(module)
    checked = 0
    for _ in range(RUNS):
        run = Run(analysis, rng)
        try:
            for argument, value in zip(entry.args, random_arguments(rng, promised), strict=True):
                run.set(argument, value)
            run.block(entry)
        except Skip:
            pass
        checked += run.checked
    return checked


@pytest.mark.sampled(3)
@pytest.mark.parametrize("part", range(4))
def test_no_claim_about_a_random_program_is_false(part: int):
    share = PROGRAMS // 4
    checked = sum(run_program(seed) for seed in range(part * share, (part + 1) * share))
    assert checked > 10 * share


def rounding_down(rule: Rule) -> Rule:
    """`rule` as if no dividend were negative."""
    return lambda op, facts: rule(op, [fact._replace(non_negative=True) for fact in facts])


def whole_groups(rule: Rule) -> Rule:
    """`rule`, claiming of parts of groups what holds of whole ones."""

    def claim(op, facts) -> AxisInfo:
        fact = rule(op, facts)
        divisibility = tuple(min(a, b) for a, b in zip(facts[-2].divisibility, facts[-1].divisibility, strict=True))
        return fact._replace(divisibility=divisibility)

    return claim


@pytest.mark.parametrize(
    ("op_class", "wrong"),
    [
        (arith.DivSIOp, rounding_down),
        (arith.RemSIOp, rounding_down),
        (arith.RemSIOp, whole_groups),
        (arith.AddiOp, whole_groups),
        (arith.SelectOp, whole_groups),
        (tt.BitcastOp, lambda rule: lambda op, facts: facts[0]),
        (arith.ExtUIOp, lambda rule: lambda op, facts: facts[0]),
    ],
    ids=lambda part: getattr(part, "name", part.__name__.strip("<>")),
)
def test_a_rule_that_claims_too_much_is_caught(op_class: type[Operation], wrong):
    with RULES.replaced(op_class, wrong(RULES.of_class(op_class))), pytest.raises(AssertionError):
        for seed in range(PROGRAMS):
            run_program(seed)


def test_divisibility_inside_a_group_is_that_of_the_step():
    fact = AxisInfo((8,), (16,), (1,))
    assert [divisibility_at(fact, 0, step) for step in (1, 2, 4, 8, 16)] == [1, 2, 4, 16, 16]
    assert divisibility_at(fact, 0, 4, unit=2) == 8

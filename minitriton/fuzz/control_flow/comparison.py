"""One control-flow program by the reference and every oracle.

fuzz_control_flow(1, 7, ["python", "interpreter", "ttir", "emulator"])    →    a `KernelReport`, as of any fuzzed kernel
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from minitriton.fuzz.control_flow.generator import generate
from minitriton.fuzz.control_flow.program import Program
from minitriton.fuzz.control_flow.reference import run_reference
from minitriton.fuzz.generation.generator import kernel_seed
from minitriton.fuzz.running.agreement import KernelVerdict, differing_array, judge
from minitriton.fuzz.running.campaign import KernelReport, guarded_by
from minitriton.fuzz.running.case import with_pass
from minitriton.fuzz.running.oracles import ORACLES, OracleOutcome, run_oracles
from minitriton.fuzz.validity.access_analysis import Written

PYTHON = "python"
"""The oracle that is the reference."""
CONTROL_FLOW_ORACLES = (PYTHON, *(name for name in ORACLES if name != "triton"))
RACES = frozenset({"thread-race", "shared-race", "global-race"})
RACED = "raced on the emulator (no barriers)"


def fuzz_control_flow(seed: int, number: int, oracles: Sequence[str]) -> KernelReport:
    """Makes and runs program `number` of the run `seed`; what the fuzzer itself fails at is a finding too."""
    return guarded_by(_fuzz_one, seed, number, oracles)


def _fuzz_one(seed: int, number: int, oracles: Sequence[str]) -> KernelReport:
    start = time.process_time()
    program, arrays = generate(kernel_seed(seed, number))
    verdict, outcomes = run_program(program, oracles, arrays)
    raced = {RACED} if len(outcomes) < len(oracles) else set[str]()
    return KernelReport(
        number, time.process_time() - start, tuple(verdict.findings), (), tuple(verdict.compared), tuple(verdict.agreeing),
        tuple(sorted(program.features | raced)),
    )  # fmt: skip


def run_program(
    program: Program, oracles: Sequence[str], arrays: list[np.ndarray] | None = None
) -> tuple[KernelVerdict, dict[str, OracleOutcome]]:
    """What the oracles say of `program`, `arrays` being what the reference gives, and the outcomes that were compared.

    An outcome with a race of a program without barriers is left out. Raises `Rejected` if it is no program.
    """
    expected = OracleOutcome(arrays or run_reference(program))
    case = program.launch
    outcomes = run_oracles(case, [name for name in oracles if name != PYTHON])
    outcomes = {name: o for name, o in outcomes.items() if program.barriers or not RACES.intersection(o.finding_kinds)}
    if PYTHON in oracles:
        outcomes = {PYTHON: expected} | outcomes
    parameters = [buffer.array for buffer in program.buffers]
    exactness = {buffer.name: Written(either_zero=True) for buffer in program.buffers}
    verdict = judge(parameters, exactness, outcomes)

    def is_right(outcome: OracleOutcome) -> bool:
        return outcome.error is None and differing_array(parameters, exactness, outcome, expected) is None

    verdict.findings = with_pass(verdict.findings, case, outcomes, is_right)
    return verdict, outcomes

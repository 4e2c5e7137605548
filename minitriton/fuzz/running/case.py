"""One kernel from tree to verdict: analysis, source, arguments, oracles, agreement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minitriton.fuzz.printing import source_of
from minitriton.fuzz.running.agreement import KernelVerdict, differing_array, verdict_of
from minitriton.fuzz.running.blame import with_pass
from minitriton.fuzz.running.launch import FuzzedLaunch
from minitriton.fuzz.running.launch_arguments import make_arguments
from minitriton.fuzz.running.oracles import OracleOutcome, run_oracles
from minitriton.fuzz.tree import Kernel
from minitriton.fuzz.validity.analysis import Analysis, analyse


@dataclass(frozen=True)
class CaseResult:
    """What became of one kernel."""

    source: str
    verdict: KernelVerdict
    outcomes: dict[str, OracleOutcome]


def run_case(kernel: Kernel, oracles: Sequence[str], analysis: Analysis | None = None) -> CaseResult:
    """Runs `kernel` by `oracles` and compares; its `analysis`, where that is known already. Raises `Unsound` if it is no well-formed kernel."""
    analysis = analysis or analyse(kernel)
    case = _launch(kernel, analysis)
    outcomes = run_oracles(case, oracles)
    verdict, first = verdict_of(kernel.arrays, analysis.written, outcomes), outcomes.get("interpreter")

    def is_right(outcome: OracleOutcome) -> bool:
        if first is None or first.error is not None:
            return True
        return outcome.error is None and differing_array(kernel.arrays, analysis.written, outcome, first) is None

    verdict.findings = with_pass(verdict.findings, case, outcomes, is_right)
    return CaseResult(case.source, verdict, outcomes)


def case_of(kernel: Kernel) -> FuzzedLaunch:
    """The launch of `kernel`. Raises `Unsound` if it is no well-formed kernel."""
    return _launch(kernel, analyse(kernel))


def _launch(kernel: Kernel, analysis: Analysis) -> FuzzedLaunch:
    arguments = make_arguments(kernel, analysis)
    return FuzzedLaunch(source_of(kernel), arguments, kernel.grid, kernel.num_warps, kernel.fp_fusion)

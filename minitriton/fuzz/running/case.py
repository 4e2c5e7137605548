"""One kernel from tree to verdict: analysis, source, arguments, oracles, agreement, and the pass that is to blame.

`first_wrong_pass`: the first pass after which a kernel computes other numbers than the frontend's TTIR, or asks for less precision; "frontend" where
its TTIR is wrong already, "lowering" where every TTIR and TTGIR is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp

from minitriton.fuzz.printing import source_of
from minitriton.fuzz.running.agreement import FuzzFinding, KernelVerdict, differing_array, verdict_of
from minitriton.fuzz.running.launch import FuzzedLaunch, make_arguments
from minitriton.fuzz.running.oracles import ARCH, Compilation, OracleOutcome, run_oracles, written
from minitriton.fuzz.tree import Kernel
from minitriton.fuzz.validity.analysis import Analysis, analyse
from minitriton.lab.comparison import less_exact_dot, rounding_tolerance
from minitriton.pipeline.pass_registry import Property

IsRight = Callable[[OracleOutcome], bool]
NOT_OURS = frozenset({"triton", "python"})
"""Oracles that run no code of minitriton."""
_INTERPRETER = "interpreter on"
"""How the stages of the interpreter begin."""


def with_pass(
    findings: Sequence[FuzzFinding], case: FuzzedLaunch, outcomes: Mapping[str, OracleOutcome], is_right: IsRight
) -> list[FuzzFinding]:
    """`findings`, those that a pass made with its name: differences between minitriton's own levels, and IR on which the interpreter fails."""
    ran = [
        name for name, o in outcomes.items() if name not in NOT_OURS and (o.error is None or _INTERPRETER in o.stage)
    ]
    wrong = [name for name in ran if not is_right(outcomes[name])]
    if not wrong:
        return list(findings)
    name = first_wrong_pass(case, is_right, 80 if wrong == ["emulator-sm80"] else ARCH)
    return [
        replace(f, signature=f"{f.signature}: {name}")
        if f.kind == "difference" or (f.kind == "error" and _INTERPRETER in f.signature)
        else f
        for f in findings
    ]


def first_wrong_pass(case: FuzzedLaunch, is_right: IsRight, arch: int = ARCH) -> str:
    """Runs the interpreter after each pass that changes the module, down to the last TTGIR."""
    with written(case.source) as path:
        made = Compilation.of(case, path, arch)
    if not is_right(made.interpreted("frontend")):
        return "frontend"
    text, tolerance, rounding = str(made.module), rounding_tolerance(made.module), "lowering"
    for step in made.steps:
        if Property.LLVM_DIALECT in step.establishes:
            break
        if not isinstance(made.applied(step, made.module), ModuleOp):
            return step.name
        before, text = text, str(made.module)
        if text != before and not is_right(made.interpreted(step.name)):
            return step.name
        if rounding == "lowering" and less_exact_dot(made.module, tolerance) is not None:
            rounding = step.name
    return rounding


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

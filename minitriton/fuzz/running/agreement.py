"""What the outcomes of the oracles say: agreement of every pair, or findings.

interpreter, ttgir, emulator equal, triton another number   →   FuzzFinding("difference", "triton | interpreter ttgir emulator", ...)

Floats that the analysis calls approximate may be apart by its bound; every other value must be equal bit by bit (a NaN equals
any NaN).

`run_case` goes from a tree to this verdict. `first_wrong_pass`: the first pass after which a kernel computes other numbers than the frontend's TTIR, or
asks for less precision; "frontend" where its TTIR is wrong already, "lowering" where every TTIR and TTGIR is right.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from minitriton.fuzz.generation.elements import numbers
from minitriton.fuzz.printing import source_of
from minitriton.fuzz.running.launch import FuzzedLaunch, make_arguments
from minitriton.fuzz.running.oracles import Compilation, OracleOutcome, run_oracles, written
from minitriton.fuzz.tree import Array, Kernel
from minitriton.fuzz.validity.access_analysis import Written
from minitriton.fuzz.validity.analysis import Analysis, analyse
from minitriton.lab.comparison import less_exact_dot, rounding_tolerance
from minitriton.pipeline.pass_registry import Property
from minitriton.target import default_arch, target_named

TOLERANCE = 2.0
"""Two oracles may each be off by the error that the analysis found."""


@dataclass(frozen=True)
class FuzzFinding:
    """Something that should not be. `signature` is the same for findings that are likely one bug."""

    kind: str
    signature: str
    text: str


@dataclass
class KernelVerdict:
    """What the oracles say of one kernel: the pairs compared, and those that agree."""

    findings: list[FuzzFinding] = field(default_factory=list[FuzzFinding])
    compared: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    agreeing: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def verdict_of(
    arrays: Sequence[Array], written: Mapping[str, Written], outcomes: dict[str, OracleOutcome]
) -> KernelVerdict:
    """Compares the outcomes pair by pair, and collects errors and the emulator's findings."""
    verdict = KernelVerdict()
    failed = {name: o for name, o in outcomes.items() if o.error is not None}
    verdict.findings += _errors(failed, len(outcomes))
    for name, outcome in outcomes.items():
        if outcome.findings:
            kinds = " ".join(outcome.finding_kinds)
            verdict.findings.append(
                FuzzFinding("unsound", f"{name}: {kinds}", f"{name}: " + "\n".join(outcome.findings))
            )
    ran = [name for name in outcomes if name not in failed]
    for a, b in combinations(ran, 2):
        verdict.compared.append((a, b))
        if differing_array(arrays, written, outcomes[a], outcomes[b]) is None:
            verdict.agreeing.append((a, b))
    if len(verdict.agreeing) < len(verdict.compared):
        verdict.findings.append(_difference(arrays, written, outcomes, ran))
    return verdict


def _errors(failed: dict[str, OracleOutcome], count: int) -> list[FuzzFinding]:
    if not failed:
        return []
    if len(failed) == count and "triton" in failed and count > 1:
        reasons = "\n".join(f"{name}: {o.stage}: {o.error}" for name, o in failed.items())
        return [FuzzFinding("rejected", "no oracle takes the kernel", reasons)]
    found: dict[str, FuzzFinding] = {}
    for name, outcome in failed.items():
        whose = "triton" if name == "triton" else "minitriton"
        signature = f"{whose}: {outcome.stage}: {_general(outcome.error or '')}"
        found.setdefault(signature, FuzzFinding("error", signature, f"{name}: {outcome.stage}: {outcome.error}"))
    return list(found.values())


def _general(message: str) -> str:
    """A message without what differs from kernel to kernel."""
    line = message.strip().splitlines()[0] if message.strip() else ""
    line = re.sub(r"0x[0-9a-f]+", "N", re.sub(r"\S*/\S*", "PATH", line))
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|%\w+|\b[a-z]+\d+\b", "X", line))[:160]


def _difference(
    arrays: Sequence[Array], written: Mapping[str, Written], outcomes: dict[str, OracleOutcome], ran: list[str]
) -> FuzzFinding:
    """The oracles in groups that agree."""
    groups: list[list[str]] = []
    for name in ran:
        for group in groups:
            if differing_array(arrays, written, outcomes[group[0]], outcomes[name]) is None:
                group.append(name)
                break
        else:
            groups.append([name])
    groups.sort(key=len)
    texts = [_shown(arrays, written, outcomes, one[0], other[0]) for one, other in combinations(groups, 2)]
    return FuzzFinding("difference", " | ".join(" ".join(g) for g in groups), "\n".join(texts))


def differing_array(
    arrays: Sequence[Array], written: Mapping[str, Written], a: OracleOutcome, b: OracleOutcome
) -> int | None:
    """The first array that differs, by its index."""
    for index, array in enumerate(arrays):
        exactness = written.get(array.name)
        if (
            a.arrays[index].tobytes() != b.arrays[index].tobytes()
            and differing(a.arrays[index], b.arrays[index], array, exactness).any()
        ):
            return index
    return None


def differing(a: np.ndarray, b: np.ndarray, array: Array, written: Written | None) -> np.ndarray:
    """Which elements differ by more than they may."""
    if not array.element.is_float or written is None:
        return a != b if not array.element.is_float else a.view(f"u{a.itemsize}") != b.view(f"u{b.itemsize}")
    x, y = numbers(a, array.element), numbers(b, array.element)
    bits = a.view(f"u{a.itemsize}") == b.view(f"u{b.itemsize}")
    both_nan = np.isnan(x) & np.isnan(y)
    same = bits | both_nan
    if written.either_zero or written.error or not target_named(default_arch()).features.keeps_zero_signs:
        same |= x == y
    if written.error:
        x, y = x.astype(np.float64), y.astype(np.float64)
        same |= np.abs(x - y) <= TOLERANCE * written.error
    return ~same


def _shown(
    arrays: Sequence[Array], written: Mapping[str, Written], outcomes: dict[str, OracleOutcome], one: str, other: str
) -> str:
    """The first elements in which two oracles differ."""
    a, b = outcomes[one], outcomes[other]
    index = differing_array(arrays, written, a, b)
    if index is None:
        return f"{one} and {other} agree"
    array = arrays[index]
    exactness = written.get(array.name)
    where = np.flatnonzero(differing(a.arrays[index], b.arrays[index], array, exactness))
    x, y = numbers(a.arrays[index], array.element), numbers(b.arrays[index], array.element)
    bound = f", allowed {TOLERANCE * exactness.error:.3g}" if exactness is not None and exactness.error else ""
    lines = [
        f"{array.name} ({array.element}): {len(where)} of {len(x)} elements differ{bound}",
        f"  {'element':>8} {one:>16} {other:>16}",
    ]
    lines += [f"  {i:8} {x[i]!s:>16} {y[i]!s:>16}" for i in where[:5]]
    return "\n".join(lines)


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
    name = first_wrong_pass(case, is_right, 80 if wrong == ["emulator-sm80"] else default_arch())
    return [
        replace(f, signature=f"{f.signature}: {name}")
        if f.kind == "difference" or (f.kind == "error" and _INTERPRETER in f.signature)
        else f
        for f in findings
    ]


def first_wrong_pass(case: FuzzedLaunch, is_right: IsRight, arch: int | str) -> str:
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

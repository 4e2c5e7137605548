"""Running what was compiled: the PTX, or AMDGCN, on the emulator, with what it counted, found and computed.

ran = run_program(program, recording)
ran.sources[("softmax.py", 12)].sectors_per_request        4.0
ran.digests                                                 of the arrays after the run: two compiles can be compared

A `LineCounts` for each line of the source, and of the PTX's text, is the sum of what the emulator counted at its instructions:

    softmax.py:12    32 requests, 4.0 sectors each, 0 of 4096 bytes wasted
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

from minitriton.emulator.memory.access_cost import SECTOR
from minitriton.emulator.report import Report, Reported
from minitriton.errors import MinitritonError
from minitriton.explorer.program import RequestedProgram
from minitriton.explorer.recording import Recording
from minitriton.explorer.wire import ArrayJson, CountsJson, RunJson
from minitriton.lab.arguments import as_numbers
from minitriton.lab.checker import shared_bytes
from minitriton.lab.execution import Launch, Outcome
from minitriton.pipeline.pass_registry import Property

Number = Literal[
    "instructions", "requests", "sectors", "bytes", "wasted", "shared_requests", "wavefronts", "conflicts", "barriers"
]
NUMBERS: Final[tuple[Number, ...]] = (
    "instructions", "requests", "sectors", "bytes", "wasted", "shared_requests", "wavefronts", "conflicts", "barriers",
)  # fmt: skip


@dataclass
class LineCounts:
    """Sums over the instructions of a line. `instructions` are warp-level; `mix` has them by kind; `wasted` are bytes of sectors
    that were moved and not asked for; `wavefronts` are passes over shared memory's banks, `conflicts` those that conflicts cost."""

    instructions: int = 0
    requests: int = 0
    sectors: int = 0
    bytes: int = 0
    wasted: int = 0
    shared_requests: int = 0
    wavefronts: int = 0
    conflicts: int = 0
    barriers: int = 0
    mix: Counter[str] = field(default_factory=Counter[str])
    findings: list[str] = field(default_factory=list[str])

    @property
    def sectors_per_request(self) -> float:
        """32-byte sectors that each request of a warp to global memory moves; 0 without any."""
        return self.sectors / self.requests if self.requests else 0.0

    def plain(self) -> CountsJson:
        """As JSON can hold it, without zeros."""
        shown = CountsJson()
        for name in NUMBERS:
            if (value := getattr(self, name)) != 0:
                shown[name] = value
        if self.mix:
            shown["mix"] = dict(self.mix.most_common())
        if self.findings:
            shown["findings"] = self.findings
        if self.requests:
            shown["sectors_per_request"] = round(self.sectors_per_request, 2)
        return shown


FileLine = tuple[str, int]


def counts_by_line(
    report: Report, locations: dict[int, FileLine]
) -> tuple[dict[FileLine, LineCounts], dict[int, LineCounts]]:
    """The counts by file and line of the source, and by line of the PTX text (from 1), `locations` having the user's locations."""
    sources: dict[FileLine, LineCounts] = {}
    ptx: dict[int, LineCounts] = {}
    findings: dict[int, list[str]] = {}
    for finding in report.findings:
        findings.setdefault(finding.line, []).append(f"{finding.kind}: {finding.message}")
    for instruction in report.kernel.instructions:
        location = locations.get(instruction.line)
        into = [ptx.setdefault(instruction.line, LineCounts())]
        if location is not None:
            into.append(sources.setdefault(location, LineCounts()))
        for counts in into:
            _add(counts, instruction, report)
            counts.findings += findings.get(instruction.line, [])
    for line in findings.keys() - ptx.keys():
        ptx[line] = LineCounts(findings=findings[line])
    return sources, ptx


def _add(counts: LineCounts, instruction: Reported, report: Report) -> None:
    warps = int(report.warps[instruction.index]) if instruction.index < len(report.warps) else 0
    if not warps:
        return
    counts.instructions += warps
    counts.mix[kind_of(instruction.ptx_opcode)] += warps
    counts.barriers += warps if instruction.ptx_opcode.startswith(("bar.", "barrier.")) else 0
    traffic = report.traffic.get(instruction.index)
    if traffic is None:
        return
    if traffic.space == "global":
        counts.requests += traffic.requests
        counts.sectors += traffic.sectors
        counts.bytes += traffic.bytes
        counts.wasted += max(0, traffic.sectors * SECTOR - traffic.bytes)
    if traffic.wavefronts:
        counts.shared_requests += traffic.requests
        counts.wavefronts += traffic.wavefronts
        counts.conflicts += traffic.conflicts


_KINDS = (
    ("ld.global", "load"), ("st.global", "store"), ("ld.shared", "shared load"), ("st.shared", "shared store"), ("ldmatrix", "shared load"),
    ("stmatrix", "shared store"), ("cp.async", "async copy"), ("wgmma", "tensor core"), ("mma", "tensor core"), ("bar", "barrier"),
    ("mbarrier", "barrier"), ("shfl", "shuffle"), ("atom", "atomic"), ("red", "atomic"), ("bra", "control"), ("ret", "control"),
    ("setp", "predicate"), ("selp", "predicate"), ("cvt", "conversion"), ("ex2", "special function"), ("rsqrt", "special function"),
    ("rcp", "special function"), ("sqrt", "special function"), ("lg2", "special function"), ("sin", "special function"),
    ("cos", "special function"), ("tanh", "special function"), ("div", "division"), ("rem", "division"), ("mov", "move"),
    ("ld.param", "parameter"),
)  # fmt: skip


def kind_of(opcode: str) -> str:
    """What an instruction is, for the mix: "load", "tensor core", "float arithmetic", ..."""
    for start, kind in _KINDS:
        if (
            opcode == start
            or opcode.startswith((start + ".", start + "_"))
            or (start == "mma" and opcode.startswith("mma"))
        ):
            return kind
    last = opcode.rsplit(".", 1)[-1]
    return "float arithmetic" if last.startswith(("f", "bf")) else "integer arithmetic"


def total_of(counts: Mapping[int, LineCounts]) -> LineCounts:
    """The sum of all lines."""
    total = LineCounts()
    for one in counts.values():
        for name, value in vars(one).items():
            if name == "mix":
                total.mix.update(value)
            elif name == "findings":
                total.findings += value
            else:
                setattr(total, name, getattr(total, name) + value)
    return total


@dataclass
class Ran:
    """One run of a program on the emulator. `arrays`: the arguments' names and contents after it, as numbers."""

    grid: tuple[int, ...]
    seconds: float
    report: Report
    sources: dict[FileLine, LineCounts]
    ptx: dict[int, LineCounts]
    arrays: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    made_up: str = ""
    """What of the inputs nobody gave, in words."""
    elements: dict[str, str] = field(default_factory=dict[str, str])
    """The element type of each array."""

    @property
    def doubt(self) -> str:
        """Why what was found may not be the kernel's fault; "" where nothing was found, or all inputs were given."""
        if not self.made_up or all(found.kind == "poison" for found in self.report.findings):
            return ""
        return f"inputs were made up ({self.made_up}): a race or an index out of range may come from them, not from the kernel"

    @property
    def total(self) -> LineCounts:
        """All lines together."""
        return total_of(self.ptx)

    @property
    def elsewhere(self) -> list[str]:
        """What was found at no line of the kernel."""
        shown = {text for one in self.sources.values() for text in one.findings}
        return [text for text in dict.fromkeys(self.total.findings) if text not in shown]

    def plain(self, files: dict[str, int]) -> RunJson:
        """As JSON can hold it; files by their numbers."""
        return {
            "grid": list(self.grid), "seconds": round(self.seconds, 3), "total": self.total.plain(),
            "sources": [
                {**counts.plain(), "file": files[path], "line": line} for (path, line), counts in self.sources.items() if path in files
            ],
            "ptx": {str(line): counts.plain() for line, counts in self.ptx.items() if counts.instructions or counts.findings},
            "output": self.report.output, "doubt": self.doubt, "arrays": {name: summary(array) for name, array in self.arrays.items()},
        }  # fmt: skip


def summary(array: np.ndarray) -> ArrayJson:
    """What is shown of an array: its length, some numbers, and a digest."""
    import hashlib

    flat = np.asarray(array).reshape(-1)
    first = [float(x) if np.isfinite(x) else str(x) for x in flat[:6].astype(np.float64)]
    return {"elements": int(flat.size), "first": first, "digest": hashlib.sha256(flat.tobytes()).hexdigest()[:12]}


def largest_difference(one: np.ndarray, other: np.ndarray) -> float:
    """The largest distance of two elements at the same index; 1e300 where the lengths, or what is no number, differ."""
    a, b = np.asarray(one, np.float64).reshape(-1), np.asarray(other, np.float64).reshape(-1)
    if a.shape != b.shape or not np.array_equal(np.isnan(a), np.isnan(b)):
        return 1e300
    with np.errstate(invalid="ignore"):
        apart = np.where((a == b) | np.isnan(a), 0.0, np.abs(a - b))
    return float(min(np.max(apart, initial=0.0), 1e300))


def launch_of(program: RequestedProgram, recording: Recording) -> Launch:
    """A launch that knows what only the compile says: shared memory, scratch, tensor maps."""
    launch = program.launch()
    text = recording.stage(recording.assembly).raw
    launch.shared = recording.shared or shared_bytes(program.source, text or "")
    launch.global_scratch = recording.global_scratch
    launch.descriptors = recording.descriptors
    return launch


def run_program(program: RequestedProgram, recording: Recording, launch: Launch | None = None) -> Ran:
    """Runs the PTX of `recording`. Raises `MinitritonError` where there is none or it cannot be run."""
    state = recording.stage(recording.assembly)
    assert state.raw is not None, "of assembly there is the whole text"
    launch = launch or launch_of(program, recording)
    start = time.perf_counter()
    outcome = launch.run(state.raw, frozenset({Property.PTX}))
    report = _report(outcome)
    sources, ptx = counts_by_line(report, {line.number: line.source for line in state.lines if line.source})
    return Ran(
        launch.grid,
        time.perf_counter() - start,
        report,
        sources,
        ptx,
        named_arrays(launch, outcome),
        launch.arguments.made_up,
        _elements(launch),
    )


def traced_run(program: RequestedProgram, recording: Recording) -> Report:
    """A run whose report has what each warp of the first CTA executed."""
    if recording.assembly != "ptx":
        raise MinitritonError(
            f"warps are traced in PTX, and this is {recording.assembly.upper()}",
            help="compile it for an NVIDIA GPU, such as arch 90",
        )
    launch = launch_of(program, recording)
    launch.traced = True
    return _report(launch.run(recording.stage("ptx").raw or "", frozenset({Property.PTX})))


def named_arrays(launch: Launch, outcome: Outcome) -> dict[str, np.ndarray]:
    """The arrays after a run of `launch` as numbers, by the names of the kernel's parameters."""
    return {
        name: as_numbers(array, element)
        for (name, element), array in zip(_elements(launch).items(), outcome.arrays, strict=True)
    }


def _elements(launch: Launch) -> dict[str, str]:
    """The element types of the arrays, by the names of the parameters."""
    passed = launch.arguments
    names = [argument.name for argument in passed.passed] or [str(i) for i in range(len(passed.values))]
    return {names[position]: passed.elements[position] for position in passed.array_positions()}


def _report(outcome: Outcome) -> Report:
    if outcome.report is None:
        if outcome.fault is not None:
            raise outcome.fault
        raise outcome.why_not_run()
    return outcome.report

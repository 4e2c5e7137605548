"""Running what was compiled: the PTX on the emulator, with what it counted, found and computed.

ran = run_program(program, recording)
ran.sources[("softmax.py", 12)].sectors_per_request        4.0
ran.digests                                                 of the arrays after the run: two compiles can be compared
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from minitriton.emulator.report import Report
from minitriton.errors import MinitritonError
from minitriton.explorer.counts import FileLine, LineCounts, counts_by_line, total_of
from minitriton.explorer.program import RequestedProgram
from minitriton.explorer.recording import Recording
from minitriton.explorer.wire import ArrayJson, RunJson
from minitriton.lab.arguments import as_numbers
from minitriton.lab.execution import Launch, Outcome
from minitriton.pipeline.pass_registry import Property


@dataclass
class Ran:
    """One run of a program on the emulator. `arrays`: the arguments' names and contents after it, as numbers."""

    grid: tuple[int, ...]
    seconds: float
    report: Report
    sources: dict[FileLine, LineCounts]
    ptx: dict[int, LineCounts]
    arrays: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])

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
            "output": self.report.output, "arrays": {name: summary(array) for name, array in self.arrays.items()},
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
    launch.shared, launch.global_scratch = recording.shared, recording.global_scratch
    launch.descriptors = recording.descriptors
    return launch


def run_program(program: RequestedProgram, recording: Recording, launch: Launch | None = None) -> Ran:
    """Runs the PTX of `recording`. Raises `MinitritonError` where there is none or it cannot be run."""
    state = recording.stage("ptx")
    assert state.raw is not None, "PTX is kept whole"
    launch = launch or launch_of(program, recording)
    start = time.perf_counter()
    outcome = launch.run(state.raw, frozenset({Property.PTX}))
    report = _report(outcome)
    sources, ptx = counts_by_line(report, {line.number: line.source for line in state.lines if line.source})
    return Ran(launch.grid, time.perf_counter() - start, report, sources, ptx, named_arrays(launch, outcome))


def named_arrays(launch: Launch, outcome: Outcome) -> dict[str, np.ndarray]:
    """The arrays after a run of `launch` as numbers, by the names of the kernel's parameters."""
    passed = launch.arguments
    names = [argument.name for argument in passed.passed] or [str(i) for i in range(len(passed.values))]
    return {
        names[position]: as_numbers(array, passed.elements[position])
        for position, array in zip(passed.array_positions(), outcome.arrays, strict=True)
    }


def _report(outcome: Outcome) -> Report:
    if outcome.report is None:
        if outcome.fault is not None:
            raise outcome.fault
        raise MinitritonError(
            f"the program cannot be run: {outcome.gap}", help="see its grid and arguments: --grid, --arg, --size"
        )
    return outcome.report

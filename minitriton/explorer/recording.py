"""A compile, watched: every pass with its time and the state it left.

recording = record(source, target, options)
recording.steps[6].name, .milliseconds, .changed          "cse", 0.2, True
recording.difference(6).rows                                before and after side by side
"""

from __future__ import annotations

import inspect
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minitriton.compilation import stages
from minitriton.compilation.pipeline_spec import format_step
from minitriton.errors import MinitritonError
from minitriton.explorer.difference import Difference, compare
from minitriton.explorer.snapshot import Identities, Snapshot, snapshot
from minitriton.pass_manager import Hook, PassManager, Pipeline
from minitriton.pass_registry import Property, Step
from minitriton.pipelines import pipeline_for
from minitriton.target import CUDAOptions, GPUTarget


@dataclass
class RecordedStep:
    """One pass: as text with its options, its documentation, how long it took, and the state after it. The first step is the
    frontend. `error`: what it raised; nothing follows then."""

    name: str
    text: str
    documentation: str
    milliseconds: float
    after: Snapshot
    changed: bool
    error: str | None = None


@dataclass
class Recording:
    """All of one compile."""

    kernel: str
    arch: int
    pipeline: str
    sources: dict[str, str] = field(default_factory=dict)
    """The text of each source file that a line of the IR names."""
    steps: list[RecordedStep] = field(default_factory=list)

    def difference(self, index: int) -> Difference:
        """What step `index` (from 1) changed."""
        return compare(self.steps[index - 1].after, self.steps[index].after)

    def find(self, name: str, occurrence: int = 1) -> int:
        """The index of the `occurrence`-th step called `name`. Raises `MinitritonError` with the steps that there are."""
        places = [index for index, step in enumerate(self.steps) if step.name == name and index > 0]
        if len(places) < occurrence:
            raise MinitritonError(
                f"pass {name!r} ran {len(places)} times", help="passes: " + ", ".join(s.name for s in self.steps[1:])
            )
        return places[occurrence - 1]

    def stage(self, level: str) -> Snapshot:
        """The last state of `level` ("ttir", "ttgir", "llvm dialect", "llir", "ptx")."""
        for step in reversed(self.steps):
            if step.after.level == level:
                return step.after
        raise MinitritonError(f"the compile did not reach {level!r}")


def record(source: Any, target: GPUTarget, options: CUDAOptions, pipeline: Pipeline | None = None) -> Recording:
    """Compiles `source` (an `ASTSource` or `IRSource`) and keeps every state.

    A pass that fails ends the recording: its step holds the error. Raises `MinitritonError` where the frontend does, or a contract of
    the pipeline is broken.
    """
    from minitriton.dialects.context import make_context

    context = make_context()
    start = time.perf_counter()
    value = source.make_ir(target, options, context)
    seconds = time.perf_counter() - start
    if pipeline is None:
        parts = stages.split(pipeline_for(target, options), source.ext)
        pipeline = Pipeline(tuple(step for _, part in parts for step in part.steps))
    facts = stages.FIRST_FACTS[source.ext]
    pipeline.check(facts)
    recording = Recording(source.entry, target.arch, str(pipeline))
    watch = _Watch(recording, facts)
    watch.begin(value, seconds)
    try:
        PassManager(pipeline, [watch]).run(context, value)
    except MinitritonError as error:
        watch.failed(error)
    recording.sources = _sources(recording)
    return recording


class _Watch(Hook):
    def __init__(self, recording: Recording, facts: frozenset[Property]) -> None:
        self.recording, self.facts = recording, facts
        self.identities = Identities()
        self.start = 0.0
        self.step: Step | None = None

    def begin(self, value: Any, seconds: float) -> None:
        first = snapshot(value, level_of(self.facts), self.identities)
        text = "From the kernel's Python to IR."
        self.recording.steps.append(RecordedStep("frontend", "frontend", text, 1e3 * seconds, first, True))

    def before(self, step: Step, value: Any) -> None:
        self.step = step
        self.start = time.perf_counter()

    def after(self, step: Step, value: Any) -> None:
        milliseconds = 1e3 * (time.perf_counter() - self.start)
        self.facts = (self.facts - step.destroys) | step.establishes
        state = snapshot(value, level_of(self.facts), self.identities)
        self._append(step, milliseconds, state, state.text != self.recording.steps[-1].after.text, None)

    def failed(self, error: MinitritonError) -> None:
        if self.step is None:
            raise error
        milliseconds = 1e3 * (time.perf_counter() - self.start)
        self._append(self.step, milliseconds, self.recording.steps[-1].after, False, str(error))

    def _append(self, step: Step, milliseconds: float, state: Snapshot, changed: bool, error: str | None) -> None:
        documentation = inspect.getdoc(type(step)) or ""
        self.recording.steps.append(
            RecordedStep(step.name, format_step(step), documentation, milliseconds, state, changed, error)
        )


_LEVELS = (
    (Property.PTX, "ptx"),
    (Property.LLVM_IR, "llir"),
    (Property.LLVM_DIALECT, "llvm dialect"),
    (Property.ENCODINGS, "ttgir"),
)


def level_of(facts: frozenset[Property]) -> str:
    """The name of the representation of which `facts` hold."""
    return next((name for property_, name in _LEVELS if property_ in facts), "ttir")


def _sources(recording: Recording) -> dict[str, str]:
    """The files that the lines of all states name, as far as they can be read."""
    named = {line.source[0] for step in recording.steps for line in step.after.lines if line.source is not None}
    found: dict[str, str] = {}
    for path in sorted(named):
        try:
            found[path] = Path(path).read_text()
        except (OSError, UnicodeDecodeError):
            continue
    return found

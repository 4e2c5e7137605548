"""Whether what a pipeline makes of a kernel is right, and what it costs.

    refused       a contract does not hold: no pass has run                     reason: what is missing, who gives it
    failed        a pass or the emission raised on IR that the contracts allow  pass, reason
    right         the emulator's arrays are those of the kernel's own meaning (the frontend's IR, interpreted), nothing found
    wrong         other arrays, or the run ended in a fault
    unsound       the right arrays, and races, bad accesses or missing waits found on the way
    compiled      not run: nothing was asked about numbers
    unjudged      it compiles to PTX that the emulator cannot run
    crashed       the process ended, or the time for one point ran out

Equal PTX is run once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from minitriton.errors import MinitritonError, PipelineError
from minitriton.lab.comparison import Verdict, compare
from minitriton.lab.execution import Launch, Outcome
from minitriton.lab.sweeping.states import Failure, State, States
from minitriton.lab.sweeping.subject import Subject
from minitriton.pass_manager import Pipeline
from minitriton.pass_registry import Property


class Class(StrEnum):
    """What became of a point."""

    RIGHT = "right"
    REFUSED = "refused"
    FAILED = "failed"
    WRONG = "wrong"
    UNSOUND = "unsound"
    COMPILED = "compiled"
    UNJUDGED = "unjudged"
    CRASHED = "crashed"


@dataclass(frozen=True)
class Record:
    """One point: its class, the pass and reason where it is not right, and counts by name of metric."""

    kernel: str
    pipeline: str
    result: Class
    culprit: str = ""
    reason: str = ""
    program: str = ""
    """A digest of the PTX: points with equal ones are the same program."""
    metrics: dict[str, float] = field(default_factory=dict)


class Judge:
    """Judges pipelines of one kernel, sharing what they have in common."""

    def __init__(self, subject: Subject, *, run: bool = True) -> None:
        self.subject, self._run = subject, run
        self.states = States(subject.context, subject.make_ir, subject.facts)
        self._by_program: dict[State, Record] = {}
        self._launch: Launch | None = None
        self._reference: Outcome | None = None

    def record(self, pipeline: Pipeline) -> Record:
        """What becomes of `pipeline`, which leads to PTX."""
        text = str(pipeline)
        try:
            facts = pipeline.check(self.subject.facts)
        except PipelineError as error:
            return self._point(text, Class.REFUSED, error.message.partition("'")[2].partition("'")[0], _reason(error))
        if Property.PTX not in facts:
            return self._point(text, Class.REFUSED, "", "the pipeline does not lead to PTX; end it with emit-ptx")
        end = self.states.run(pipeline)
        if isinstance(end, Failure):
            return self._point(text, Class.FAILED, end.step, _reason(end.error))
        known = self._by_program.get(end)
        if known is None:
            known = self._by_program[end] = self._judge(end)
        return Record(self.subject.name, text, known.result, known.culprit, known.reason, known.program, known.metrics)

    def _point(self, pipeline: str, result: Class, culprit: str, reason: str) -> Record:
        return Record(self.subject.name, pipeline, result, culprit, reason)

    def _judge(self, end: State) -> Record:
        from minitriton.lab.sweeping.metrics import program_digest, static_metrics

        ptx = str(self.states.value(end))
        metrics = static_metrics(ptx, end.launch_facts.shared)
        program = program_digest(ptx, end.launch_facts.shared)
        if not self._run:
            return Record(self.subject.name, "", Class.COMPILED, "", "", program, metrics)
        result, reason, counted = self._execute(ptx, end)
        return Record(self.subject.name, "", result, "", reason, program, {**metrics, **counted})

    def _execute(self, ptx: str, end: State) -> tuple[Class, str, dict[str, float]]:
        from minitriton.lab.sweeping.metrics import run_metrics

        launch, reference = self._reference_run()
        launch.shared = end.launch_facts.shared
        launch.global_scratch = end.launch_facts.global_scratch
        launch.descriptors = end.launch_facts.descriptors
        outcome = launch.run(ptx, frozenset({Property.PTX}))
        counted = run_metrics(outcome.report) if outcome.report is not None else {}
        if outcome.gap is not None:
            return Class.UNJUDGED, outcome.gap, counted
        if outcome.fault is not None:
            return Class.WRONG, str(outcome.fault), counted
        elements = launch.arguments.array_elements()
        if compare(outcome.arrays, reference.arrays, elements) is Verdict.WRONG:
            return Class.WRONG, "other numbers than the kernel's own", counted
        if outcome.findings:
            return Class.UNSOUND, outcome.findings[0].text.splitlines()[0], counted
        return Class.RIGHT, "", counted

    def _reference_run(self) -> tuple[Launch, Outcome]:
        """The launch, and the arrays that the frontend's IR gives."""
        if self._launch is None or self._reference is None:
            self._launch = self.subject.launch()
            self._reference = self._launch.run(self.subject.make_ir(), self.subject.facts)
            if not self._reference.ran:
                raise MinitritonError(
                    f"kernel {self.subject.name!r} cannot be judged: {self._reference.fault or self._reference.gap}",
                    help="give it inputs that it runs on, or sweep without numbers",
                )
        return self._launch, self._reference


def _reason(error: BaseException) -> str:
    """One line: the message and what would help."""
    if not isinstance(error, MinitritonError):
        return f"{type(error).__name__}: {error}"
    help_ = f"; {error.help}" if error.help else ""
    return (error.message + help_).splitlines()[0]


def is_internal(record: Record) -> bool:
    """Whether a pass failed in a way that no user should see: an exception that is no located error."""
    name = record.reason.partition(":")[0]
    return record.result is Class.FAILED and name.isidentifier() and name.endswith(("Error", "Exception", "Iteration"))

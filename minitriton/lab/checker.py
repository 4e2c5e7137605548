"""Runs a kernel after every pass of its pipeline and says which pass, if any, changes what it computes.

In: a source, arguments, a grid. Out: a `CheckReport`: for each pass its numbers against the run before it and the first run; for a
broken pass the op, the kernel's line, and a reduced reproducer.

    check(source, arguments, (4,), pipeline=Pipeline.parse("canonicalize,my-pass,cse")).broken[0].name  →  "my-pass"
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.commands.shared_options import time_limit
from minitriton.dialects.context import make_context
from minitriton.dialects.text import shown
from minitriton.dialects.verification.verifier import verify
from minitriton.errors import MinitritonError
from minitriton.host.whole_file import stem_of
from minitriton.lab.arguments import Arguments
from minitriton.lab.comparison import Verdict, compare, less_exact_dot, rounding_tolerance
from minitriton.lab.device_memory import run_on_gpu
from minitriton.lab.execution import KERNEL_RACES, Launch, Level, Outcome, Representation
from minitriton.lab.locate import kernel_location, locate, locate_store
from minitriton.lab.parameters import Source
from minitriton.lab.reduction import reduce
from minitriton.lab.report import CheckReport, PassRow
from minitriton.pipeline import stages
from minitriton.pipeline.compile_source import shared_of_text
from minitriton.pipeline.ir_source import IRSource
from minitriton.pipeline.pass_manager import Hook, PassManager, Pipeline, representation_text, write_reproducer
from minitriton.pipeline.pass_registry import Pass, Property, Step
from minitriton.runtime.cuda_driver import has_gpu
from minitriton.target import CompileOptions, GPUTarget, default_arch, options_for, target_named

Progress = Callable[[int, int, str], None]
"""Takes how many passes have run, how many there are, and the name of the one that runs."""


def no_progress(done: int, total: int, name: str) -> None:
    """Tells nobody."""


def check(
    source: Source,
    arguments: Arguments,
    grid: tuple[int, ...],
    *,
    target: GPUTarget | None = None,
    options: CompileOptions | None = None,
    pipeline: Pipeline | None = None,
    reproducers: Path | None = None,
    device: str = "cpu",
    contracts: bool = True,
    progress: Progress = no_progress,
    poison: bool = True,
    races: str = "warn",
) -> CheckReport:
    """Checks every pass of `pipeline` (default: the target's own, from where the source stands) on one launch of `source`.

    `source` is an `ASTSource` or an `IRSource`. `reproducers` is the directory for reproducers of broken passes; without it
    none are written. Without `contracts` passes run although one that they need is left out. `progress` is given, before each pass,
    how many have run, how many there are, and its name. Unless `poison` is false, what the
    kernel itself does with values that nobody gave is looked for too, in TTIR and TTGIR. A race between programs of
    the kernel fails the check if it changes numbers, with `races="error"` always. With `device="gpu"` the PTX at the end runs on the GPU too, where there is one. Raises
    `MinitritonError` where the kernel is wrong before any pass has run.
    """
    target = target or target_named(default_arch())
    options = options or options_for(target)
    if device not in ("cpu", "gpu"):
        raise MinitritonError(f"unknown device {device!r}", help='give "cpu" or "gpu"')
    context = make_context()
    value = source.make_ir(target, options, context)
    facts = stages.properties_of(value, source.ext, target)
    if isinstance(value, ModuleOp):
        value = value.clone()
    launch = Launch.of(source, arguments, grid, target, options, shared=shared_bytes(source, value))
    if isinstance(value, ModuleOp):
        launch.tolerance = rounding_tolerance(value)
    first = launch.run(value, facts)
    if first.fault is not None:
        raise first.fault
    if first.gap is not None and isinstance(source, IRSource) and source.ext == "ptx" and device == "cpu":
        raise MinitritonError(
            f"{source.path} cannot be run: {first.gap}", help="docs/emulator.md lists what is not emulated"
        )
    pipeline = pipeline or stages.default_pipeline(target, options, source.ext)
    watch = _CheckingWatch(context, launch, first, value, facts, reproducers)
    watch.report.races_are_errors = races == "error"
    if poison and first.ran and isinstance(value, ModuleOp) and Property.LLVM_DIALECT not in facts:
        watch.report.poison = tuple(str(use.fault()) for use in launch.poison_uses(value))
    if isinstance(source, IRSource):
        watch.report.rows.append(watch.row_of_file(source.path.name, value, first))
    try:
        if pipeline.steps:
            if contracts:
                pipeline.check(facts)
            watch.tell = lambda done, name: progress(done, len(pipeline.steps), name)
            value = PassManager(pipeline, [watch]).run(context, value)
    except _InvalidIR:
        return watch.report
    except Exception as error:
        watch.failed(error)
        return watch.report
    if device == "gpu" and has_gpu() and Property.PTX in watch.facts:
        watch.run_on_gpu(str(value))
    return watch.report


def shared_bytes(source: Source, value: Representation) -> int:
    """Bytes of shared memory a block, of LLVM IR or PTX from a file; of anything else the lowering says it."""
    return 0 if isinstance(value, ModuleOp) else source.known_metadata().get("shared", shared_of_text(value))


ValueT = TypeVar("ValueT", bound=Representation)


class _InvalidIR(Exception):
    """Ends a check: what follows a pass that leaves invalid IR means nothing."""


class _CheckingWatch(Hook):
    """Runs the program after each pass and fills the report."""

    def __init__(
        self,
        context: Context,
        launch: Launch,
        first: Outcome,
        value: Representation,
        facts: frozenset[Property],
        reproducers: Path | None,
    ) -> None:
        self.context, self.launch, self.first, self.reproducers = context, launch, first, reproducers
        self.report = CheckReport(launch.name, made_up=launch.arguments.made_up)
        self.facts = facts
        self.last = self.last_run = first
        self.skipped: list[str] = []
        self.copy: Any = None
        """Of what the last pass left, if there is one."""
        self.valid = False
        """Whether that is known to be valid IR."""
        self.last_interpreted = self._copied(value) if first.ran and isinstance(value, ModuleOp) else None
        self.text = shown(value)
        self.snapshot: Representation | None = None
        self.step: Step | None = None
        """The pass that runs at the moment."""
        self.done = 0
        """Passes after it."""
        self.tell: Callable[[int, str], None] = lambda done, name: None
        self.start = 0.0

    def before(self, step: Step, value: Representation) -> None:
        self.snapshot = self._copied(value)
        self.step = step
        self.tell(self.done, step.name)
        self.start = time.perf_counter()

    def after(self, step: Step, value: Representation) -> None:
        seconds = time.perf_counter() - self.start
        self.done += 1
        self.step = None
        facts_before = self.facts
        self.facts = step.after(self.facts)
        text = shown(value)
        changed, self.text = text != self.text, text
        invalid = None if self.valid and not changed else _invalid(value)
        self.valid = not invalid
        if changed:
            self.copy = None
        if invalid:
            # LLVM does not survive every module that fails to verify.
            outcome = Outcome(self.last.level, gap="the IR is invalid")
        else:
            outcome = self.launch.run(value, self.facts) if changed else self.last
        row = self._row(step.name, seconds, value, outcome, changed)
        row.invalid = invalid
        if isinstance(value, ModuleOp) and Property.ENCODINGS not in self.facts:
            self._note_rounding(row, value)
        self.report.rows.append(row)
        if not row.ok:
            self._diagnose(row, step, facts_before, value, outcome)
        self._remember(step, value, outcome)
        if invalid:
            raise _InvalidIR

    def row_of_file(self, name: str, value: Representation, outcome: Outcome) -> PassRow:
        """The IR text itself, before any pass: what is unsound about it is not for a pass to answer for."""
        self.snapshot = value
        row = PassRow(
            name, 0.0, _count(value), _count(value), outcome.level, self._verdict(outcome, outcome),
            self._verdict(outcome, outcome), True,
            findings=None if outcome.findings is None else tuple(f.text for f in outcome.findings),
            error=outcome.gap,
        )  # fmt: skip
        row.new_findings = tuple(f.text for f in outcome.findings or () if f.kind not in KERNEL_RACES)
        self._note_races(row, outcome)
        return row

    def _note_races(self, row: PassRow, outcome: Outcome) -> None:
        """Races of the kernel itself, which the first run on the emulator shows: wrong numbers due to them are not a pass's fault."""
        if self.report.races is None and outcome.level is Level.EMULATOR and outcome.findings is not None:
            self.report.races = tuple(f.text for f in outcome.findings if f.kind in KERNEL_RACES)
            self.report.races_between_threads = any(f.kind == "thread-race" for f in outcome.findings)
        row.of_a_race = bool(self.report.races) and outcome.level is not Level.INTERPRETER

    def _note_rounding(self, row: PassRow, module: ModuleOp) -> None:
        """A pass on TTIR that asks for less precision than the kernel; what follows may round as much."""
        dot = less_exact_dot(module, self.launch.tolerance)
        if dot is not None:
            location, precision = kernel_location(dot.location), dot.input_precision.data.value
            row.rounding = (
                f"it lowers the precision: {location}: tt.dot in {precision} rounds what the kernel computes without"
            )
            self.launch.tolerance = rounding_tolerance(module)

    def run_on_gpu(self, ptx: str) -> None:
        """Appends the row of the PTX on the GPU."""
        start = time.perf_counter()
        name, outcome = run_on_gpu(self.launch, ptx)
        self.snapshot = None
        row = self._row(name, time.perf_counter() - start, None, outcome, True)
        self.report.rows.append(row)

    def failed(self, error: Exception) -> None:
        """A pass raised: its row says so, and whether on purpose. What the check itself raises goes on."""
        if self.step is None:
            raise error
        refused = isinstance(error, MinitritonError)
        verdict = Verdict.NOT_RUN if refused else Verdict.WRONG
        row = PassRow(
            self.step.name, time.perf_counter() - self.start, _count(self.snapshot), None, "-", verdict, verdict, True,
            error=None if refused else f"it failed: {type(error).__name__}: {error}",
            refusal=str(error) if refused else None,
        )  # fmt: skip
        if self.reproducers is not None:
            row.reproducer = self._reproducer_path(self.step)
            write_reproducer(row.reproducer, Pipeline((self.step,)), representation_text(self.snapshot))
        self.report.rows.append(row)

    def _row(self, name: str, seconds: float, value: Representation | None, outcome: Outcome, changed: bool) -> PassRow:
        fault = outcome.fault or outcome.gap
        row = PassRow(
            name, seconds, _count(self.snapshot), _count(value), outcome.level, self._verdict(outcome, self.last_run),
            self._verdict(outcome, self.first), changed,
            findings=None if outcome.findings is None else tuple(f.text for f in outcome.findings),
            error=str(fault) if fault is not None else None,
        )  # fmt: skip
        known = {f.kind for f in self.last_run.findings or ()}
        if self.last_run.level is Level.INTERPRETER:
            # What the kernel itself does between its programs shows on the emulator first and is no pass's fault.
            known |= KERNEL_RACES
        row.new_findings = tuple(f.text for f in outcome.findings or () if f.kind not in known)
        self._note_races(row, outcome)
        if row.wrong and self.skipped:
            row.error = f"{row.error or ''} (or one of those that could not be run: {', '.join(self.skipped)})".strip()
        return row

    def _verdict(self, outcome: Outcome, other: Outcome) -> Verdict:
        if outcome.gap is not None or other.gap is not None:
            return Verdict.NOT_RUN
        if outcome.fault is not None:
            return Verdict.WRONG if other.fault is None else Verdict.BIT_EQUAL
        if other.fault is not None:
            return Verdict.WRONG
        return compare(outcome.arrays, other.arrays, self.launch.arguments.array_elements(), self.launch.tolerance)

    def _remember(self, step: Step, value: Representation, outcome: Outcome) -> None:
        self.last = outcome
        if outcome.gap is not None:
            self.skipped.append(step.name)
            return
        self.skipped.clear()
        self.last_run = outcome
        if isinstance(value, ModuleOp) and outcome.level is Level.INTERPRETER:
            self.last_interpreted = self._copied(value)

    def _copied(self, value: ValueT) -> ValueT:
        """A copy of `value`, not to be changed; passes that leave a program as it was share one."""
        if self.copy is None:
            self.copy = value.clone() if isinstance(value, ModuleOp) else str(value)
        return self.copy

    def _diagnose(
        self, row: PassRow, step: Step, facts: frozenset[Property], value: Representation, outcome: Outcome
    ) -> None:
        with time_limit(self.launch.patience()):
            self._look_for_cause(row, step, facts, value, outcome)

    def _look_for_cause(
        self, row: PassRow, step: Step, facts: frozenset[Property], value: Representation, outcome: Outcome
    ) -> None:
        wrong = row.wrong
        module = value if isinstance(value, ModuleOp) else None
        if wrong and outcome.level is Level.INTERPRETER and self.last_interpreted is not None and module is not None:
            row.culprit = locate(self.launch, self.last_interpreted, module)
        elif wrong and self.last_interpreted is not None and self.last_run.ran:
            row.culprit = locate_store(self.launch, self.last_interpreted, outcome, self.last_run)
        if self.reproducers is None:
            return
        before = self.snapshot
        if wrong and isinstance(step, Pass) and isinstance(before, ModuleOp):
            before = reduce(before, lambda module: self._shows(module, step, facts))
        row.reproducer = self._reproducer_path(step)
        write_reproducer(row.reproducer, Pipeline((step,)), representation_text(before))

    def _shows(self, module: ModuleOp, step: Pass, facts: frozenset[Property]) -> bool:
        """Whether `step` changes the numbers of `module`."""
        right = self.launch.run(module, facts)
        if not right.ran:
            return False
        after = module.clone()
        try:
            step.apply(self.context, after)
        except Exception:
            return False
        facts = step.after(facts)
        return self._verdict(self.launch.run(after, facts), right) is Verdict.WRONG

    def _reproducer_path(self, step: Step) -> Path:
        assert self.reproducers is not None
        return self.reproducers / f"{stem_of(self.launch.name)}.{len(self.report.rows)}.{step.name}.mlir"


def _count(value: Representation | None) -> int | None:
    return sum(1 for _ in value.walk()) if isinstance(value, ModuleOp) else None


def _invalid(value: Representation) -> str | None:
    if not isinstance(value, ModuleOp):
        return None
    try:
        verify(value)
    except MinitritonError as error:
        return str(error)
    return None

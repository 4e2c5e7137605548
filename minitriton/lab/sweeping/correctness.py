"""Whether what a pipeline makes of a kernel is right, and what it costs.

    refused       a contract does not hold: no pass has run                     reason: what is missing, who gives it;
                  or the launch cannot be: options that exclude each other, more shared memory than there is
    failed        a pass or the emission raised on IR that the contracts allow  pass, reason
    right         the emulator's arrays are those of the kernel's own meaning (the frontend's IR, interpreted), nothing found
    wrong         other arrays, or the run ended in a fault                    pass, where the checker is to name it
    unsound       the right arrays, and races, bad accesses or missing waits found on the way
    compiled      not run: nothing was asked about numbers
    unevaluated   it compiles to PTX that the emulator cannot run
    crashed       the process ended, or the time for one configuration ran out

Equal PTX is run once.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from xdsl.dialects.builtin import ModuleOp

from minitriton.errors import MinitritonError, PipelineError
from minitriton.lab.comparison import Verdict, compare, rounding_tolerance
from minitriton.lab.execution import Launch, Outcome
from minitriton.lab.sweeping.configuration import Configuration, KernelProgram, Settings, settings_text
from minitriton.lab.sweeping.metrics import program_digest, run_metrics, static_metrics
from minitriton.lab.sweeping.space import is_legal
from minitriton.lab.sweeping.states import Digest, State, States, StepFailure
from minitriton.lab.sweeping.tuning_task import TuningTask
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Property
from minitriton.target.backends import backend


class Class(StrEnum):
    """What became of a configuration."""

    RIGHT = "right"
    REFUSED = "refused"
    FAILED = "failed"
    WRONG = "wrong"
    UNSOUND = "unsound"
    COMPILED = "compiled"
    UNEVALUATED = "unevaluated"
    CRASHED = "crashed"


@dataclass(frozen=True)
class Evaluation:
    """One configuration: its class, the pass and reason where it is not right, and numbers by name of metric."""

    kernel: str
    pipeline: str
    """The configuration as text: the pipeline, after its settings in brackets if it has any."""
    result: Class
    culprit: str = ""
    reason: str = ""
    program: str = ""
    """A digest of the PTX and its launch: configurations with equal ones are the same program."""
    metrics: dict[str, float] = field(default_factory=dict[str, float])
    """Of the program, by name (`metrics.METRICS`)."""
    own: dict[str, float] = field(default_factory=dict[str, float], compare=False)
    """Of this configuration alone: seconds of compiling it."""

    @property
    def all_metrics(self) -> dict[str, float]:
        """Those of the program and those of the configuration."""
        return {**self.own, **self.metrics}


VARIANTS_KEPT = 24
"""Launches with other constants or options whose states a checker holds at once."""


class CorrectnessChecker:
    """Evaluates configurations about one kernel, sharing what they have in common. With `culprits` it names the pass that makes numbers wrong, for
    which it runs some of the programs on the way."""

    def __init__(self, task: TuningTask, *, run: bool = True, settings: Settings = (), culprits: bool = False) -> None:
        self.task, self._run, self._settings = task, run, settings
        self.states = States(task.context, task.make_ir, task.facts)
        self._culprits = Culprits(self.states, self._is_wrong) if culprits else None
        self.programs: dict[str, KernelProgram] = {}
        """The different programs so far, by digest."""
        self._by_program: dict[State, Evaluation] = {}
        self._variants: OrderedDict[Settings, CorrectnessChecker] = OrderedDict()
        self._launch: Launch | None = None
        self._reference: Outcome | None = None

    def record(self, given: Configuration | Pipeline | str) -> Evaluation:
        """What becomes of the configuration `given`, whose pipeline leads to PTX."""
        configuration = Configuration.of(given)
        if configuration.settings != self._settings:
            return self._varied(configuration)
        return self._of_pipeline(configuration.pipeline, given if isinstance(given, str) else str(configuration))

    def _varied(self, configuration: Configuration) -> Evaluation:
        checker = self._variants.pop(configuration.settings, None)
        if checker is None:
            try:
                task = self.task.variant(configuration.settings)
                checker = CorrectnessChecker(
                    task, run=self._run, settings=configuration.settings, culprits=self._culprits is not None
                )
            except (MinitritonError, ValueError, ArithmeticError) as error:
                return self._not_run(str(configuration), Class.REFUSED, "", _reason(error))
            checker.programs = self.programs
        self._variants[configuration.settings] = checker
        if len(self._variants) > VARIANTS_KEPT:
            self._variants.popitem(last=False)
        return checker.record(configuration)

    def _of_pipeline(self, pipeline: Pipeline, text: str) -> Evaluation:
        if not is_legal(pipeline, self.task.facts):
            try:
                pipeline.check(self.task.facts)
            except PipelineError as error:
                return self._not_run(
                    text, Class.REFUSED, error.message.partition("'")[2].partition("'")[0], _reason(error)
                )
        stage = backend(self.task.target.backend).text_stage
        if not any(Property.PTX in step.establishes for step in pipeline.steps[-1:]):
            return self._not_run(
                text,
                Class.REFUSED,
                "".join(s.name for s in pipeline.steps[-1:]),
                f"it does not lead to {stage}; end it with emit-{stage}",
            )
        end = self.states.run(pipeline)
        if isinstance(end, StepFailure):
            return self._not_run(text, Class.FAILED, end.step, _reason(end.error))
        known = self._by_program.get(end)
        if known is None:
            known = self._by_program[end] = self._evaluate(end)
        culprit = ""
        if known.result is Class.WRONG and self._culprits is not None:
            culprit = self._culprits.of(pipeline)
        return replace(known, pipeline=text, culprit=culprit, own=self.states.seconds(pipeline))

    def _not_run(self, pipeline: str, result: Class, culprit: str, reason: str) -> Evaluation:
        return Evaluation(self.task.name, pipeline, result, culprit, reason)

    def _evaluate(self, end: State) -> Evaluation:
        ptx, facts, target = str(self.states.value(end)), end.launch_facts, self.task.target
        metrics = static_metrics(ptx, facts.shared)
        digest = program_digest(ptx, facts.shared, settings_text(self._settings))
        if facts.shared > target.max_shared_memory:
            reason = f"needs {facts.shared} bytes of shared memory, and {target.sm} has {target.max_shared_memory}"
            return Evaluation(self.task.name, "", Class.REFUSED, "", reason, "", metrics)
        options = self.task.options
        self.programs[digest] = KernelProgram(
            self.task.name, digest, ptx, target.arch, replace(options, launch_pdl=True) if facts.overlaps else options, self._settings, facts.shared,
            facts.global_scratch, facts.maps,
        )  # fmt: skip
        if not self._run:
            return Evaluation(self.task.name, "", Class.COMPILED, "", "", digest, metrics)
        result, reason, counted = self._execute(ptx, end)
        return Evaluation(self.task.name, "", result, "", reason, digest, {**metrics, **counted})

    def _execute(self, ptx: str, end: State) -> tuple[Class, str, dict[str, float]]:
        launch, _ = self._reference_run(end)
        outcome = launch.run(ptx, frozenset({Property.PTX}))
        counted = (
            run_metrics(outcome.report, self.task.scale, self.task.footprint) if outcome.report is not None else {}
        )
        if outcome.gap is not None:
            return Class.UNEVALUATED, outcome.gap, counted
        if outcome.fault is not None:
            return Class.WRONG, str(outcome.fault), counted
        if self._has_other_numbers(outcome):
            return Class.WRONG, "other numbers than the kernel's own", counted
        if outcome.findings:
            return Class.UNSOUND, outcome.findings[0].text.splitlines()[0], counted
        return Class.RIGHT, "", counted

    def _is_wrong(self, state: State) -> bool:
        """Whether the program of `state`, at any level, ends in a fault or gives other numbers."""
        launch, _ = self._reference_run(state)
        value = self.states.value(state)
        if isinstance(value, ModuleOp) and Property.LLVM_DIALECT not in state.facts:
            outcome = launch.interpret(value)
        else:
            outcome = launch.run(value, state.facts)
        return outcome.fault is not None or (outcome.gap is None and self._has_other_numbers(outcome))

    def _has_other_numbers(self, outcome: Outcome) -> bool:
        launch, reference = self._reference_run()
        elements = launch.arguments.array_elements()
        return compare(outcome.arrays, reference.arrays, elements, launch.tolerance) is Verdict.WRONG

    def _reference_run(self, state: State | None = None) -> tuple[Launch, Outcome]:
        """The launch, as the program of `state` needs it, and the arrays that the frontend's IR gives."""
        if self._launch is None or self._reference is None:
            self._launch = self.task.launch()
            self._launch.reach = True
            module = self.task.make_ir()
            self._launch.tolerance = max(self.task.tolerance, rounding_tolerance(module))
            self._reference = self._launch.run(module, self.task.facts)
            if not self._reference.ran:
                raise MinitritonError(
                    f"kernel {self.task.name!r} cannot be evaluated: {self._reference.fault or self._reference.gap}",
                    help="give it inputs that suit it, or sweep without numbers",
                )
        if state is not None:
            self._launch.shared = state.launch_facts.shared
            self._launch.global_scratch = state.launch_facts.global_scratch
            self._launch.descriptors = state.launch_facts.descriptors
        return self._launch, self._reference


def _reason(error: BaseException) -> str:
    """One line: the message and what would help."""
    if not isinstance(error, MinitritonError):
        return f"{type(error).__name__}: {error}"
    help_ = f"; {error.help}" if error.help else ""
    return (error.message + help_).splitlines()[0]


class Culprits:
    """Which pass of a pipeline makes wrong numbers: between a program that is right and one that is wrong, halved until one step is left.

    S0 -canonicalize-> S1 -my-pass-> S2 -cse-> S3 -...-> S8      S0 right, S8 wrong; S4 wrong, S2 wrong, S1 right: my-pass

    `is_wrong` runs the program of a state; each is asked about once."""

    def __init__(self, states: States, is_wrong: Callable[[State], bool]) -> None:
        self._states, self._is_wrong = states, is_wrong
        self._known: dict[Digest, bool] = {}

    def of(self, pipeline: Pipeline) -> str:
        """The name of a pass before which the numbers are right, and after which they are wrong, as they are at the end. Between two
        programs one of them that cannot be run it is the latter's."""
        met = [self._states.first]
        for step in pipeline.steps:
            following = self._states.follow(met[-1], step)
            assert isinstance(following, State), "only what leads to a program has wrong numbers"
            met.append(following)
        right, wrong = 0, len(met) - 1
        while wrong - right > 1:
            middle = (right + wrong) // 2
            if self._wrong(met[middle]):
                wrong = middle
            else:
                right = middle
        return pipeline.steps[wrong - 1].name

    def _wrong(self, state: State) -> bool:
        if state.digest not in self._known:
            self._known[state.digest] = self._is_wrong(state)
        return self._known[state.digest]

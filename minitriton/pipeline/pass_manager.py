"""Runs a pipeline over a module, with its contracts checked first and hooks around every pass.

In: a `Pipeline` (a value: it prints, parses and compares) and a module. Out: the module, or what the last translation
made of it. A pass that fails leaves a reproducer: the IR before it and the rest of the pipeline, in one file.

    PassManager(Pipeline.parse("inline,canonicalize,cse"), hooks=[Timings()]).run(ctx, module)
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import field
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton.dialects.fast_paths.copying import IRSnapshot
from minitriton.dialects.fast_paths.op_access import classes_in
from minitriton.errors import BrokenContract, IRError, MinitritonError, PipelineError
from minitriton.host.frozen import frozen, record
from minitriton.host.whole_file import write_whole
from minitriton.pipeline.pass_registry import (
    TEXT,
    Pass,
    PassResult,
    Property,
    Step,
    load_own_passes,
    registered_passes,
    with_implied,
)
from minitriton.pipeline.pipeline_spec import (
    format_pipeline,
    format_step,
    parse_options_text,
    parse_pipeline,
    with_options,
)


@frozen
class Pipeline:
    """An ordered tuple of passes and translations."""

    steps: tuple[Step, ...]

    @classmethod
    def parse(cls, text: str) -> Pipeline:
        """Reads MLIR's textual form. Raises `PipelineError`."""
        return cls(parse_pipeline(text))

    def __str__(self) -> str:
        return format_pipeline(self.steps)

    def __add__(self, other: Pipeline) -> Pipeline:
        return Pipeline(self.steps + other.steps)

    def skip(self, name: str) -> Pipeline:
        """Without the passes that `name` names: all that are called so, or `canonicalize#2`, the second. Raises `PipelineError`."""
        gone = set(self._indices(name))
        return Pipeline(tuple(step for index, step in enumerate(self.steps) if index not in gone))

    def insert(self, step: str, *, before: str | None = None, after: str | None = None) -> Pipeline:
        """With `step`, a pass and its options, next to the pass that `before` or `after` names. Raises `PipelineError`."""
        return self._with(parse_pipeline(step), self._insertion_index(before, after))

    def move(self, name: str, *, before: str | None = None, after: str | None = None) -> Pipeline:
        """With the one pass that `name` names moved next to another. Raises `PipelineError`."""
        index, target = self._index(name), self._insertion_index(before, after)
        kept = Pipeline(self.steps[:index] + self.steps[index + 1 :])
        return kept._with((self.steps[index],), target - (index < target))

    def replace(self, name: str, step: str) -> Pipeline:
        """With `step`, a pass and its options, for the one pass that `name` names. Raises `PipelineError`."""
        index = self._index(name)
        return Pipeline(self.steps[:index] + parse_pipeline(step) + self.steps[index + 1 :])

    def with_options(self, text: str) -> Pipeline:
        """With the options that `text`, a pass and options, gives to every pass of its name, or to the one that `canonicalize#2{...}` names; other options stay
        as they are. Raises `PipelineError`."""
        name, brace, options = text.strip().partition("{")
        given = parse_options_text(options.removesuffix("}")) if brace else {}
        changed = {index: with_options(self.steps[index], given) for index in self._indices(name)}
        return Pipeline(tuple(changed.get(index, step) for index, step in enumerate(self.steps)))

    def _with(self, steps: tuple[Step, ...], index: int) -> Pipeline:
        return Pipeline(self.steps[:index] + steps + self.steps[index:])

    def _insertion_index(self, before: str | None, after: str | None) -> int:
        if (before is None) == (after is None):
            raise PipelineError("a pass is inserted next to one other pass", help="name it by before= or by after=")
        return self._index(before) if before is not None else self._index(after or "") + 1

    def _index(self, name: str) -> int:
        indices = self._indices(name)
        if len(indices) > 1:
            raise PipelineError(
                f"the pipeline has {len(indices)} passes {name!r}", help=f"say which: {name}#1 to {name}#{len(indices)}"
            )
        return indices[0]

    def _indices(self, name: str) -> list[int]:
        called, _, number = name.partition("#")
        indices = [index for index, step in enumerate(self.steps) if step.name == called]
        if number:
            indices = indices[int(number) - 1 : int(number)] if number.isdigit() and int(number) else []
        if not indices:
            names = [step.name for step in self.steps]
            import difflib

            close = difflib.get_close_matches(called, names, n=1)
            help = f"did you mean {close[0]!r}?" if close else "its passes: " + ", ".join(dict.fromkeys(names))
            raise PipelineError(f"the pipeline lacks pass {name!r}", help=help)
        return indices

    def check(self, facts: Iterable[Property]) -> frozenset[Property]:
        """The facts that hold after the pipeline, given those before it.

        Raises `PipelineError` where a pass needs a fact that does not hold, naming a pass that would establish it.
        """
        broken, holds = self._contracts(facts)
        if broken:
            raise broken[min(broken)]
        return holds

    def broken_contracts(self, facts: Iterable[Property]) -> dict[int, BrokenContract]:
        """What `check` would refuse, by the number of the pass, from 0: for whoever runs it anyway, to see what breaks."""
        return self._contracts(facts)[0]

    def _contracts(self, facts: Iterable[Property]) -> tuple[dict[int, BrokenContract], frozenset[Property]]:
        holds = with_implied(frozenset(facts))
        ended: dict[Property, Step] = {}
        broken: dict[int, BrokenContract] = {}
        for index, step in enumerate(self.steps):
            if not step.can_run(holds):
                broken[index] = _broken_contract(index, step, holds, ended)
            after = step.after(holds)
            ended.update(dict.fromkeys(holds - after, step))
            holds = after
        return broken, holds


def _broken_contract(index: int, step: Step, holds: frozenset[Property], ended: dict[Property, Step]) -> BrokenContract:
    """What to say of `step` that cannot run where `holds`; `ended`: the step after which a fact that once held did not."""
    missing = step.missing(holds)
    if not missing:
        return BrokenContract(
            f"pass {step.name!r} (number {index + 1}) takes a module, and there is {', '.join(holds & TEXT)} by then",
            help="run it before translate-to-llvm-ir",
        )
    wanted = ", ".join(sorted(missing))
    destroyer = next((ended[fact].name for fact in sorted(missing) if fact in ended), None)
    since = f", which {destroyer!r} destroyed" if destroyer else ""
    load_own_passes()
    makers = [cls.name for cls in registered_passes().values() if cls.establishes & missing]
    if makers:
        help = "run one of these before it: " + ", ".join(makers)
    else:
        help = (
            f"run it before {destroyer!r}, or leave out one of the two"
            if destroyer
            else "start from an earlier stage's IR"
        )
    broken = BrokenContract(f"pass {step.name!r} (number {index + 1}) needs: {wanted}{since}", help=help)
    broken.makers = tuple(makers)
    return broken


def _nothing() -> None: ...


class Hook:
    """What may look on while a pipeline runs. `value` is the module, or the text once a translation has run."""

    def before(self, step: Step, value: Any) -> None: ...

    def after(self, step: Step, value: Any) -> None: ...

    def at_end(self) -> None:
        """Called once all passes of the pipeline have run."""


@record
class Timings(Hook):
    """Seconds spent in each pass, in the order they ran."""

    seconds: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    _start: float = 0.0

    def before(self, step: Step, value: Any) -> None:
        self._start = time.perf_counter()

    def after(self, step: Step, value: Any) -> None:
        self.seconds.append((step.name, time.perf_counter() - self._start))

    def table(self) -> str:
        """One row a pass: milliseconds, share, name; the total last."""
        total = sum(s for _, s in self.seconds) or 1e-12
        rows = [f"{s * 1e3:9.3f} ms {100 * s / total:5.1f} %  {name}" for name, s in self.seconds]
        return "\n".join([*rows, f"{total * 1e3:9.3f} ms         total"])


@record
class Snapshots(Hook):
    """The text after each pass, through `show(value) -> str`; with `only_changes`, where it differs from the one before."""

    show: Callable[[Any], str]
    only_changes: bool = False
    texts: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    _last: str | None = None

    def before(self, step: Step, value: Any) -> None:
        if self.only_changes and self._last is None:
            self._last = self.show(value)

    def after(self, step: Step, value: Any) -> None:
        text = self.show(value)
        if not self.only_changes or text != self._last:
            self.texts.append((format_step(step), text))
        self._last = text


@record
class Statistics(Hook):
    """How many ops of each name there are after each pass (modules only)."""

    counts: list[tuple[str, Counter[str]]] = field(default_factory=list[tuple[str, Counter[str]]])

    def after(self, step: Step, value: Any) -> None:
        if isinstance(value, ModuleOp):
            self.counts.append((step.name, Counter(op.name for op in value.walk())))


class VerifyEach(Hook):
    """Verifies the module after each pass, so that a pass that breaks the IR is named."""

    def after(self, step: Step, value: Any) -> None:
        from minitriton.dialects.verification.verifier import verify

        if isinstance(value, ModuleOp):
            try:
                verify(value)
            except IRError as error:
                message = f"pass {step.name!r} left invalid IR: {error.message}"
                raise IRError(message, error.location, help=error.help, source_line=error.source_line) from error


@record
class PassManager:
    """Runs `pipeline`. `reproducer`: the file that a failing pass's input and the remaining pipeline are written to."""

    pipeline: Pipeline
    hooks: list[Hook] = field(default_factory=list[Hook])
    reproducer: Path | None = None

    def run(self, ctx: Context, value: Any) -> Any:
        """Applies every step to `value` in order and returns the last step's result.

        A pass that would change nothing, as is known from passes before it, is not run (hooks are called all the same).
        Raises what a pass raises; a failure that is no `MinitritonError` becomes one that names the pass.
        """
        idle_passes = IdlePasses(self.pipeline.steps)
        for index, step in enumerate(self.pipeline.steps):
            before = self._text_for_reproducer(value)
            try:
                for hook in self.hooks:
                    hook.before(step, value)
                if isinstance(step, Pass):
                    idle_passes.run(step, index, ctx, value)
                else:
                    value = step.translate(value)
                for hook in reversed(self.hooks):
                    hook.after(step, value)
            except Exception as error:
                self._fail(index, step, before, error)
        for hook in self.hooks:
            # Programs bring hooks of their own, which may have only the two methods above.
            getattr(hook, "at_end", _nothing)()
        return value

    def _text_for_reproducer(self, value: Any) -> str | None:
        if self.reproducer is None:
            return None
        return representation_text(value)

    def _fail(self, index: int, step: Step, before: str | None, error: Exception) -> None:
        note = f"while running pass {step.name!r}"
        if before is not None and self.reproducer is not None:
            rest = Pipeline(self.pipeline.steps[index:])
            write_reproducer(self.reproducer, rest, before)
            note += f"; reproducer written to {self.reproducer}"
        error.add_note(note)
        if isinstance(error, MinitritonError):
            error.help = error.help or note
        raise error


def representation_text(value: Any) -> str:
    """`value` as text: a module is printed with its locations, LLVM IR and PTX are text already."""
    from minitriton.dialects.text import print_module

    return print_module(value, locations=True) if isinstance(value, ModuleOp) else str(value)


_REPRODUCER = """{text}

{{-#
  external_resources: {{
    mlir_reproducer: {{
      pipeline: "builtin.module({pipeline})",
      disable_threading: false,
      verify_each: true
    }}
  }}
#-}}
"""

_REPRODUCER_PIPELINE = re.compile(r'\{-#.*mlir_reproducer: \{\s*pipeline: "builtin\.module\((.*)\)"', re.DOTALL)


def write_reproducer(path: Path, pipeline: Pipeline, text: str) -> None:
    """Writes `text` and, as MLIR's resource, `pipeline`; `minitriton-opt --run-reproducer` reads it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, _REPRODUCER.format(text=text.rstrip("\n"), pipeline=pipeline))


def read_reproducer(path: Path) -> tuple[Pipeline, str]:
    """The pipeline and the IR text of a file written by `write_reproducer`. Raises `PipelineError` if it is none."""
    content = path.read_text("utf-8")
    found = _REPRODUCER_PIPELINE.match(content, max(content.rfind("{-#"), 0))
    if found is None:
        raise PipelineError(f"{path} is not a reproducer", help="it must end with a resource `mlir_reproducer`")
    return Pipeline.parse(found[1]), content[: found.start()]


# Which passes need not run, because they would change nothing of the IR as it is.
#
# In: the steps of a pipeline, and the module before each. Of 70 passes some ten change a kernel without tensor cores; the others are found out at
# the price of three facts, which hold until a pass runs that may have changed something:
#
#     which classes of op there are        a pass that acts on none of them is idle
#     what has been run and found nothing  a pass that looks at all ops is idle when it comes again
#     that all ops are simplified          a pass that also simplifies is idle where there is nothing else for it
#
# Where it is not known whether anything has changed since, a snapshot of the IR tells (`dialects.fast_paths.copying`).


class IdlePasses:
    """What is known of the IR between the passes of `steps`."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self._last = {
            step: index for index, step in enumerate(steps) if isinstance(step, Pass) and step.visits_every_op
        }
        self._classes: frozenset[type[Operation]] | None = None
        self._is_as_known = False
        """Whether nothing has run since the facts below were found that may have changed the IR; else the snapshot tells."""
        self._snapshot: IRSnapshot | None = None
        self._found_nothing: set[Pass] = set()
        self._is_simplified = False

    def run(self, step: Pass, index: int, ctx: Context, module: ModuleOp) -> None:
        """Applies `step`, number `index`, unless that would change nothing."""
        if self.is_idle(step, module):
            return
        run = step.apply_to_folded if self._is_simplified and self._holds(module) else step.apply
        changed = run(ctx, module)
        comes_again = index < self._last.get(step, -1)
        if changed is PassResult.REACHED_FIXPOINT:
            self._forget(None)
            self._classes = None
        elif changed is not False:
            self._is_as_known, self._classes = False, None
            return
        if comes_again or (self._is_as_known and step.folds_everything):
            self._note(step, module, comes_again)

    def is_idle(self, step: Pass, module: ModuleOp) -> bool:
        """Whether `step` would change nothing in `module`."""
        if step in self._found_nothing:
            return self._holds(module)
        if step.acts_on is None or (step.folds_everything and not self._is_simplified):
            return False
        if self._classes is None:
            self._classes = classes_in(module)
        return step.acts_on.isdisjoint(self._classes) and (not step.folds_everything or self._holds(module))

    def _note(self, step: Pass, module: ModuleOp, comes_again: bool) -> None:
        """`step` has just found nothing to change in `module`."""
        if not self._holds(module) and not self._is_as_known:
            self._forget(None)
        if comes_again:
            self._found_nothing.add(step)
            self._snapshot = self._snapshot or IRSnapshot(module)
        self._is_simplified |= step.folds_everything

    def _holds(self, module: ModuleOp) -> bool:
        """Whether `module` is the IR that the facts are of; else they are forgotten."""
        if not self._is_as_known and self._snapshot is not None:
            now = IRSnapshot(module)
            if self._snapshot.is_same(now):
                self._is_as_known = True
            else:
                self._forget(now)
                return False
        return self._is_as_known

    def _forget(self, snapshot: IRSnapshot | None) -> None:
        """The IR is another one, known only to be as it is."""
        self._found_nothing.clear()
        self._is_simplified = False
        self._snapshot = snapshot
        self._is_as_known = True

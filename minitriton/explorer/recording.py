"""A compile, watched: every pass with its time and the state it left.

recording = record(source, target, options)
recording.steps[6].name, .milliseconds, .changed          "cse", 0.2, True
recording.difference(6).rows                                before and after compared
"""

from __future__ import annotations

import difflib
import inspect
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from xdsl.dialects.builtin import FileLineColLoc, IntegerAttr, ModuleOp
from xdsl.ir import Operation

from minitriton.analysis.tensor_descriptors import descriptor_metadata
from minitriton.codegen.llvm_session import CheckedLLVMIR, check_in_child
from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module
from minitriton.errors import MinitritonError
from minitriton.explorer.compile_request import EditedState
from minitriton.explorer.declared_layouts import DeclaredLayout, DeclaredLayouts
from minitriton.explorer.difference import Difference, compare
from minitriton.explorer.module_lines import Identities
from minitriton.explorer.notebook import recording_html
from minitriton.explorer.snapshot import SYNTAX, Snapshot, StateRecorder
from minitriton.host.source_text import text_at
from minitriton.pipeline import stages
from minitriton.pipeline.ast_source import ASTSource, GluonASTSource
from minitriton.pipeline.ir_source import IRSource
from minitriton.pipeline.pass_manager import Hook, PassManager, Pipeline
from minitriton.pipeline.pass_registry import Property, Step
from minitriton.pipeline.pipeline_spec import format_step
from minitriton.target import CompileOptions, GPUTarget
from minitriton.target.backends import backend
from minitriton.target.tensor_map import DescriptorCopy


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
    is_edit: bool = False
    """Whether this is not a pass but text in place of the state before."""


@dataclass
class Recording:
    """All of one compile."""

    kernel: str
    arch: int | str
    pipeline: str
    sources: dict[str, str] = field(default_factory=dict[str, str])
    """The text of each source file that a line of the IR names."""
    default_pipeline: str = ""
    """The passes that the target has of its own, where others were asked for."""
    shared: int = 0
    """Bytes of shared memory a block, once it is known."""
    global_scratch: int = 0
    """Bytes of global memory that each program takes for itself."""
    descriptors: list[DescriptorCopy] | None = None
    """What the TTGIR says of the tensor maps that the kernel takes; None where it takes none."""
    steps: list[RecordedStep] = field(default_factory=list[RecordedStep])
    declared: list[DeclaredLayout] = field(default_factory=list[DeclaredLayout])
    """Of a kernel in Gluon, where its layouts are written."""
    assembly: str = "ptx"
    """The level of the text that runs: `amdgcn` for AMD's GPUs."""
    cubin: bytes = b""
    """Of a compile by Triton, the machine code that it made."""
    shown: int | None = None
    """The one step whose states before and after it were printed, where not all were: in addition to the frontend's."""

    def _repr_html_(self) -> str:
        """In a notebook."""
        return recording_html(self)

    def difference(self, index: int) -> Difference:
        """What step `index` (from 1) changed."""
        return compare(self.steps[index - 1].after, self.steps[index].after)

    def find(self, name: str, occurrence: int = 1) -> int:
        """The index of the `occurrence`-th step called `name`. Raises `MinitritonError` with the steps that there are."""
        positions = [index for index, step in enumerate(self.steps) if step.name == name and index > 0]
        if len(positions) < occurrence:
            raise MinitritonError(
                f"pass {name!r} ran {len(positions)} times", help="passes: " + ", ".join(s.name for s in self.steps[1:])
            )
        return positions[occurrence - 1]

    def stage(self, level: str) -> Snapshot:
        """The last state of `level` ("ttir", "ttgir", "llvm dialect", "llir", `assembly`)."""
        for step in reversed(self.steps):
            if step.after.level == level:
                return step.after
        raise MinitritonError(f"the compile did not reach {level!r}")


@dataclass(frozen=True)
class StepAnchor:
    """The step that somebody looks at: one of text `text` and not far before `near`; where there is none the step `near`."""

    text: str
    near: int

    def find(self, texts: Sequence[str]) -> int:
        """Its index among steps of these texts."""
        found = (at for at, text in enumerate(texts) if text == self.text and at >= self.near - _BEFORE)
        return next(found, min(max(self.near, 0), len(texts) - 1))


_BEFORE = 2
"""Steps that an edit may have taken out before the one that is looked at."""


def record(
    source: ASTSource | IRSource,
    target: GPUTarget,
    options: CompileOptions,
    pipeline: Pipeline | None = None,
    *,
    states: Sequence[EditedState] = (),
    keep: bool = False,
    only: StepAnchor | None = None,
    contracts: bool = True,
) -> Recording:
    """Compiles `source` (an `ASTSource` or `IRSource`) and keeps every state, `keep`: with its module; `only`: prints the states
    before and after that step and leaves the others without lines, which is what most of a recording's time goes to.

    `states` are texts that take the place of the state after a step. A pass that fails ends the recording: its step holds the
    error. Raises `MinitritonError` where the frontend or an edited text is wrong, or, with `contracts`, one of the pipeline's is broken.
    """
    context = make_context()
    start = time.perf_counter()
    layouts = DeclaredLayouts() if isinstance(source, GluonASTSource) else None
    value = (
        source.make_ir(target, options, context)
        if layouts is None or isinstance(source, IRSource)
        else source.make_ir(target, options, context, seen=layouts)
    )
    if isinstance(source, IRSource) and isinstance(value, ModuleOp):
        # The module of a file is the source's own: it is asked for its parameters later.
        value = value.clone()
    seconds = time.perf_counter() - start
    if pipeline is None:
        pipeline = stages.default_pipeline(target, options, source.ext)
    facts = stages.properties_of(value, source.ext, target)
    if contracts:
        pipeline.check(facts)
    recording = Recording(
        source.entry, target.arch, str(pipeline), assembly=backend(target.backend).text_stage
    )  # fmt: skip
    if layouts is not None and isinstance(value, ModuleOp):
        recording.declared = layouts.on_shapes_of(value)
    edited_after = sorted(states, key=lambda one: one.after)
    if only is not None:
        texts = [format_step(step) for step in pipeline.steps]
        for edited in reversed(edited_after):
            texts.insert(min(edited.after, len(texts)), "edited")
        recording.shown = only.find(["frontend", *texts])
    watch = _RecordingWatch(recording, facts, keep, reads_names=bool(states))
    watch.begin(value, seconds)
    at = 0
    for edited in (*edited_after, None):
        end = len(pipeline.steps) if edited is None else min(max(edited.after, at), len(pipeline.steps))
        try:
            value = PassManager(Pipeline(pipeline.steps[at:end]), [watch]).run(context, value)
        except Exception as error:
            watch.failed(error)
            break
        if edited is not None:
            watch.print_last(value)
            value = watch.replace(edited)
        at = end
    recording.sources = sources_of(recording)
    return recording


class _RecordingWatch(Hook):
    def __init__(self, recording: Recording, facts: frozenset[Property], keep: bool, *, reads_names: bool) -> None:
        """`reads_names`: text that replaces a state has the names of values of all states before."""
        self.recording, self.facts, self.reads_names = recording, facts, reads_names
        self.identities = Identities()
        self.snapshots = StateRecorder(self.identities, keep=keep)
        self.start = 0.0
        self.step: Step | None = None
        self.text = ""

    def begin(self, value: object, seconds: float) -> None:
        first = self._snapshot(value)
        text = "From the kernel's Python to IR."
        self.recording.steps.append(RecordedStep("frontend", "frontend", text, 1e3 * seconds, first, True))
        self.text = first.text

    def _snapshot(self, value: object) -> Snapshot:
        level, at, shown = (
            level_of(self.facts, self.recording.assembly),
            len(self.recording.steps),
            self.recording.shown,
        )
        printed = shown is None or at in (0, shown)
        if not printed and level == "llir" and shown is not None and at < shown:
            self.snapshots.note_callers(str(value))
        # States after the one that is looked at are compared with each other, and that is all.
        named = shown is None or at <= shown or self.reads_names
        return self.snapshots.take(value, level, printed=printed, named=named)

    def print_last(self, value: object) -> None:
        """Prints the last state, `value`, where it is not printed."""
        steps = self.recording.steps
        last = steps[-1].after
        if last.printed:
            return
        printed = self.snapshots.take(value, last.level)
        for step in steps:
            if step.after is last:
                step.after = printed
        self.text = printed.text

    def before(self, step: Step, value: object) -> None:
        if len(self.recording.steps) == self.recording.shown:
            self.print_last(value)
        self.step = step
        self.start = time.perf_counter()

    def after(self, step: Step, value: object) -> None:
        milliseconds = 1e3 * (time.perf_counter() - self.start)
        self.facts = step.after(self.facts)
        state = self._snapshot(value)
        if state is self.recording.steps[-1].after:
            self._append(step, milliseconds, state, False, None)
            return
        self._note(value)
        if not state.printed:
            self._append(step, milliseconds, state, True, None)
            return
        text = state.text
        self._append(step, milliseconds, state, text != self.text, None)
        self.text = text

    def _note(self, value: object) -> None:
        """What a launch must know and only a module says."""
        if not isinstance(value, ModuleOp):
            return
        for name, attribute in (("shared", "ttg.shared"), ("global_scratch", "ttg.global_scratch_memory_size")):
            found = value.attributes.get(attribute)
            if isinstance(found, IntegerAttr):
                setattr(self.recording, name, found.value.data)
        if Property.ENCODINGS in self.facts and Property.LLVM_DIALECT not in self.facts:
            with suppress(MinitritonError):
                self.recording.descriptors = descriptor_metadata(value) or self.recording.descriptors

    def replace(self, edited: EditedState) -> object:
        """The value that the text of `edited` stands for, recorded as a step of its own."""
        start = time.perf_counter()
        value = parse_edited(self.recording.steps[-1].after, edited.text, self.identities)
        state = self._snapshot(value)
        changed = not state.printed or state.text != self.text
        self.recording.steps.append(
            RecordedStep(
                "edited", "edited", "Text that replaced the IR.", 1e3 * (time.perf_counter() - start), state,
                changed, is_edit=True,
            )
        )  # fmt: skip
        self.text = state.text
        return value

    def failed(self, error: Exception) -> None:
        if self.step is None:
            raise error
        milliseconds = 1e3 * (time.perf_counter() - self.start)
        self._append(self.step, milliseconds, self.recording.steps[-1].after, False, _said(error))

    def _append(self, step: Step, milliseconds: float, state: Snapshot, changed: bool, error: str | None) -> None:
        documentation = inspect.getdoc(type(step)) or ""
        self.recording.steps.append(
            RecordedStep(step.name, format_step(step), documentation, milliseconds, state, changed, error)
        )


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, MinitritonError) else f"{type(error).__name__}: {error}"


_LEVELS = (
    (Property.PTX, ""),
    (Property.LLVM_IR, "llir"),
    (Property.LLVM_DIALECT, "llvm dialect"),
    (Property.ENCODINGS, "ttgir"),
)


def level_of(facts: frozenset[Property], assembly: str = "ptx") -> str:
    """The name of the representation for which `facts` hold."""
    return next((name or assembly for property_, name in _LEVELS if property_ in facts), "ttir")


def sources_of(recording: Recording) -> dict[str, str]:
    """The files that the lines of all states name, as far as they may be shown and can be read."""
    named = {line.source[0] for step in recording.steps for line in step.after.lines if line.source is not None}
    found: dict[str, str] = {}
    for path in sorted(named):
        text = text_at(path)
        if text is not None:
            found[path] = text
    return found


# Text that someone has changed, back to a program, with what the unchanged lines were kept: locations, identities, names.
#
# In: a state, and its text with some lines edited. Out: a module, or the text of LLVM IR or PTX with what is not shown put back.
#
#     %5 = arith.addi %3, %4 : i32        unchanged: the same op as before, at the same line of the kernel
#     %6 = arith.muli %5, %5 : i32        was `arith.addi`: another op, in place of the one that it stands for

_NAME = "edited"


def parse_edited(before: Snapshot, text: str, identities: Identities) -> ModuleOp | CheckedLLVMIR | str:
    """The program that `text` is, an edit of `before`. Raises `MinitritonError` with the line of the text that is wrong."""
    if before.level == "llir":
        return _llvm_ir(before, text)
    if before.level in SYNTAX:
        return _with_hidden_lines(before, text)
    module = parse_module(text, _NAME, ignore_locations=True)
    shown = text.split("\n")
    begun: dict[int, Operation] = {}
    for op in module.walk():
        if isinstance(op.location, FileLineColLoc):
            begun.setdefault(op.location.line.data - 1, op)
    pairs = _pairs([line.text for line in before.lines], shown)
    last = None
    for at in sorted(begun):
        op, old = begun[at], pairs.get(at)
        line = before.lines[old] if old is not None else None
        if line is not None and line.op:
            original = identities.op(line.op)
            op.location = last = original.location
            identities.adopt(op, line.op if original.name == op.name else 0, line.defines)
        elif last is not None:
            op.location = last
    return module


def _pairs(before: Sequence[str], after: Sequence[str]) -> dict[int, int]:
    """For lines of `after` those of `before` that they are, or replace."""
    found: dict[int, int] = {}
    for kind, a0, a1, b0, b1 in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal" or (kind == "replace" and a1 - a0 == b1 - b0):
            found.update(zip(range(b0, b1), range(a0, a1), strict=True))
    return found


def _with_hidden_lines(before: Snapshot, text: str) -> str:
    """`text` with the lines of the whole text that `before` does not show, before those that they stood before."""
    assert before.raw is not None
    raw, shown = before.raw.split("\n"), text.split("\n")
    pairs = _pairs([line.text for line in before.lines], shown)
    end_of_shown = before.lines[-1].number if before.lines else 0
    put: list[str] = []
    for at, line in enumerate(shown):
        old = pairs.get(at)
        if old is not None:
            previous = before.lines[old - 1].number if old else 0
            put += raw[previous : before.lines[old].number - 1]
        put.append(raw[before.lines[old].number - 1] if old is not None and before.lines[old].text == line else line)
    metadata = [line for line in raw[end_of_shown:] if line.startswith("!")] if before.level == "llir" else []
    return "\n".join([*put, *metadata]).rstrip("\n") + "\n"


def _llvm_ir(before: Snapshot, text: str) -> CheckedLLVMIR:
    whole = _with_hidden_lines(before, text)
    try:
        check_in_child(whole, _NAME)
    except MinitritonError as error:
        error.help = error.help or "the text is LLVM IR, read by LLVM's own parser"
        raise
    return CheckedLLVMIR(whole)

"""Runs a program at whatever level it has reached.

    TTIR, TTGIR                     on the NumPy interpreter
    LLVM dialect, LLVM IR, PTX      as PTX on the emulator (what is above PTX is brought down to it, not optimised on the way);
                                    for AMD's GPUs as AMDGCN on theirs

Out: an `Outcome`: the arrays after the run, or why there are none. The module that was passed is not changed.

`laid_out`: TTGIR as it is interpreted so that a missing barrier, a missing wait or memory reused too early is an error:

    as it comes from a pass             →   a copy, its buffers placed and barriers inserted as the lowering will
    once barriers have been in the IR   →   without more barriers: what it lacks from then on, a pass has taken away
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from minitriton import knobs
from minitriton.analysis.shared_memory.allocation import allocate, write_attributes
from minitriton.analysis.shared_memory.membar import insert_barriers
from minitriton.analysis.shared_memory.scratch_size import triton_scratch_bytes
from minitriton.analysis.tensor_descriptors import descriptor_metadata
from minitriton.dialects.attribute_values import integer_or
from minitriton.dialects.facts.launch import SHARED_BYTES
from minitriton.dialects.tt.func import FuncOp
from minitriton.dialects.tt.types import TensorDescType
from minitriton.dialects.ttg import LocalBarrierOp
from minitriton.emulator import Report, device_functions, inline_assembly
from minitriton.emulator.poison import UNDEFINED_LANES, run_with_poison
from minitriton.errors import MinitritonError, SourceLocation
from minitriton.host.source_text import line_at
from minitriton.interpreter import interpret
from minitriton.interpreter.errors import UnsupportedOpError
from minitriton.interpreter.machine import Observer
from minitriton.interpreter.memory.trace import PoisonUse, Trace, poison_uses
from minitriton.lab.arguments import Arguments
from minitriton.lab.parameters import Source
from minitriton.pipeline.pass_registry import Property, Translation
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.runtime.launching.descriptor_arguments import expanded_arguments
from minitriton.runtime.on_cpu.emulation import emulator_value
from minitriton.target import CompileOptions, GPUTarget
from minitriton.target.backends import backend
from minitriton.target.tensor_map import DescriptorCopy

if TYPE_CHECKING:
    from minitriton.emulator import Finding


Representation = ModuleOp | str
"""A program at any level: a module, or the text of LLVM IR or PTX."""

SCRATCH = 1 << 20
"""Bytes at a pointer that the PTX takes for its own use."""


class Level(StrEnum):
    """What ran a program."""

    INTERPRETER = "interpreter"
    EMULATOR = "emulator"
    GPU = "gpu"


_SEE_ARGUMENTS = "see its grid and arguments: --grid, --arg, --size"


@dataclass(frozen=True)
class Outcome:
    """The arrays after a run. `fault`: what stopped it, an error of the program. `gap`: why it could not be run at all.

    `findings` are faults of order: races, reads before a wait, barriers that threads miss; None where nothing looked for them.
    """

    level: Level
    arrays: list[np.ndarray] = field(default_factory=list[np.ndarray])
    fault: MinitritonError | None = None
    gap: str | None = None
    findings: tuple[OrderFault, ...] | None = None
    report: Report | None = field(default=None, repr=False)
    """All that the emulator counted, where it ran."""
    gap_error: MinitritonError | None = field(default=None, repr=False)
    """What `gap` says, with its location, where it was raised on purpose."""

    def why_not_run(self, what: str = "the program cannot be run") -> MinitritonError:
        """An error that says so, at the location of its cause."""
        cause = self.fault or self.gap_error
        if cause is None:
            return MinitritonError(f"{what}: {self.gap}", help=_SEE_ARGUMENTS)
        return MinitritonError(
            f"{what}: {cause.message}", cause.location, help=cause.help or _SEE_ARGUMENTS, source_line=cause.source_line
        )

    @property
    def ran(self) -> bool:
        """Whether the arrays mean something."""
        return self.fault is None and self.gap is None


@dataclass
class Launch:
    """One kernel with arguments and grid, to be run at every level. Remembers the runs of equal PTX."""

    name: str
    arguments: Arguments
    grid: tuple[int, ...]
    target: GPUTarget
    options: CompileOptions
    shared: int = 0
    """Bytes of shared memory a CTA, known from the LLVM dialect on."""
    global_scratch: int = 0
    """Bytes of global memory that each program needs in addition to its arguments, known from there on too."""
    descriptors: list[DescriptorCopy] | None = None
    """What the TTGIR says of the tensor maps that the kernel takes; None where it takes descriptors apart."""
    traced: bool = False
    """Whether its report is to say what each warp of the first CTA executed. (For PTX only.)"""
    reach: bool = False
    """Whether the emulator's report is to say what of global memory each CTA reaches."""
    tolerance: float = 0.0
    """How far numbers of two levels may be apart, relatively, where the element type's tolerance is less."""
    fences_by_author: bool = False
    """Whether a fence that is missing before wgmma or a bulk copy is the kernel's fault, as in Gluon."""
    barriers_seen: bool = False
    """Whether the TTGIR has had barriers: from then on it must have all that it needs."""
    _by_ptx: dict[str, Outcome] = field(default_factory=dict[str, Outcome], repr=False)

    longest: float = 0.0
    """Seconds of processor time of the longest run so far that came to its end."""

    @staticmethod
    def of(
        source: Source,
        arguments: Arguments,
        grid: tuple[int, ...],
        target: GPUTarget,
        options: CompileOptions,
        shared: int = 0,
    ) -> Launch:
        """One of the kernel that `source` is."""
        is_gluon = source.ext == "gluon"
        return Launch(source.entry, arguments, grid, target, options, shared, fences_by_author=is_gluon)

    def patience(self) -> float:
        """How many seconds a run may take that should take no longer than those so far: of the same IR with an op less, say."""
        seconds = 1 + 10 * self.longest
        return min(seconds, knobs.emulator.seconds or seconds)

    def run(self, value: Representation, facts: frozenset[Property]) -> Outcome:
        """Runs `value`, for which `facts` hold."""
        start = time.process_time()
        outcome = self._run(value, facts)
        if outcome.ran:
            self.longest = max(self.longest, time.process_time() - start)
        return outcome

    def _run(self, value: Representation, facts: frozenset[Property]) -> Outcome:
        if isinstance(value, ModuleOp) and Property.LLVM_DIALECT not in facts:
            outcome = self.interpret(value)
            return self._look_for_order(value, outcome) if Property.ENCODINGS in facts and outcome.ran else outcome
        return self._emulate(value, facts)

    def _look_for_order(self, module: ModuleOp, outcome: Outcome) -> Outcome:
        """`outcome` of TTGIR with what the module lacks in barriers and waits, once its buffers share memory."""
        self.barriers_seen = self.barriers_seen or has_barriers(module)
        try:
            placed = laid_out(module, insert=not self.barriers_seen)
        except MinitritonError as error:
            return replace(outcome, findings=(OrderFault.of_error(error),))
        if placed is None:
            return replace(outcome, findings=())
        ordered = self.interpret(placed, barriers_placed=True)
        if ordered.gap is not None:
            return outcome
        return replace(outcome, findings=() if ordered.fault is None else (OrderFault.of_error(ordered.fault),))

    def interpret(
        self, module: ModuleOp, observer: Observer | None = None, *, barriers_placed: bool = False
    ) -> Outcome:
        """Runs TTIR or TTGIR; `observer` and `barriers_placed` as `minitriton.interpreter.interpret` takes them."""
        try:
            self._interpret(module, observer=observer, barriers_placed=barriers_placed)
        except UnsupportedOpError as error:
            error.message = error.message.split(" (program")[0]
            return Outcome(Level.INTERPRETER, gap=str(error).splitlines()[0], gap_error=error)
        except MinitritonError as error:
            return Outcome(Level.INTERPRETER, self.arguments.contents(), fault=error)
        except Exception as error:
            return Outcome(Level.INTERPRETER, gap=f"the interpreter failed: {type(error).__name__}: {error}")
        return Outcome(Level.INTERPRETER, self.arguments.contents())

    def poison_uses(self, module: ModuleOp) -> list[PoisonUse]:
        """What in TTIR or TTGIR, whose run ends well, depends on values that nobody gave."""

        def run(trace: Trace) -> None:
            self._interpret(module, trace=trace)

        return poison_uses(run)

    def _interpret(
        self,
        module: ModuleOp,
        observer: Observer | None = None,
        *,
        barriers_placed: bool = False,
        trace: Trace | None = None,
    ) -> None:
        self.arguments.fresh()
        if trace is not None:
            trace.spoil(self.arguments.unwritten_arrays())
        interpret(
            module,
            self.name,
            self._values_for(module),
            self.grid,
            observer=observer,
            barriers_placed=barriers_placed,
            inline_assembly=inline_assembly.evaluate,
            device_functions=device_functions.evaluate,
            target=self.target.ttg_target,
            seconds=knobs.emulator.seconds,
            fences_by_author=self.fences_by_author,
            trace=trace,
        )

    def _values_for(self, module: ModuleOp) -> list[object]:
        """The values that the kernel takes in `module`, where a pass may have taken descriptors apart."""
        arguments = self.arguments
        if not arguments.has_descriptors:
            return arguments.values
        kernel = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == self.name)
        if any(isinstance(type_, TensorDescType) for type_ in kernel.function_type.inputs):
            with suppress(MinitritonError):
                self.descriptors = descriptor_metadata(module)
            return arguments.values
        self.descriptors = None
        return [argument.value for argument in expanded_arguments(arguments.passed, None)]

    def _emulate(self, value: Representation, facts: frozenset[Property]) -> Outcome:
        if isinstance(value, ModuleOp):
            self.shared = integer_or(value.attributes.get("ttg.shared"), 0)
            self.global_scratch = integer_or(value.attributes.get("ttg.global_scratch_memory_size"), 0)
        try:
            ptx = value if Property.PTX in facts else self._to_ptx(value)
        except Exception as error:
            stage = backend(self.target.backend).text_stage
            return Outcome(Level.EMULATOR, fault=MinitritonError(f"cannot be lowered to {stage.upper()}: {error}"))
        ptx = str(ptx)
        if ptx not in self._by_ptx:
            self._by_ptx[ptx] = self._run_ptx(ptx)
        return self._by_ptx[ptx]

    def _to_ptx(self, value: Representation) -> str:
        """Brings the LLVM dialect or LLVM IR down to PTX, or to its back end's text, without LLVM's optimiser."""
        steps = pipeline_for(self.target, replace(self.options, pipeline=None, without="")).steps
        steps = [s for s in steps if isinstance(s, Translation)]
        translate, emit = steps[0], next(s for s in steps if s.stage == backend(self.target.backend).text_stage)
        text = _translate(translate, value) if isinstance(value, ModuleOp) else str(value)
        return _translate(emit, text)

    def _run_ptx(self, ptx: str) -> Outcome:
        try:
            run = backend(self.target.backend).load("emulator")
            values = self.arguments.fresh()
            passed = expanded_arguments(self.arguments.passed, self.descriptors)
            if passed:
                values = [emulator_value(argument) for argument in passed]
            names = [argument.name for argument in passed]
            grid = (self.grid[0] * self.options.num_ctas, *self.grid[1:])
            seconds = knobs.emulator.seconds
            launch = partial(
                run,
                ptx,
                None,
                grid,
                values,
                self.shared,
                names=names,
                scratch=SCRATCH,
                reach=self.reach,
                **({"traced": True} if self.traced else {}),
                fences_by_author=self.fences_by_author,
            )
            if UNDEFINED_LANES in ptx:
                report = run_with_poison(launch, values, seconds)
            else:
                report = launch(seconds=seconds)
        except MinitritonError as error:
            return Outcome(Level.EMULATOR, gap=str(error).splitlines()[0], gap_error=error)
        except Exception as error:
            return Outcome(Level.EMULATOR, gap=f"the emulator failed: {type(error).__name__}: {error}")
        endless = next((found for found in report.findings if found.kind == "endless"), None)
        if endless is not None:
            location = endless.source or SourceLocation(f"<{endless.language}>", endless.line)
            line = line_at(location.file, location.line) if endless.source else endless.text
            fault = MinitritonError(endless.message, location, source_line=line)
            return Outcome(Level.EMULATOR, self.arguments.contents(), fault=fault, report=report)
        return Outcome(
            Level.EMULATOR,
            self.arguments.contents(),
            findings=tuple(OrderFault.of_finding(f) for f in report.findings),
            report=report,
        )


def _translate(step: Translation, value: Representation) -> str:
    return str(step.translate(value))


KERNEL_RACES = frozenset({"thread-race", "global-race"})
"""Faults of order that a kernel's own program has: in global memory, where no pass puts barriers."""


@dataclass(frozen=True)
class OrderFault:
    """One fault of order: `kind` tells faults of different causes apart, `text` names op and location."""

    kind: str
    text: str

    @staticmethod
    def of_finding(finding: Finding) -> OrderFault:
        """What the emulator found."""
        return OrderFault(finding.kind, str(finding))

    @staticmethod
    def of_error(error: MinitritonError) -> OrderFault:
        """What stopped the interpreter."""
        return OrderFault("shared-memory", str(error))


def has_barriers(module: ModuleOp) -> bool:
    """Whether barriers have been put between the module's accesses of shared memory. (`gpu.barrier` says nothing of that: kernels ask for it
    by `tl.debug_barrier`, warp specialization puts it after the mbarriers that it makes.)"""
    return any(isinstance(op, LocalBarrierOp) for op in module.walk())


def laid_out(module: ModuleOp, *, insert: bool) -> ModuleOp | None:
    """`module` with every buffer in its place, and barriers if they are to be inserted; None if there is nothing to look at.

    Buffers that a pass has placed stay there; before it inserts barriers too, none are to be expected.
    """
    if SHARED_BYTES in module.attributes:
        return None if insert else module
    copy = module.clone()
    allocation = allocate(copy, triton_scratch_bytes)
    if allocation.total_bytes == 0:
        return None
    write_attributes(copy, allocation)
    if insert:
        insert_barriers(copy, allocation)
    return copy

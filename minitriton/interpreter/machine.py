"""A launch on the interpreter: its memory, its grid, and blocks of ops, each prepared once and then executed over NumPy tiles.

What an op means is not known here: a `MeaningOf` looks at its attributes and types once and gives a function from operand values to the
result (a tuple, if there are several). Such functions hold the machine, and ask it for memory, for the program's number, or to run a region.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from xdsl.dialects import cf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from minitriton.dialects.facts.launch import NUM_WARPS, SHARED_BYTES, num_warps, target_text
from minitriton.dialects.locations import source_location, user_location
from minitriton.errors import MinitritonError
from minitriton.host.interrupts import Deadline
from minitriton.host.source_text import line_at
from minitriton.interpreter.errors import InterpreterError, UnsupportedOpError
from minitriton.interpreter.memory.device import Memory
from minitriton.interpreter.memory.mbarrier import MbarrierState
from minitriton.interpreter.memory.shared import CheckedSharedMemory
from minitriton.interpreter.memory.shared_views import BufferView
from minitriton.interpreter.memory.trace import Trace
from minitriton.interpreter.registry import Array, Meaning, is_forwarding_terminator
from minitriton.target.architectures import architecture_named

Grid = tuple[int, int, int]
Observer = Callable[[Operation, tuple[Any, ...], Any], Any]
"""Sees an op, its operands and what it gave each time it has run; what it returns is taken for the op's result."""


MeaningOf = Callable[[Operation, "TileMachine"], Meaning]
"""What an op does in a launch, as a function of its operands. Raises `UnsupportedOpError`."""


class Waits(Protocol):
    """Groups of warps that run at the same time, one waiting."""

    def wait(self, op: Operation, ready: Callable[[], bool], what: Callable[[], str]) -> None: ...


TURNS_BETWEEN_LOOKS = 64
"""Of loops, before the time is looked at again."""


class Code:
    """A block, prepared: what to call, the indices of its operands in the frame, where its results go."""

    def __init__(self, block: Block, machine: TileMachine) -> None:
        self.machine = machine
        self.arguments = [machine.slot(argument) for argument in block.args]
        self.steps: list[tuple[Meaning, list[int], list[int], Operation]] = []
        last = block.last_op
        for op in block.ops:
            if op is not last or not is_forwarding_terminator(op):
                operands = [machine.slot(operand) for operand in op.operands]
                results = [machine.slot(result) for result in op.results]
                self.steps.append((machine.meaning(op), operands, results, op))
        self.terminator = last
        self.yielded = [machine.slot(operand) for operand in last.operands] if last is not None else []

    def run(self, arguments: Sequence[object]) -> list[Array]:
        """Execute the block; the operands of its terminator."""
        frame = self.machine.frame
        for slot, argument in zip(self.arguments, arguments, strict=True):
            frame[slot] = argument
        op = None
        try:
            for step in self.steps:
                function, operands, results, op = step
                value = function(*[frame[slot] for slot in operands])
                if len(results) == 1:
                    frame[results[0]] = value
                elif results:
                    for slot, part in zip(results, value, strict=True):
                        frame[slot] = part
        except MinitritonError as error:
            if error.location is None and op is not None:
                self.machine.locate(error, op)
            raise
        return [frame[slot] for slot in self.yielded]


class TileMachine:
    """One launch: its memory, its grid, the program that runs at the moment."""

    def __init__(
        self,
        module: ModuleOp,
        grid: Grid,
        meaning_of: MeaningOf,
        observer: Observer | None = None,
        *,
        barriers_placed: bool = False,
        inline_assembly: Assembly | None = None,
        device_functions: DeviceFunctions | None = None,
        target: str | None = None,
        seconds: float = 0.0,
        fences_by_author: bool = False,
        trace: Trace | None = None,
    ) -> None:
        self._meaning_of = meaning_of
        self.observer = observer
        self.architecture = architecture_named(target or target_text(module) or "cuda:90")
        """Of the GPU whose arithmetic is meant."""
        self.inline_assembly = inline_assembly
        self.device_functions = device_functions
        self.functions: dict[str, Operation] = {}
        for op in module.ops:
            name = op.properties.get("sym_name")
            if isinstance(name, StringAttr):
                self.functions[name.data] = op
        self.grid = grid
        self.program: Grid = (0, 0, 0)
        self.memory = Memory(trace)
        self.dots = DotsInFlight()
        self.tensor_copies = TensorCopies()
        self.mbarriers: dict[int, MbarrierState] = {}
        self.cluster_arrival: Literal["release", "relaxed"] | None = None
        """How the threads have arrived at the cluster's barrier, if they have not waited for it yet."""
        self.has_warps = NUM_WARPS in module.attributes
        self.partitions: Waits | None = None
        """The innermost `ttg.warp_specialize` that runs at the moment."""
        shared_bytes = module.attributes.get(SHARED_BYTES)
        self.shared = CheckedSharedMemory(
            shared_bytes.value.data if isinstance(shared_bytes, IntegerAttr) else None,
            check_races=barriers_placed,
            check_fences=fences_by_author,
        )
        self.deadline = Deadline(seconds)
        self.turns = 0
        """Of loops, all together."""
        self.frame: list[Any] = []
        """Values of the block that runs and of those around it: arrays, views of buffers, tokens."""
        self._slots: dict[SSAValue, int] = {}
        self._codes: dict[Block, Code] = {}

    def warps_of(self, op: Operation) -> int:
        """The warps that run `op`, as bits, the first of its group being the lowest."""
        return (1 << num_warps(op)) - 1 if self.has_warps else 1

    def wait_until(self, op: Operation, ready: Callable[[], bool], what: Callable[[], str]) -> None:
        """`op` waits for `ready`, while other partitions run. Raises `InterpreterError` where nothing can bring it about."""
        if ready():
            return
        if self.partitions is not None:
            self.partitions.wait(op, ready, what)
            return
        raise InterpreterError(
            f"{op.name} waits for ever: {what()}",
            help="nothing before the wait completes the phase: check the bytes expected, the arrivals and the parity",
        )

    def slot(self, value: SSAValue) -> int:
        """The index of `value` in the frame."""
        found = self._slots.get(value)
        if found is None:
            found = self._slots[value] = len(self.frame)
            self.frame.append(None)
        return found

    def code(self, block: Block) -> Code:
        """`block`, prepared."""
        found = self._codes.get(block)
        if found is None:
            found = self._codes[block] = Code(block, self)
        return found

    def meaning(self, op: Operation) -> Meaning:
        """What `op` does, as a function of its operands. Raises `InterpreterError` for an op without a meaning."""
        try:
            function = self._meaning_of(op, self)
        except MinitritonError as error:
            error.location = error.location or source_location(op.location)
            raise
        if (trace := self.memory.trace) is not None:
            function = trace.followed(op, function)
        observer = self.observer
        if observer is None:
            return function
        return lambda *operands: observer(op, operands, function(*operands))

    def start_program(self, program: Grid) -> None:
        """Forget what an earlier program of the grid left in shared memory."""
        self.program = program
        self.dots = DotsInFlight()
        self.tensor_copies = TensorCopies()
        self.mbarriers.clear()
        self.partitions = None
        self.cluster_arrival = None
        self.shared.start_program()

    def run_region(self, region: Region, arguments: Sequence[object]) -> list[Array]:
        """Execute a region, following branches between its blocks; what its last terminator hands out."""
        block = region.first_block
        assert block is not None
        while True:
            code = self.code(block)
            values = code.run(arguments)
            last = code.terminator
            if last is None or not last.successors:
                return values
            try:
                self.turn()
            except InterpreterError as error:
                self.locate(error, last)
                raise
            if len(last.successors) > 1:
                self.decides(last, values[0])
            block, arguments = next_block(last, values)

    def turn(self) -> None:
        """A loop goes round once more. Raises `InterpreterError` where the launch takes longer than it may."""
        self.turns += 1
        if self.turns % TURNS_BETWEEN_LOOKS == 0 and self.deadline.passed():
            raise InterpreterError(self.deadline.text)

    def decides(self, op: Operation, *values: Array) -> None:
        """Where the program goes on depends on `values`."""
        if self.memory.trace is not None:
            self.memory.trace.branches(op, values)

    def entry_block(self, name: str) -> Block:
        """Where a function of the module begins. Raises `InterpreterError` if there is none of this name, or none with a body."""
        function = self.functions.get(name)
        if function is None:
            raise InterpreterError(
                f"the module defines no function {name!r}", help=f"it has {', '.join(sorted(self.functions)) or 'none'}"
            )
        block = function.regions[0].first_block
        if block is None:
            raise InterpreterError(f"function {name!r} lacks a body", help="write one, with a tt.return at its end")
        return block

    def call(self, name: str, arguments: Sequence[object]) -> list[Array]:
        """Call a function of the module. Raises `InterpreterError` if there is none of this name."""
        self.entry_block(name)
        return self.run_region(self.functions[name].regions[0], arguments)

    def locate(self, error: MinitritonError, op: Operation) -> None:
        """Say in an error where in the source, and in which program, it happened."""
        error.location = user_location(op.location)
        if error.location is not None:
            error.source_line = line_at(error.location.file, error.location.line)
        error.message = f"{error.message} (program {self.program})"
        error.args = (error.message,)


def next_block(terminator: Operation, values: Sequence[Array]) -> tuple[Block, Sequence[Array]]:
    """Where a branch goes, given the values of its operands, and the arguments it passes on."""
    successors = terminator.successors
    if isinstance(terminator, cf.BranchOp):
        return successors[0], values
    if isinstance(terminator, cf.ConditionalBranchOp):
        chosen = 0 if values[0] else 1
    elif isinstance(terminator, cf.SwitchOp):
        cases = terminator.properties.get("case_values")
        numbers = [int(n) for n in cases.get_values()] if isinstance(cases, DenseIntOrFPElementsAttr) else []
        chosen = 1 + numbers.index(int(values[0])) if int(values[0]) in numbers else 0
    else:
        raise UnsupportedOpError(f"the interpreter does not support {terminator.name}")
    start = 1 + sum(len(block.args) for block in successors[:chosen])
    return successors[chosen], values[start : start + len(successors[chosen].args)]


# What the interpreter asks of whoever runs PTX and device functions for it.


class DeviceFunctions(Protocol):
    """Runs functions of libdevice: of one array for each argument, the results. Raises `MinitritonError` if there is no such function."""

    def __call__(self, symbol: str, arguments: Sequence[np.ndarray], result: np.dtype) -> np.ndarray: ...


class Assembly(Protocol):
    """Runs PTX: for every input register an array of words, for every output register one, of the widths in `results`.

    The inputs numbered `pointers` are addresses in the arrays `memory`. Raises `MinitritonError` for what it cannot run,
    `InterpreterError` for what goes wrong when it runs.
    """

    def __call__(
        self,
        asm: str,
        constraints: str,
        inputs: Sequence[np.ndarray],
        results: Sequence[int],
        memory: Sequence[np.ndarray] = (),
        pointers: Sequence[int] = (),
    ) -> list[np.ndarray]: ...


# What a program knows of copies by descriptor: the descriptors that it has written, and the buffers that stores may still read.


@dataclass(frozen=True)
class DescribedTensor:
    """The contents of a descriptor's 128 bytes: sizes in elements, strides in bytes, slowest dimension first."""

    base: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    fills_with_nan: bool


@dataclass
class TensorCopies:
    """The descriptors that a program has written, by address, and the buffers that its stores may still read."""

    maps: dict[int, DescribedTensor] = field(default_factory=dict[int, DescribedTensor])
    stores: list[BufferView] = field(default_factory=list[BufferView])


# The asynchronous dots of a program that may still run, and the buffers that they read.


@dataclass
class DotsInFlight:
    """The asynchronous dots of a program, by number, in the order in which they were started."""

    started: int = 0
    finished: int = 0
    operands: dict[int, list[BufferView]] = field(default_factory=dict[int, list[BufferView]])

    def start(self, buffers: list[BufferView]) -> int:
        """Another one, which reads `buffers`."""
        self.started += 1
        self.operands[self.started] = buffers
        return self.started

    def wait(self, pending: int) -> list[BufferView]:
        """All but the last `pending` ones end; the buffers that they read."""
        first, self.finished = self.finished, max(self.finished, self.started - pending)
        return [view for number in range(first + 1, self.finished + 1) for view in self.operands.pop(number)]

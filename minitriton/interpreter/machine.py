"""Runs functions of TTIR or TTGIR: every op once prepared, then executed over NumPy tiles, one program of the grid after another.

In: a module, a kernel's name, arguments, a grid. Out: the arrays among the arguments, written in place.

    interpret(module, "add", [x, y, out, 1000], (8, 1, 1))

An op's meaning comes from the tables in `meanings`: `make(op)` or `make(op, machine)` looks at attributes and types once and
gives a function from operand values to the result (a tuple, if there are several).
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from minitriton.analysis.locations import source_location, user_location
from minitriton.dialects.facts.launch import NUM_WARPS, SHARED_BYTES, num_warps
from minitriton.dialects.tt.types import PointerType
from minitriton.errors import MinitritonError
from minitriton.host.deadline import Deadline
from minitriton.interpreter import meanings
from minitriton.interpreter.control_flow import next_block
from minitriton.interpreter.errors import InterpreterError, NoMeaning
from minitriton.interpreter.memory.device import Memory
from minitriton.interpreter.memory.mbarriers import Mbarrier
from minitriton.interpreter.memory.shared import SharedMemory
from minitriton.interpreter.memory.tensor_copies import TensorCopies
from minitriton.interpreter.values import held_scalar
from minitriton.interpreter.warps.warp_group_ops import Products

if TYPE_CHECKING:
    from minitriton.interpreter.inline_assembly import Assembly
    from minitriton.interpreter.warps.partitions import Partitions

Array = Any
Grid = tuple[int, int, int]
Observer = Callable[[Operation, tuple[Any, ...], Any], Any]
"""Sees an op, its operands and what it gave each time it has run; what it returns is taken for the op's result."""


_FILES = {
    "arith": "minitriton/interpreter/numbers/integers.py",
    "math": "minitriton/interpreter/numbers/math_functions.py",
}
"""Where the meanings of a dialect are."""


TURNS_BETWEEN_LOOKS = 64
"""Of loops, before the time is looked at again."""


class Code:
    """A block, prepared: what to call, where its operands lie in the frame, where its results go."""

    def __init__(self, block: Block, machine: Machine) -> None:
        self.machine = machine
        self.arguments = [machine.slot(argument) for argument in block.args]
        self.steps: list[tuple[Callable[..., Any], list[int], list[int], Operation]] = []
        last = block.last_op
        for op in block.ops:
            if op is not last or not meanings.hands_on(op):
                operands = [machine.slot(operand) for operand in op.operands]
                results = [machine.slot(result) for result in op.results]
                self.steps.append((machine.meaning(op), operands, results, op))
        self.terminator = last
        self.yielded = [machine.slot(operand) for operand in last.operands] if last is not None else []

    def run(self, arguments: Sequence[Array]) -> list[Array]:
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


class Machine:
    """One launch: its memory, its grid, the program that runs at the moment."""

    def __init__(
        self,
        module: ModuleOp,
        grid: Grid,
        observer: Observer | None = None,
        *,
        barriers_placed: bool = False,
        inline_assembly: Assembly | None = None,
        capability: int | None = None,
        seconds: float = 0.0,
    ) -> None:
        self.observer = observer
        self.capability = capability or _capability_of(module)
        """The compute capability times ten of the GPU whose arithmetic is meant."""
        self.inline_assembly = inline_assembly
        self.functions: dict[str, Operation] = {}
        for op in module.ops:
            name = op.properties.get("sym_name")
            if isinstance(name, StringAttr):
                self.functions[name.data] = op
        self.grid = grid
        self.program: Grid = (0, 0, 0)
        self.memory = Memory()
        self.products = Products()
        self.tensor_copies = TensorCopies()
        self.mbarriers: dict[int, Mbarrier] = {}
        self.cluster_arrival: Literal["release", "relaxed"] | None = None
        """How the threads have arrived at the cluster's barrier, if they have not waited for it yet."""
        self._has_warps = NUM_WARPS in module.attributes
        self.partitions: Partitions | None = None
        """The innermost `ttg.warp_specialize` that runs at the moment."""
        shared_bytes = module.attributes.get(SHARED_BYTES)
        self.shared = SharedMemory(
            shared_bytes.value.data if isinstance(shared_bytes, IntegerAttr) else None, check_races=barriers_placed
        )
        self.deadline = Deadline(seconds)
        self.turns = 0
        """Of loops, all together."""
        self.frame: list[Array] = []
        self._slots: dict[SSAValue, int] = {}
        self._codes: dict[Block, Code] = {}

    def warps_of(self, op: Operation) -> int:
        """The warps that run `op`, as bits, the first of its group being the lowest."""
        return (1 << num_warps(op)) - 1 if self._has_warps else 1

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
        """The place of `value` in the frame."""
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

    def meaning(self, op: Operation) -> Callable[..., Any]:
        """What `op` does, as a function of its operands. Raises `InterpreterError` for an op without a meaning."""
        try:
            function = self._meaning(op)
        except MinitritonError as error:
            error.location = error.location or source_location(op.location)
            raise
        if self._has_warps:
            function = meanings.with_scratch(op, self, function)
        observer = self.observer
        if observer is None:
            return function
        return lambda *operands: observer(op, operands, function(*operands))

    def _meaning(self, op: Operation) -> Callable[..., Any]:
        make = meanings.PURE.of(op)
        if make is not None:
            return make(op)
        make_with_machine = meanings.WITH_MACHINE.of(op)
        if make_with_machine is None:
            raise NoMeaning(
                f"the interpreter has no meaning for {op.name}",
                source_location(op.location),
                help="launch the kernel without MINITRITON_INTERPRET, so that its PTX runs, or add a meaning: "
                f"{_FILES.get(op.name.partition('.')[0], 'a file of minitriton/interpreter/')} (docs/add-an-op.md)",
            )
        return make_with_machine(op, self)

    def start_program(self, program: Grid) -> None:
        """Forget what an earlier program of the grid left in shared memory."""
        self.program = program
        self.products = Products()
        self.tensor_copies = TensorCopies()
        self.mbarriers.clear()
        self.partitions = None
        self.cluster_arrival = None
        self.shared.start_program()

    def run_region(self, region: Region, arguments: Sequence[Array]) -> list[Array]:
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
            block, arguments = next_block(last, values)

    def turn(self) -> None:
        """A loop goes round once more. Raises `InterpreterError` where the launch takes longer than it may."""
        self.turns += 1
        if self.turns % TURNS_BETWEEN_LOOKS == 0 and self.deadline.passed():
            raise InterpreterError(self.deadline.text)

    def call(self, name: str, arguments: Sequence[Array]) -> list[Array]:
        """Call a function of the module. Raises `InterpreterError` if there is none of this name."""
        function = self.functions.get(name)
        if function is None or function.regions[0].first_block is None:
            raise InterpreterError(
                f"the module defines no function {name!r}", help=f"it has {', '.join(sorted(self.functions)) or 'none'}"
            )
        return self.run_region(function.regions[0], arguments)

    def locate(self, error: MinitritonError, op: Operation) -> None:
        """Say in an error where in the source, and in which program, it happened."""
        error.location = user_location(op.location)
        if error.location is not None:
            error.source_line = linecache.getline(error.location.file, error.location.line) or None
        error.message = f"{error.message} (program {self.program})"
        error.args = (error.message,)


def interpret(
    module: ModuleOp,
    name: str,
    args: Sequence[Any],
    grid: Sequence[int] = (1, 1, 1),
    *,
    observer: Observer | None = None,
    barriers_placed: bool = False,
    inline_assembly: Assembly | None = None,
    capability: int | None = None,
    seconds: float = 0.0,
) -> None:
    """Run kernel `name` of `module` once for every program of `grid`, x fastest.

    `args` are NumPy arrays (for pointers; bf16 and fp8 as arrays of their bits) and numbers, one per argument of the function,
    and tensor descriptors over arrays, whose shape and strides the front end makes arguments of their own behind them.
    Raises `InterpreterError`, at the kernel's line, for an access outside every array and the like. `observer` is told of
    every op that runs.

    The module may be TTIR or TTGIR. `barriers_placed` says that `analysis.shared_memory.membar` has seen it: then each access to shared memory
    must be behind a barrier from other warps' accesses to the same bytes. `inline_assembly` runs the PTX of
    `tt.elementwise_inline_asm`, as `minitriton.emulator.inline_assembly.evaluate` does; without it that op is refused.
    `capability` is the GPU whose arithmetic is meant (80, 90); where it is not given, the one that TTGIR names, else Hopper.
    A launch that is not at its end after `seconds` (0: however long it takes) is an error at the loop that it is in.
    """
    size = (*grid, 1, 1)[:3]
    cut = (int(size[0]), int(size[1]), int(size[2]))
    machine = Machine(
        module,
        cut,
        observer,
        barriers_placed=barriers_placed,
        inline_assembly=inline_assembly,
        capability=capability,
        seconds=seconds,
    )
    values = _arguments(machine, name, args)
    with np.errstate(all="ignore"):
        for z in range(machine.grid[2]):
            for y in range(machine.grid[1]):
                for x in range(machine.grid[0]):
                    machine.turn()
                    machine.start_program((x, y, z))
                    machine.call(name, values)


def _capability_of(module: ModuleOp) -> int:
    named = module.attributes.get("ttg.target")
    text = named.data.rpartition(":")[2] if isinstance(named, StringAttr) else ""
    return int(text) if text.isdecimal() else 90


def _arguments(machine: Machine, name: str, args: Sequence[Any]) -> list[Array]:
    function = machine.functions.get(name)
    block = function.regions[0].first_block if function is not None else None
    types = [argument.type for argument in block.args] if block is not None else []
    if len(types) != len(args):
        args = [part for arg in args for part in meanings.flattened(arg)]
    if block is not None and len(types) != len(args):
        raise InterpreterError(f"{name} takes {len(types)} arguments, got {len(args)}")
    values: list[Array] = []
    for index, (type_, arg) in enumerate(zip(types, args, strict=True)):
        if isinstance(arg, np.ndarray):
            arg = machine.memory.add(arg, f"argument {index}")
        elif isinstance(type_, PointerType) and not isinstance(arg, int | np.integer):
            raise InterpreterError(f"argument {index} of {name} is a pointer, got {type(arg).__name__}")
        values.append(
            meanings.descriptor_argument(machine, type_, arg)
            or held_scalar(arg.item() if isinstance(arg, np.generic) else arg, type_)
        )
    return values

"""A control-flow program in the making: its text, its parameters, and the names that a statement may use.

b.bound(UINT8, 130)    →    "n4", a new parameter of 130; or "130"; or "tl.load(bounds_uint8 + 3)"

Everything is drawn by `random`; whether the text means anything is for the reference to say.

A control-flow kernel: lines and blocks of Python text, and the launch that gives it numbers.

Block("for i in range(n):", (Line("acc += i"),))    →        for i in range(n):
                                                                  acc += i

The text is the whole definition: `reference` runs it as Python, the frontend compiles it. Shrinking takes nodes away and asks both again.
"""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from minitriton.fuzz.generation.elements import INT32, INTEGERS, Element
from minitriton.fuzz.generation.fills import encoded
from minitriton.fuzz.printing import KERNEL
from minitriton.fuzz.running.launch import FuzzedLaunch, placed_arguments
from minitriton.fuzz.tree import Array, Scalar


@dataclass(frozen=True)
class Line:
    """One statement. `writes`: to memory that the kernel may read again or write twice, so that barriers belong around it."""

    text: str
    writes: bool = False


@dataclass(frozen=True)
class Block:
    """A loop or a branch; `otherwise` is the block after `else:`."""

    header: str
    body: tuple[Node, ...]
    otherwise: tuple[Node, ...] = ()


Node: TypeAlias = "Line | Block"


@dataclass(frozen=True)
class Buffer:
    """A pointer parameter of `length` elements: `values`, or integers from `low` to `high` drawn by the program's seed."""

    name: str
    element: Element
    length: int
    low: int = 0
    high: int = 0
    values: tuple[int, ...] = ()
    written: bool = False

    def numbers(self, seed: int) -> np.ndarray:
        """The first contents as int64 or, of unsigned 64-bit integers, uint64."""
        wide = np.uint64 if self.element.name == "uint64" else np.int64
        if self.values:
            return np.array(self.values, wide)
        rng = np.random.default_rng([seed, *self.name.encode()])
        return rng.integers(self.low, self.high, self.length, dtype=wide, endpoint=True)

    def contents(self, seed: int) -> np.ndarray:
        """The first contents as in memory."""
        return encoded(self.numbers(seed), self.element)

    @property
    def array(self) -> Array:
        """The parameter for those who compare outcomes."""
        return Array(self.name, self.element, "random", self.low, self.high, written=self.written)


@dataclass(frozen=True)
class Program:
    """A kernel and its launch. `constants` names the integer parameters that are compile-time constants, as a launch makes an argument of 1.

    With `barriers`, every write stands between two barriers, and the emulator may find no race.
    """

    seed: int
    buffers: tuple[Buffer, ...]
    scalars: tuple[Scalar, ...]
    functions: tuple[str, ...]
    body: tuple[Node, ...]
    programs: int = 1
    num_warps: int = 4
    barriers: bool = True
    constants: frozenset[str] = frozenset()
    features: frozenset[str] = frozenset()

    @property
    def launch(self) -> FuzzedLaunch:
        """What the oracles run."""
        buffers = [(b.array, b.contents(self.seed)) for b in self.buffers]
        arguments = placed_arguments(buffers, self.scalars, self.constants)
        return FuzzedLaunch(source_of(self), arguments, (self.programs,), self.num_warps, True)


def source_of(program: Program) -> str:
    """The Python text: functions, then the kernel."""
    parameters = ", ".join(p.name for p in (*program.buffers, *program.scalars))
    body = "\n".join(_text(program.body, 1, program.barriers))
    return "\n\n".join([*program.functions, f"@triton.jit\ndef {KERNEL}({parameters}):\n{body}\n"])


def _text(nodes: tuple[Node, ...], depth: int, barriers: bool) -> Iterator[str]:
    indent = "    " * depth
    for node in nodes:
        if isinstance(node, Block):
            yield indent + node.header
            yield from _text(node.body, depth + 1, barriers)
            if node.otherwise:
                yield indent + "else:"
                yield from _text(node.otherwise, depth + 1, barriers)
            continue
        around = [indent + "tl.debug_barrier()"] if node.writes and barriers else []
        yield from (*around, indent + node.text, *around)
    if not nodes:
        yield indent + "pass"


Shape = tuple[int, ...]
T = TypeVar("T")


@dataclass(frozen=True)
class Variable:
    """A name in the kernel. `changes`: statements may assign to it again."""

    name: str
    element: Element
    shape: Shape = ()
    changes: bool = False

    @property
    def type(self) -> tuple[Element, Shape]:
        return self.element, self.shape


class ProgramBuilder:
    """The text so far and what is in scope."""

    def __init__(self, seed: int, rng: random.Random) -> None:
        self.seed, self.random = seed, rng
        self.prologue: list[Node] = []
        """Where the pointers of a program's own parts are computed."""
        self.lines: list[Node] = []
        self.variables: list[Variable] = []
        self.numbers: list[str] = []
        """Names that are Python numbers: variables of `tl.static_range`."""
        self.buffers: list[Buffer] = []
        self.scalars: list[Scalar] = []
        self.functions: dict[str, str] = {}
        self.tile_sources: list[Callable[[], str]] = []
        """What gives a tile of the program's type from elsewhere."""
        self.features: set[str] = set()
        self.dead = False
        """Whether what is written now never runs."""
        self.depth = 0
        """Loops and branches around what is written now."""
        self.copies = 1
        """How often what is written now stands in unrolled code."""
        self.count = 0
        self.programs = rng.choice([1, 1, 1, 1, 2, 3])
        self.size = rng.choice([1, 2, 4, 16, 32, 32, 64, 64, 128, 256])
        """Elements of a tile."""
        self.warps = [1, 1, 2, 2, 4, 4, 8]
        """Numbers of warps to choose from."""

    # Randomness.

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def weighted(self, choices: Sequence[tuple[T, float]]) -> T:
        return self.random.choices([c for c, _ in choices], [w for _, w in choices])[0]

    # Text.

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def line(self, text: str, *, writes: bool = False) -> None:
        self.lines.append(Line(text, writes))

    @contextlib.contextmanager
    def scope(self, *, dead: bool = False) -> Generator[list[Node]]:
        """Lines written inside go to the list given; names are forgotten afterwards."""
        outside = self.lines, list(self.variables), list(self.numbers), self.dead, self.copies
        self.lines, self.dead, self.depth = [], self.dead or dead, self.depth + 1
        try:
            yield self.lines
        finally:
            self.lines, self.variables, self.numbers, self.dead, self.copies = outside
            self.depth -= 1

    def block(self, header: str, write: Callable[[], object], *, dead: bool = False) -> None:
        """Adds a block of what `write` adds."""
        with self.scope(dead=dead) as body:
            write()
        self.lines.append(Block(header, tuple(body)))

    def define(self, prefix: str, text: str, element: Element, shape: Shape = (), *, changes: bool = False) -> Variable:
        """Gives an expression a name."""
        found = Variable(self.fresh(prefix), element, shape, changes)
        self.line(f"{found.name} = {text}")
        self.variables.append(found)
        return found

    # Parameters.

    def buffer(self, buffer: Buffer) -> str:
        """A new pointer parameter; of one that is written, each program has its own part."""
        part = buffer.length
        if buffer.written:
            values = buffer.values * self.programs
            buffer = Buffer(
                buffer.name, buffer.element, part * self.programs, buffer.low, buffer.high, values, written=True
            )
            if self.programs > 1:
                self.prologue.append(Line(f"{buffer.name} = {buffer.name} + tl.program_id(0) * {part}"))
        self.buffers.append(buffer)
        return buffer.name

    def parameter(self, element: Element, value: int) -> str:
        """A number parameter of this value, old or new."""
        for scalar in self.scalars:
            if (scalar.element, scalar.value) == (element, value) and self.chance(0.7):
                return scalar.name
        found = Scalar(self.fresh("n"), element, value)
        self.scalars.append(found)
        return found.name

    def in_memory(self, element: Element, value: int) -> str:
        """A load of this number from memory that nothing writes."""
        name = f"bounds_{element.name}"
        for position, buffer in enumerate(self.buffers):
            if buffer.name == name:
                values = (*buffer.values, value)
                self.buffers[position] = Buffer(name, element, len(values), values=values)
                return f"tl.load({name} + {len(values) - 1})"
        self.buffers.append(Buffer(name, element, 1, values=(value,)))
        return f"tl.load({name} + 0)"

    def bound(self, element: Element, value: int, *, literal: bool = True) -> str:
        """This number in one of the forms that a bound of a loop has."""
        kinds = [("parameter", 4.0), ("memory", 2.5)]
        if literal and element == INT32:
            kinds.append(("literal", 3.0))
        elif literal and element.bits >= 32 and 0 <= value <= INT32.high:
            kinds.append(("literal", 1.0))
        kind = self.weighted(kinds)
        if kind == "literal":
            return str(value)
        return self.parameter(element, value) if kind == "parameter" else self.in_memory(element, value)

    # Expressions.

    def of_type(self, element: Element, shape: Shape = (), *, changes: bool = False) -> list[Variable]:
        """Variables in scope of this type."""
        return [v for v in self.variables if v.type == (element, shape) and (v.changes or not changes)]

    def integer(self, element: Element = INT32, depth: int = 0) -> str:
        """A scalar of this integer type that has a type of its own."""
        pick = self.random.random()
        if pick < 0.3 and depth < 2:
            first, second = self.integer(element, depth + 1), self.operand(element, depth + 1)
            return f"({first} {self.random.choice('+-*^&|')} {second if second != first else 5})"
        if pick < 0.38 and depth < 2:
            divisor = self.random.choice([2, 3, 4, 7, 16])
            return f"({self.integer(element, depth + 1)} {self.random.choice(['//', '%'])} {divisor})"
        same = [v.name for v in self.of_type(element)][-4:]
        if pick < 0.7 and same:
            return self.random.choice(same)
        others = [v for v in self.variables if v.shape == () and v.element.is_int and v.element != element]
        if others and pick < 0.8:
            return f"{self.random.choice(others[-4:]).name}.to(tl.{element.name})"
        if pick < 0.9:
            return self.parameter(element, self.random.choice([0, 2, 3, 5, 16, 100]))
        return self.random.choice([*same, f"tl.full((), {self.random.choice([1, 2, 3, 5])}, tl.{element.name})"])

    def operand(self, element: Element, depth: int = 0) -> str:
        """A scalar with one of this integer type: a Python number, or one of that type."""
        if self.chance(0.4):
            return self.random.choice(["0", "1", "2", "3", "7", *self.numbers * 3])
        return self.integer(element, depth)

    def index(self, size: int) -> str:
        """An int32 from 0 up to `size`, a power of two."""
        if self.dead and self.chance(0.25):
            self.features.add("access out of bounds, never run")
            return str(1 << 20)
        if self.chance(0.25):
            return str(self.random.randrange(size))
        return f"({self.integer()} & {size - 1})"

    def condition(self) -> str:
        """A scalar condition."""
        element = self.random.choice(self.integer_types())
        pick = self.random.random()
        if pick < 0.25:
            return f"{self.integer(INT32)} % {self.random.choice([2, 3, 4])} == {self.random.choice([0, 1])}"
        first = (
            f"{self.integer(element)} {self.random.choice(['<', '<=', '>', '>=', '==', '!='])} {self.operand(element)}"
        )
        if pick < 0.85:
            return first
        return (
            f"({first}) {self.random.choice(['&', '|', 'and', 'or'])} ({self.integer(INT32)} > {self.operand(INT32)})"
        )

    def integer_types(self) -> list[Element]:
        """The integer types of scalars in scope."""
        return [v.element for v in self.variables if v.shape == () and v.element.is_int] or [INT32]

    # The whole.

    def finished(self) -> Program:
        """The program as it stands, without parameters that its text does not name."""
        body = (*self.prologue, *self.lines)
        text = repr((self.lines, self.functions))
        scalars = tuple(s for s in self.scalars if _names(text, s.name))
        buffers = tuple(b for b in self.buffers if b.written or _names(text, b.name))
        ones = [s.name for s in scalars if s.value == 1 and s.element == INT32 and self.chance(0.3)]
        return Program(
            self.seed, buffers, scalars, tuple(self.functions.values()), body, self.programs,
            self.random.choice(self.warps), self.chance(0.5), frozenset(ones), frozenset(self.features),
        )  # fmt: skip


def _names(text: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


BOUNDS: list[tuple[Element, float]] = [
    (next(e for e in INTEGERS if e.short == short), weight)
    for short, weight in [
        ("i32", 50),
        ("i64", 8),
        ("u8", 8),
        ("u16", 4),
        ("u32", 12),
        ("u64", 6),
        ("i8", 4),
        ("i16", 3),
    ]
]
"""Types of the bounds of loops, and how often."""

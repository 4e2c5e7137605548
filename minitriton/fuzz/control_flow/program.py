"""A control-flow kernel: lines and blocks of Python text, and the launch that gives it numbers.

Block("for i in range(n):", (Line("acc += i"),))    →        for i in range(n):
                                                                  acc += i

The text is the whole definition: `reference` runs it as Python, the frontend compiles it. Shrinking takes nodes away and asks both again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from minitriton.fuzz.generation.elements import Element
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

"""What PTX text is parsed into: modules, kernels, instructions and their operands, and what is refused of it because no GPU has as much.

    @%p1 ld.global.v2.b32 {%r1, %r2}, [%rd4 + 16];

is an `Instruction` whose `opcode` is `ld.global.v2.b32`, whose `guard` is the register `%p1`, and whose operands are a
`Vector` of two `Register`s and an `Address` with base `%rd4` and offset 16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from minitriton.errors import MinitritonError, SourceLocation
from minitriton.host.source_text import line_at
from minitriton.target.architectures import LIMITS, WARP_SIZE


class EmulationError(MinitritonError):
    """PTX that cannot be emulated, or a launch that does not fit the kernel. Carries the line and text of the PTX."""


def error_at(
    message: str, language: str, line: int, text: str, source: SourceLocation | None, help: str | None = None
) -> EmulationError:
    """An error at a statement: at the kernel's line that it comes from, where that is known, or else at its own `line`."""
    shown = None if source is None else line_at(source.file, source.line)
    if source is None or shown is None:
        return EmulationError(message, SourceLocation(f"<{language}>", line), source_line=text, help=help)
    where = f"line {line} of the {'PTX' if language == 'ptx' else 'assembly'}"
    return EmulationError(f"{message} ({where}: `{text}`)", source, source_line=shown, help=help)


@dataclass(frozen=True, slots=True)
class Register:
    """A virtual register: `index` numbers it within its kernel, `type` is as declared (`pred`, `b32`, `f64`, ...)."""

    index: int
    name: str
    type: str

    @property
    def bits(self) -> int:
        """Width in bits; 1 for predicates."""
        return 1 if self.type == "pred" else int(self.type[1:])


@dataclass(frozen=True, slots=True)
class Immediate:
    """A literal: an int, or a float with the bits that the text spelled (`0f3F800000`)."""

    value: int | float
    float_bits: int = 0
    """32 or 64 for `0f`/`0d` literals and decimal floats (64), else 0."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, a label, a function, or a special register (`%tid.x`)."""

    name: str


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b}`."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """`r|p`: two destinations."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Negated:
    """`!p`."""

    operand: Register


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`, or `[base, {coordinates}]` of a tensor copy."""

    base: Operand
    offset: int = 0
    coordinates: tuple[Operand, ...] = ()


Operand = Register | Immediate | Symbol | Vector | Pair | Negated | Address


@dataclass(slots=True)
class Instruction:
    """One PTX instruction with its location: `line` in the PTX text, `source` in the kernel's file (of `.loc`)."""

    opcode: str
    operands: tuple[Operand, ...]
    guard: Register | None
    negated: bool
    line: int
    text: str
    source: SourceLocation | None
    index: int = 0
    """Position in the kernel."""

    @property
    def ptx_opcode(self) -> str:
        """The opcode."""
        return self.opcode

    @property
    def parts(self) -> list[str]:
        """The opcode split at its dots."""
        return self.opcode.split(".")

    def error(self, message: str, help: str | None = None) -> EmulationError:
        """An error at this instruction."""
        return error_at(message, "ptx", self.line, self.text, self.source, help)


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A kernel parameter: `type` as declared (`u64`, `f32`, `b8`), `count` elements for arrays, byte `offset` of it."""

    name: str
    type: str
    count: int
    offset: int
    is_pointer: bool

    @property
    def size(self) -> int:
        """Bytes."""
        return int(self.type[1:]) // 8 * self.count


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a state space: `data` the initial bytes if any; an extern shared array has size 0."""

    name: str
    space: str
    size: int
    align: int
    data: bytes | None = None
    extern: bool = False


@dataclass(slots=True)
class PTXKernel:
    """An entry or a function: `labels` map a name to the index of the instruction it stands before."""

    name: str
    parameters: list[KernelParameter]
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    labels: dict[str, int] = field(default_factory=dict[str, int])
    registers: list[Register] = field(default_factory=list[Register])
    variables: list[Variable] = field(default_factory=list[Variable])
    threads: tuple[int, int, int] = (0, 0, 0)
    """`.reqntid`, or `.maxntid` where that is missing; zeros if neither is given."""
    threads_line: int = 0
    """Where that stands; 0 if it does not."""
    line: int = 0
    cluster: tuple[int, int, int] = (1, 1, 1)
    """CTAs of a cluster (`.reqnctapercluster`)."""
    tables: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Labels of the targets of indexed branches (`.branchtargets`), by the table's label."""
    passed: dict[str, Variable] = field(default_factory=dict[str, Variable])
    """Parameters of the calls in the body, by name."""
    results: list[str] = field(default_factory=list[str])
    """Of a `.func`: names of its return parameters."""
    translated: dict[bool, object] = field(default_factory=dict[bool, object], repr=False)
    """Cache of what `translate.translate` made, by whether checks are compiled in."""

    @property
    def warp_size(self) -> int:
        """Threads of a warp."""
        return WARP_SIZE

    def reads(self, parameter: KernelParameter) -> bool:
        """Whether an instruction has its address."""
        wanted = Symbol(parameter.name)
        return any(isinstance(o, Address) and o.base == wanted for i in self.instructions for o in i.operands)

    def __getstate__(self) -> dict[str, object]:
        """All but the functions that a translation has made, which are made again where they are needed."""
        return {f.name: {} if f.name == "translated" else getattr(self, f.name) for f in fields(self)}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            setattr(self, name, value)


Function = PTXKernel
"""A `.func` has the parts of a kernel, and results."""


@dataclass(slots=True)
class Module:
    """A PTX text: `target` such as `sm_90a`, kernels by name, module-level variables by name."""

    text: str
    target: str = ""
    kernels: dict[str, PTXKernel] = field(default_factory=dict[str, PTXKernel])
    functions: dict[str, Function] = field(default_factory=dict[str, Function])
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    files: dict[int, str] = field(default_factory=dict[int, str])


MOST_GLOBAL = 1 << 30
"""Bytes of a variable in global or constant memory: a choice of the emulator's."""
MOST_PARAMETERS = 1 << 20
"""Bytes, likewise."""


def check_threads(kernel: PTXKernel) -> None:
    """Raises `EmulationError`, at the line of the directive, for a number of threads that no CTA can have."""
    count = int(np.prod(kernel.threads, dtype=object))
    if not kernel.threads_line:
        raise EmulationError(
            f"kernel `{kernel.name}` states no .reqntid, so its number of threads is not known",
            SourceLocation("<ptx>", kernel.line),
            help="write .reqntid N after its parameters",
        )
    if not 0 < count <= LIMITS.threads_per_cta:
        raise EmulationError(
            f"kernel `{kernel.name}` has {count} threads a block; the most is {LIMITS.threads_per_cta}, the least is 1",
            SourceLocation("<ptx>", kernel.threads_line),
        )


def check_sizes(kernel: PTXKernel, variables: Sequence[Variable], shared: int, local: int) -> None:
    """Raises `EmulationError`, naming `kernel`, for what goes beyond."""
    other = max((v.size for v in variables if v.space in ("global", "const")), default=0)
    parameters = max((p.offset + p.size for p in kernel.parameters), default=0)
    for what, number, most in (
        ("CTAs a cluster", int(np.prod(kernel.cluster, dtype=object)), LIMITS.ctas_per_cluster),
        ("bytes of shared memory", shared, LIMITS.max_shared_memory),
        ("bytes of local memory a thread", local, LIMITS.local_bytes_per_thread),
        ("bytes in one variable", other, MOST_GLOBAL),
        ("bytes of parameters", parameters, MOST_PARAMETERS),
    ):
        if number > most:
            raise EmulationError(f"<ptx>: kernel `{kernel.name}` has {number} {what}; the most is {most}")
    if min(kernel.cluster) < 1:
        raise EmulationError(f"<ptx>: kernel `{kernel.name}` has a cluster of {kernel.cluster} CTAs")

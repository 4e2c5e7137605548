"""PTX blocks to Python functions over NumPy arrays, made once per kernel and kept.

In: a kernel. Out: a `TranslatedKernel`, one function `block_n(x, R, m)` per block: `x` the machine, `R` the registers that live across
blocks (arrays with one element per thread), `m` the threads that run (None: all). What a block computes for other threads
is thrown away when it writes back.

    add.s32 %r3, %r1, %r2;      →   r3 = r1 + r2
    mul.f32 %r4, %r3, 0f40000000;   r3_f32 = r3.view(f32); r4_f32 = r3_f32 * k0
    @%p1 mov.b32 %r5, %r4;          r5 = where(p1, r4, r5)
"""

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minitriton.emulator.memory.proxy_fences import ASYNC_PROXY
from minitriton.emulator.ptx.control_flow import Block, build_blocks, registers_of, results_of, uses_of
from minitriton.emulator.ptx.program import (
    EmulationError,
    Immediate,
    Instruction,
    Negated,
    Operand,
    PTXKernel,
    Register,
    Symbol,
    Variable,
    check_sizes,
)
from minitriton.emulator.rules.modifiers import unknown_modifier

_SEE_DOCS = "docs/emulator.md lists what is emulated"

DTYPES: dict[str, type[np.generic]] = {
    "b1": np.bool_, "u8": np.uint8, "s8": np.int8, "u16": np.uint16, "s16": np.int16, "f16": np.float16,
    "u32": np.uint32, "s32": np.int32, "f32": np.float32, "u64": np.uint64, "s64": np.int64, "f64": np.float64,
}  # fmt: skip
RULE_MODULES = (
    "integer", "float", "convert", "select", "memory", "synchronize", "asynchronous", "call",
)  # fmt: skip

Rule = Callable[["BlockWriter", Instruction, list[str]], None]
RULES: dict[str, Rule] = {}
"""By the first part of the opcode."""
NAMES: dict[str, object] = {"where": np.where}
"""What generated code may call."""


def rule(*opcodes: str) -> Callable[[Rule], Rule]:
    """Registers how instructions whose opcode starts with one of `opcodes` (up to a dot) are written."""

    def register(function: Rule) -> Rule:
        for opcode in opcodes:
            RULES[opcode] = function
        return function

    return register


def kind_of(type: str) -> str:
    """The kind of value of a PTX type: `b32` and `u32` are unsigned words, `pred` is `b1`."""
    if type == "pred":
        return "b1"
    return "u" + type[1:] if type[0] == "b" else type


def bits_of(kind: str) -> int:
    """Width of a kind."""
    return int(kind[1:])


@dataclass(slots=True)
class TranslatedKernel:
    """A translated kernel: blocks, their functions, the source they were compiled from."""

    kernel: PTXKernel
    blocks: list[Block]
    functions: list[Callable[..., Any]]
    source: str
    shared: dict[str, int]
    """Offset of each shared variable from the start of the CTA's window."""
    static_shared: int
    local: dict[str, int]
    local_size: int
    shared_granule: int
    """Bytes per entry of the race shadow: the narrowest access of the kernel to shared memory, at most 4."""
    async_proxy: bool = False
    """Whether bulk copies or warpgroup dots access memory."""
    global_granule: int = 4
    """Likewise of the race shadow of global memory."""
    copies_elements: bool = False
    """Whether copies access global memory by elements of the arrays rather than by words of their own."""
    followed: set[int] = field(default_factory=set[int])
    """Allocations that earlier launches have read and then written."""

    def read_elements(self, site: int) -> tuple[int, int]:
        """Of a load of a vector, the first element that some instruction reads, and one past the last. LLVM loads a vector of four where
        three words are asked for."""
        found = self._read_elements.get(site)
        if found is None:
            self._read = self._read or {r.index for i in self.kernel.instructions for r in uses_of(i)}
            read = [k for k, r in enumerate(results_of(self.kernel.instructions[site])) if r.index in self._read]
            found = self._read_elements[site] = (read[0], read[-1] + 1) if read else (0, 0)
        return found

    _read: set[int] = field(default_factory=set[int])
    _read_elements: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])


@dataclass
class BlockWriter:
    """Writes the Python of one block. `views[register][kind]` is the variable that holds a register as that kind."""

    block: Block
    constants: dict[str, object]
    program_symbols: dict[str, tuple[str, int]]
    checked: bool
    watched: frozenset[int]
    """Registers that asynchronous instructions write: reading them is checked."""
    fenced: frozenset[int] = frozenset()
    """Registers of warpgroup dots: what else writes them must be fenced."""
    touched: set[int] = field(default_factory=set[int])
    """Of those, the ones written in this block since its last fence."""
    lines: list[str] = field(default_factory=list[str])
    views: dict[int, dict[str, str]] = field(default_factory=dict[int, dict[str, str]])
    defined: set[int] = field(default_factory=set[int])
    outcome: str = "None"
    instruction: Instruction | None = None
    temporaries: int = 0
    arguments: dict[str, str] = field(default_factory=dict[str, str])
    """Variables that hold what `st.param` passes to the next call."""

    def fail(self, message: str) -> EmulationError:
        """An error at the current instruction."""
        assert self.instruction is not None
        return self.instruction.error(message, _SEE_DOCS)

    def emit(self, line: str) -> None:
        """Adds a line."""
        self.lines.append(line)

    def temporary(self, expression: str) -> str:
        """A new variable with a value."""
        self.temporaries += 1
        name = f"t{self.temporaries}"
        self.emit(f"{name} = {expression}")
        return name

    def constant(self, value: int | float, kind: str, float_bits: int = 0) -> str:
        """The name of a typed scalar."""
        dtype = DTYPES[kind]
        if kind == "b1":
            scalar = np.bool_(value != 0)
        elif float_bits or isinstance(value, float):
            if kind[0] == "f":
                scalar = dtype(value)
            else:
                bits = np.float32(value).view(np.uint32) if float_bits == 32 else np.float64(value).view(np.uint64)
                scalar = np.asarray(bits).astype(f"u{bits_of(kind) // 8}").view(dtype)[()]
        else:
            width = bits_of(kind)
            scalar = np.asarray(value & (1 << width) - 1, f"u{width // 8}").view(dtype)[()]
        name = f"k{len(self.constants)}"
        self.constants[name] = scalar
        return name

    def read(self, operand: Operand, kind: str) -> str:
        """The variable or constant that holds an operand as `kind`."""
        if isinstance(operand, Immediate):
            return self.constant(operand.value, kind, operand.float_bits)
        if isinstance(operand, Negated):
            return f"(~{self.read(operand.operand, 'b1')})"
        if isinstance(operand, Register):
            return self.register_as(operand, kind)
        if isinstance(operand, Symbol):
            return self.symbol(operand.name, kind)
        raise self.fail("this operand is not a value")

    def symbol(self, name: str, kind: str) -> str:
        """A special register, or the address of a variable."""
        if name.startswith("%"):
            return (
                f"x.special({name!r}).view(D_{kind})"
                if bits_of(kind) == 32
                else f"x.special({name!r}).astype(D_{kind})"
            )
        if name in self.program_symbols:
            return f"x.address_of({name!r}, D_{kind})"
        raise self.fail(f"`{name}` names no register, variable or special register")

    def register_as(self, register: Register, kind: str) -> str:
        """A register as `kind`; a narrower kind takes the low bits."""
        if register.index in self.watched and self.instruction is not None and "wgmma" not in self.instruction.opcode:
            self.emit(f"check_pending(x, {self.instruction.index}, {register.index}, m)")
        own = kind_of("u" + register.type[1:] if register.type[0] == "f" else register.type)
        views = self.views.get(register.index)
        if views is None:
            name = f"r{register.index}"
            self.emit(f"{name} = R[{register.index}]")
            views = self.views[register.index] = {own: name}
        if kind in views:
            return views[kind]
        if own not in views:
            origin, source = next(iter(views.items()))
            views[own] = f"r{register.index}"
            convert = f"bits{bits_of(origin)}({source})" if origin[0] == "f" else f"{source}.view(D_{own})"
            self.emit(f"{views[own]} = {convert}")
        if kind == own:
            return views[own]
        name = f"r{register.index}_{kind}"
        if bits_of(kind) == bits_of(own):
            self.emit(f"{name} = {views[own]}.view(D_{kind})")
        elif own == "b1" or kind == "b1":
            raise self.fail(f"`{register.name}` is used as {kind} but declared .{register.type}")
        elif bits_of(kind) < bits_of(own):
            self.emit(f"{name} = {views[own]}.astype(D_u{bits_of(kind)}).view(D_{kind})")
        else:
            narrow = f"{views[own]}.view(D_s{bits_of(own)})" if kind[0] == "s" else views[own]
            self.emit(f"{name} = {narrow}.astype(D_u{bits_of(kind)}).view(D_{kind})")
        views[kind] = name
        return name

    def write(self, operand: Operand, kind: str, expression: str) -> None:
        """Assigns a register; under a guard, threads whose guard is false keep the old value."""
        if isinstance(operand, Symbol) and operand.name == "_":
            return
        if not isinstance(operand, Register):
            raise self.fail("the destination must be a register")
        own = kind_of("u" + operand.type[1:] if operand.type[0] == "f" else operand.type)
        if bits_of(kind) != bits_of(own):
            if bits_of(kind) == 1 or bits_of(own) == 1:
                raise self.fail(f"`{operand.name}` is written as {kind} but declared .{operand.type}")
            if kind[0] == "f":
                expression, kind = f"bits{bits_of(kind)}({expression})", f"u{bits_of(kind)}"
            signed = kind[0] == "s" and bits_of(kind) < bits_of(own)
            expression = f"({expression}).astype(D_{'s' if signed else 'u'}{bits_of(own)})"
            kind = f"{'s' if signed else 'u'}{bits_of(own)}"
        guard = self.guard()
        if guard:
            old = self.read(operand, kind)
            expression = f"where({guard}, {expression}, {old})"
        name = f"r{operand.index}" if kind == own else f"r{operand.index}_{kind}"
        self.emit(f"{name} = {expression}")
        self.views[operand.index] = {kind: name}
        self.defined.add(operand.index)
        if operand.index in self.fenced and self.instruction is not None and "wgmma" not in self.instruction.opcode:
            self.touched.add(operand.index)
            self.emit(f"check_running(x, {self.instruction.index}, {operand.index}, {guard or 'True'}, m)")

    def copy(self, destination: Operand, source: Operand, kind: str) -> None:
        """A move without a change of bits: takes the value in whatever kind it is at hand."""
        if isinstance(source, Register) and isinstance(destination, Register) and source.bits == destination.bits:
            if source.index not in self.views:
                self.read(source, kind)
            held = next(iter(self.views[source.index]))
            self.write(destination, held, self.views[source.index][held])
        else:
            self.write(destination, kind, self.read(source, kind))

    def guard(self) -> str:
        """The variable of the guard, or "" if there is none."""
        i = self.instruction
        if i is None or i.guard is None:
            return ""
        name = self.read(i.guard, "b1")
        return f"(~{name})" if i.negated else name

    def active(self) -> str:
        """The threads that the current instruction acts for."""
        guard = self.guard()
        return f"both(m, {guard})" if guard else "m"

    def site(self) -> int:
        """Index of the current instruction, for reports."""
        assert self.instruction is not None
        return self.instruction.index

    def finish(self) -> str:
        """The function of the block."""
        self.instruction = None
        full: list[str] = []
        part: list[str] = []
        if self.touched:
            self.emit(f"wgmma_touch(x, {sorted(self.touched)}, m)")
        for index in sorted(self.defined & self.block.live_out):
            views = self.views[index]
            name = views.get("b1") or next((v for k, v in views.items() if k[0] == "u"), None)
            if name is None:
                kind, source = next(iter(views.items()))
                name = f"r{index}"
                width = bits_of(kind)
                convert = f"bits{width}({source})" if kind[0] == "f" else f"{source}.view(D_u{width})"
                self.emit(f"{name} = {convert}")
            full.append(f"R[{index}] = {name}")
            part.append(f"R[{index}] = where(m, {name}, R[{index}])")
        if full:
            self.lines += ["if m is None:", *("    " + f for f in full), "else:", *("    " + p for p in part)]
        self.emit(f"return {self.outcome}")
        return f"def block_{self.block.index}(x, R, m):\n    " + "\n    ".join(self.lines) + "\n"


@functools.cache
def _load_rules() -> None:
    """Fills `RULES`. Whoever comes while another thread does so waits for the modules, and returns to a full table."""
    for module in RULE_MODULES:
        importlib.import_module(f"minitriton.emulator.rules.{module}")


def _lay_out(variables: list[Variable]) -> tuple[dict[str, int], int]:
    offsets: dict[str, int] = {}
    position = 0
    for variable in sorted(variables, key=lambda v: v.extern):
        position = -(-position // variable.align) * variable.align
        offsets[variable.name] = position
        position += variable.size
    return offsets, position


def find_rule(opcode: str) -> Rule | None:
    """The rule of the longest prefix of the opcode that has one."""
    prefix = opcode
    while prefix:
        if (found := RULES.get(prefix)) is not None:
            return found
        prefix = prefix.rpartition(".")[0]
    return None


def translate(kernel: PTXKernel, module_variables: dict[str, Variable], checked: bool) -> TranslatedKernel:
    """Translates a kernel, or returns what an earlier call made.

    Raises `EmulationError` for unknown instructions and for more memory than a GPU has.
    """
    cached = kernel.translated.get(checked)
    if isinstance(cached, TranslatedKernel):
        return cached
    _load_rules()
    variables = [*module_variables.values(), *kernel.variables]
    shared, static_shared = _lay_out([v for v in variables if v.space == "shared"])
    local, local_end = _lay_out([v for v in variables if v.space == "local"])
    local_size = -(-local_end // 16) * 16
    check_sizes(kernel, variables, static_shared, local_size)
    symbols = {v.name: (v.space, 0) for v in variables} | {p.name: ("param", p.offset) for p in kernel.parameters}
    blocks = build_blocks(kernel)
    constants: dict[str, object] = {}
    watched = frozenset(
        r.index
        for i in kernel.instructions
        if checked and i.opcode.startswith("wgmma.mma")
        for o in i.operands[:1]
        for r in registers_of(o)
    )
    mmas = [i for i in kernel.instructions if checked and i.opcode.startswith("wgmma.mma")]
    fenced = watched | {r.index for i in mmas for o in i.operands[1:2] for r in registers_of(o)}
    sources = [_write_block(b, constants, symbols, checked, watched, fenced) for b in blocks]
    source = "\n".join(sources)
    namespace: dict[str, Any] = {**NAMES, **{f"D_{k}": np.dtype(v) for k, v in DTYPES.items()}, **constants}
    try:
        exec(compile(source, f"<emulated {kernel.name}>", "exec"), namespace)
    except (RecursionError, MemoryError, ValueError, SyntaxError) as error:
        raise EmulationError(f"kernel `{kernel.name}` is too large or too deep for the emulator ({error})") from error
    functions = [namespace[f"block_{b.index}"] for b in blocks]
    async_proxy = any(i.opcode.startswith(ASYNC_PROXY) for i in kernel.instructions)
    copies = any(i.opcode.startswith(("cp.async", "cp.reduce", "tensormap")) for i in kernel.instructions)
    program = TranslatedKernel(
        kernel, blocks, functions, source, shared, static_shared, local, local_size,
        _granule(kernel, ("ld.global", "st.global", "ld.param")), async_proxy,
        _granule(kernel, ("ld.shared", "st.shared", "ld.param", "ld.local", "st.local", "st.param")), copies,
    )  # fmt: skip
    kernel.translated[checked] = program
    return program


def _write_block(
    block: Block,
    constants: dict[str, object],
    symbols: dict[str, tuple[str, int]],
    checked: bool,
    watched: frozenset[int],
    fenced: frozenset[int],
) -> str:
    writer = BlockWriter(block, constants, symbols, checked, watched, fenced)
    for instruction in block.instructions:
        writer.instruction = instruction
        found = find_rule(instruction.opcode)
        if found is None:
            raise writer.fail(f"the emulator does not know the instruction `{instruction.opcode}`")
        if (unknown := unknown_modifier(instruction.opcode)) is not None:
            raise writer.fail(f"the emulator does not know this form of `{instruction.opcode}` (.{unknown})")
        try:
            found(writer, instruction, instruction.parts)
        except EmulationError:
            raise
        except Exception as error:
            # A rule takes the operands of a well-formed instruction as they are; one left out or of another kind fails anywhere.
            raise writer.fail(f"the emulator does not know this form of `{instruction.opcode}` ({error})") from error
    return writer.finish()


def _granule(kernel: PTXKernel, elsewhere: tuple[str, ...]) -> int:
    """Bytes of the narrowest access, those `elsewhere` left out; at most 4."""
    smallest = 4
    for instruction in kernel.instructions:
        opcode = instruction.opcode
        if opcode.startswith(("ld", "st", "atom", "red")) and not opcode.startswith(elsewhere):
            width = opcode.rsplit(".", 1)[-1]
            if width[1:].isdigit():
                smallest = min(smallest, int(width[1:]) // 8)
    return max(smallest, 1)

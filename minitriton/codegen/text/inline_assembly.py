"""Inline assembly in LLVM IR: a call of `asm` for each group of packed lanes, narrow ones several to a register.

    nvvm.inline_ptx "add.s32 $0, $1, 1;", "=r,r" on 8 lanes    ->    call i32 asm "...", "=r,r"(i32 %x0), eight times

Mistakes that LLVM's code generator would report by leaving the process (`report_fatal_error`, and errors without a handler) are errors before that:

    "add.s32 $0, $1, $5;", "=r,r,r"      →  the text names operand $5, but there are 3 operands
    "add.s32 $0, $1;", "=z,r"            →  '=z' is no constraint
"""

import re
from typing import NamedTuple

from xdsl.dialects import llvm as L
from xdsl.ir import Attribute, Operation

from minitriton.codegen.text.values import type_text, vector_text
from minitriton.codegen.text.writer import FunctionWriter, escaped, inserted
from minitriton.codegen.types import bit_width, lane_type, lanes
from minitriton.dialects.locations import source_location
from minitriton.errors import LoweringError


class _Packed:
    """How `packed` lanes of a type are split into registers."""

    def __init__(self, type_: Attribute, packed: int):
        element = lane_type(type_)
        self.lanes = lanes(type_)
        self.element = type_text(element)
        bits = 64 if isinstance(element, L.LLVMPointerType) else bit_width(element)
        self.per_register = min(max(32 // bits, 1), packed)
        self.registers = packed // self.per_register
        self.type = self.element if self.per_register == 1 else f"i{bits * self.per_register}"
        self.part = f"<{self.per_register} x {self.element}>"

    def register(self, w: FunctionWriter, name: str, type_: str, first: int) -> str:
        """The register that holds lanes `first`, `first + 1`, ..., as a typed operand; poison beyond the last."""
        if self.per_register == 1:
            if self.lanes == 1:
                return f"{self.type} {name if first == 0 else 'poison'}"
            one = w.let(f"extractelement {type_} {name}, i32 {first}") if first < self.lanes else "poison"
            return f"{self.type} {one}"
        if self.lanes == 1:
            part = w.let(f"insertelement {self.part} poison, {self.element} {name}, i32 0")
        else:
            mask = ", ".join(
                f"i32 {i if i < self.lanes else 'poison'}" for i in range(first, first + self.per_register)
            )
            part = w.let(f"shufflevector {type_} {name}, {type_} poison, <{self.per_register} x i32> <{mask}>")
        return f"{self.type} {w.let(f'bitcast {self.part} {part} to {self.type}')}"


class Language(NamedTuple):
    """Of inline assembly: its name in errors, its constraints, what they mean, an example."""

    name: str
    constraint: re.Pattern[str]
    help: str
    example: str


class Assembly(NamedTuple):
    """The text of an op, and the lanes that it is for."""

    text: str
    constraints: str
    packed: int
    pure: bool


def write(w: FunctionWriter, op: Operation, assembly: Assembly, language: Language) -> None:
    """The calls of an op with a text."""
    text, constraints, packed, pure = assembly
    inputs = [(_Packed(v.type, packed), w.names[v], type_text(v.type)) for v in op.operands]
    outputs = [_Packed(r.type, packed) for r in op.results]
    count = lanes((*op.operands, *op.results)[0].type)
    types = [o.type for o in outputs for _ in range(o.registers)]
    try:
        _check(language, text, constraints, len(types), sum(p.registers for p, _, _ in inputs))
    except LoweringError as error:
        error.location = source_location(op.location)
        raise
    fields = types[0] if len(types) == 1 else "{ " + ", ".join(types) + " }"
    effects = "" if pure else " sideeffect"
    if not pure:
        constraints = f"{constraints},~{{memory}}".lstrip(",")
    w.module.asm_attributes_used = True
    head = f'call {fields} asm{effects} "{escaped(text)}", "{escaped(constraints)}"'
    taken: list[list[str]] = [[] for _ in outputs]
    for first in range(0, count, packed):
        arguments = [
            p.register(w, name, type_, first + r * p.per_register)
            for p, name, type_ in inputs
            for r in range(p.registers)
        ]
        got = w.let(f"{head}({', '.join(arguments)}) #0")
        parts = [got] if len(types) == 1 else [w.let(f"extractvalue {fields} {got}, {i}") for i in range(len(types))]
        for output, into in zip(outputs, taken, strict=True):
            into += [parts.pop(0) for _ in range(output.registers)]
    for result, output, registers in zip(op.results, outputs, taken, strict=True):
        w.names[result] = _joined(w, output, registers, count)


def _joined(w: FunctionWriter, output: _Packed, registers: list[str], count: int) -> str:
    """The lanes of a result from the registers that hold them."""
    total = len(registers) * output.per_register
    vector = inserted(w, registers, output.type)
    if output.per_register > 1:
        vector = w.let(
            f"bitcast {vector_text(output.type, len(registers))} {vector} to {vector_text(output.element, total)}"
        )
    if total == count:
        return vector
    type_ = vector_text(output.element, total)
    if count == 1:
        return w.let(f"extractelement {type_} {vector}, i32 0")
    mask = ", ".join(f"i32 {i}" for i in range(count))
    return w.let(f"shufflevector {type_} {vector}, {type_} poison, <{count} x i32> <{mask}>")


_REFERENCE = re.compile(r"\$(?:(\d+)|\{(\d+)(?::r)?\}|([$(|)])|\{:\w+\}|(.{0,3}))", re.DOTALL)
"""`$1`, `${1}`, the escapes `$$`, `$(`, `$|`, `$)`, LLVM's `${:uid}`; the last group holds what follows a `$` that is none of these."""


def _check(language: Language, text: str, constraints: str, outputs: int, inputs: int) -> None:
    """Raises `LoweringError` unless `constraints` describe `outputs` and `inputs` and `text` names none but those."""
    usage = f"outputs first, then inputs, as in {language.example}"
    parts = [part.strip() for part in constraints.split(",") if part.strip()]
    operands = [part for part in parts if not part.startswith("~")]
    for part in operands:
        if not language.constraint.fullmatch(part):
            raise LoweringError(
                f"{part!r} in {constraints!r} is not a constraint of inline {language.name}", help=language.help
            )
    given_outputs = sum(part.startswith("=") for part in operands)
    given_inputs = len(operands) - given_outputs
    if (given_outputs, given_inputs) != (outputs, inputs):
        raise LoweringError(
            f"constraints {constraints!r} describe {given_outputs} outputs and {given_inputs} inputs, "
            f"but the operation has {outputs} and {inputs} registers",
            help=usage,
        )
    if any(part.startswith("=") for part in operands[outputs:]):
        raise LoweringError(f"constraints {constraints!r} name an output after an input", help=usage)
    for match in _REFERENCE.finditer(text):
        number = match[1] or match[2]
        if match[4] is not None:
            raise LoweringError(
                f"malformed operand '${match[4]}' in inline {language.name} {text!r}",
                help="write $0, ${0}, or $$ for $",
            )
        if number is not None and int(number) >= len(operands):
            raise LoweringError(
                f"inline {language.name} {text!r} names operand ${number}, but there are {len(operands)} operands",
                help=usage,
            )

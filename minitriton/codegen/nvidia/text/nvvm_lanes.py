"""Writes the ops of the `nvvm` dialect that go lane by lane: shuffles, calls for every lane, inline PTX of the user's."""

from __future__ import annotations

import re
from collections.abc import Callable

from xdsl.dialects import llvm as L
from xdsl.ir import Attribute

from minitriton.codegen.nvidia.text.nvvm import call_parts, vector_text
from minitriton.codegen.text.values import type_text
from minitriton.codegen.text.writer import WRITERS, FunctionWriter, escaped, inserted
from minitriton.codegen.types import F32, I32, bit_width, lane_type, lanes
from minitriton.dialects import nvvm
from minitriton.dialects.locations import source_location
from minitriton.errors import LoweringError


@WRITERS.add(nvvm.ShflSyncOp)
def _shfl_sync(w: FunctionWriter, op: nvvm.ShflSyncOp) -> None:
    """Lane by lane; two shuffles for 64 bits, narrow lanes in the low bits of a word."""
    value = op.value
    intrinsic, arguments = call_parts(op.call())
    w.module.declare(intrinsic, "i32", "i32, i32, i32, i32")
    typed = ", ".join(f"i32 {each}" for each in arguments).replace("$offset", w.names[op.offset])
    call = f"call i32 @{intrinsic}({typed})"

    def shuffled(word: str) -> str:
        return w.let(call.replace("$value", word))

    element = lane_type(value.type)
    count = lanes(value.type)
    type_ = type_text(value.type)
    name = w.names[value]
    if count == 1:
        w.names[op.res] = _shuffled_element(w, element, name, shuffled)
        return
    result = "poison"
    for lane in range(count):
        one = w.let(f"extractelement {type_} {name}, i32 {lane}")
        moved = _shuffled_element(w, element, one, shuffled)
        result = w.let(f"insertelement {type_} {result}, {type_text(element)} {moved}, i32 {lane}")
    w.names[op.res] = result


def _shuffled_element(w: FunctionWriter, element: Attribute, name: str, shuffled: Callable[[str], str]) -> str:
    type_ = type_text(element)
    if element == I32:
        return shuffled(name)
    if element == F32:
        return w.let(f"bitcast i32 {shuffled(w.let(f'bitcast float {name} to i32'))} to float")
    bits = 64 if isinstance(element, L.LLVMPointerType) else bit_width(element)
    to_int, from_int = ("ptrtoint", "inttoptr") if isinstance(element, L.LLVMPointerType) else ("bitcast", "bitcast")
    if bits == 64:
        pair = w.let(f"{to_int} {type_} {name} to i64")
        vector = w.let(f"bitcast i64 {pair} to <2 x i32>")
        halves = [shuffled(w.let(f"extractelement <2 x i32> {vector}, i32 {i}")) for i in (0, 1)]
        low = w.let(f"insertelement <2 x i32> poison, i32 {halves[0]}, i32 0")
        both = w.let(f"insertelement <2 x i32> {low}, i32 {halves[1]}, i32 1")
        wide = w.let(f"bitcast <2 x i32> {both} to i64")
        return w.let(f"{from_int} i64 {wide} to {type_}")
    narrow = w.let(f"bitcast {type_} {name} to i{bits}")
    word = shuffled(w.let(f"zext i{bits} {narrow} to i32"))
    return w.let(f"bitcast i{bits} {w.let(f'trunc i32 {word} to i{bits}')} to {type_}")


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


@WRITERS.add(nvvm.InlinePtxOp)
def _inline_ptx(w: FunctionWriter, op: nvvm.InlinePtxOp) -> None:
    packed = op.packed.value.data
    inputs = [(_Packed(v.type, packed), w.names[v], type_text(v.type)) for v in op.args]
    outputs = [_Packed(r.type, packed) for r in op.results]
    count = lanes((*op.args, *op.results)[0].type)
    types = [o.type for o in outputs for _ in range(o.registers)]
    text, constraints = op.asm_string.data, op.constraints.data
    try:
        check_inline_ptx(text, constraints, len(types), sum(p.registers for p, _, _ in inputs))
    except LoweringError as error:
        error.location = source_location(op.location)
        raise
    fields = types[0] if len(types) == 1 else "{ " + ", ".join(types) + " }"
    effects = "" if op.pure else " sideeffect"
    if not op.pure:
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


# Refuses inline PTX that LLVM would end the process for.
#
# In: the text and the constraints of `tl.inline_asm_elementwise`, and how many registers go in and come out. Out: nothing, or a
# `LoweringError`.
#
#     "add.s32 $0, $1, $5;", "=r,r,r"      →  the text names operand $5, but there are 3 operands
#     "add.s32 $0, $1;", "=z,r"            →  '=z' is no constraint
#
# LLVM's code generator reports such mistakes by leaving the process (`report_fatal_error`, and errors without a handler).

_CONSTRAINT = re.compile(r"=?&?[bchrlfdqniX]|\d+|=?\{\w+\}")
"""NVPTX's registers by width, immediates, an operand shared with an output, a register by name."""

_REFERENCE = re.compile(r"\$(?:(\d+)|\{(\d+)(?::r)?\}|([$(|)])|\{:\w+\}|(.{0,3}))", re.DOTALL)
"""`$1`, `${1}`, the escapes `$$`, `$(`, `$|`, `$)`, LLVM's `${:uid}`; the last group holds what follows a `$` that is none of these."""

_HELP = "outputs first, then inputs, as in asm='add.s32 $0, $1, $2;', constraints='=r,r,r'"


def check_inline_ptx(text: str, constraints: str, outputs: int, inputs: int) -> None:
    """Raises `LoweringError` unless `constraints` describe `outputs` and `inputs` and `text` names none but those."""
    parts = [part.strip() for part in constraints.split(",") if part.strip()]
    operands = [part for part in parts if not part.startswith("~")]
    for part in operands:
        if not _CONSTRAINT.fullmatch(part):
            raise LoweringError(
                f"{part!r} in {constraints!r} is not a constraint of inline PTX",
                help="registers: c and h (16 bits), r (32), l (64), f (float), d (double), b (predicate); n: an immediate",
            )
    given_outputs = sum(part.startswith("=") for part in operands)
    given_inputs = len(operands) - given_outputs
    if (given_outputs, given_inputs) != (outputs, inputs):
        raise LoweringError(
            f"constraints {constraints!r} describe {given_outputs} outputs and {given_inputs} inputs, "
            f"but the operation has {outputs} and {inputs} registers",
            help=_HELP,
        )
    if any(part.startswith("=") for part in operands[outputs:]):
        raise LoweringError(f"constraints {constraints!r} name an output after an input", help=_HELP)
    for match in _REFERENCE.finditer(text):
        number = match[1] or match[2]
        if match[4] is not None:
            raise LoweringError(
                f"malformed operand '${match[4]}' in inline PTX {text!r}", help="write $0, ${0}, or $$ for $"
            )
        if number is not None and int(number) >= len(operands):
            raise LoweringError(
                f"inline PTX {text!r} names operand ${number}, but there are {len(operands)} operands", help=_HELP
            )

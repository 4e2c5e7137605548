"""Writes ops of the `nvvm` dialect by what their declarations say: inline PTX, and calls of LLVM's intrinsics.

"nvvm.st.shared"(%v, %p, %m)        ->    call void asm sideeffect "@$3 st.shared.v2.b32 [ $2 + 0 ], { $0, $1 };", "r,r,r,b"(...)
"nvvm.redux.sync"(%v) {kind = "add"} ->    call i32 @llvm.nvvm.redux.sync.add(i32 %v, i32 -1)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, OptionalDef, VariadicDef

from minitriton.codegen.text.values import type_text, vector_text
from minitriton.codegen.text.writer import (
    FUNCTION_ATTRIBUTES,
    KERNEL_CONVENTIONS,
    PARAMETER_ATTRIBUTES,
    WRITERS,
    FunctionWriter,
    escaped,
    inserted,
)
from minitriton.codegen.types import I8, I16, bit_width, lane_type, lanes
from minitriton.dialects.nvvm.base import IntrinsicOp, PtxOp, Words, words_of

# Inline PTX -------------------------------------------------------------------------------------------------------------


class InlineInstruction(NamedTuple):
    """A text of inline PTX with its registers numbered, as LLVM takes it."""

    results: tuple[Words, ...]
    type: str
    """What the call returns: nothing, a word or a struct of words."""
    text: str
    """What is called, up to its arguments."""

    def call(self, w: FunctionWriter, arguments: Sequence[str]) -> str:
        """Writes the call; the name of what it returns."""
        w.module.asm_attributes_used = True
        call = f"call {w.module.struct(self.type)} {self.text}{', '.join(arguments)}) #0"
        if self.results:
            return w.let(call)
        w.emit(call)
        return ""

    def taken(self, w: FunctionWriter, got: str, first: int, count: int) -> list[str]:
        """The names of `count` words of what the call returned."""
        if not self.type.startswith("{"):
            return [got]
        type_ = w.module.struct(self.type)
        return [w.let(f"extractvalue {type_} {got}, {i}") for i in range(first, first + count)]


Registers = tuple[str, Words]
"""What a text calls a value, and the words that it has."""


@cache
def instruction(
    template: str,
    results: tuple[Registers, ...],
    operands: tuple[Registers, ...],
    texts: tuple[tuple[str, tuple[str, ...]], ...] = (),
    *,
    early: bool = False,
    tied: bool = False,
    clobbers: tuple[str, ...] = (),
) -> InlineInstruction:
    """The instruction that a declaration describes (`PtxOp`); `texts` are operands that stand in it as they are.

    `@$mask ld.b32 $res, [$ptr];` with a register each of `res`, `ptr`, `mask`  ->  `@$2 ld.b32 $0, [$1];`
    """
    words = [words for _, words in results for _ in range(words.count)]
    types = [each.type for each in words]
    constraints = [f"=&{each.constraint}" if early else f"={each.constraint}" for each in words]
    registers: dict[str, list[str]] = {}
    count = 0
    for name, given in (*results, *operands):
        registers[name] = registers.get(name, []) + [f"${count + i}" for i in range(given.count)]
        count += given.count
    constraints += [given.constraint for _, given in operands for _ in range(given.count)]
    if tied:
        constraints[len(types) : 2 * len(types)] = map(str, range(len(types)))
    registers |= {name: list(given) for name, given in texts}

    def operand(match: re.Match[str]) -> str:
        found = registers[match[1]]
        return found[int(match[2])] if match[2] else ", ".join(found)

    text = escaped(_OPERAND.sub(operand, template))
    type_ = "void" if not types else types[0] if len(types) == 1 else "{ " + ", ".join(types) + " }"
    called = f'asm sideeffect "{text}", "{",".join((*constraints, *clobbers))}"('
    return InlineInstruction(tuple(words for _, words in results), type_, called)


_OPERAND = re.compile(r"\$([A-Za-z_]\w*)(?:\.(\d+))?")


Values = Callable[[IRDLOperation], Sequence[SSAValue]]


@cache
def _fields(op_class: type[IRDLOperation]) -> tuple[list[tuple[str, Values]], dict[str, Values]]:
    """The results and the operands of a class of ops, and how to get at each one's values."""
    definition = op_class.get_irdl_definition()
    results = [
        (name, _values(name, isinstance(each, OptionalDef), isinstance(each, VariadicDef)))
        for name, each in definition.results
    ]
    operands = {
        name: _values(name, isinstance(each, OptionalDef), isinstance(each, VariadicDef))
        for name, each in definition.operands
    }
    if issubclass(op_class, PtxOp) and op_class.ORDER:
        operands = {name: operands[name] for name in op_class.ORDER}
    return results, operands


def _values(name: str, optional: bool, variadic: bool) -> Values:
    """The values of a field, whether it is one, several or an optional one."""
    field: Callable[[IRDLOperation], Any] = attrgetter(name)
    if optional:
        return lambda op: () if (value := field(op)) is None else (value,)
    return field if variadic else lambda op: (field(op),)


def words_in(w: FunctionWriter, value: SSAValue, words: Words) -> list[str]:
    """The words of a value, each with its type."""
    name, type_ = pack_words(w, value, words, lanes(value.type))
    if type_ == words.type:
        return [f"{type_} {name}"]
    return [f"{words.type} {lane_text(w, name, type_, i)}" for i in range(words.count)]


@WRITERS.add(PtxOp)
def _ptx(w: FunctionWriter, op: PtxOp) -> None:
    result_fields, operand_fields = _fields(op.__class__)
    immediate = op.immediate
    operands: list[Registers] = []
    arguments: list[str] = []
    texts: list[tuple[str, tuple[str, ...]]] = []
    for field, values in operand_fields.items():
        for value in values(op):
            if field in immediate:
                texts.append((field, (w.names[value],)))
                continue
            words = words_of(value.type)
            operands.append((field, words))
            arguments += words_in(w, value, words)
    results = tuple([(field, words_of(value.type)) for field, values in result_fields for value in values(op)])
    made = instruction(
        op.ptx(), results, tuple(operands), tuple(texts), early=op.writes_early, tied=op.TIED, clobbers=op.CLOBBERS
    )
    got = made.call(w, arguments)
    at = 0
    for result, words in zip(op.results, made.results, strict=True):
        parts = made.taken(w, got, at, words.count)
        w.names[result] = assemble(w, parts, words, lane_type(result.type), lanes(result.type))
        at += words.count


# Intrinsics -------------------------------------------------------------------------------------------------------------


@cache
def call_parts(call: str) -> tuple[str, list[str]]:
    """`name(argument, ...)` of a declaration."""
    name, _, arguments = call.partition("(")
    return name, [each for each in arguments[:-1].split(", ") if each]


@WRITERS.add(IntrinsicOp)
def _intrinsic(w: FunctionWriter, op: IntrinsicOp) -> None:
    result = op.results[0] if op.results else None
    operands = _fields(op.__class__)[1]
    for call in op.calls().split("\n"):
        name, listed = call_parts(call)
        arguments: list[str] = []
        for each in listed:
            if each.startswith("$"):
                for value in operands[each[1:]](op):
                    arguments += words_in(w, value, words_of(value.type))
            else:
                arguments.append(f"i32 {each}")
        parameters = ", ".join(each.rpartition(" ")[0] for each in arguments)
        if result is None:
            w.module.declare(name, "void", parameters)
            w.emit(f"call void @{name}({', '.join(arguments)})")
            continue
        element, count = type_text(lane_type(result.type)), lanes(result.type)
        fields = [*op.RETURNS_FIRST, *[element] * count]
        type_ = element if len(fields) == 1 else "{ " + ", ".join(fields) + " }"
        w.module.declare(name, type_, parameters)
        if len(fields) == 1:
            w.emit(f"{w.define(result)} = call {type_} @{name}({', '.join(arguments)})")
            continue
        got = w.let(f"call {type_} @{name}({', '.join(arguments)})")
        first = len(op.RETURNS_FIRST)
        if count == 1:
            w.emit(f"{w.define(result)} = extractvalue {type_} {got}, {first}")
        else:
            words = [w.let(f"extractvalue {type_} {got}, {first + i}") for i in range(count)]
            w.names[result] = inserted(w, words, element)


# Registers of 32 bits: how vectors are split into the operands of PTX instructions, and put together from their results.
#
# 4 x f16  ->  2 words of 32 bits, constraint r        2 x i8  ->  one of 16 bits, constraint h        4 x f32  ->  4, constraint f


def assemble(w: FunctionWriter, parts: Sequence[str], words: Words, element: Attribute, total: int) -> str:
    """The vector of `total` elements whose words are `parts`."""
    bits = bit_width(element)
    if bits < words.bits or bits >= 32:
        vector = inserted(w, parts, words.type)
        if bits >= 32:
            return vector
        return w.let(
            f"bitcast {vector_text(words.type, len(parts))} {vector} to {vector_text(type_text(element), total)}"
        )
    narrow = parts if bits == 16 else [w.let(f"trunc i16 {p} to i{bits}") for p in parts]
    vector = inserted(w, narrow, f"i{bits}")
    if element in (I8, I16):
        return vector
    return w.let(f"bitcast {vector_text(f'i{bits}', total)} {vector} to {vector_text(type_text(element), total)}")


def pack_words(w: FunctionWriter, value: SSAValue, words: Words, total: int) -> tuple[str, str]:
    """A vector of elements as a vector of words: its name and type."""
    name, type_ = w.names[value], type_text(value.type)
    if type_ == words.type:
        return name, type_
    element = lane_type(value.type)
    bits = bit_width(element)
    if bits >= 32:
        return name, type_
    if words.bits == 8:
        if element != I8:
            name = w.let(f"bitcast {type_} {name} to {vector_text('i8', total)}")
        wide = vector_text("i16", total)
        return w.let(f"zext {vector_text('i8', total)} {name} to {wide}"), wide
    packed = vector_text(words.type, total * bits // words.bits)
    return (name, type_) if packed == type_ else (w.let(f"bitcast {type_} {name} to {packed}"), packed)


def lane_text(w: FunctionWriter, name: str, type_: str, index: int) -> str:
    """One lane of a vector; a scalar is its own."""
    return w.let(f"extractelement {type_} {name}, i32 {index}") if type_.startswith("<") else name


# Kernels --------------------------------------------------------------------------------------------------------------

KERNEL_CONVENTIONS["nvvm.kernel"] = "ptx_kernel"
FUNCTION_ATTRIBUTES.extend(("nvvm.reqntid", "nvvm.cluster_dim", "nvvm.maxnreg"))
PARAMETER_ATTRIBUTES.add("nvvm.grid_constant")

"""Writes the accesses to global memory of the `nvvm` dialect: inline PTX, one instruction per vector.

    %v = "nvvm.ld.global"(%p0, %p4, %m0, %m4) {vector_width = 4} : vector<8xf32>

becomes two `asm "mov.b32 $0, 0; ... @$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4];"`, whose results are put into one vector.
"""

from __future__ import annotations

import struct

from xdsl.dialects import llvm as L
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.codegen.text.values import constant_text, type_text
from minitriton.codegen.text.words import Words, assemble, lane_text, pack_words
from minitriton.codegen.text.writer import FunctionWriter, asm, data_of, integer_of, segments_of, writes
from minitriton.codegen.types import I32, I64, bit_width, lane_type, lanes


def _modifiers(op: Operation, policy: bool) -> str:
    cache, evict = data_of(op, "cache"), data_of(op, "evict")
    text = f".{cache}" if cache else ""
    if evict:
        text += f".L1::{evict}"
    return text + (".L2::cache_hint" if policy else "")


@writes("nvvm.createpolicy")
def _create_policy(w: FunctionWriter, op: Operation) -> None:
    text = f"createpolicy.fractional.L2::{data_of(op, 'kind')}.b64 $0, 1.0;"
    w.names[op.results[0]] = asm(w, "i64", text, "=l", ())


@writes("nvvm.ld.global")
def _ld_global(w: FunctionWriter, op: Operation) -> None:
    pointers, masks, others, policies = segments_of(op)
    result = op.results[0]
    element, total = lane_type(result.type), lanes(result.type)
    width = integer_of(op, "vector_width", 1)
    words = Words(element, width)
    fill = _Fill(w, others[0] if others else None, element, width, words)
    volatile = ".volatile" if "is_volatile" in op.properties else ""
    opcode = f"ld{volatile}.global{_modifiers(op, bool(policies))}{words.vector}.b{words.bits}"
    pieces: list[str] = []
    for number, pointer in enumerate(pointers):
        mask = masks[number] if masks else None
        pieces += _one_load(w, opcode, words, pointer, mask, policies[0] if policies else None, fill.words(number))
    w.names[result] = assemble(w, pieces, words, element, total)


class _Fill:
    """What the registers of a masked-off access hold: zeros, a constant, a scalar or the lanes of a vector."""

    def __init__(self, w: FunctionWriter, other: SSAValue | None, element: Attribute, width: int, words: Words):
        self.w, self.width, self.count = w, width, words.count
        self.immediate: int | None = 0
        self.name, self.type = "", ""
        if other is None:
            return
        bits = bit_width(element)
        owner = other.owner
        if isinstance(owner, L.ConstantOp) and lanes(other.type) == 1:
            self.immediate = _replicated(constant_text(owner.value, element), bits, words.bits)
            return
        self.immediate = None
        if lanes(other.type) == 1:
            self.name, self.type = _widened(w, other, bits, words), ""
            return
        total = lanes(other.type)
        self.name, self.type = pack_words(w, other, words, total)

    def words(self, access: int) -> list[str] | int:
        """The words for one access, or one immediate for all."""
        if self.immediate is not None:
            return self.immediate
        if not self.type:
            return [self.name] * self.count
        first = access * self.count
        if self.type.startswith("<"):
            return [self.w.let(f"extractelement {self.type} {self.name}, i32 {first + i}") for i in range(self.count)]
        return [self.name]


def _replicated(text: str, bits: int, word_bits: int) -> int:
    """The bits of a constant, as often as they fit into a word."""
    if text.startswith(("0xH", "0xR")):
        pattern = int(text[3:], 16)
    elif text.startswith("0x"):
        number = struct.unpack("<d", struct.pack("<Q", int(text, 16)))[0]
        pattern = struct.unpack("<I", struct.pack("<f", number))[0] if bits == 32 else int(text, 16)
    else:
        pattern = {"true": 1, "false": 0}.get(text)  # pyright: ignore[reportAssignmentType]
        pattern = int(text) & ((1 << bits) - 1) if pattern is None else pattern
    value = 0
    for shift in range(0, word_bits, bits):
        value |= pattern << shift
    return value


def _widened(w: FunctionWriter, scalar: SSAValue, bits: int, words: Words) -> str:
    """A scalar as a word, repeated to fill it."""
    type_ = type_text(scalar.type)
    if bits >= 32:
        return w.names[scalar]
    number = w.let(f"bitcast {type_} {w.names[scalar]} to i{bits}")
    word_type = "i32" if words.bits == 32 else "i16"
    word = number if f"i{bits}" == word_type else w.let(f"zext i{bits} {number} to {word_type}")
    factor = sum(1 << shift for shift in range(0, words.bits, bits))
    return word if factor == 1 else w.let(f"mul {word_type} {word}, {factor}")


def _one_load(
    w: FunctionWriter,
    opcode: str,
    words: Words,
    pointer: SSAValue,
    mask: SSAValue | None,
    policy: SSAValue | None,
    fill: list[str] | int,
) -> list[str]:
    count = words.count
    outs = [f"${i}" for i in range(count)]
    constraints = [f"={words.constraint}"] * count
    arguments = [w.typed(pointer)]
    constraints.append("l")
    address = count
    predicate = ""
    if mask is not None:
        predicate = f"@${count + 1} "
        arguments.append(w.typed(mask))
        constraints.append("b")
    hint = ""
    if policy is not None:
        hint = f", ${count + len(arguments)}"
        arguments.append(w.typed(policy))
        constraints.append("l")
    text = ""
    if mask is not None:
        moved = max(16, words.bits)
        for index, out in enumerate(outs):
            if isinstance(fill, int):
                text += f"mov.b{moved} {out}, 0x{fill:x};\n\t"
            else:
                text += f"mov.b{moved} {out}, ${count + len(arguments)};\n\t"
                arguments.append(f"{words.type} {fill[index]}")
                constraints.append(words.constraint)
    listed = f"{{ {', '.join(outs)} }}" if count > 1 else outs[0]
    text += f"{predicate}{opcode} {listed}, [ ${address} + 0 ]{hint};"
    fields = "{ " + ", ".join([words.type] * count) + " }"
    result = asm(w, fields if count > 1 else words.type, text, ",".join(constraints), arguments)
    if count == 1:
        return [result]
    return [w.let(f"extractvalue {fields} {result}, {i}") for i in range(count)]


_BITS_OF = {"float": I32, "double": I64}


def _as_bits(w: FunctionWriter, number: str, words: Words) -> tuple[str, Words]:
    """A number as an integer. LLVM makes registers of `f` operands where they are used, and a load that it merges with that
    would get the line of the store; as an integer it keeps its own."""
    integer = _BITS_OF[words.type]
    return w.let(f"bitcast {words.type} {number} to {type_text(integer)}"), Words(integer, 1)


@writes("nvvm.st.global")
def _st_global(w: FunctionWriter, op: Operation) -> None:
    (value,), pointers, masks, policies = segments_of(op)
    element, total = lane_type(value.type), lanes(value.type)
    width = integer_of(op, "vector_width", 1)
    words = Words(element, width)
    name, type_ = pack_words(w, value, words, total)
    if total == 1 and words.type in _BITS_OF:
        name, words = _as_bits(w, name, words)
    count = words.count
    opcode = f"st.global{_modifiers(op, bool(policies))}{words.vector}.b{words.bits}"
    for number, pointer in enumerate(pointers):
        arguments = [f"{words.type} {lane_text(w, name, type_, number * count + i)}" for i in range(count)]
        arguments.append(w.typed(pointer))
        constraints = [words.constraint] * count + ["l"]
        predicate = hint = ""
        if masks:
            predicate = f"@${len(arguments)} "
            arguments.append(w.typed(masks[number]))
            constraints.append("b")
        if policies:
            hint = f", ${len(arguments)}"
            arguments.append(w.typed(policies[0]))
            constraints.append("l")
        listed = ", ".join(f"${i}" for i in range(count))
        listed = f"{{ {listed} }}" if count > 1 else listed
        asm(w, "void", f"{predicate}{opcode} [ ${count} + 0 ], {listed}{hint};", ",".join(constraints), arguments)


@writes("nvvm.fence")
def _fence(w: FunctionWriter, op: Operation) -> None:
    asm(w, "void", f"fence.acq_rel.{data_of(op, 'scope')};", "", ())


@writes("nvvm.red")
def _red(w: FunctionWriter, op: Operation) -> None:
    pointer, value, *mask = op.operands
    words = Words(lane_type(value.type), lanes(value.type))
    name, type_ = pack_words(w, value, words, lanes(value.type))
    arguments = [w.typed(pointer), *(f"{words.type} {lane_text(w, name, type_, n)}" for n in range(words.count))]
    sources = ", ".join(f"${n + 1}" for n in range(words.count))
    sources = f"{{ {sources} }}" if words.count > 1 else sources
    predicate = f"@${len(arguments)} " if mask else ""
    constraints = ["l", *[words.constraint] * words.count, *["b" for _ in mask]]
    operation, scope, semantics = data_of(op, "operation"), data_of(op, "scope"), data_of(op, "sem")
    text = f"{predicate}red.{semantics}.{scope}.global.{operation} [ $0 + 0 ], {sources};"
    asm(w, "void", text, ",".join(constraints), [*arguments, *map(w.typed, mask)])


@writes("nvvm.atom")
def _atom(w: FunctionWriter, op: Operation) -> None:
    (pointer,), values, masks = segments_of(op)
    result = op.results[0]
    words = Words(lane_type(result.type), lanes(result.type))
    count = words.count
    arguments = [w.typed(pointer)]
    constraints = [f"={words.constraint}"] * count + ["l"]
    sources: list[str] = []
    for value in values:
        name, type_ = pack_words(w, value, words, lanes(value.type))
        parts: list[str] = []
        for lane in range(count):
            parts.append(f"${count + len(arguments)}")
            arguments.append(f"{words.type} {lane_text(w, name, type_, lane)}")
            constraints.append(words.constraint)
        sources.append(f"{{ {', '.join(parts)} }}" if count > 1 else parts[0])
    text = predicate = ""
    if masks:
        predicate = f"@${count + len(arguments)} "
        arguments.append(w.typed(masks[0]))
        constraints.append("b")
        text = "".join(f"mov.b{max(16, words.bits)} ${i}, 0x0;\n\t" for i in range(count))
        constraints[:count] = [f"=&{words.constraint}"] * count
    outs = ", ".join(f"${i}" for i in range(count))
    outs = f"{{ {outs} }}" if count > 1 else outs
    operation, scope, semantics = data_of(op, "operation"), data_of(op, "scope"), data_of(op, "sem")
    order = f"{semantics}.{scope}" if operation.startswith("cas") else f"{scope}.{semantics}"
    opcode = f"atom.global.{order}.{operation}"
    text += f"{predicate}{opcode} {outs}, [ ${count} + 0 ], {', '.join(sources)};"
    fields = "{ " + ", ".join([words.type] * count) + " }"
    got = asm(w, fields if count > 1 else words.type, text, ",".join(constraints), arguments)
    pieces = [got] if count == 1 else [w.let(f"extractvalue {fields} {got}, {i}") for i in range(count)]
    w.names[result] = assemble(w, pieces, words, lane_type(result.type), lanes(result.type))

"""Writes the ops of the `nvvm` dialect as LLVM IR: intrinsics where LLVM has them, inline PTX where not.

    %v = "nvvm.ld.global"(%p0, %p4, %m0, %m4) {vector_width = 4} : vector<8xf32>

becomes two `asm "mov.b32 $0, 0; ... @$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4];"`, whose results are put into one vector.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.codegen.llvm_text import FunctionWriter, escaped, writes
from minitriton.codegen.llvm_text_values import constant_text, type_text
from minitriton.codegen.types import F32, I8, I16, I32, bit_width, lane_type, lanes
from minitriton.dialects import nvvm


def asm(w: FunctionWriter, result: str, text: str, constraints: str, arguments: Sequence[str]) -> str:
    """An inline PTX call with side effects; returns the name of its result (empty if `void`)."""
    w.module.asm_attributes_used = True
    call = f'call {result} asm sideeffect "{escaped(text)}", "{constraints}"({", ".join(arguments)}) #0'
    if result == "void":
        w.emit(call)
        return ""
    return w.let(call)


def _data(op: Operation, name: str) -> str:
    attr = op.properties.get(name)
    return attr.data if isinstance(attr, StringAttr) else ""


def _int(op: Operation, name: str, default: int = 0) -> int:
    attr = op.properties.get(name)
    return attr.value.data if isinstance(attr, IntegerAttr) else default


def _segments(op: Operation) -> list[Sequence[SSAValue]]:
    sizes = op.properties["operandSegmentSizes"].get_values()  # pyright: ignore[reportAttributeAccessIssue]
    operands = op._operands
    parts: list[Sequence[SSAValue]] = []
    at = 0
    for size in sizes:
        parts.append(operands[at : at + size])
        at += size
    return parts


# Special registers, barriers ------------------------------------------------------------------------------------------

_SREG_INTRINSICS = {cls.name: f"llvm.{cls.name}" for cls in nvvm.SPECIAL_REGISTERS}


@writes(*_SREG_INTRINSICS)
def _special_register(w: FunctionWriter, op: Operation) -> None:
    intrinsic = _SREG_INTRINSICS[op.name]
    w.module.declare(intrinsic, "i32", "")
    w.emit(f"{w.define(op.results[0])} = call i32 @{intrinsic}()")


@writes("nvvm.barrier")
def _barrier(w: FunctionWriter, op: Operation) -> None:
    number = _int(op, "barrier_id")
    threads = _int(op, "number_of_threads")
    if threads:
        w.module.declare("llvm.nvvm.barrier.cta.sync.aligned.count", "void", "i32, i32")
        w.emit(f"call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 {number}, i32 {threads})")
    else:
        w.module.declare("llvm.nvvm.barrier.cta.sync.aligned.all", "void", "i32")
        w.emit(f"call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 {number})")


@writes("nvvm.bar.warp.sync")
def _bar_warp_sync(w: FunctionWriter, op: Operation) -> None:
    w.module.declare("llvm.nvvm.bar.warp.sync", "void", "i32")
    w.emit("call void @llvm.nvvm.bar.warp.sync(i32 -1)")


@writes("nvvm.elect.sync")
def _elect_sync(w: FunctionWriter, op: Operation) -> None:
    w.module.declare("llvm.nvvm.elect.sync", "{ i32, i1 }", "i32")
    pair = w.let("call { i32, i1 } @llvm.nvvm.elect.sync(i32 -1)")
    w.emit(f"{w.define(op.results[0])} = extractvalue {{ i32, i1 }} {pair}, 1")


@writes("nvvm.vote.sync")
def _vote_sync(w: FunctionWriter, op: Operation) -> None:
    result = type_text(op.results[0].type)
    intrinsic = f"llvm.nvvm.vote.{_data(op, 'kind')}.sync"
    w.module.declare(intrinsic, result, "i32, i1")
    w.emit(f"{w.define(op.results[0])} = call {result} @{intrinsic}(i32 -1, {w.typed(op._operands[0])})")


@writes("nvvm.redux.sync")
def _redux_sync(w: FunctionWriter, op: Operation) -> None:
    intrinsic = f"llvm.nvvm.redux.sync.{_data(op, 'kind')}"
    w.module.declare(intrinsic, "i32", "i32, i32")
    w.emit(f"{w.define(op.results[0])} = call i32 @{intrinsic}({w.typed(op._operands[0])}, i32 -1)")


@writes("nvvm.shfl.sync")
def _shfl_sync(w: FunctionWriter, op: Operation) -> None:
    """Lane by lane; two shuffles for 64 bits, narrow lanes in the low bits of a word."""
    value, offset = op._operands
    kind = _data(op, "kind")
    intrinsic = f"llvm.nvvm.shfl.sync.{kind}.i32"
    w.module.declare(intrinsic, "i32", "i32, i32, i32, i32")
    clamp = 0 if kind == "up" else 31
    offset_text = w.names[offset]

    def shuffled(word: str) -> str:
        return w.let(f"call i32 @{intrinsic}(i32 -1, i32 {word}, i32 {offset_text}, i32 {clamp})")

    element = lane_type(value.type)
    count = lanes(value.type)
    type_ = type_text(value.type)
    name = w.names[value]
    if count == 1:
        w.names[op.results[0]] = _shuffled_element(w, element, name, shuffled)
        return
    result = "poison"
    for lane in range(count):
        one = w.let(f"extractelement {type_} {name}, i32 {lane}")
        moved = _shuffled_element(w, element, one, shuffled)
        result = w.let(f"insertelement {type_} {result}, {type_text(element)} {moved}, i32 {lane}")
    w.names[op.results[0]] = result


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


# Lane by lane ---------------------------------------------------------------------------------------------------------


@writes("nvvm.each_lane")
def _each_lane(w: FunctionWriter, op: Operation) -> None:
    callee = _data(op, "callee")
    result = op.results[0]
    element = type_text(lane_type(result.type))
    w.module.declare(callee, element, ", ".join(type_text(lane_type(v.type)) for v in op._operands))
    count = lanes(result.type)
    if count == 1:
        w.names[result] = w.let(f"call {element} @{callee}({', '.join(map(w.typed, op._operands))})")
        return
    operands = [(type_text(lane_type(v.type)), w.typed(v)) for v in op._operands]
    vector = "poison"
    type_ = type_text(result.type)
    for lane in range(count):
        arguments = [f"{scalar} {w.let(f'extractelement {v}, i32 {lane}')}" for scalar, v in operands]
        one = w.let(f"call {element} @{callee}({', '.join(arguments)})")
        vector = w.let(f"insertelement {type_} {vector}, {element} {one}, i32 {lane}")
    w.names[result] = vector


class _Packed:
    """How `packed` lanes of a type are cut into registers."""

    def __init__(self, type_: Attribute, packed: int):
        element = lane_type(type_)
        self.lanes = lanes(type_)
        self.element = type_text(element)
        bits = 64 if isinstance(element, L.LLVMPointerType) else bit_width(element)
        self.per_register = min(max(32 // bits, 1), packed)
        self.registers = packed // self.per_register
        self.type = self.element if self.per_register == 1 else f"i{bits * self.per_register}"
        self.piece = f"<{self.per_register} x {self.element}>"

    def register(self, w: FunctionWriter, name: str, type_: str, first: int) -> str:
        """The register that holds lanes `first`, `first + 1`, ..., as a typed operand; poison beyond the last."""
        if self.per_register == 1:
            if self.lanes == 1:
                return f"{self.type} {name if first == 0 else 'poison'}"
            one = w.let(f"extractelement {type_} {name}, i32 {first}") if first < self.lanes else "poison"
            return f"{self.type} {one}"
        if self.lanes == 1:
            piece = w.let(f"insertelement {self.piece} poison, {self.element} {name}, i32 0")
        else:
            mask = ", ".join(
                f"i32 {i if i < self.lanes else 'poison'}" for i in range(first, first + self.per_register)
            )
            piece = w.let(f"shufflevector {type_} {name}, {type_} poison, <{self.per_register} x i32> <{mask}>")
        return f"{self.type} {w.let(f'bitcast {self.piece} {piece} to {self.type}')}"


@writes("nvvm.inline_ptx")
def _inline_ptx(w: FunctionWriter, op: Operation) -> None:
    packed = _int(op, "packed", 1)
    inputs = [(_Packed(v.type, packed), w.names[v], type_text(v.type)) for v in op._operands]
    outputs = [_Packed(r.type, packed) for r in op.results]
    count = lanes((*op._operands, *op.results)[0].type)
    types = [o.type for o in outputs for _ in range(o.registers)]
    fields = types[0] if len(types) == 1 else "{ " + ", ".join(types) + " }"
    effects = "" if "pure" in op.properties else " sideeffect"
    w.module.asm_attributes_used = True
    head = f'call {fields} asm{effects} "{escaped(_data(op, "asm_string"))}", "{escaped(_data(op, "constraints"))}"'
    pieces: list[list[str]] = [[] for _ in outputs]
    for first in range(0, count, packed):
        arguments = [
            p.register(w, name, type_, first + r * p.per_register)
            for p, name, type_ in inputs
            for r in range(p.registers)
        ]
        got = w.let(f"{head}({', '.join(arguments)}) #0")
        parts = [got] if len(types) == 1 else [w.let(f"extractvalue {fields} {got}, {i}") for i in range(len(types))]
        for output, into in zip(outputs, pieces, strict=True):
            into += [parts.pop(0) for _ in range(output.registers)]
    for result, output, registers in zip(op.results, outputs, pieces, strict=True):
        w.names[result] = _joined(w, output, registers, count)


def _joined(w: FunctionWriter, output: _Packed, registers: list[str], count: int) -> str:
    """The lanes of a result from the registers that hold them."""
    total = len(registers) * output.per_register
    vector = _inserted(w, registers, output.type)
    if output.per_register > 1:
        vector = w.let(
            f"bitcast {_vector_text(output.type, len(registers))} {vector} to {_vector_text(output.element, total)}"
        )
    if total == count:
        return vector
    type_ = _vector_text(output.element, total)
    if count == 1:
        return w.let(f"extractelement {type_} {vector}, i32 0")
    mask = ", ".join(f"i32 {i}" for i in range(count))
    return w.let(f"shufflevector {type_} {vector}, {type_} poison, <{count} x i32> <{mask}>")


# Global memory --------------------------------------------------------------------------------------------------------


class Words:
    """How one access of `width` elements is cut into the words of a PTX vector instruction."""

    __slots__ = ("bits", "constraint", "count", "type")

    def __init__(self, element: Attribute, width: int):
        size = bit_width(element)
        total = size * width
        if size >= 32:
            self.bits, self.count = size, width
            self.type = type_text(element)
            self.constraint = {"float": "f", "double": "d", "i64": "l"}.get(self.type, "r")
        elif total >= 32:
            self.bits, self.count, self.type, self.constraint = 32, total // 32, "i32", "r"
        else:
            self.bits, self.count, self.type, self.constraint = total, 1, "i16", "h"

    @property
    def vector(self) -> str:
        """The modifier of the instruction."""
        return f".v{self.count}" if self.count > 1 else ""


def _modifiers(op: Operation, policy: bool) -> str:
    cache, evict = _data(op, "cache"), _data(op, "evict")
    text = f".{cache}" if cache else ""
    if evict:
        text += f".L1::{evict}"
    return text + (".L2::cache_hint" if policy else "")


@writes("nvvm.createpolicy")
def _create_policy(w: FunctionWriter, op: Operation) -> None:
    text = f"createpolicy.fractional.L2::{_data(op, 'kind')}.b64 $0, 1.0;"
    w.names[op.results[0]] = asm(w, "i64", text, "=l", ())


@writes("nvvm.ld.global")
def _ld_global(w: FunctionWriter, op: Operation) -> None:
    pointers, masks, others, policies = _segments(op)
    result = op.results[0]
    element, total = lane_type(result.type), lanes(result.type)
    width = _int(op, "vector_width", 1)
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


def assemble(w: FunctionWriter, pieces: Sequence[str], words: Words, element: Attribute, total: int) -> str:
    """The vector of `total` elements whose words are `pieces`."""
    bits = bit_width(element)
    if bits < words.bits or bits >= 32:
        vector = _inserted(w, pieces, words.type)
        if bits >= 32:
            return vector
        return w.let(
            f"bitcast {_vector_text(words.type, len(pieces))} {vector} to {_vector_text(type_text(element), total)}"
        )
    narrow = pieces if bits == 16 else [w.let(f"trunc i16 {p} to i{bits}") for p in pieces]
    vector = _inserted(w, narrow, f"i{bits}")
    if element in (I8, I16):
        return vector
    return w.let(f"bitcast {_vector_text(f'i{bits}', total)} {vector} to {_vector_text(type_text(element), total)}")


def _vector_text(element: str, count: int) -> str:
    return f"<{count} x {element}>" if count > 1 else element


def _inserted(w: FunctionWriter, values: Sequence[str], type_: str) -> str:
    if len(values) == 1:
        return values[0]
    result = "poison"
    for lane, value in enumerate(values):
        result = w.let(f"insertelement <{len(values)} x {type_}> {result}, {type_} {value}, i32 {lane}")
    return result


def pack_words(w: FunctionWriter, value: SSAValue, words: Words, total: int) -> tuple[str, str]:
    """A vector of elements as a vector of words: its name and type."""
    element = lane_type(value.type)
    bits = bit_width(element)
    name, type_ = w.names[value], type_text(value.type)
    if bits >= 32:
        return name, type_
    if words.bits == 8:
        if element != I8:
            name = w.let(f"bitcast {type_} {name} to {_vector_text('i8', total)}")
        wide = _vector_text("i16", total)
        return w.let(f"zext {_vector_text('i8', total)} {name} to {wide}"), wide
    packed = _vector_text(words.type, total * bits // words.bits)
    return (name, type_) if packed == type_ else (w.let(f"bitcast {type_} {name} to {packed}"), packed)


@writes("nvvm.st.global")
def _st_global(w: FunctionWriter, op: Operation) -> None:
    (value,), pointers, masks, policies = _segments(op)
    element, total = lane_type(value.type), lanes(value.type)
    width = _int(op, "vector_width", 1)
    words = Words(element, width)
    name, type_ = pack_words(w, value, words, total)
    count = words.count
    opcode = f"st.global{_modifiers(op, bool(policies))}{words.vector}.b{words.bits}"
    for number, pointer in enumerate(pointers):
        arguments = [f"{words.type} {_lane(w, name, type_, number * count + i)}" for i in range(count)]
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


def _lane(w: FunctionWriter, name: str, type_: str, index: int) -> str:
    return w.let(f"extractelement {type_} {name}, i32 {index}") if type_.startswith("<") else name


@writes("nvvm.atom")
def _atom(w: FunctionWriter, op: Operation) -> None:
    (pointer,), values, masks = _segments(op)
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
            arguments.append(f"{words.type} {_lane(w, name, type_, lane)}")
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
    opcode = f"atom.global.{_data(op, 'sem')}.{_data(op, 'scope')}.{_data(op, 'operation')}"
    text += f"{predicate}{opcode} {outs}, [ ${count} + 0 ], {', '.join(sources)};"
    fields = "{ " + ", ".join([words.type] * count) + " }"
    got = asm(w, fields if count > 1 else words.type, text, ",".join(constraints), arguments)
    pieces = [got] if count == 1 else [w.let(f"extractvalue {fields} {got}, {i}") for i in range(count)]
    w.names[result] = assemble(w, pieces, words, lane_type(result.type), lanes(result.type))


# Shared memory --------------------------------------------------------------------------------------------------------


@writes("nvvm.st.shared")
def _st_shared(w: FunctionWriter, op: Operation) -> None:
    value, pointer, mask = op._operands
    words = Words(lane_type(value.type), lanes(value.type))
    name, type_ = pack_words(w, value, words, lanes(value.type))
    arguments = [f"{words.type} {_lane(w, name, type_, i)}" for i in range(words.count)]
    listed = ", ".join(f"${i}" for i in range(words.count))
    listed = f"{{ {listed} }}" if words.count > 1 else listed
    text = f"@${words.count + 1} st.shared{words.vector}.b{words.bits} [ ${words.count} + 0 ], {listed};"
    constraints = ",".join([words.constraint] * words.count + ["r", "b"])
    asm(w, "void", text, constraints, [*arguments, w.typed(pointer), w.typed(mask)])


@writes("nvvm.ld.shared")
def _ld_shared(w: FunctionWriter, op: Operation) -> None:
    pointer, mask = op._operands
    result = op.results[0]
    element, total = lane_type(result.type), lanes(result.type)
    words = Words(element, total)
    listed = ", ".join(f"${i}" for i in range(words.count))
    listed = f"{{ {listed} }}" if words.count > 1 else listed
    text = f"@${words.count + 1} ld.shared{words.vector}.b{words.bits} {listed}, [ ${words.count} + 0 ];"
    constraints = ",".join([f"={words.constraint}"] * words.count + ["r", "b"])
    fields = "{ " + ", ".join([words.type] * words.count) + " }"
    got = asm(w, fields if words.count > 1 else words.type, text, constraints, [w.typed(pointer), w.typed(mask)])
    pieces = [got] if words.count == 1 else [w.let(f"extractvalue {fields} {got}, {i}") for i in range(words.count)]
    w.names[result] = assemble(w, pieces, words, element, total)


@writes("nvvm.cp.async.shared.global")
def _cp_async(w: FunctionWriter, op: Operation) -> None:
    (dst,), (src,), sizes, masks = _segments(op)
    size = _int(op, "size")
    arguments = [w.typed(dst), w.typed(src)]
    constraints = ["r", "l"]
    read = f"0x{size:x}"
    if sizes:
        read = f"${len(arguments)}"
        arguments.append(w.typed(sizes[0]))
        constraints.append("r")
    predicate = ""
    if masks:
        predicate = f"@${len(arguments)} "
        arguments.append(w.typed(masks[0]))
        constraints.append("b")
    text = f"{predicate}cp.async.{_data(op, 'modifier')}.shared.global [ $0 + 0 ], [ $1 + 0 ], 0x{size:x}, {read};"
    asm(w, "void", text, ",".join(constraints), arguments)


@writes("nvvm.cp.async.commit.group")
def _cp_async_commit(w: FunctionWriter, op: Operation) -> None:
    w.module.declare("llvm.nvvm.cp.async.commit.group", "void", "")
    w.emit("call void @llvm.nvvm.cp.async.commit.group()")


@writes("nvvm.cp.async.wait.group")
def _cp_async_wait(w: FunctionWriter, op: Operation) -> None:
    w.module.declare("llvm.nvvm.cp.async.wait.group", "void", "i32")
    w.emit(f"call void @llvm.nvvm.cp.async.wait.group(i32 {_int(op, 'n')})")


@writes("nvvm.ldmatrix")
def _ldmatrix(w: FunctionWriter, op: Operation) -> None:
    result = op.results[0]
    count = lanes(result.type)
    trans = ".trans" if "transposed" in op.properties else ""
    intrinsic = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{count}{trans}.b16.p3"
    fields = "{ " + ", ".join(["i32"] * count) + " }" if count > 1 else "i32"
    w.module.declare(intrinsic, fields, "ptr addrspace(3)")
    got = w.let(f"call {fields} @{intrinsic}({w.typed(op._operands[0])})")
    words = [got] if count == 1 else [w.let(f"extractvalue {fields} {got}, {i}") for i in range(count)]
    w.names[result] = _inserted(w, words, "i32")


@writes("nvvm.stmatrix")
def _stmatrix(w: FunctionWriter, op: Operation) -> None:
    value, pointer = op._operands
    count = lanes(value.type)
    trans = ".trans" if "transposed" in op.properties else ""
    intrinsic = f"llvm.nvvm.stmatrix.sync.aligned.m8n8.x{count}{trans}.b16.p3"
    w.module.declare(intrinsic, "void", ", ".join(["ptr addrspace(3)", *["i32"] * count]))
    name, type_ = w.names[value], type_text(value.type)
    words = ", ".join(f"i32 {_lane(w, name, type_, i)}" for i in range(count))
    w.emit(f"call void @{intrinsic}({w.typed(pointer)}, {words})")


# Tensor cores ---------------------------------------------------------------------------------------------------------


@writes("nvvm.mma.sync")
def _mma_sync(w: FunctionWriter, op: Operation) -> None:
    result = op.results[0]
    element, count = lane_type(result.type), lanes(result.type)
    words = Words(element, count)
    numbers = iter(range(words.count + 4 + 2 + words.count))
    listed: list[str] = []
    arguments: list[str] = []
    for size in (words.count, 4, 2, words.count):
        listed.append("{ " + ", ".join(f"${next(numbers)}" for _ in range(size)) + " }")
    for value, size in zip(op._operands, (4, 2, words.count), strict=True):
        name, type_ = w.names[value], type_text(value.type)
        if size == words.count and value is op._operands[2]:
            name, type_ = pack_words(w, value, words, count)
        scalar = words.type if value is op._operands[2] else "i32"
        arguments += [f"{scalar} {_lane(w, name, type_, i)}" for i in range(size)]
    saturated = ".satfinite" if _data(op, "types").startswith("s32") else ""
    text = f"mma.sync.aligned.{_data(op, 'shape')}.row.col{saturated}.{_data(op, 'types')} {', '.join(listed)};"
    kinds = [f"={words.constraint}"] * words.count + ["r"] * 6 + [words.constraint] * words.count
    fields = "{ " + ", ".join([words.type] * words.count) + " }"
    got = asm(w, fields, text, ",".join(kinds), arguments)
    pieces = [w.let(f"extractvalue {fields} {got}, {i}") for i in range(words.count)]
    w.names[result] = assemble(w, pieces, words, element, count)

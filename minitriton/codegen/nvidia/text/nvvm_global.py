"""Writes ops of the `nvvm` dialect that become inline PTX: accesses to global memory, one instruction per vector; what goes lane by lane;
the user's own PTX.

    %v = "nvvm.ld.global"(%p0, %p4, %m0, %m4) {vector_width = 4} : vector<8xf32>

becomes two `asm "mov.b32 $0, 0; ... @$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4];"`, whose results are put into one vector.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator

from xdsl.dialects import llvm as L
from xdsl.ir import Attribute, SSAValue

from minitriton.codegen.nvidia.text.nvvm import (
    Registers,
    assemble,
    call_parts,
    instruction,
    lane_text,
    pack_words,
    vector_text,
)
from minitriton.codegen.text import inline_assembly
from minitriton.codegen.text.values import constant_text, type_text
from minitriton.codegen.text.writer import WRITERS, FunctionWriter
from minitriton.codegen.types import F32, GLOBAL, I1, I8, I32, I64, bit_width, lane_type, lanes
from minitriton.dialects import nvvm
from minitriton.dialects.nvvm.base import Words, words_of


@WRITERS.add(nvvm.LoadGlobalOp)
def _ld_global(w: FunctionWriter, op: nvvm.LoadGlobalOp) -> None:
    type_ = op.res.type
    element, width = lane_type(type_), op.vector_width.value.data
    words = words_of(type_, width)
    fill = _Fill(w, op.other, element, width, words) if op.masks else None
    registers, texts = fill.fields() if fill is not None else ((), ())
    fields = (*_POINTER, *_MASK[: len(op.masks)], *_POLICY[: op.policy is not None], *registers)
    load = instruction(op.ptx(), (("res", words),), fields, texts)
    parts: list[str] = []
    for number, address in enumerate(_addresses(w, op)):
        got = load.call(w, [*address, *fill.arguments(number)] if fill is not None else address)
        parts += load.taken(w, got, 0, words.count)
    w.names[op.res] = assemble(w, parts, words, element, lanes(type_))


_POINTER, _MASK, _POLICY = ((("pointers", words_of(GLOBAL)),), (("masks", words_of(I1)),), (("policy", words_of(I64)),))


def _addresses(w: FunctionWriter, op: nvvm.LoadGlobalOp | nvvm.StoreGlobalOp) -> Iterator[list[str]]:
    """Of each access pointer, mask, and what the L2 cache is asked to do."""
    masks = op.masks
    policy = [] if op.policy is None else [w.typed(op.policy)]
    for number, pointer in enumerate(op.pointers):
        yield [w.typed(pointer), *([w.typed(masks[number])] if masks else ()), *policy]


class _Fill:
    """What the registers of a masked-off access hold: zeros, a constant, a scalar or the lanes of a vector."""

    def __init__(self, w: FunctionWriter, other: SSAValue | None, element: Attribute, width: int, words: Words):
        self.w, self.words = w, words
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

    def fields(self) -> tuple[tuple[Registers, ...], tuple[tuple[str, tuple[str, ...]], ...]]:
        """The registers of one access, or the text that stands for all."""
        if self.immediate is not None:
            return (), (("other", (f"0x{self.immediate:x}",) * self.words.count),)
        return (("other", self.words),), ()

    def arguments(self, access: int) -> list[str]:
        """The words for one access."""
        words = self.words
        if self.immediate is not None:
            return []
        if not self.type:
            return [f"{words.type} {self.name}"] * words.count
        first = access * words.count
        return [f"{words.type} {lane_text(self.w, self.name, self.type, first + i)}" for i in range(words.count)]


def _replicated(text: str, bits: int, word_bits: int) -> int:
    """The bits of a constant, as often as they fit into a word."""
    if text.startswith(("0xH", "0xR")):
        pattern = int(text[3:], 16)
    elif text.startswith("0x"):
        number = struct.unpack("<d", struct.pack("<Q", int(text, 16)))[0]
        pattern = struct.unpack("<I", struct.pack("<f", number))[0] if bits == 32 else int(text, 16)
    elif text in ("true", "false"):
        pattern = int(text == "true")
    else:
        pattern = int(text) & ((1 << bits) - 1)
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


_BITS_OF = {"float": I32, "double": I64}


def _as_bits(w: FunctionWriter, number: str, words: Words) -> tuple[str, Words]:
    """A number as an integer. LLVM makes registers of `f` operands where they are used, and a load that it merges with that
    would get the line of the store; as an integer it keeps its own."""
    integer = _BITS_OF[words.type]
    return w.let(f"bitcast {words.type} {number} to {type_text(integer)}"), words_of(integer)


@WRITERS.add(nvvm.StoreGlobalOp)
def _st_global(w: FunctionWriter, op: nvvm.StoreGlobalOp) -> None:
    value = op.value
    total = lanes(value.type)
    words = words_of(value.type, op.vector_width.value.data)
    name, type_ = pack_words(w, value, words, total)
    if total == 1 and words.type in _BITS_OF:
        name, words = _as_bits(w, name, words)
    count = words.count
    fields = (("value", words), *_POINTER, *_MASK[: len(op.masks)], *_POLICY[: op.policy is not None])
    store = instruction(op.ptx(), (), fields, clobbers=op.CLOBBERS)
    for number, address in enumerate(_addresses(w, op)):
        first = number * count
        values = [f"{words.type} {lane_text(w, name, type_, i)}" for i in range(first, first + count)]
        store.call(w, [*values, *address])


# Writes the accesses of the `nvvm` dialect to the elements of vectors that a mask ends in: inline PTX, one inline-asm statement for each vector.
#
#     %w = "nvvm.ld.global.partial"(%p0, %m0, %m1, %m2, %v) {vector_width = 4} : vector<4xf32>
#
# becomes one `asm "@$7 ld.global.b32 $0, [$6+0]; @$8 ..."`, whose results are in the registers of `%v` and are put back into that vector.


def _fields(op: nvvm.LoadPartialOp | nvvm.StorePartialOp, data: str, words: Words) -> tuple[Registers, ...]:
    """The operands of the statement for one vector: the elements, where they are, and whether they are moved."""
    moved = op.vector_width.value.data - 1
    policy = () if op.policy is None else (("policy", words_of(I64)),)
    return (*((data, words),) * moved, ("pointers", words_of(GLOBAL)), *(("masks", words_of(I1)),) * moved, *policy)


def _arguments(
    w: FunctionWriter, op: nvvm.LoadPartialOp | nvvm.StorePartialOp, number: int, words: Words, name: str, type_: str
) -> list[str]:
    """What the text for vector `number` is given, the elements those of `name`."""
    width = op.vector_width.value.data
    moved = width - 1
    elements = [f"{words.type} {lane_text(w, name, type_, number * width + i)}" for i in range(moved)]
    masks = [w.typed(op.masks[number * moved + i]) for i in range(moved)]
    policy = [] if op.policy is None else [w.typed(op.policy)]
    return [*elements, w.typed(op.pointers[number]), *masks, *policy]


@WRITERS.add(nvvm.LoadPartialOp)
def _ld_global_partial(w: FunctionWriter, op: nvvm.LoadPartialOp) -> None:
    words, width, total = words_of(op.res.type, 1), op.vector_width.value.data, lanes(op.res.type)
    name, type_ = pack_words(w, op.other, words, total)
    load = instruction(op.ptx(), (("res", words),) * (width - 1), _fields(op, "other", words), tied=True)
    result = name
    for number in range(len(op.pointers)):
        got = load.call(w, _arguments(w, op, number, words, name, type_))
        for i, word in enumerate(load.taken(w, got, 0, width - 1)):
            result = w.let(f"insertelement {type_} {result}, {words.type} {word}, i32 {number * width + i}")
    w.names[op.res] = _unpacked(w, op, result, type_, words)


def _unpacked(w: FunctionWriter, op: nvvm.LoadPartialOp, name: str, type_: str, words: Words) -> str:
    """A vector of words, one for each element, as the result."""
    final = type_text(op.res.type)
    if words.bits == 8:
        bytes_ = vector_text("i8", lanes(op.res.type))
        name, type_ = w.let(f"trunc {type_} {name} to {bytes_}"), bytes_
        if lane_type(op.res.type) == I8:
            return name
    return name if type_ == final else w.let(f"bitcast {type_} {name} to {final}")


@WRITERS.add(nvvm.StorePartialOp)
def _st_global_partial(w: FunctionWriter, op: nvvm.StorePartialOp) -> None:
    words = words_of(op.value.type, 1)
    name, type_ = pack_words(w, op.value, words, lanes(op.value.type))
    store = instruction(op.ptx(), (), _fields(op, "value", words), clobbers=op.CLOBBERS)
    for number in range(len(op.pointers)):
        store.call(w, _arguments(w, op, number, words, name, type_))


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


_PTX = inline_assembly.Language(
    "PTX",
    re.compile(r"=?&?[bchrlfdqniX]|\d+|=?\{\w+\}"),
    "registers: c and h (16 bits), r (32), l (64), f (float), d (double), b (predicate); n: an immediate",
    "asm='add.s32 $0, $1, $2;', constraints='=r,r,r'",
)
"""NVPTX's registers by width, immediates, an operand shared with an output, a register by name."""


@WRITERS.add(nvvm.InlinePtxOp)
def _inline_ptx(w: FunctionWriter, op: nvvm.InlinePtxOp) -> None:
    given = op.asm_string.data, op.constraints.data, op.packed.value.data, op.pure is not None
    inline_assembly.write(w, op, inline_assembly.Assembly(*given), _PTX)

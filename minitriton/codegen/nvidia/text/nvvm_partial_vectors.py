"""Writes the accesses of the `nvvm` dialect to the elements of vectors that a mask ends in: inline PTX, one inline-asm statement for each vector.

    %w = "nvvm.ld.global.partial"(%p0, %m0, %m1, %m2, %v) {vector_width = 4} : vector<4xf32>

becomes one `asm "@$7 ld.global.b32 $0, [$6+0]; @$8 ..."`, whose results are in the registers of `%v` and are put back into that vector.
"""

from __future__ import annotations

from minitriton.codegen.nvidia.text.nvvm import Registers, instruction
from minitriton.codegen.nvidia.text.words import lane_text, pack_words, vector_text
from minitriton.codegen.text.values import type_text
from minitriton.codegen.text.writer import WRITERS, FunctionWriter
from minitriton.codegen.types import GLOBAL, I1, I8, I64, lane_type, lanes
from minitriton.dialects import nvvm
from minitriton.dialects.nvvm.base import Words, words_of


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

"""Registers of 32 bits: how vectors are split into the operands of PTX instructions, and put together from their results.

4 x f16  ->  2 words of 32 bits, constraint r        2 x i8  ->  one of 16 bits, constraint h        4 x f32  ->  4, constraint f
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from minitriton.codegen.text.values import type_text
from minitriton.codegen.text.writer import FunctionWriter
from minitriton.codegen.types import I8, I16, bit_width, lane_type
from minitriton.dialects.nvvm.base import Words


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


def vector_text(element: str, count: int) -> str:
    """The type of `count` registers."""
    return f"<{count} x {element}>" if count > 1 else element


def inserted(w: FunctionWriter, values: Sequence[str], type_: str) -> str:
    """A vector of the named values."""
    if len(values) == 1:
        return values[0]
    result = "poison"
    for lane, value in enumerate(values):
        result = w.let(f"insertelement <{len(values)} x {type_}> {result}, {type_} {value}, i32 {lane}")
    return result


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

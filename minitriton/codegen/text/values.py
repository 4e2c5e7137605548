"""How LLVM IR spells types and constants.

vector<8xf32>  ->  <8 x float>        1.5 : f32  ->  0x3FF8000000000000        dense<1> : vector<4xi32>  ->  splat (i32 1)
"""

import re
import struct

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.dialects.llvm import LLVMArrayType, LLVMFunctionType, LLVMPointerType, LLVMStructType, LLVMVoidType
from xdsl.ir import Attribute

from minitriton.dialects.attribute_values import elements
from minitriton.dialects.narrowing import instance_of
from minitriton.errors import LoweringError

_known: dict[int, tuple[Attribute, str]] = {}


def type_text(type_: Attribute) -> str:
    """The spelling of a type."""
    found = _known.get(id(type_))
    if found is None:
        found = _known[id(type_)] = (type_, _spell(type_))
    return found[1]


def vector_text(element: str, count: int) -> str:
    """The spelling of the type of `count` registers."""
    return f"<{count} x {element}>" if count > 1 else element


def _spell(type_: Attribute) -> str:
    match type_:
        case IntegerType():
            return f"i{type_.width.data}"
        case Float16Type():
            return "half"
        case BFloat16Type():
            return "bfloat"
        case Float32Type():
            return "float"
        case Float64Type():
            return "double"
        case LLVMPointerType():
            space = getattr(type_.addr_space, "data", 0)
            return f"ptr addrspace({space})" if space else "ptr"
        case VectorType():
            return f"<{type_.shape.data[0].data} x {type_text(type_.element_type)}>"
        case LLVMStructType():
            return "{ " + ", ".join(map(type_text, type_.types)) + " }"
        case LLVMArrayType():
            return f"[{type_.size.data} x {type_text(type_.type)}]"
        case LLVMVoidType():
            return "void"
        case LLVMFunctionType():
            return f"{type_text(type_.output)} ({', '.join(map(type_text, type_.inputs))})"
        case _:
            raise LoweringError(f"{type_} is not a type of LLVM IR")


def constant_text(value: Attribute, type_: Attribute) -> str:
    """The spelling of a constant of `type_`."""
    if instance_of(value, IntegerAttr):
        return _integer(value.value.data, type_)
    if instance_of(value, FloatAttr):
        return float_text(value.value.data, type_)
    assert instance_of(value, DenseIntOrFPElementsAttr) and instance_of(type_, VectorType)
    numbers = elements(value)
    element = type_.element_type
    spell = float_text if isinstance(numbers[0], float) else _integer
    if value.is_splat():
        if numbers[0] == 0 and str(numbers[0])[0] != "-":
            return "zeroinitializer"
        return f"splat ({type_text(element)} {spell(numbers[0], element)})"
    name = type_text(element)
    return "<" + ", ".join(f"{name} {spell(n, element)}" for n in numbers) + ">"


def _integer(number: int | float, type_: Attribute) -> str:
    if instance_of(type_, IntegerType) and type_.width.data == 1:
        return "true" if number else "false"
    return str(number)


def float_text(number: int | float, type_: Attribute) -> str:
    """A floating-point literal, by its bits."""
    if isinstance(type_, Float16Type):
        try:
            return f"0xH{struct.unpack('<H', struct.pack('<e', number))[0]:04X}"
        except OverflowError:
            return "0xH7C00" if number > 0 else "0xHFC00"
    if isinstance(type_, BFloat16Type):
        return f"0xR{_bfloat16(number):04X}"
    if isinstance(type_, Float32Type):
        number = _single(number)
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


def _single(number: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _bfloat16(number: float) -> int:
    bits = struct.unpack("<I", struct.pack("<f", _single(number)))[0]
    if number != number:
        return bits >> 16 | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


_PLAIN_TEXT = re.compile(r"[ !#-\[\]-~]*")
_PLAIN_SYMBOL = re.compile(r"[A-Za-z$._][A-Za-z$._0-9-]*")


def symbol_text(name: str) -> str:
    """A symbol's name after its `@`, in quotes if it needs them."""
    return f"@{name}" if _PLAIN_SYMBOL.fullmatch(name) else f'@"{escaped(name)}"'


def escaped(name: str) -> str:
    """A text inside quotes: what is not plain is written as the bytes of its UTF-8."""
    if _PLAIN_TEXT.fullmatch(name):
        return name
    return "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in name.encode(errors="replace"))


def string_text(data: str) -> str:
    """A string constant; `data` has one character per byte."""
    return 'c"' + "".join(c if " " <= c <= "~" and c not in '"\\' else f"\\{ord(c):02X}" for c in data) + '"'

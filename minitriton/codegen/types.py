"""Types of the LLVM level.

In: a type of the tensor level. Out: the type of one of its elements in a register, and vectors of it. Every type here is
interned (by `setdefault`, so that threads get the same one), so that types can be compared and looked up by identity.

    scalar_type(f8E4M3FN)            -> i8
    scalar_type(!tt.ptr<f32>)        -> !llvm.ptr<1>
    vector_type(f32, 8)              -> vector<8xf32>
    vector_type(f32, 1)              -> f32
"""

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerType,
    TensorType,
    VectorType,
)
from xdsl.dialects.llvm import LLVMPointerType, LLVMStructType, LLVMVoidType
from xdsl.ir import Attribute

from minitriton.dialects.attribute_values import dense_elements, integer_attr
from minitriton.dialects.llvm import GLOBAL, SHARED
from minitriton.dialects.llvm import lane_type as lane_type
from minitriton.dialects.llvm import lanes as lanes
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt import PointerType, TensorDescType
from minitriton.dialects.tt.types import element_type as element_type
from minitriton.errors import LoweringError

I1, I8, I16, I32, I64 = (IntegerType(width) for width in (1, 8, 16, 32, 64))
F16, BF16, F32, F64 = Float16Type(), BFloat16Type(), Float32Type(), Float64Type()
PTR = LLVMPointerType()
VOID = LLVMVoidType()

INTEGERS = {1: I1, 8: I8, 16: I16, 32: I32, 64: I64}
_POINTERS = {0: PTR, 1: GLOBAL, 3: SHARED}

_interned: dict[Attribute, Attribute] = {
    t: t for t in (I1, I8, I16, I32, I64, F16, BF16, F32, F64, PTR, GLOBAL, SHARED)
}
_widths: dict[int, int] = {
    id(I1): 1,
    id(I8): 8,
    id(I16): 16,
    id(I32): 32,
    id(I64): 64,
    id(F16): 16,
    id(BF16): 16,
    id(F32): 32,
    id(F64): 64,
    id(PTR): 64,
    id(GLOBAL): 64,
    id(SHARED): 32,
}


def scalar_type(type_: Attribute) -> Attribute:
    """The LLVM type of one element of tensor-level type `type_` (a tensor, a number, a pointer or a descriptor: the address of its tensor map)."""
    if instance_of(type_, TensorType):
        type_ = type_.element_type
    found = _interned.get(type_)
    if found is None:
        found = _interned.setdefault(type_, _convert(type_))
    return found


def _convert(type_: Attribute) -> Attribute:
    if isinstance(type_, PointerType):
        return _POINTERS.get(type_.address_space.data, GLOBAL)
    if isinstance(type_, TensorDescType):
        return PTR
    if isinstance(type_, IndexType):
        return I64
    if instance_of(type_, IntegerType):
        return INTEGERS.get(type_.width.data, type_)
    if type_.name.startswith("f8"):
        return I8
    raise LoweringError(f"a value of type {type_} lacks a counterpart in LLVM")


def bit_width(type_: Attribute) -> int:
    """Bits of a scalar type."""
    width = _widths.get(id(type_))
    if width is None:
        if instance_of(type_, IntegerType):
            return type_.width.data
        interned = _interned.get(type_)
        if interned is None:
            raise LoweringError(f"a value of type {type_} does not fit a register")
        width = _widths[id(interned)]
    return width


_vectors: dict[tuple[int, int], Attribute] = {}
_kept: list[Attribute] = []


def vector_type(element: Attribute, count: int) -> Attribute:
    """`count` registers of interned type `element`: a vector, or the element itself if `count` is 1."""
    if count == 1:
        return element
    key = (id(element), count)
    found = _vectors.get(key)
    if found is None:
        _kept.append(element)
        found = _vectors.setdefault(key, VectorType(element, [count]))
    return found


_structs: dict[tuple[int, ...], LLVMStructType] = {}


def struct_type(*fields: Attribute) -> LLVMStructType:
    """A literal struct of interned types."""
    key = tuple(map(id, fields))
    found = _structs.get(key)
    if found is None:
        _kept.extend(fields)
        found = _structs.setdefault(key, LLVMStructType.from_type_list(fields))
    return found


def constant_attr(type_: Attribute, value: int | float) -> Attribute:
    """The attribute of a scalar constant, or of a vector of equal lanes. Integers wrap around."""
    if instance_of(type_, VectorType):
        return dense_elements(type_, [value])
    if isinstance(value, float):
        assert isinstance(type_, AnyFloat)
        return FloatAttr(value, type_)
    width = bit_width(type_)
    wrapped = value & ((1 << width) - 1)
    if wrapped >> (width - 1):
        wrapped -= 1 << width
    assert instance_of(type_, IntegerType)
    return integer_attr(wrapped, type_)


def mangled(type_: Attribute) -> str:
    """The suffix by which LLVM names an overload: `v8f32`, `p1`, `i64`."""
    if instance_of(type_, VectorType):
        return f"v{type_.shape.data[0].data}{mangled(type_.element_type)}"
    if isinstance(type_, LLVMPointerType):
        space = type_.addr_space
        return f"p{getattr(space, 'data', 0)}"
    return str(type_)

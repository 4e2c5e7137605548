"""How the values of IR types are held in NumPy.

    tensor<64xi32>, i32        int32 arrays of the shape, NumPy scalars        integers are signed; unsigned ops view them
    i1                         bool
    index, !tt.ptr<T>          int64 (an address is a number of bytes)
    f16, f32, f64              float16, float32, float64
    bf16, fp8 formats          uint16, uint8: the bit patterns (`formats`)

In: an IR type. Out: its NumPy dtype, and for floats the way to numbers and back.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute

from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import PointerType, element_type, shape_of
from minitriton.interpreter.errors import InterpreterError, UnsupportedOpError
from minitriton.interpreter.numbers import formats
from minitriton.interpreter.registry import Array, scalar

_INTEGERS: dict[int, type[np.generic]] = {1: np.bool_, 8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
_UNSIGNED: dict[int, type[np.generic]] = {1: np.bool_, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_NATIVE_FLOATS: dict[type[Attribute], type[np.generic]] = {
    Float16Type: np.float16,
    Float32Type: np.float32,
    Float64Type: np.float64,
}


@cache
def dtype_of(type_: Attribute) -> np.dtype:
    """The dtype that holds the elements of `type_`. Raises `InterpreterError` for types that have no such form."""
    element = element_type(type_)
    if instance_of(element, IntegerType) and element.width.data in _INTEGERS:
        return np.dtype(_INTEGERS[element.width.data])
    if isinstance(element, IndexType | PointerType):
        return np.dtype(np.int64)
    native = _NATIVE_FLOATS.get(type(element))
    if native is not None:
        return np.dtype(native)
    if isinstance(element, BFloat16Type):
        return np.dtype(np.uint16)
    if element.name in formats.SMALL_FLOATS:
        return np.dtype(np.uint8)
    raise InterpreterError(f"the interpreter holds no values of type {element}")


def unsigned_dtype(type_: Attribute) -> np.dtype:
    """The dtype that reads integers of `type_` as unsigned."""
    element = element_type(type_)
    return np.dtype(_UNSIGNED[element.width.data if instance_of(element, IntegerType) else 64])


def is_float(type_: Attribute) -> bool:
    """Whether the elements are floating-point numbers."""
    element = element_type(type_)
    return type(element) in _NATIVE_FLOATS or isinstance(element, BFloat16Type) or element.name in formats.SMALL_FLOATS


def is_native_float(type_: Attribute) -> bool:
    """Whether NumPy computes with the format itself."""
    return type(element_type(type_)) in _NATIVE_FLOATS


def is_i1(type_: Attribute) -> bool:
    """Whether the elements are single bits."""
    element = element_type(type_)
    return instance_of(element, IntegerType) and element.width.data == 1


def same(array: Array) -> Array:
    """The array itself."""
    return array


def decoder(type_: Attribute) -> Callable[[Array], Array]:
    """From held values to numbers NumPy computes with: float16, 32, 64 as they are, narrower formats as float32."""
    element = element_type(type_)
    if type(element) in _NATIVE_FLOATS:
        return same
    if isinstance(element, BFloat16Type):
        return formats.decode_bf16
    name = element.name
    return lambda patterns: formats.decode_small(name, patterns)


def encoder(type_: Attribute, *, toward_zero: bool = False) -> Callable[[Array], Array]:
    """From numbers (any NumPy float) to held values, rounded once."""
    element = element_type(type_)
    if isinstance(element, Float16Type):
        return lambda numbers: formats.to_float16(numbers, toward_zero=toward_zero)
    native = _NATIVE_FLOATS.get(type(element))
    if native is not None:
        return lambda numbers: formats.toward_zero_in(native, numbers) if toward_zero else numbers.astype(native)
    if isinstance(element, BFloat16Type):
        return lambda numbers: formats.encode_bf16(numbers, toward_zero=toward_zero)
    name = element.name
    return lambda numbers: formats.encode_small(name, numbers, toward_zero=toward_zero)


def constant_value(attribute: Attribute, type_: Attribute) -> Array:
    """The value of an `arith.constant`."""
    if instance_of(attribute, IntegerAttr):
        return held_scalar(attribute.value.data, type_)
    if isinstance(attribute, FloatAttr):
        name = element_type(type_).name
        if name in formats.SMALL_FLOATS:
            return formats.encode_small(name, scalar(np.float64(attribute.value.data)), saturate=False)[()]
        return held_scalar(attribute.value.data, type_)
    if not isinstance(attribute, DenseIntOrFPElementsAttr):
        raise UnsupportedOpError(f"the interpreter knows no constant like {attribute}")
    shape, dtype = shape_of(type_), dtype_of(type_)
    data = attribute.data.data
    if is_i1(type_):
        elements = np.frombuffer(data, np.uint8) != 0
    else:
        elements = np.frombuffer(data, dtype)
    if elements.size == 1:
        return np.broadcast_to(elements[0], shape)
    return elements.reshape(shape)


def held_scalar(number: int | float | bool, type_: Attribute) -> Array:
    """A Python number as a value of the scalar (or element) type, integers wrapped and floats rounded to it."""
    if is_float(type_):
        return encoder(type_)(scalar(np.float64(number)))[()]
    dtype = dtype_of(type_)
    if dtype == np.bool_:
        return scalar(np.bool_(int(number) & 1))
    return np.array(int(number) & 0xFFFF_FFFF_FFFF_FFFF, np.uint64).astype(dtype)[()]


def zero(type_: Attribute) -> Array:
    """A tensor or scalar of zeros."""
    return (
        np.broadcast_to(np.zeros((), dtype_of(type_)), shape_of(type_)) if shape_of(type_) else dtype_of(type_).type(0)
    )

"""Types of the language: scalars, pointers, blocks, tuples, and the type of a compile-time value.

    float32, pointer_type(float32), block_type(int32, [128])  →  "fp32", "pointer<fp32>", "<(128,), int32>"

Types are compared by value, and `name` (unique) stands for the whole type wherever a key is needed.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

__all__ = [
    "TRITON_MAX_TENSOR_NUMEL", "bfloat16", "block_type", "constexpr_type", "dtype", "float8e4b8", "float8e4b15",
    "float8e4nv", "float8e5", "float8e5b16", "float16", "float32", "float64", "get_int_dtype", "int1", "int8",
    "int16", "int32", "int64", "pi32_t", "pointer_type", "tuple_type", "uint8", "uint16", "uint32", "uint64",
    "void",
]  # fmt: skip
"""What `tl` offers of it."""

TRITON_MAX_TENSOR_NUMEL = 1048576
"""The most elements that a block can have."""


class Constant(Protocol):
    """A `constexpr`, seen from the types below it."""

    @property
    def value(self) -> Any: ...


def _unwrapped(value: Any) -> Any:
    return value.value if type(value).__name__ == "constexpr" else value


class base_type:
    """Base of every type that a value in a kernel can have."""

    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...

    def mangle(self) -> str:
        """The type's part in the name of a function that is compiled for it."""
        raise NotImplementedError(f"type {type(self).__name__} cannot be passed to a function")

    def __ne__(self, other: object) -> bool:
        return not self == other


class constexpr_type(base_type):
    """The type of one compile-time value."""

    def __init__(self, value: object) -> None:
        self.value = value

    @property
    def name(self) -> str:
        return f"constexpr_type[{self.value}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, constexpr_type) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return self.name

    def mangle(self) -> str:
        return self.name


def _is(name: str) -> Callable[[dtype], bool]:
    """A method: whether a type is the scalar type of this name."""
    return lambda self: self.name == name


class dtype(base_type):
    """A scalar type. `name` is Triton's (`fp32`, `int8`, `uint64`, ...)."""

    SINT_TYPES = ("int8", "int16", "int32", "int64")
    UINT_TYPES = ("int1", "uint8", "uint16", "uint32", "uint64")
    FP_TYPES = ("fp8e4b15", "fp8e4nv", "fp8e4b8", "fp8e5", "fp8e5b16", "fp16", "bf16", "fp32", "fp64")
    STANDARD_FP_TYPES = ("fp16", "bf16", "fp32", "fp64")
    OTHER_TYPES = ("void",)

    class SIGNEDNESS(enum.Enum):
        SIGNED = 0
        UNSIGNED = 1

    class KIND(enum.Enum):
        """Order in which kinds win in a promotion with a Python scalar."""

        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2

    int_bitwidth: int
    int_signedness: dtype.SIGNEDNESS
    fp_mantissa_width: int
    exponent_bias: int
    shape: tuple[int, ...] = ()
    """The size of each dimension of a block; a scalar has none."""
    numel: int = 1
    layout: Any = None
    """How a block is spread over threads, where the author says so (Gluon)."""

    def __init__(self, name: str | Constant) -> None:
        text: str = _unwrapped(name)
        if not dtype.is_dtype(text):
            raise TypeError(f"{text!r} is not a dtype of the language")
        self.name: str = text
        self.primitive_bitwidth = _bitwidth(text)
        self.itemsize = self.primitive_bitwidth // 8
        if text in dtype.SINT_TYPES or text in dtype.UINT_TYPES:
            signed = text in dtype.SINT_TYPES
            self.int_signedness = dtype.SIGNEDNESS.SIGNED if signed else dtype.SIGNEDNESS.UNSIGNED
            self.int_bitwidth = self.primitive_bitwidth
        elif text in _FLOAT_FORMATS:
            self.fp_mantissa_width, self.exponent_bias = _FLOAT_FORMATS[text]

    def is_fp8(self) -> bool:
        return self.name.startswith("fp8")

    is_fp8e4nv = _is("fp8e4nv")
    is_fp8e4b8 = _is("fp8e4b8")
    is_fp8e4b15 = _is("fp8e4b15")
    is_fp8e5 = _is("fp8e5")
    is_fp8e5b16 = _is("fp8e5b16")
    is_fp16 = _is("fp16")
    is_bf16 = _is("bf16")
    is_fp32 = _is("fp32")
    is_fp64 = _is("fp64")
    is_int1 = _is("int1")
    is_int8 = _is("int8")
    is_int16 = _is("int16")
    is_int32 = _is("int32")
    is_int64 = _is("int64")
    is_uint8 = _is("uint8")
    is_uint16 = _is("uint16")
    is_uint32 = _is("uint32")
    is_uint64 = _is("uint64")

    def is_floating(self) -> bool:
        return self.name in _FLOATING

    def is_standard_floating(self) -> bool:
        return self.name in dtype.STANDARD_FP_TYPES

    def is_int_signed(self) -> bool:
        return self.name in dtype.SINT_TYPES

    def is_int_unsigned(self) -> bool:
        return self.name in dtype.UINT_TYPES

    def is_int(self) -> bool:
        return self.name in _INTEGERS

    is_bool = _is("int1")
    is_void = _is("void")

    def is_block(self) -> bool:
        return False

    def is_ptr(self) -> bool:
        return False

    def is_const(self) -> bool:
        return False

    @staticmethod
    def is_dtype(type_str: str) -> bool:
        """Whether `type_str` names a scalar type."""
        return type_str in _FLOATING or type_str in _INTEGERS or type_str in dtype.OTHER_TYPES

    def kind(self) -> dtype.KIND:
        if self.is_bool():
            return dtype.KIND.BOOLEAN
        return dtype.KIND.INTEGRAL if self.is_int() else dtype.KIND.FLOATING

    def get_int_max_value(self) -> int:
        return 2 ** (self.int_bitwidth - 1) - 1 if self.is_int_signed() else 2**self.int_bitwidth - 1

    def get_int_min_value(self) -> int:
        return -(2 ** (self.int_bitwidth - 1)) if self.is_int_signed() else 0

    @property
    def scalar(self) -> dtype:
        return self

    def with_element_ty(self, element_ty: dtype) -> dtype:
        return element_ty

    # What the ops that change a shape give for a value of this type. A type with a layout overrides them: its layout changes too.

    def with_shape(self, shape: tuple[int, ...]) -> dtype:
        """A block of `shape` of the same elements, as a broadcast gives it."""
        return block_of(self.scalar, shape)

    def expanded(self, axis: int) -> dtype:
        """With a dimension of size 1 inserted at `axis`."""
        return block_of(self.scalar, (*self.shape[:axis], 1, *self.shape[axis:]))

    def reshaped(self, shape: tuple[int, ...]) -> dtype:
        """The same elements, in their order, as `shape`."""
        return block_of(self.scalar, shape)

    def permuted(self, order: Sequence[int]) -> dtype:
        """With its dimensions in `order`."""
        return block_of(self.scalar, tuple(self.shape[d] for d in order))

    def joined(self) -> dtype:
        """Two of it along a new last dimension."""
        return block_of(self.scalar, (*self.shape, 2))

    def halved(self) -> dtype:
        """Without its last dimension, which is 2."""
        return block_of(self.scalar, self.shape[:-1])

    def reduced(self, axis: int) -> dtype:
        """Without dimension `axis`; a scalar if that was the only one."""
        rest = (*self.shape[:axis], *self.shape[axis + 1 :])
        return block_of(self.scalar, rest) if rest else self.scalar

    def indices(self, axis: int) -> dtype:
        """The indices along `axis`, which broadcast to it once the other dimensions are inserted."""
        return block_of(int32, self.shape[axis : axis + 1])

    @property
    def cache_key_part(self) -> str:
        return self.name

    def codegen_name(self) -> str:
        """The name as the language exports it: `float32`, `bfloat16`, `int8`."""
        if self.name.startswith("fp"):
            return "float" + self.name[2:]
        return "bfloat" + self.name[2:] if self.name.startswith("bf") else self.name

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, dtype):
            other = _unwrapped(other)
        return isinstance(other, dtype) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"triton.language.{self.codegen_name()}"

    def mangle(self) -> str:
        if self.is_int():
            return ("i" if self.is_int_signed() else "u") + str(self.int_bitwidth)
        return "V" if self.is_void() else self.name


_FLOATING = frozenset(dtype.FP_TYPES)
_INTEGERS = frozenset(dtype.SINT_TYPES + dtype.UINT_TYPES)
_FLOAT_FORMATS = {
    "fp8e4b15": (3, 15), "fp8e4nv": (3, 7), "fp8e4b8": (3, 8), "fp8e5": (2, 15), "fp8e5b16": (2, 16),
    "fp16": (10, 15), "bf16": (7, 127), "fp32": (23, 127), "fp64": (52, 1023),
}  # fmt: skip
"""Mantissa bits and exponent bias of each floating type."""


def _bitwidth(name: str) -> int:
    if name == "void":
        return 0
    if name.startswith("fp8"):
        return 8
    match = re.search(r"\d+$", name)
    return int(match[0]) if match else 0


class pointer_type(dtype):
    """A pointer to `element_ty` (a scalar, or a block for a block pointer); `const` forbids stores."""

    def __init__(self, element_ty: dtype | Constant, address_space: int | Constant = 1, const: bool = False) -> None:
        element_ty = _unwrapped(element_ty)
        if not isinstance(element_ty, dtype):
            raise TypeError(f"element_ty has type `{type(element_ty).__name__}`; expected `dtype`.")
        self.element_ty = element_ty
        self.address_space: int = _unwrapped(address_space)
        self.const = const
        space = "" if address_space == 1 else f", {address_space}"
        self.name = f"{'const_' if const else ''}pointer<{element_ty}{space}>"
        self.primitive_bitwidth = 64
        self.itemsize = 8

    def is_ptr(self) -> bool:
        return True

    def is_const(self) -> bool:
        return self.const

    def __repr__(self) -> str:
        return self.name

    def mangle(self) -> str:
        return f"P{self.element_ty.mangle()}"


class block_type(dtype):
    """A block of scalars or pointers; every dimension is a power of two."""

    def __init__(self, element_ty: dtype, shape: Sequence[int | Constant]) -> None:
        self.element_ty = element_ty
        self.shape: tuple[int, ...] = tuple(_unwrapped(s) for s in shape)
        if not self.shape:
            raise TypeError("0d block_type is forbidden")
        self.numel = validate_block_shape(self.shape)
        self.name = f"<{self.shape}, {element_ty.name}>"
        self.primitive_bitwidth = element_ty.primitive_bitwidth

    def is_block(self) -> bool:
        return True

    def get_block_shapes(self) -> tuple[int, ...]:
        return self.shape

    def with_element_ty(self, element_ty: dtype) -> block_type:
        return block_of(element_ty, self.shape)

    @property
    def scalar(self) -> dtype:
        return self.element_ty

    @property
    def nbytes(self) -> int:
        return self.numel * (self.element_ty.primitive_bitwidth // 8)

    def __repr__(self) -> str:
        return self.name

    def mangle(self) -> str:
        return f"{self.element_ty.mangle()}S{'_'.join(map(str, self.shape))}S"


_blocks: dict[tuple[str, tuple[int, ...]], block_type] = {}


def block_of(element: dtype, shape: tuple[int, ...]) -> block_type:
    """The block type, one object for equal arguments."""
    key = (element.name, shape)
    found = _blocks.get(key)
    if found is None:
        found = _blocks.setdefault(key, block_type(element, shape))
    return found


def validate_block_shape(shape: Sequence[object]) -> int:
    """The number of elements of a block. Raises for a shape that no block can have."""
    numel = 1
    for i, d in enumerate(shape):
        if not isinstance(d, int):
            raise TypeError(f"Shape element {i} must have type `constexpr[int]`, got `constexpr[{type(d)}]")
        if d & (d - 1) or d < 1:
            raise ValueError(f"Shape element {i} must be a power of 2")
        numel *= d
    if numel > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(f"numel ({numel}) exceeds triton maximum tensor numel ({TRITON_MAX_TENSOR_NUMEL})")
    return numel


class tuple_type(base_type):
    """The type of a tuple; `fields` names the elements of a named tuple."""

    def __init__(self, types: Sequence[base_type], fields: Sequence[str] | None = None) -> None:
        self.types = list(types)
        self.fields = list(fields) if fields else [""] * len(self.types)

    @property
    def name(self) -> str:
        return "[" + ",".join(f"{k}:{v}" for k, v in zip(self.fields, self.types, strict=True)) + "]"

    def __iter__(self) -> Iterator[base_type]:
        return iter(self.types)

    def __getitem__(self, index: int) -> base_type:
        return self.types[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple_type) and self.types == other.types and self.fields == other.fields

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def mangle(self) -> str:
        return "T" + "_".join(t.mangle() for t in self.types) + "T"


class slice_type(dtype):
    """The type of a slice."""

    def __init__(self) -> None:
        self.name = "slice_type"


void = dtype("void")
int1 = dtype("int1")
int8 = dtype("int8")
int16 = dtype("int16")
int32 = dtype("int32")
int64 = dtype("int64")
uint8 = dtype("uint8")
uint16 = dtype("uint16")
uint32 = dtype("uint32")
uint64 = dtype("uint64")
float8e5 = dtype("fp8e5")
float8e5b16 = dtype("fp8e5b16")
float8e4nv = dtype("fp8e4nv")
float8e4b8 = dtype("fp8e4b8")
float8e4b15 = dtype("fp8e4b15")
float16 = dtype("fp16")
bfloat16 = dtype("bf16")
float32 = dtype("fp32")
float64 = dtype("fp64")
pi32_t = pointer_type(int32)


def get_int_dtype(bitwidth: int, signed: bool) -> dtype:
    """The integer type of a width: 1, 8, 16, 32 or 64."""
    if bitwidth == 1:
        return int1
    if bitwidth not in (8, 16, 32, 64):
        raise ValueError(f"Unsupported bitwidth {bitwidth} and signedness {signed}")
    return dtype(f"{'' if signed else 'u'}int{bitwidth}")

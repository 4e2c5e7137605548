"""Where IR is made: the insertion point, the source location, interned types and constants.

In: xDSL ops, unattached. Out: the op in the current block, with the location of the Python expression being compiled.

    b.value(arith.AddiOp(x, y))      inserts the op and gives its result
    b.constant(float32, 0.0)         arith.constant 0.0 : f32, once per block
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, TypeVar, final

from xdsl.dialects.builtin import (
    FileLineColLoc,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    LocationAttr,
    NameLoc,
    StringAttr,
    UnknownLoc,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from minitriton.dialects.arith import ConstantOp
from minitriton.dialects.locations import file_line_col, named
from minitriton.dialects.tt.types import pointer_type, tensor_type
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.function import Seen
from minitriton.language.declare import Builtin
from minitriton.language.descriptors import tensor_descriptor_type
from minitriton.language.dtypes import base_type, block_type, dtype
from minitriton.language.dtypes import pointer_type as language_pointer
from minitriton.language.values import Function, base_value, tensor
from minitriton.rewriting.constants import number_attr
from minitriton.target import CompileOptions, GPUTarget

OpT = TypeVar("OpT", bound=Operation)

_SCALARS: dict[str, Attribute] = {
    "int1": i1, "int8": i8, "int16": i16, "int32": i32, "int64": i64,
    "uint8": i8, "uint16": i16, "uint32": i32, "uint64": i64,
    "fp16": f16, "bf16": bf16, "fp32": f32, "fp64": f64,
    "fp8e5": Float8E5M2Type(), "fp8e4nv": Float8E4M3FNType(),
    "fp8e5b16": Float8E5M2FNUZType(), "fp8e4b8": Float8E4M3FNUZType(),
    "fp8e4b15": i8,
}  # fmt: skip
"""The IR's scalar types. MLIR has no fp8e4b15, so its bits travel as an integer."""

_types: dict[str, Attribute] = dict(_SCALARS)


class GluonRules:
    """What Gluon adds to the rules of `tl`. Filled by `frontend.gluon.emitters`, which a compile of a Gluon kernel imports."""

    ir_types: ClassVar[dict[type[base_type], Callable[[Any], Attribute]]] = {}
    """What makes the IR's type of values that only Gluon has."""
    emitters: ClassVar[dict[Builtin[..., object], Callable[..., object]]] = {}
    """What emits the operations that only Gluon has."""
    with_one_layout: Callable[[IRBuilder, tensor, tensor], tuple[tensor, tensor]]
    """Both operands with the layout of one. Raises where they have two."""
    descriptor_type: Callable[[tensor_descriptor_type, str], base_type]
    """The type of descriptors whose blocks have the layout that a text says."""


GLUON = GluonRules()


UNKNOWN = UnknownLoc()


def ir_type(type: base_type) -> Attribute:
    """The IR's type for a scalar, pointer or block of the language, built once."""
    found = _types.get(type.name)
    if found is None:
        make = GLUON.ir_types.get(type.__class__)
        if make is not None:
            found = make(type)
        elif isinstance(type, block_type):
            found = tensor_type(type.shape, ir_type(type.element_ty))
        elif isinstance(type, language_pointer):
            found = pointer_type(ir_type(type.element_ty), type.address_space)
        else:
            raise LanguageTypeError(f"a value of type {type} cannot be computed with at run time")
        _types[type.name] = found
    return found


@final
class LazyLocation:
    """A line and column of a file, and the location attribute made of it once an op stands there."""

    __slots__ = ("_attribute", "column", "file", "line")

    def __init__(self, file: StringAttr, line: int, column: int) -> None:
        self.file = file
        self.line = line
        self.column = column
        self._attribute: FileLineColLoc | None = None

    def attribute(self) -> FileLineColLoc:
        if self._attribute is None:
            self._attribute = file_line_col(self.file, self.line, self.column)
        return self._attribute


@lru_cache(maxsize=16384)
def named_location(name: str, location: LocationAttr) -> NameLoc:
    """`location` with a variable's name, which is how values get their names in printed IR."""
    return named(name, location)


InitialPromise = tuple[SSAValue, SSAValue, str, Attribute]
"""What a loop begins a variable with, what it leaves of it, and the name and value of what its body promises of the variable."""


class IRBuilder:
    """The state of one compilation: options, target, the current block and location.

    `call_function(fn, args, kwargs)` compiles a call to a function of the language; the code generator provides it.
    """

    def __init__(
        self,
        options: CompileOptions,
        target: GPUTarget,
        is_debugged: bool = False,
        is_verbatim: bool = False,
        is_gluon: bool = False,
        seen: Seen | None = None,
    ) -> None:
        self.options = options
        self.target = target
        self.is_verbatim = is_verbatim
        """Whether each op is emitted that Triton's frontend emits, unused ones and unreachable blocks too: for comparisons of text."""
        self.is_gluon = is_gluon
        self.seen = seen
        self.is_debugged = is_debugged
        """Whether breakpoints stop the kernel, which runs on the interpreter then."""
        self.counts_warps = False
        """Whether the kernel asks how many warps run it."""
        self.block = Block()
        self.entry: Block | None = None
        """The first block of the kernel: what is inserted there always runs."""
        self.lazy_location: LazyLocation | LocationAttr = UNKNOWN
        self.name: str | None = None
        """The variable that the expression being compiled is assigned to."""
        self.call_function: Callable[[Function, Sequence[object], dict[str, object]], base_value | None] = _no_function
        self.argument_hints: list[tuple[BlockArgument, str, Attribute]] = []
        """Promises about block arguments, (argument, name, promise), for the loop they belong to."""
        self.loop_promises: list[InitialPromise] = []
        """Those of the function's loops so far, for the values that they begin with."""
        self._constants: dict[Block, dict[tuple[str, float, float | bool], SSAValue]] = {}
        self._supported_fp8 = frozenset(options.supported_fp8_dtypes)
        self.partition_warps: int | None = None
        """How many warps run the function that is compiled, if it is for a partition of them."""
        self.partition_registers: int | None = None
        """How many registers a thread of that partition asks for."""
        self.version = tuple(map(int, options.triton_version.split(".")))
        """Of Triton: its rules decide where versions disagree (docs/newer-triton.md)."""

    @property
    def location(self) -> LocationAttr:
        """Where the ops that are inserted next stand in the source."""
        lazy_location = self.lazy_location
        return lazy_location.attribute() if type(lazy_location) is LazyLocation else lazy_location

    @location.setter
    def location(self, location: LocationAttr) -> None:
        self.lazy_location = location

    def insert(self, op: OpT) -> OpT:
        """Puts `op` at the end of the current block. It is named after the variable being assigned, if any."""
        lazy_location = self.lazy_location
        location = lazy_location.attribute() if type(lazy_location) is LazyLocation else lazy_location
        op.location = location if self.name is None else named_location(self.name, location)
        self.block.add_op(op)
        return op

    def value(self, op: Operation) -> SSAValue:
        """`insert`, which gives the op's result."""
        return self.insert(op).results[0]

    def op(
        self,
        cls: type[Operation],
        operands: Sequence[SSAValue],
        result_type: Attribute,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        """A new op of class `cls` with one result, by the shortest way to make one."""
        return self.value(cls.create(operands=operands, result_types=(result_type,), properties=properties or {}))

    def ir_type(self, type: base_type) -> Attribute:
        """The IR's type for `type`. Raises for an fp8 type that the target does not have."""
        scalar = type.scalar if isinstance(type, dtype) else type
        if scalar.name.startswith("fp8") and scalar.name not in self._supported_fp8:
            raise LanguageValueError(
                f"type {scalar} not supported in this architecture. "
                f"The supported fp8 dtypes are {self.options.supported_fp8_dtypes}",
                "convert to one of them, or to float16, on the host",
            )
        return ir_type(type)

    def constant(self, type: dtype, number: int | float | bool) -> SSAValue:
        """`number` as a value of `type` (a scalar, or a block that repeats it), made once in each block."""
        # Zero's sign takes part in the key: 0.0 == -0.0.
        key = (type.name, number, number == 0 and math.copysign(1.0, number))
        known = self._constants.get(self.block)
        if known is None:
            known = self._constants[self.block] = {}
        found = None if self.is_gluon else known.get(key)
        if found is None:
            result_type = self.ir_type(type)
            scalar = type.scalar
            if scalar.is_fp8e4b15():
                number = bits_of_fp8e4b15(number)
            elif scalar.is_fp8():
                number = in_fp8(scalar, number, self.target.features.has_fp8_conversions)
            else:
                number = float(number) if scalar.is_floating() else int(number)
            attribute = number_attr(result_type, number)
            found = known[key] = self.op(ConstantOp, (), result_type, {"value": attribute})
        else:
            forget_location(found)
        return found

    def in_block(self, block: Block) -> InBlock:
        """`with b.in_block(block):` inserts there, and comes back."""
        return InBlock(self, block)

    def region(self, argument_types: Sequence[Attribute] = ()) -> tuple[Region, Block]:
        """A new region of one block."""
        block = Block(arg_types=argument_types)
        for argument in block.args:
            argument.location = self.location
        return Region(block), block


class InBlock:
    """Context manager that inserts at the end of another block for a while. Location and name are kept."""

    def __init__(self, builder: IRBuilder, block: Block) -> None:
        self.builder = builder
        self.block = block
        self.outer = builder.block

    def __enter__(self) -> Block:
        self.outer = self.builder.block
        self.builder.block = self.block
        return self.block

    def __exit__(self, *exception: object) -> None:
        self.builder.block = self.outer


def _no_function(fn: Function, args: Sequence[object], kwargs: dict[str, object]) -> base_value | None:
    raise NotImplementedError("functions can be called only while a kernel is compiled")


def forget_location(constant: SSAValue) -> None:
    """For a constant that stands for several."""
    if isinstance(constant.owner, Operation):
        constant.owner.location = UNKNOWN


def constant_of(value: tensor) -> Attribute | None:
    """The attribute of the constant op that makes a value, or None."""
    owner = value.handle.owner
    return owner.properties["value"] if isinstance(owner, ConstantOp) else None


# Numbers as constants of 8-bit floats, rounded as casts from fp32 are at run time.
#
# in_fp8(fp8e4nv, 465.0, native=True) = 448.0         saturated, as `cvt.rn.satfinite` does
# in_fp8(fp8e5, 61440.0, native=False) = inf          as GPUs before compute capability 8.9 are made to
# bits_of_fp8e4b15(1.0) = 0x78                        MLIR does not have the type: its constants are integers

_LARGEST = {"fp8e4nv": 448.0, "fp8e5": 57344.0, "fp8e4b8": 240.0, "fp8e5b16": 57344.0}
_FP16 = 10, -14, 65504.0
"""Bits of the mantissa, the least exponent, the largest number."""


def in_fp8(type: dtype, number: float, native: bool) -> float:
    """`number` as `type` holds it. `native`: the GPU has instructions for 8-bit floats, which saturate."""
    number = _in_fp32(number)
    if not native:
        number = _quantized(number, *_FP16, math.floor)
    if math.isnan(number) or number == 0:
        return number
    largest = _LARGEST[type.name]
    found = _quantized(number, type.fp_mantissa_width, 1 - type.exponent_bias, math.inf, round)
    if abs(found) > largest:
        return math.copysign(largest if native else math.inf, number)
    return found


def bits_of_fp8e4b15(number: float) -> int:
    """The bits of `number` as fp8e4b15, an upper part of fp16, as a signed integer of 8 bits."""
    number = _in_fp32(number)
    sign = 0x80 if math.copysign(1.0, number) < 0 else 0
    magnitude = 0x3F00 if math.isnan(number) else _fp16_bits(min(abs(_quantized(number, *_FP16, math.floor)), 1.75))
    bits = sign | (magnitude * 2 + 0x80) >> 8
    return bits - 0x100 if bits >= 0x80 else bits


def _fp16_bits(number: float) -> int:
    return struct.unpack("<H", struct.pack("<e", number))[0]


def _in_fp32(number: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def _quantized(number: float, mantissa: int, least: int, largest: float, to_integer: Callable[[float], int]) -> float:
    """`number` in steps of a format, its magnitude rounded by `to_integer` and limited (infinity too, where `to_integer` rounds down)."""
    if math.isnan(number) or number == 0 or math.isinf(number):
        return number
    size = abs(number)
    step = 2.0 ** (max(math.frexp(size)[1] - 1, least) - mantissa)
    return math.copysign(min(to_integer(size / step) * step, largest), number)

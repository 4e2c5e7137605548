"""What the `arith` ops share: kinds of types, flags, constants, and the type of a comparison.

bool_like(tensor<64xf32>)      tensor<64xi1>
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
    VectorType,
    i1,
    i64,
)
from xdsl.dialects.utils import BitEnumAttribute, FastMathAttrBase, FastMathFlag
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_attr_definition, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from minitriton.dialects.facts.layout import AnyLayout
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.traits import TypeKind
from minitriton.dialects.tt.types import with_element


@irdl_attr_definition
class FastMathFlagsAttr(FastMathAttrBase):
    """What of floating-point arithmetic an op may leave: `fastmath<nnan, contract>`."""

    name = "arith.fastmath"

    def __init__(self, flags: Iterable[FastMathFlag] | Literal["none", "fast"] | None) -> None:
        super().__init__(flags)


class IntegerOverflowFlag(StrEnum):
    """The result fits, as a signed or as an unsigned number."""

    NSW = "nsw"
    NUW = "nuw"


@irdl_attr_definition
class IntegerOverflowAttr(BitEnumAttribute[IntegerOverflowFlag]):
    """What an integer op promises of its result: `overflow<nsw, nuw>`."""

    name = "arith.overflow"
    none_value = "none"

    def __init__(self, flags: Iterable[IntegerOverflowFlag] | str | None) -> None:
        super().__init__(flags)

    def print_parameter(self, printer: Printer) -> None:
        flags = [flag.value for flag in IntegerOverflowFlag if flag in self.data]
        printer.print_string(f"<{', '.join(flags) or self.none_value}>")


NO_FASTMATH = FastMathFlagsAttr("none")
NO_OVERFLOW_FLAGS = IntegerOverflowAttr("none")
NSW = IntegerOverflowAttr((IntegerOverflowFlag.NSW,))
NUW = IntegerOverflowAttr((IntegerOverflowFlag.NUW,))

CMPI_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
CMPF_PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno",
    "true",
)  # fmt: skip
PREDICATE_ATTRS = tuple(IntegerAttr(code, i64) for code in range(len(CMPF_PREDICATES)))


def element_of(type_: Attribute) -> Attribute:
    return type_.element_type if instance_of(type_, (TensorType, VectorType)) else type_


def is_integer(type_: Attribute) -> bool:
    return instance_of(element_of(type_), (IntegerType, IndexType))


def _is_float(type_: Attribute) -> bool:
    return isinstance(element_of(type_), AnyFloat)


def _is_bool(type_: Attribute) -> bool:
    return element_of(type_) == i1


INTEGER = TypeKind("signless-integer-like", is_integer)
FLOAT = TypeKind("floating-point-like", _is_float)
BOOL = TypeKind("bool-like", _is_bool)
ANY = TypeKind("any type", lambda _: True)


def bool_like(type_: Attribute) -> Attribute:
    """The type of a comparison of values of `type_`: `i1`, or a tensor or vector of it."""
    if instance_of(type_, TensorType):
        return with_element(type_, i1)
    if instance_of(type_, VectorType):
        return VectorType(i1, type_.shape, type_.scalable_dims)
    return i1


def width_of(type_: Attribute) -> int:
    element = element_of(type_)
    if instance_of(element, IntegerType):
        return element.width.data
    return element.bitwidth if isinstance(element, AnyFloat) else 0


def splat_attr(type_: TensorType | VectorType, value: float) -> DenseIntOrFPElementsAttr:
    """`dense<value>` of `type_`, its element stored once. Raises `VerifyException` for an integer that does not fit."""
    element: Any = type_.element_type
    stored: Any = (
        IntegerAttr(int(value), element).value.data if instance_of(element, (IntegerType, IndexType)) else value,
    )
    numbers: Any = type_
    return DenseIntOrFPElementsAttr(numbers, BytesAttr(element.pack(stored)))


class ConstantOp(Op, HasFolderInterface):
    """A constant: a number, or a dense tensor."""

    name = "arith.constant"
    value = prop_def(IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr)
    result = result_def()
    traits = traits_def(Pure(), ConstantLike(), AnyLayout())

    def __init__(self, value: IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr) -> None:
        Operation.__init__(self, result_types=(value.type,), properties={"value": value})

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes = parser.parse_optional_attr_dict()
        value = parser.parse_attribute()
        if not instance_of(value, (IntegerAttr, FloatAttr, DenseIntOrFPElementsAttr)):
            parser.raise_error("expected a number or a dense tensor")
        op = cls(value)
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)

    def verify_(self) -> None:
        if self.value.type != self.result.type:
            raise VerifyException("failed to verify that all of {value, result} have same type")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return (self.value,)

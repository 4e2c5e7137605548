"""The `arith` dialect, on scalars and on tensors.

xDSL's own refuses tensors in comparisons, selections and casts; this one replaces it, with the same names. Constructors infer the
result type and are cheap: they do not go through IRDL.

    %1 = arith.cmpi slt, %0, %cst : tensor<64xi32>
    %2 = arith.select %1, %a, %b : tensor<64xi1>, tensor<64xf32>
    %3 = arith.addi %0, %cst overflow<nsw> : tensor<64xi32>
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.arith import FastMathFlagsAttr, IntegerOverflowFlag
from xdsl.dialects.builtin import (
    AnyFloat,
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
from xdsl.dialects.utils import BitEnumAttribute
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Commutative, ConditionallySpeculatable, ConstantLike, NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.tt_constraints import Kind, var


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
    "false",
    "oeq",
    "ogt",
    "oge",
    "olt",
    "ole",
    "one",
    "ord",
    "ueq",
    "ugt",
    "uge",
    "ult",
    "ule",
    "une",
    "uno",
    "true",
)
_PREDICATE_ATTRS = tuple(IntegerAttr(code, i64) for code in range(len(CMPF_PREDICATES)))


def _element(type_: Attribute) -> Attribute:
    return type_.element_type if isinstance(type_, TensorType | VectorType) else type_


def _is_integer(type_: Attribute) -> bool:
    return isinstance(_element(type_), IntegerType | IndexType)


def _is_float(type_: Attribute) -> bool:
    return isinstance(_element(type_), AnyFloat)


def _is_bool(type_: Attribute) -> bool:
    return _element(type_) == i1


INTEGER = Kind("signless-integer-like", _is_integer)
FLOAT = Kind("floating-point-like", _is_float)
BOOL = Kind("bool-like", _is_bool)
ANY = Kind("any type", lambda _: True)


def bool_like(type_: Attribute) -> Attribute:
    """The type of a comparison of values of `type_`: `i1`, or a tensor or vector of it."""
    if isinstance(type_, TensorType):
        from minitriton.dialects.tt_types import with_element

        return with_element(type_, i1)
    if isinstance(type_, VectorType):
        return VectorType(i1, type_.shape, type_.scalable_dims)
    return i1


def _width(type_: Attribute) -> int:
    element = _element(type_)
    if isinstance(element, IntegerType):
        return element.width.data
    return element.bitwidth if isinstance(element, AnyFloat) else 0


@irdl_op_definition
class ConstantOp(IRDLOperation, HasFolderInterface):
    """A constant: a number, or a dense tensor."""

    name = "arith.constant"
    value = prop_def(IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr)
    result = result_def()
    traits = traits_def(Pure(), ConstantLike())

    def __init__(self, value: IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr) -> None:
        Operation.__init__(self, result_types=(value.type,), properties={"value": value})

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes = parser.parse_optional_attr_dict()
        value = parser.parse_attribute()
        if not isinstance(value, IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr):
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


class _IntegerBinaryOp(IRDLOperation):
    """Base of ops on two integers of one type."""

    T: ClassVar = var("T", INTEGER)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue) -> None:
        Operation.__init__(self, operands=(lhs, rhs), result_types=(lhs.type,))


class _IntegerBinaryOpWithOverflow(IRDLOperation):
    """Base of ops on two integers that may promise not to overflow."""

    T: ClassVar = var("T", INTEGER)
    lhs = operand_def(T)
    rhs = operand_def(T)
    overflow_flags = prop_def(IntegerOverflowAttr, default_value=NO_OVERFLOW_FLAGS, prop_name="overflowFlags")
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs (`overflow` `` $overflowFlags^)? attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, *, overflow: IntegerOverflowAttr = NO_OVERFLOW_FLAGS) -> None:
        Operation.__init__(self, operands=(lhs, rhs), result_types=(lhs.type,), properties={"overflowFlags": overflow})


class _FloatBinaryOp(IRDLOperation):
    """Base of ops on two floating-point numbers of one type."""

    T: ClassVar = var("T", FLOAT)
    lhs = operand_def(T)
    rhs = operand_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, *, fastmath: FastMathFlagsAttr = NO_FASTMATH) -> None:
        Operation.__init__(self, operands=(lhs, rhs), result_types=(lhs.type,), properties={"fastmath": fastmath})


class _DivisorNotZero(ConditionallySpeculatable):
    """May run ahead of its condition only if the divisor is a constant that cannot trap."""

    @classmethod
    def is_speculatable(cls, op: Operation) -> bool:
        divisor = op.operands[1].owner
        if not isinstance(divisor, ConstantOp):
            return False
        value = divisor.value
        numbers = value.get_values() if isinstance(value, DenseIntOrFPElementsAttr) else (value.value.data,)
        forbidden = (
            (0, -1) if op.name in ("arith.divsi", "arith.floordivsi", "arith.ceildivsi", "arith.remsi") else (0,)
        )
        return not any(number in forbidden for number in numbers)


@irdl_op_definition
class AddiOp(_IntegerBinaryOpWithOverflow):
    """Sum."""

    name = "arith.addi"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class SubiOp(_IntegerBinaryOpWithOverflow):
    """Difference."""

    name = "arith.subi"


@irdl_op_definition
class MuliOp(_IntegerBinaryOpWithOverflow):
    """Product, its lower half."""

    name = "arith.muli"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class ShLIOp(_IntegerBinaryOpWithOverflow):
    """Shift to the left."""

    name = "arith.shli"


@irdl_op_definition
class DivSIOp(_IntegerBinaryOp):
    """Signed quotient, rounded towards zero."""

    name = "arith.divsi"
    traits = traits_def(NoMemoryEffect(), _DivisorNotZero())


@irdl_op_definition
class DivUIOp(_IntegerBinaryOp):
    """Unsigned quotient, rounded down."""

    name = "arith.divui"
    traits = traits_def(NoMemoryEffect(), _DivisorNotZero())


@irdl_op_definition
class CeilDivSIOp(_IntegerBinaryOp):
    """Signed quotient, rounded up."""

    name = "arith.ceildivsi"
    traits = traits_def(NoMemoryEffect(), _DivisorNotZero())


@irdl_op_definition
class CeilDivUIOp(_IntegerBinaryOp):
    """Unsigned quotient, rounded up."""

    name = "arith.ceildivui"
    traits = traits_def(NoMemoryEffect(), _DivisorNotZero())


@irdl_op_definition
class FloorDivSIOp(_IntegerBinaryOp):
    """Signed quotient, rounded down."""

    name = "arith.floordivsi"
    traits = traits_def(NoMemoryEffect(), _DivisorNotZero())


@irdl_op_definition
class RemSIOp(_IntegerBinaryOp):
    """Signed remainder, with the sign of the dividend."""

    name = "arith.remsi"
    traits = traits_def(NoMemoryEffect(), _DivisorNotZero())


@irdl_op_definition
class RemUIOp(_IntegerBinaryOp):
    """Unsigned remainder."""

    name = "arith.remui"
    traits = traits_def(NoMemoryEffect(), _DivisorNotZero())


@irdl_op_definition
class MaxSIOp(_IntegerBinaryOp):
    """Signed maximum."""

    name = "arith.maxsi"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class MaxUIOp(_IntegerBinaryOp):
    """Unsigned maximum."""

    name = "arith.maxui"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class MinSIOp(_IntegerBinaryOp):
    """Signed minimum."""

    name = "arith.minsi"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class MinUIOp(_IntegerBinaryOp):
    """Unsigned minimum."""

    name = "arith.minui"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class AndIOp(_IntegerBinaryOp):
    """Bitwise and."""

    name = "arith.andi"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class OrIOp(_IntegerBinaryOp):
    """Bitwise or."""

    name = "arith.ori"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class XOrIOp(_IntegerBinaryOp):
    """Bitwise exclusive or."""

    name = "arith.xori"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class ShRSIOp(_IntegerBinaryOp):
    """Shift to the right that keeps the sign."""

    name = "arith.shrsi"


@irdl_op_definition
class ShRUIOp(_IntegerBinaryOp):
    """Shift to the right that fills with zeros."""

    name = "arith.shrui"


@irdl_op_definition
class AddfOp(_FloatBinaryOp):
    """Sum."""

    name = "arith.addf"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class SubfOp(_FloatBinaryOp):
    """Difference."""

    name = "arith.subf"


@irdl_op_definition
class MulfOp(_FloatBinaryOp):
    """Product."""

    name = "arith.mulf"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class DivfOp(_FloatBinaryOp):
    """Quotient."""

    name = "arith.divf"


@irdl_op_definition
class RemfOp(_FloatBinaryOp):
    """Remainder, with the sign of the dividend."""

    name = "arith.remf"


@irdl_op_definition
class MaximumfOp(_FloatBinaryOp):
    """Maximum; NaN if either is NaN."""

    name = "arith.maximumf"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class MaxnumfOp(_FloatBinaryOp):
    """Maximum; the other number if one is NaN."""

    name = "arith.maxnumf"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class MinimumfOp(_FloatBinaryOp):
    """Minimum; NaN if either is NaN."""

    name = "arith.minimumf"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class MinnumfOp(_FloatBinaryOp):
    """Minimum; the other number if one is NaN."""

    name = "arith.minnumf"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class NegfOp(IRDLOperation):
    """The number with its sign changed."""

    T: ClassVar = var("T", FLOAT)
    name = "arith.negf"
    operand = operand_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"

    def __init__(self, operand: SSAValue, *, fastmath: FastMathFlagsAttr = NO_FASTMATH) -> None:
        Operation.__init__(self, operands=(operand,), result_types=(operand.type,), properties={"fastmath": fastmath})


class _ExtendedProductOp(IRDLOperation):
    """Base of products with both halves."""

    T: ClassVar = var("T", INTEGER)
    lhs = operand_def(T)
    rhs = operand_def(T)
    low = result_def(T)
    high = result_def(T)
    traits = traits_def(Pure(), Commutative())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue) -> None:
        Operation.__init__(self, operands=(lhs, rhs), result_types=(lhs.type, lhs.type))


@irdl_op_definition
class MulSIExtendedOp(_ExtendedProductOp):
    """Both halves of the signed product."""

    name = "arith.mulsi_extended"


@irdl_op_definition
class MulUIExtendedOp(_ExtendedProductOp):
    """Both halves of the unsigned product."""

    name = "arith.mului_extended"


@irdl_op_definition
class AddUIExtendedOp(IRDLOperation):
    """Sum and carry."""

    T: ClassVar = var("T", INTEGER)
    name = "arith.addui_extended"
    lhs = operand_def(T)
    rhs = operand_def(T)
    sum = result_def(T)
    overflow = result_def(BOOL)
    traits = traits_def(Pure(), Commutative())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($sum) `,` type($overflow)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue) -> None:
        Operation.__init__(self, operands=(lhs, rhs), result_types=(lhs.type, bool_like(lhs.type)))


class _ComparisonOp(IRDLOperation):
    """What the two comparisons share: `predicate, lhs, rhs : type`, a result of `i1` in the shape of the operands."""

    traits = traits_def(Pure())
    PREDICATES: ClassVar[tuple[str, ...]]

    @property
    def predicate_name(self) -> str:
        """The predicate's word, such as `slt`."""
        code: Any = self.properties["predicate"]
        return self.PREDICATES[code.value.data]

    def verify_(self) -> None:
        if self.results[0].type != bool_like(self.operands[0].type):
            raise VerifyException("failed to verify that result type has i1 element type and same shape as operands")

    @classmethod
    def _predicate(cls, predicate: str | int) -> IntegerAttr:
        return _PREDICATE_ATTRS[cls.PREDICATES.index(predicate) if isinstance(predicate, str) else predicate]

    @classmethod
    def _parse_predicate(cls, parser: Parser) -> IntegerAttr:
        word = parser.parse_optional_str_literal() or parser.parse_identifier("comparison predicate")
        if word not in cls.PREDICATES:
            parser.raise_error(f"expected one of {', '.join(cls.PREDICATES)}, got {word}")
        parser.parse_punctuation(",")
        return cls._predicate(word)

    @staticmethod
    def _parse_operands(parser: Parser) -> Any:
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        return lhs, parser.parse_unresolved_operand()

    def _print_head(self, printer: Printer) -> None:
        printer.print_string(f" {self.predicate_name}, ")
        printer.print_operand(self.operands[0])
        printer.print_string(", ")
        printer.print_operand(self.operands[1])

    def _print_tail(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.operands[0].type)


@irdl_op_definition
class CmpiOp(_ComparisonOp):
    """Comparison of integers; `predicate` is one of `CMPI_PREDICATES` or its number."""

    T: ClassVar = var("T", INTEGER)
    name = "arith.cmpi"
    PREDICATES: ClassVar[tuple[str, ...]] = CMPI_PREDICATES
    predicate = prop_def(IntegerAttr.constr(i64))
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(BOOL)

    def __init__(self, lhs: SSAValue, rhs: SSAValue, predicate: str | int) -> None:
        Operation.__init__(
            self,
            operands=(lhs, rhs),
            result_types=(bool_like(lhs.type),),
            properties={"predicate": self._predicate(predicate)},
        )

    @classmethod
    def parse(cls, parser: Parser) -> CmpiOp:
        predicate = cls._parse_predicate(parser)
        unresolved = cls._parse_operands(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        lhs, rhs = parser.resolve_operands(unresolved, (type_, type_), parser.pos)
        op = cls(lhs, rhs, predicate.value.data)
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        self._print_head(printer)
        self._print_tail(printer)


@irdl_op_definition
class CmpfOp(_ComparisonOp):
    """Comparison of floating-point numbers; `predicate` is one of `CMPF_PREDICATES` or its number."""

    T: ClassVar = var("T", FLOAT)
    name = "arith.cmpf"
    PREDICATES: ClassVar[tuple[str, ...]] = CMPF_PREDICATES
    predicate = prop_def(IntegerAttr.constr(i64))
    lhs = operand_def(T)
    rhs = operand_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    result = result_def(BOOL)

    def __init__(
        self, lhs: SSAValue, rhs: SSAValue, predicate: str | int, *, fastmath: FastMathFlagsAttr = NO_FASTMATH
    ) -> None:
        Operation.__init__(
            self,
            operands=(lhs, rhs),
            result_types=(bool_like(lhs.type),),
            properties={"predicate": self._predicate(predicate), "fastmath": fastmath},
        )

    @classmethod
    def parse(cls, parser: Parser) -> CmpfOp:
        predicate = cls._parse_predicate(parser)
        unresolved = cls._parse_operands(parser)
        fastmath = NO_FASTMATH
        if parser.parse_optional_keyword("fastmath") is not None:
            fastmath = FastMathFlagsAttr.new(FastMathFlagsAttr.parse_parameter(parser))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        lhs, rhs = parser.resolve_operands(unresolved, (type_, type_), parser.pos)
        op = cls(lhs, rhs, predicate.value.data, fastmath=fastmath)
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        self._print_head(printer)
        if self.fastmath != NO_FASTMATH:
            printer.print_string(" fastmath")
            self.fastmath.print_parameter(printer)
        self._print_tail(printer)


@irdl_op_definition
class SelectOp(IRDLOperation):
    """`lhs` where `cond` is true, else `rhs`. `cond` is one `i1`, or one for each element."""

    T: ClassVar = var("T", ANY)
    name = "arith.select"
    cond = operand_def(BOOL)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())

    def __init__(self, cond: SSAValue, lhs: SSAValue, rhs: SSAValue) -> None:
        Operation.__init__(self, operands=(cond, lhs, rhs), result_types=(lhs.type,))

    @classmethod
    def parse(cls, parser: Parser) -> SelectOp:
        cond = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        condition: Attribute = i1
        type_ = parser.parse_type()
        if parser.parse_optional_punctuation(",") is not None:
            condition, type_ = type_, parser.parse_type()
        op = cls(*parser.resolve_operands((cond, lhs, rhs), (condition, type_, type_), parser.pos))
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if self.cond.type != i1:
            printer.print_attribute(self.cond.type)
            printer.print_string(", ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        if self.cond.type != i1 and self.cond.type != bool_like(self.result.type):
            raise VerifyException(
                f"expected condition type to have the same shape as the result type, expected "
                f"'{bool_like(self.result.type)}', but got '{self.cond.type}'"
            )


class _CastOp(IRDLOperation):
    """Base of conversions, element by element."""

    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"
    DIRECTION: ClassVar[int] = 0
    """1 if the result must be wider than the input, -1 if narrower."""

    def __init__(self, input: SSAValue, result_type: Attribute) -> None:
        Operation.__init__(self, operands=(input,), result_types=(result_type,))

    def verify_(self) -> None:
        source, target = self.operands[0].type, self.results[0].type
        if bool_like(source) != bool_like(target):
            raise VerifyException("requires the same shape for all operands and results")
        if self.DIRECTION * (_width(target) - _width(source)) < 0 or (
            self.DIRECTION and _width(target) == _width(source) and _is_integer(source)
        ):
            kind = "wider" if self.DIRECTION > 0 else "shorter"
            raise VerifyException(f"result type '{target}' must be {kind} than operand type '{source}'")


@irdl_op_definition
class ExtSIOp(_CastOp):
    """Widens an integer, repeating its sign."""

    name = "arith.extsi"
    input = operand_def(INTEGER)
    result = result_def(INTEGER)
    DIRECTION: ClassVar[int] = 1


@irdl_op_definition
class ExtUIOp(_CastOp):
    """Widens an integer with zeros."""

    name = "arith.extui"
    input = operand_def(INTEGER)
    result = result_def(INTEGER)
    DIRECTION: ClassVar[int] = 1


@irdl_op_definition
class TruncIOp(_CastOp):
    """Keeps the lower bits."""

    name = "arith.trunci"
    input = operand_def(INTEGER)
    result = result_def(INTEGER)
    DIRECTION: ClassVar[int] = -1


@irdl_op_definition
class SIToFPOp(_CastOp):
    """A signed integer as a floating-point number."""

    name = "arith.sitofp"
    input = operand_def(INTEGER)
    result = result_def(FLOAT)


@irdl_op_definition
class UIToFPOp(_CastOp):
    """An unsigned integer as a floating-point number."""

    name = "arith.uitofp"
    input = operand_def(INTEGER)
    result = result_def(FLOAT)


@irdl_op_definition
class FPToSIOp(_CastOp):
    """A floating-point number as a signed integer, rounded towards zero."""

    name = "arith.fptosi"
    input = operand_def(FLOAT)
    result = result_def(INTEGER)


@irdl_op_definition
class FPToUIOp(_CastOp):
    """A floating-point number as an unsigned integer, rounded towards zero."""

    name = "arith.fptoui"
    input = operand_def(FLOAT)
    result = result_def(INTEGER)


@irdl_op_definition
class BitcastOp(_CastOp):
    """The same bits as another type of the same width."""

    name = "arith.bitcast"
    input = operand_def(ANY)
    result = result_def(ANY)


@irdl_op_definition
class IndexCastOp(_CastOp):
    """Between `index` and a signed integer."""

    name = "arith.index_cast"
    input = operand_def(INTEGER)
    result = result_def(INTEGER)


@irdl_op_definition
class IndexCastUIOp(_CastOp):
    """Between `index` and an unsigned integer."""

    name = "arith.index_castui"
    input = operand_def(INTEGER)
    result = result_def(INTEGER)


@irdl_op_definition
class ExtFOp(IRDLOperation):
    """Widens a floating-point number."""

    name = "arith.extf"
    input = operand_def(FLOAT)
    fastmath = opt_prop_def(FastMathFlagsAttr)
    result = result_def(FLOAT)
    traits = traits_def(Pure())
    assembly_format = "$input (`fastmath` `` $fastmath^)? attr-dict `:` type($input) `to` type($result)"

    def __init__(self, input: SSAValue, result_type: Attribute) -> None:
        Operation.__init__(self, operands=(input,), result_types=(result_type,))


@irdl_op_definition
class TruncFOp(IRDLOperation):
    """Narrows a floating-point number, rounded to nearest."""

    name = "arith.truncf"
    input = operand_def(FLOAT)
    fastmath = opt_prop_def(FastMathFlagsAttr)
    result = result_def(FLOAT)
    traits = traits_def(Pure())
    assembly_format = "$input (`fastmath` `` $fastmath^)? attr-dict `:` type($input) `to` type($result)"

    def __init__(self, input: SSAValue, result_type: Attribute) -> None:
        Operation.__init__(self, operands=(input,), result_types=(result_type,))


class _MaterializeConstant(ConstantMaterializationInterface):
    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation:
        assert isinstance(value, IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr)
        return ConstantOp(value)


ARITH = Dialect(
    "arith",
    [
        AddUIExtendedOp,
        AddfOp,
        AddiOp,
        AndIOp,
        BitcastOp,
        CeilDivSIOp,
        CeilDivUIOp,
        CmpfOp,
        CmpiOp,
        ConstantOp,
        DivSIOp,
        DivUIOp,
        DivfOp,
        ExtFOp,
        ExtSIOp,
        ExtUIOp,
        FPToSIOp,
        FPToUIOp,
        FloorDivSIOp,
        IndexCastOp,
        IndexCastUIOp,
        MaxSIOp,
        MaxUIOp,
        MaximumfOp,
        MaxnumfOp,
        MinSIOp,
        MinUIOp,
        MinimumfOp,
        MinnumfOp,
        MulSIExtendedOp,
        MulUIExtendedOp,
        MulfOp,
        MuliOp,
        NegfOp,
        OrIOp,
        RemSIOp,
        RemUIOp,
        RemfOp,
        SIToFPOp,
        SelectOp,
        ShLIOp,
        ShRSIOp,
        ShRUIOp,
        SubfOp,
        SubiOp,
        TruncFOp,
        TruncIOp,
        UIToFPOp,
        XOrIOp,
    ],
    [FastMathFlagsAttr, IntegerOverflowAttr],
    [_MaterializeConstant()],
)

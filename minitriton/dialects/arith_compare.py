"""Comparisons and selections of `arith`.

%1 = arith.cmpi slt, %0, %cst : tensor<64xi32>
%2 = arith.select %1, %a, %b : tensor<64xi1>, tensor<64xf32>
"""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.arith_base import (
    ANY,
    BOOL,
    CMPF_PREDICATES,
    CMPI_PREDICATES,
    FLOAT,
    INTEGER,
    NO_FASTMATH,
    PREDICATE_ATTRS,
    bool_like,
)
from minitriton.dialects.op_definition import op_definition
from minitriton.dialects.tt_constraints import var


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
        return PREDICATE_ATTRS[cls.PREDICATES.index(predicate) if isinstance(predicate, str) else predicate]

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


@op_definition
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


@op_definition
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


@op_definition
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

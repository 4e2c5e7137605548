"""Comparisons and selections of `arith`, and the predicates of `arith.cmpi`, numbered as in MLIR.

%1 = arith.cmpi slt, %0, %cst : tensor<64xi32>
%2 = arith.select %1, %a, %b : tensor<64xi1>, tensor<64xf32>
"""

import operator
from collections.abc import Callable
from typing import Any, ClassVar

from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, operand_def, prop_def, result_def, traits_def
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.arith.base import (
    ANY,
    BOOL,
    CMPF_PREDICATES,
    CMPI_PREDICATES,
    FLOAT,
    INTEGER,
    NO_FASTMATH,
    PREDICATE_ATTRS,
    FastMathFlagsAttr,
    bool_like,
)
from minitriton.dialects.attribute_values import integer
from minitriton.dialects.facts import ForwardsOperands
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.fast_paths.op_definition import Op, directive
from minitriton.dialects.tt.traits import follows, var

COMPARISON = follows("T", bool_like, "result type has i1 element type and same shape as operands")


@directive
class Predicate(CustomDirective):
    """`custom<Predicate>($predicate)`: the word for the number of a comparison, `slt` or `"slt"`."""

    predicate: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        comparison: Any = state.op_type
        word = parser.parse_optional_str_literal() or parser.parse_identifier("comparison predicate")
        if word not in comparison.PREDICATES:
            parser.raise_error(f"expected one of {', '.join(comparison.PREDICATES)}, got {word}")
        self.predicate.set(state, comparison.numbered(word))

    def print(self, printer: Printer, state: PrintingState, op: Any) -> None:
        state.print_whitespace(printer)
        printer.print_string(op.predicate_name)


@directive
class SelectTypes(CustomDirective):
    """`custom<SelectTypes>(type($cond), type($result))`: the type of the condition is left out where it is `i1`."""

    cond: TypeDirective
    result: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        condition: Attribute = i1
        type_ = parser.parse_type()
        if parser.parse_optional_punctuation(",") is not None:
            condition, type_ = type_, parser.parse_type()
        self.cond.set(state, (condition,))
        self.result.set(state, (type_,))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        types = (*self.cond.get(op), *self.result.get(op))
        printer.print_list(types[1:] if types[0] == i1 else types, printer.print_attribute)


class _ComparisonOp(Op):
    """What the two comparisons share: a predicate, a word in the text and a number as a property."""

    traits = traits_def(Pure(), Elementwise())
    PREDICATES: ClassVar[tuple[str, ...]]

    @property
    def predicate_name(self) -> str:
        """The predicate's word, such as `slt`."""
        code = self.properties["predicate"]
        assert isinstance(code, IntegerAttr)
        return self.PREDICATES[code.value.data]

    @classmethod
    def numbered(cls, predicate: str | int) -> IntegerAttr:
        """The property for a predicate given by its word or its number."""
        return PREDICATE_ATTRS[cls.PREDICATES.index(predicate) if isinstance(predicate, str) else predicate]


class CmpiOp(_ComparisonOp):
    """Comparison of integers; `predicate` is one of `CMPI_PREDICATES` or its number."""

    T: ClassVar = var("T", INTEGER)
    name = "arith.cmpi"
    PREDICATES: ClassVar[tuple[str, ...]] = CMPI_PREDICATES
    predicate = prop_def(IntegerAttr.constr(i64))
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(COMPARISON)
    custom_directives = (Predicate,)
    assembly_format = "custom<Predicate>($predicate) `,` $lhs `,` $rhs attr-dict `:` type($lhs)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, predicate: str | int) -> None:
        properties = {"predicate": self.numbered(predicate)}
        Operation.__init__(self, operands=(lhs, rhs), result_types=(bool_like(lhs.type),), properties=properties)


class CmpfOp(_ComparisonOp):
    """Comparison of floating-point numbers; `predicate` is one of `CMPF_PREDICATES` or its number."""

    T: ClassVar = var("T", FLOAT)
    name = "arith.cmpf"
    PREDICATES: ClassVar[tuple[str, ...]] = CMPF_PREDICATES
    predicate = prop_def(IntegerAttr.constr(i64))
    lhs = operand_def(T)
    rhs = operand_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    result = result_def(COMPARISON)
    custom_directives = (Predicate,)
    assembly_format = (
        "custom<Predicate>($predicate) `,` $lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($lhs)"
    )

    def __init__(
        self, lhs: SSAValue, rhs: SSAValue, predicate: str | int, *, fastmath: FastMathFlagsAttr = NO_FASTMATH
    ) -> None:
        properties = {"predicate": self.numbered(predicate), "fastmath": fastmath}
        Operation.__init__(self, operands=(lhs, rhs), result_types=(bool_like(lhs.type),), properties=properties)


class SelectOp(Op):
    """`lhs` where `cond` is true, else `rhs`. `cond` is one `i1`, or one for each element."""

    T: ClassVar = var("T", ANY)
    name = "arith.select"
    cond = operand_def(BOOL)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure(), Elementwise(), ForwardsOperands(first=1, choice=True))
    custom_directives = (SelectTypes,)
    assembly_format = "$cond `,` $lhs `,` $rhs attr-dict `:` custom<SelectTypes>(type($cond), type($result))"

    def __init__(self, cond: SSAValue, lhs: SSAValue, rhs: SSAValue) -> None:
        Operation.__init__(self, operands=(cond, lhs, rhs), result_types=(lhs.type,))

    def verify_(self) -> None:
        if self.cond.type != i1 and self.cond.type != bool_like(self.result.type):
            raise VerifyException(
                f"expected condition type to have the same shape as the result type, expected "
                f"'{bool_like(self.result.type)}', but got '{self.cond.type}'"
            )


EQ, NE, SLT, SLE, SGT, SGE, ULT, ULE, UGT, UGE = range(10)

MIRRORED = {EQ: EQ, NE: NE, SLT: SGT, SLE: SGE, SGT: SLT, SGE: SLE, ULT: UGT, ULE: UGE, UGT: ULT, UGE: ULE}
"""The predicate of `r ? l` that says the same as that of `l ? r`."""

INVERTED = {EQ: NE, NE: EQ, SLT: SGE, SLE: SGT, SGT: SLE, SGE: SLT, ULT: UGE, ULE: UGT, UGT: ULE, UGE: ULT}
"""The predicate that holds where another does not."""

_COMPARE: tuple[Callable[[int, int], bool], ...] = (
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, operator.lt, operator.le, operator.gt, operator.ge,
)  # fmt: skip


def predicate_of(op: Operation) -> int:
    """The number of the predicate of a comparison."""
    return integer(op.properties["predicate"])


def holds(predicate: int, a: int, b: int, width: int) -> bool:
    """What a comparison of two integers of `width` bits says, given as signed numbers."""
    if predicate >= ULT:
        mask = (1 << width) - 1
        a, b = a & mask, b & mask
    return _COMPARE[predicate](a, b)


# Division of exact integers as `arith.divsi` has it.


def toward_zero(a: int, b: int) -> int:
    """The quotient of exact integers, rounded toward zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient

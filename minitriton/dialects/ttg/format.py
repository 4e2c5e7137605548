"""Parts of textual forms of the GPU dialects that declarative formats cannot say.

custom<MemDesc>(type($dst))                  <64xf16, #shared, #smem, mutable>      a memory descriptor's type without its name
custom<Token>($dep, type($token))            [%dep]                                 waits for a token and gives one
custom<Barriers>($barriers, $preds)          , %bar0[%p0], %bar1[%p1]
custom<Signature>(type($a), type($b))        (!tt.ptr<i8>, !tt.ptr<f16>, i32) -> () of operands in several lists
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import ParametrizedAttribute
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    OptionalOperandVariable,
    ParsingState,
    PrintingState,
    TypeDirective,
    VariadicOperandVariable,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from minitriton.dialects.fast_paths.op_definition import directive
from minitriton.dialects.tt.format import Pointer
from minitriton.dialects.ttg.types import AsyncTokenType, MemDescType


@directive
class MemDesc(Pointer):
    """The type of a memory descriptor without its name. Its full form is read too."""

    type: TypeDirective

    CLASS: ClassVar[type[ParametrizedAttribute]] = MemDescType


@directive
class Token(CustomDirective):
    """`[%token]` or `[]` after an operand of an op that gives a token; nothing if it gives none."""

    dep: OptionalOperandVariable
    token: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        has_token = parser.parse_optional_punctuation("[") is not None
        self.dep.set(state, parser.parse_optional_unresolved_operand() if has_token else None)
        self.token.set(state, (AsyncTokenType(),) if has_token else ())
        if has_token:
            parser.parse_punctuation("]")

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        if self.token.is_present(op):
            dep = self.dep.get(op)
            with printer.in_square_brackets():
                printer.print_list(() if dep is None else (dep,), printer.print_ssa_value)


@directive
class Barriers(CustomDirective):
    """`, %barrier[%pred]`, any number of times."""

    barriers: VariadicOperandVariable
    preds: VariadicOperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        barriers: list[UnresolvedOperand] = []
        preds: list[UnresolvedOperand] = []
        while parser.parse_optional_punctuation(",") is not None:
            barriers.append(parser.parse_unresolved_operand())
            with parser.in_square_brackets():
                preds.append(parser.parse_unresolved_operand())
        self.barriers.set(state, barriers)
        self.preds.set(state, preds)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        for barrier, pred in zip(self.barriers.get(op), self.preds.get(op), strict=True):
            printer.print_string(", ")
            printer.print_ssa_value(barrier)
            with printer.in_square_brackets():
                printer.print_ssa_value(pred)


@directive
class Signature(CustomDirective):
    """The types of all operands, where the first two do not follow from the op's name; no results."""

    first: TypeDirective
    second: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        first, second, *_ = parser.parse_function_type().inputs.data
        self.first.set(state, (first,))
        self.second.set(state, (second,))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_function_type(op.operand_types, ())

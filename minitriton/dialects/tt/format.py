"""Parts of textual forms that xDSL's declarative formats lack.

`custom<CacheClauses>($cache, $evict)` is MLIR's `oilist`: `cacheModifier = cg evictionPolicy = evict_first`, each clause at most
once, in any order, left out when it has the default.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import ParametrizedAttribute
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from minitriton.dialects.fast_paths.op_definition import directive
from minitriton.dialects.tt.types import PointerType, TensorDescType


@directive
class CacheClauses(CustomDirective):
    """The clauses `cacheModifier = ...` and `evictionPolicy = ...` of memory accesses."""

    cache: AttributeVariable
    evict: AttributeVariable

    KEYWORDS: ClassVar[tuple[str, str]] = ("cacheModifier", "evictionPolicy")

    def parse(self, parser: Parser, state: ParsingState) -> None:
        open_clauses = dict(zip(self.KEYWORDS, (self.cache, self.evict), strict=True))
        while open_clauses:
            for keyword, variable in open_clauses.items():
                if parser.parse_optional_keyword(keyword) is not None:
                    parser.parse_punctuation("=")
                    variable.parse(parser, state)
                    del open_clauses[keyword]
                    break
            else:
                return

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        for keyword, variable in zip(self.KEYWORDS, (self.cache, self.evict), strict=True):
            if variable.is_present(op):
                state.print_whitespace(printer)
                printer.print_string(f"{keyword} =")
                variable.print(printer, state, op)


@directive
class Pointer(CustomDirective):
    """`custom<Pointer>(type($ptr))`: the type of a pointer without its name, `<f32>`. Its full form is read too."""

    type: TypeDirective

    CLASS: ClassVar[type[ParametrizedAttribute]] = PointerType

    def parse(self, parser: Parser, state: ParsingState) -> None:
        type_ = parser.parse_optional_type()
        self.type.set(state, (self.CLASS.new(self.CLASS.parse_parameters(parser)) if type_ is None else type_,))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        for type_ in self.type.get(op):
            assert isinstance(type_, self.CLASS)
            type_.print_parameters(printer)


@directive
class Descriptor(Pointer):
    """`custom<Descriptor>(type($desc))`: the type of a tensor descriptor without its name, `<tensor<8x8xf16>>`."""

    type: TypeDirective

    CLASS: ClassVar[type[ParametrizedAttribute]] = TensorDescType


class _EnumClause(CustomDirective):
    """`, keyword = case`, left out when the attribute is absent or has its default."""

    value: AttributeVariable

    KEYWORD: ClassVar[str]

    def parse(self, parser: Parser, state: ParsingState) -> None:
        if parser.parse_optional_punctuation(",") is not None:
            parser.parse_keyword(self.KEYWORD)
            parser.parse_punctuation("=")
            self.value.parse(parser, state)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        if self.value.is_present(op):
            printer.print_string(f", {self.KEYWORD} =")
            self.value.print(printer, state, op)


@directive
class RoundingClause(_EnumClause):
    """`, rounding = rtz`."""

    value: AttributeVariable

    KEYWORD: ClassVar[str] = "rounding"


@directive
class InputPrecisionClause(_EnumClause):
    """`, inputPrecision = tf32`."""

    value: AttributeVariable

    KEYWORD: ClassVar[str] = "inputPrecision"

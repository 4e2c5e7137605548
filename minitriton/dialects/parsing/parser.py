"""Parses IR as MLIR (and so Triton 3.6.0) prints it and as Triton's tests write it.

In: text. Out: xDSL's ops, each with its location: the `loc(...)` that follows it, else where it stands in the text.
Beyond xDSL's parser: aliases may be used before their definition (as locations are), enumerations may be written as numbers,
properties that have defaults may be missing.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import cache, cached_property
from typing import Any

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    FusedLoc,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    TensorType,
    UnknownLoc,
    UnregisteredAttr,
    UnregisteredOp,
    VectorType,
    i1,
)
from xdsl.dialects.utils import parse_assignment
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue, TypeAttribute
from xdsl.irdl import IRDLOperation
from xdsl.parser import AttrParser, Parser, ParserState, UnresolvedOperand
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from minitriton.dialects.arith import splat_attr
from minitriton.dialects.locations import file_line_col
from minitriton.dialects.narrowing import instance_of, subclass_of
from minitriton.dialects.parsing.lexer import TritonLexer
from minitriton.dialects.rocdl import matrix_op
from minitriton.dialects.tt.enums import IntegerEnumAttr

NUMBERS = IntegerType | IndexType | AnyFloat
_ALIAS_DEFINITION = re.compile(r"^[^\S\n]*([#!][A-Za-z_][\w$.-]*)\s*=\s*", re.MULTILINE)
_TYPE = re.compile(
    r"(?:tensor|!tt\.ptr|!tt\.tensordesc|!ttg\.memdesc)<(?:[^<>\"]|<(?:[^<>\"]|<(?:[^<>\"]|<[^<>\"]*>)*>)*>)*>"
)
_LOCATION_BY_ALIAS = re.compile(r"loc\((#[A-Za-z_][\w$.-]*)\)", re.ASCII)
_ALIAS = re.compile(r"#([A-Za-z_][\w$-]*)(?![\w$.<-])")
_DEFAULT_ARGUMENT = re.compile(r"arg\d+(_\d+)?")


class TritonParser(Parser):
    """A parser of a text."""

    def __init__(self, context: Context, text: str, name: str, ignore_locations: bool = False) -> None:
        # The first token is read when a lexer is taken on: a Parser made of text would read it by xDSL's own.
        AttrParser.__init__(self, ParserState(TritonLexer(Input(text, name))), context)
        self.ssa_values = {}
        self.blocks = {}
        self.forward_block_references = defaultdict(list)
        self.forward_ssa_references = {}
        self._first_uses: dict[str, Span] = {}
        self._file = StringAttr(name)
        self._ignore_locations = ignore_locations
        self._location: LocationAttr | None = None
        self._types: dict[str, TypeAttribute] = {}
        self._op_classes: list[type[Operation]] = []
        self._argument_names: dict[BlockArgument, str] = {}
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._definitions = {match.group(1): match.end() for match in _ALIAS_DEFINITION.finditer(text)}

    def location_at(self, position: int) -> FileLineColLoc:
        """The location of a character of the text."""
        line = bisect_right(self._line_starts, position)
        return file_line_col(self._file, line, position - self._line_starts[line - 1] + 1)

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """The module of the text; ops that stand outside one are put into one."""
        ops: list[Operation] = []
        while self._current_token.kind != MLIRTokenKind.EOF:
            if self._current_token.kind in (MLIRTokenKind.HASH_IDENT, MLIRTokenKind.EXCLAMATION_IDENT):
                self._parse_alias_def()
            elif self._current_token.kind == MLIRTokenKind.FILE_METADATA_BEGIN:
                self._parse_file_metadata_dictionary()
            else:
                ops.append(self.expect(self.parse_optional_operation, "expected an operation"))
        if self.forward_ssa_references:
            name = next(iter(self.forward_ssa_references))
            self.raise_error(f"use of undeclared SSA value name '%{name}'", self._first_uses.get(name))
        if len(ops) == 1 and isinstance(ops[0], ModuleOp):
            return ops[0]
        module = ModuleOp(ops)
        module.location = FileLineColLoc(self._file, IntAttr(0), IntAttr(0))
        return module

    # Aliases

    def _parse_alias_def(self) -> None:
        token = self._consume_token()
        self.parse_punctuation("=", "after attribute alias name")
        value = self.parse_attribute()
        self.attribute_aliases.setdefault(token.text, value)

    def _parse_extended_type_or_attribute(self, attr_or_dialect_name: str, is_type: bool) -> Any:
        alias = ("!" if is_type else "#") + attr_or_dialect_name
        if alias not in self.attribute_aliases and alias in self._definitions:
            here = self._current_token.span.start
            if self._current_token.kind != MLIRTokenKind.LESS:
                self._resume_from(self._definitions.pop(alias))
                self.attribute_aliases[alias] = self.parse_attribute()
                self._resume_from(here)
        return super()._parse_extended_type_or_attribute(attr_or_dialect_name, is_type)

    # Ops

    def _parse_dialect_type_or_attribute_body(
        self, attr_name: str, is_type: bool, is_opaque: bool, starting_opaque_pos: int | None
    ) -> Any:
        """The text of an attribute that no dialect here knows stands by itself: its aliases are written out."""
        parsed = super()._parse_dialect_type_or_attribute_body(attr_name, is_type, is_opaque, starting_opaque_pos)
        if isinstance(parsed, UnregisteredAttr) and _ALIAS.search(parsed.value.data):
            body = _ALIAS.sub(lambda alias: self._body_of_alias(alias[1]), parsed.value.data)
            return type(parsed)(parsed.attr_name, parsed.is_type, parsed.is_opaque, body)
        return parsed

    def _body_of_alias(self, name: str) -> str:
        meaning = self._parse_extended_type_or_attribute(name, False)
        return f"<{meaning.value.data}>" if isinstance(meaning, UnregisteredAttr) else str(meaning)

    def parse_optional_location(self) -> LocationAttr | None:
        """A location; after most ops stands the alias of one, which is looked up as it stands."""
        match = _LOCATION_BY_ALIAS.match(self.lexer.input.content, self._current_token.span.start)
        known = self.attribute_aliases.get(match[1]) if match is not None else None
        if match is not None and isinstance(known, LocationAttr):
            self._resume_from(match.end())
            self._location = known
        else:
            self._location = super().parse_optional_location()
        return self._location

    def parse_operation(self) -> Operation:
        results_at = self._current_token.span.start
        bound = self._parse_op_result_list()
        name = self._current_token
        op = self._parse_op_after_results()
        if self._location is None or self._ignore_locations:
            op.location = self.location_at(name.span.start)
        else:
            op.location = self._location
            if isinstance(op, scf.ForOp | scf.WhileOp):
                self._name_loop_arguments(op)
        if isinstance(op, scf.ForOp | scf.IfOp):
            _add_unwritten_yields(op)
        if isinstance(op, IRDLOperation):
            complete_properties(op)
        given = sum(size for _, size in bound)
        if given and given != len(op.results):
            self.raise_error(
                f"operation defines {len(op.results)} results but was provided {given} to bind", results_at
            )
        first = 0
        for span, size in bound:
            self._register_ssa_definition(span.text[1:], op.results[first : first + size], span)
            first += size
        return op

    def _parse_op_after_results(self) -> Operation:
        named_at = self._current_token.span
        token = self._parse_optional_token(MLIRTokenKind.BARE_IDENT)
        name = self.expect(self.parse_optional_str_literal, "operation name expected") if token is None else token.text
        op_class = self._get_op_by_name(name)
        with_instruction = matrix_op(name) if token is not None and issubclass(op_class, UnregisteredOp) else None
        if with_instruction is not None:
            op_class = with_instruction[0]
        if issubclass(op_class, UnregisteredOp) and self._current_token.kind != MLIRTokenKind.L_PAREN:
            self.raise_error(f"custom op '{name}' is unknown", named_at)
        self._parser_state.dialect_stack.append(op_class.dialect_name())
        self._op_classes.append(op_class)
        if token is None:
            op = self._parse_generic_operation(op_class)
        else:
            try:
                if with_instruction is not None:
                    op: Operation = with_instruction[0].parse_rest(self, with_instruction[1])
                else:
                    op = PARSERS.get(op_class, op_class.parse)(self)
            except VerifyException as error:
                self.raise_error(f"custom op '{name}' {_type_complaint(str(error))}", token.span)
            self.parse_optional_location()
        self._parser_state.dialect_stack.pop()
        self._op_classes.pop()
        return op

    def parse_optional_attr_dict(self) -> dict[str, Attribute]:
        attributes = super().parse_optional_attr_dict()
        op_class = self._op_classes[-1]
        if attributes and issubclass(op_class, IRDLOperation):
            _spell_enumerations(op_class, attributes)
        return attributes

    def resolve_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue:
        known = self.ssa_values.get(operand.operand_name)
        if known is None:
            self._first_uses.setdefault(operand.operand_name, operand.span)
        if known is not None and operand.index < len(known) and known[operand.index].type != type:
            prior = known[operand.index].type
            self.raise_error(
                f"use of value '{operand.span.text}' expects different type than prior uses: '{type}' vs '{prior}'",
                operand.span,
            )
        return super().resolve_operand(operand, type)

    # Attributes and types

    def parse_optional_type(self) -> TypeAttribute | None:
        """A type. The texts of modules repeat a few types over and over: each is parsed once."""
        match = _TYPE.match(self.lexer.input.content, self._current_token.span.start)
        if match is None:
            return super().parse_optional_type()
        known = self._types.get(match[0])
        if known is not None:
            self._resume_from(match.end())
            return known
        parsed = super().parse_optional_type()
        if parsed is not None:
            self._types[match[0]] = parsed
        return parsed

    def _parse_dense_literal_type(self) -> Any:
        type_ = self.parse_type()
        if not instance_of(type_, (TensorType, VectorType)) or not isinstance(type_.element_type, NUMBERS):
            self.raise_error("expected a tensor or vector of numbers")
        return type_

    def parse_dense_int_or_fp_elements_attr(self, type: Any) -> DenseIntOrFPElementsAttr:
        """`<0.0> : tensor<64xf32>`; splats without going through a list of all elements."""
        start = self._current_token.span.start
        self.parse_punctuation("<", " in dense attribute")
        if self._current_token.kind in (MLIRTokenKind.L_SQUARE, MLIRTokenKind.STRING_LIT, MLIRTokenKind.GREATER):
            self._resume_from(start)
            return super().parse_dense_int_or_fp_elements_attr(type)
        element = self._parse_tensor_literal_element()
        self.parse_punctuation(">", " in dense attribute")
        if type is None:
            self.parse_punctuation(":", " in dense attribute")
            type = self._parse_dense_literal_type()
        one: Any = element.to_type(self, type.element_type)
        return splat_attr(type, one)

    def _parse_tensor_literal_element(self) -> AttrParser._TensorLiteralElement:
        is_bits = self._current_token.text[:2] in ("0x", "0X")
        element = super()._parse_tensor_literal_element()
        if is_bits:
            return _Bits(element.is_negative, element.value, element.span)
        return element

    def _parse_location(self) -> LocationAttr:
        if self.parse_optional_keyword("fused") is None:
            return super()._parse_location()
        metadata: Attribute = NoneAttr()
        if self.parse_optional_punctuation("<") is not None:
            metadata = self.parse_attribute()
            self.parse_punctuation(">")
        locations = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
        return FusedLoc(ArrayAttr(locations), metadata)

    def _parse_external_resources(self) -> None:
        depth = 0
        while True:
            kind = self._consume_token().kind
            depth += (kind == MLIRTokenKind.L_BRACE) - (kind == MLIRTokenKind.R_BRACE)
            if depth == 0:
                return

    # Regions and block arguments

    def parse_optional_region(self, arguments: Iterable[Parser.Argument] | None = None) -> Region | None:
        """A region; one without arguments and ops has no block, as in MLIR."""
        given = None if arguments is None else list(arguments)
        return super().parse_optional_region(given or None)

    def _parse_optional_block_arg_list(self, block: Block) -> Block | None:
        if self._current_token.kind != MLIRTokenKind.L_PAREN:
            return None
        self.parse_comma_separated_list(self.Delimiter.PAREN, lambda: self._parse_block_argument(block))
        return block

    def _parse_block_argument(self, block: Block) -> None:
        name = self._parse_token(MLIRTokenKind.PERCENT_IDENT, "block argument expected").span
        self.parse_punctuation(":")
        argument = block.insert_arg(self.parse_type(), len(block.args))
        self._register_ssa_definition(name.text[1:], (argument,), name)
        location = self.parse_optional_location()
        if location is not None and not self._ignore_locations:
            argument.location = location

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        for value in values:
            if isinstance(value, BlockArgument):
                value.location = self.location_at(span.start)
                self._argument_names[value] = name

    def _name_loop_arguments(self, op: Operation) -> None:
        """Keep the names of a loop's arguments, which come from locations that the text of a loop does not show."""
        for argument in op.regions[0].block.args:
            name = self._argument_names[argument]
            stem, _, suffix = name.rpartition("_")
            if suffix.isdigit() and stem in self._names:
                name = stem
            if not name.isdigit() and not _DEFAULT_ARGUMENT.fullmatch(name):
                argument.location = NameLoc(StringAttr(name), argument.location)

    @cached_property
    def _names(self) -> frozenset[str]:
        """The names of all values in the text."""
        return frozenset(re.findall(r"%([\w$.-]+)", self.lexer.input.content))


def _type_complaint(message: str) -> str:
    """A broken constraint on a type, as MLIR says it while parsing."""
    found = re.search(r"must be ranked tensor.*, but got '([^']*)'", message)
    if found and not found[1].startswith("tensor<"):
        return f"invalid kind of type specified: expected builtin.tensor, but found '{found[1]}'"
    return message


class _Bits(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """An element of a tensor literal given in hexadecimal: the bits of a floating-point number, or an integer."""

    def to_type(self, parser: AttrParser, type: Any) -> Any:
        if isinstance(type, AnyFloat) and isinstance(self.value, int):
            return type.unpack(self.value.to_bytes(type.compile_time_size, "little"), 1)[0]
        return super().to_type(parser, type)


def _add_unwritten_yields(op: Operation) -> None:
    """A yield of nothing is not written: its location is that of the loop or branch that it ends."""
    for region in op.regions:
        for block in region.blocks:
            last = block.last_op
            if isinstance(last, scf.YieldOp) and isinstance(last.location, UnknownLoc):
                last.location = op.location


def complete_properties(op: IRDLOperation) -> None:
    """Give `op` the properties that its text left out for having a default, and enumerations instead of their numbers."""
    defaults = _completions(type(op))[1]
    if op.attributes:
        known = op.get_irdl_definition().properties
        for name in [name for name in op.attributes if name in known]:
            op.properties[name] = op.attributes.pop(name)
    _spell_enumerations(type(op), op.properties)
    for name, value in defaults:
        op.properties.setdefault(name, value)


def _spell_enumerations(op_class: type[IRDLOperation], values: dict[str, Attribute]) -> None:
    """Replace the numbers of enumerations among the properties `values` of an op by their cases."""
    for name, attribute_class in _completions(op_class)[0]:
        value = values.get(name)
        if instance_of(value, IntegerAttr):
            found = attribute_class.from_code(value.value.data)
            if found is not None:
                values[name] = found


_ENUMERATION: type[IntegerEnumAttr[StrEnum]] = IntegerEnumAttr


@cache
def _completions(
    op_class: type[IRDLOperation],
) -> tuple[list[tuple[str, type[IntegerEnumAttr[StrEnum]]]], list[tuple[str, Attribute]]]:
    """The properties of a class that hold enumerations, and those that have defaults."""
    enumerations: list[tuple[str, type[IntegerEnumAttr[StrEnum]]]] = []
    defaults: list[tuple[str, Attribute]] = []
    for name, definition in op_class.get_irdl_definition().properties.items():
        for base in definition.constr.get_bases() or ():
            if subclass_of(base, _ENUMERATION):
                enumerations.append((name, base))
        if definition.default_value is not None:
            defaults.append((name, definition.default_value))
    return enumerations, defaults


# Textual forms of upstream ops that xDSL's own parsers do not accept.
#
# %1 = scf.for %i = %a to %b step %c iter_args(%x = %0) -> f32  : i32 {        one result type needs no parentheses
#
# `PARSERS` maps an op's class to a function that parses the op after its name.


def _parse_optional_result_types(parser: Parser) -> list[Attribute]:
    """`-> (f32, i32)`, `-> f32` or nothing."""
    if parser.parse_optional_punctuation("->") is None:
        return []
    types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if types is None else list(types)


def _with_yield(region: Region) -> Region:
    """`region`, ended by the `scf.yield` that its text left out."""
    if region.first_block is None:
        region.add_block(Block())
    block = region.blocks.last
    assert block is not None
    if block.last_op is None or not block.last_op.has_trait(IsTerminator, value_if_unregistered=False):
        block.add_op(scf.YieldOp())
    return region


def _parse_for(parser: Parser) -> Operation:
    if parser.parse_optional_keyword("unsigned") is not None:
        parser.raise_error(
            "loops over unsigned bounds are not supported: flip the sign bits of both bounds, or widen them"
        )
    variable = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    bounds = [parser.parse_unresolved_operand()]
    for keyword in ("to", "step"):
        parser.parse_keyword(keyword)
        bounds.append(parser.parse_unresolved_operand())
    carried: list[Any] = []
    if parser.parse_optional_keyword("iter_args") is not None:
        carried = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_assignment(parser))
    types = _parse_optional_result_types(parser)
    bound_type: Attribute = IndexType()
    if parser.parse_optional_punctuation(":") is not None:
        bound_type = parser.parse_type()
    lower, upper, step = parser.resolve_operands(bounds, [bound_type] * 3, parser.pos)
    initial = parser.resolve_operands([value for _, value in carried], types, parser.pos)
    arguments = [argument.resolve(type_) for (argument, _), type_ in zip(carried, types, strict=True)]
    body = parser.parse_region((variable.resolve(bound_type), *arguments))
    op = scf.ForOp(lower, upper, step, initial, body if types else _with_yield(body))
    op.attributes |= parser.parse_optional_attr_dict()
    return op


def _parse_if(parser: Parser) -> Operation:
    condition = parser.parse_operand(i1)
    types = _parse_optional_result_types(parser)
    then = _with_yield(parser.parse_region())
    has_else = parser.parse_optional_keyword("else") is not None
    otherwise = _with_yield(parser.parse_region()) if has_else else Region()
    return scf.IfOp(condition, types, then, otherwise, parser.parse_optional_attr_dict())


def _parse_while(parser: Parser) -> Operation:
    """`scf.while (%a = %x) : (i32) -> i32 {...} do {...}`; without arguments the parentheses are left out."""
    carried = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_assignment(parser)) or []
    parser.parse_punctuation(":")
    types = parser.parse_function_type()
    inputs = list(types.inputs)
    initial = parser.resolve_operands([value for _, value in carried], inputs, parser.pos)
    arguments = [argument.resolve(type_) for (argument, _), type_ in zip(carried, inputs, strict=True)]
    before = parser.parse_region(arguments)
    parser.parse_keyword("do")
    after = parser.parse_region()
    op = scf.WhileOp(initial, list(types.outputs), before, after)
    attributes = parser.parse_optional_attr_dict_with_keyword()
    if attributes is not None:
        op.attributes |= attributes.data
    return op


PARSERS: dict[type[Operation], Callable[[Parser], Operation]] = {
    scf.ForOp: _parse_for,
    scf.IfOp: _parse_if,
    scf.WhileOp: _parse_while,
}

"""Textual forms of upstream ops that xDSL's own parsers do not accept.

%1 = scf.for %i = %a to %b step %c iter_args(%x = %0) -> f32  : i32 {        one result type needs no parentheses

`PARSERS` maps an op's class to a function that parses the op after its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, i1
from xdsl.dialects.utils import parse_assignment
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.parser import Parser
from xdsl.traits import IsTerminator


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

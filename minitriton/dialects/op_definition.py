"""How the ops of these dialects are defined: by xDSL's declarations, their textual form read when it is first needed.

    @op_definition
    class SplatOp(IRDLOperation): ...

is `irdl_op_definition`, but for `assembly_format`: xDSL compiles it as the class is made, which was 50 of the 400 ms that importing
the dialects took (2026-11-22), and a launch neither parses nor prints; and but for the fields, which are read fast (`op_fields`).
"""

from __future__ import annotations

import re
from functools import cache
from typing import TypeVar

from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.parser import Parser
from xdsl.printer import Printer

from minitriton.dialects.op_fields import quicken
from minitriton.dialects.printed_form import Form, printed_form

OpT = TypeVar("OpT", bound=IRDLOperation)

_LISTS = re.compile(r"(?<![$\w])(operands|results)\b")
"""In a text: all operands or results at once, for whose fields xDSL's reader asks xDSL's own accessors."""


def op_definition(cls: type[OpT]) -> type[OpT]:
    """The op that `cls` declares. An error in its `assembly_format` shows when an op is first parsed or printed."""
    text = cls.assembly_format
    cls.assembly_format = None
    op = irdl_op_definition(cls)
    if text is None or not _LISTS.search(text):
        quicken(op)
    if text is None:
        return op
    op.get_irdl_definition().assembly_format = op.assembly_format = text
    op.parse = classmethod(_parse)  # pyright: ignore[reportAttributeAccessIssue]
    op.print = _print
    return op


@cache
def textual_form(cls: type[IRDLOperation]) -> FormatProgram:
    """The compiled `assembly_format` of an op. Raises `ParseError` if it is malformed."""
    definition = cls.get_irdl_definition()
    assert definition.assembly_format is not None
    return FormatProgram.from_str(definition.assembly_format, definition)


def _parse(cls: type[IRDLOperation], parser: Parser) -> IRDLOperation:
    return textual_form(cls).parse(parser, cls)


@cache
def _form(cls: type[IRDLOperation]) -> Form | None:
    return printed_form(textual_form(cls).stmts)


def _print(self: IRDLOperation, printer: Printer) -> None:
    form = _form(type(self))
    if form is None:
        textual_form(type(self)).print(printer, self)
        return
    for step in form:
        if step(printer, self):
            return

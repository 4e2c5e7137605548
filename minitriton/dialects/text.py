"""Text of IR, in and out, exactly as Triton 3.6.0 writes it.

module = parse_module(Path("kernel.ttgir").read_text(), "kernel.ttgir")
print(print_module(module))                        # as Triton's `str_nodebug()`
print(print_module(module, locations=True))        # as its dumps: with `loc(...)`, values named after the kernel's variables
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError, VerifyException

from minitriton.dialects.context import make_context
from minitriton.dialects.parser import TritonParser
from minitriton.dialects.printer import TritonPrinter
from minitriton.dialects.printer_aliases import AliasTable
from minitriton.dialects.printer_names import ValueNames
from minitriton.dialects.verifier import verify
from minitriton.errors import IRError, SourceLocation


def parse_module(text: str, name: str = "<string>", *, check: bool = True, ignore_locations: bool = False) -> ModuleOp:
    """The module that `text` says. An op without `loc(...)`, or every op with `ignore_locations`, has its place in file `name`.

    Raises `IRError`, with the place in file `name`, if the text is malformed or (with `check`) invalid.
    """
    parser = TritonParser(make_context(), text, name, ignore_locations)
    try:
        module = parser.parse_module()
    except ParseError as error:
        raise _located(parser, error.msg, error.span.start) from None
    except VerifyException as error:
        raise _located(parser, str(error), parser.pos) from None
    if check:
        verify(module)
    return module


def _located(parser: TritonParser, message: str, position: int) -> IRError:
    """An error at a character of the parser's text."""
    text = parser.lexer.input
    place = parser.location_at(position)
    line = place.line.data
    source_line = text.content.split("\n")[line - 1]
    return IRError(message, SourceLocation(text.name, line, place.column.data), source_line=source_line)


def print_module(module: Operation, locations: bool = False) -> str:
    """The text of a module (or of any op), with aliases around it."""
    aliases = AliasTable()
    printer = TritonPrinter(ValueNames(module, name_locs=locations), aliases, locations)
    printer.print_op(module)
    return aliases.finish(printer.text)

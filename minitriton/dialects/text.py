"""Text of IR, in and out, exactly as Triton 3.6.0 writes it.

module = parse_module(Path("kernel.ttgir").read_text(), "kernel.ttgir")
print(print_module(module))                        # as Triton's `str_nodebug()`
print(print_module(module, locations=True))        # as its dumps: with `loc(...)`, values named after the kernel's variables
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError, VerifyException

from minitriton.dialects.context import make_context
from minitriton.dialects.printing.aliases import AliasTable
from minitriton.dialects.printing.names import ValueNames
from minitriton.dialects.printing.printer import TritonPrinter
from minitriton.errors import IRError, SourceLocation

if TYPE_CHECKING:
    from minitriton.dialects.parsing.parser import TritonParser


def parse_module(text: str, name: str = "<string>", *, check: bool = True, ignore_locations: bool = False) -> ModuleOp:
    """The module that `text` says. An op without `loc(...)`, or every op with `ignore_locations`, has its location in file `name`.

    Raises `IRError`, with the location in file `name`, if the text is malformed or (with `check`) invalid.
    """
    from minitriton.dialects.parsing.parser import (
        TritonParser,  # a compile from Python reads no text (5 ms with the verifier)
    )
    from minitriton.dialects.verification.verifier import verify

    parser: TritonParser | None = None
    try:
        parser = TritonParser(make_context(), text, name, ignore_locations)
        module = parser.parse_module()
    except ParseError as error:
        raise _located(text, name, error.msg, error.span.start) from None
    except VerifyException as error:
        raise _located(text, name, str(error), _position(parser)) from None
    except RecursionError:
        raise _located(text, name, "the text is nested too deeply", _position(parser)) from None
    except Exception as error:
        # Parsers of attributes and types make what the text says, and their constructors refuse it in ways of their own.
        raise _located(text, name, f"cannot read this: {_said(error)}", _position(parser)) from error
    if check:
        try:
            verify(module)
        except RecursionError:
            raise _located(text, name, "the text is nested too deeply", 0) from None
    return module


def shown(value: object) -> str:
    """A program as text to read: a module without its locations; LLVM IR and PTX are text already."""
    return print_module(value) if isinstance(value, ModuleOp) else str(value)


def _position(parser: TritonParser | None) -> int:
    return 0 if parser is None else parser.pos


def _said(error: Exception) -> str:
    """An error of Python's own, whose text may be empty or only a key."""
    text = str(error).strip()
    return text if text and not isinstance(error, (KeyError, AssertionError)) else "it is malformed"


def _located(text: str, name: str, message: str, position: int) -> IRError:
    """An error at a character of the text."""
    before = text[:position]
    line, column = before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1
    return IRError(message, SourceLocation(name, line, column), source_line=text.split("\n")[line - 1])


def print_module(module: Operation, locations: bool = False) -> str:
    """The text of a module (or of any op), with aliases around it."""
    aliases = AliasTable()
    printer = TritonPrinter(ValueNames(module, name_locs=locations), aliases, locations)
    printer.print_op(module)
    return aliases.finish(printer.text)

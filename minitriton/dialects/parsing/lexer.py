"""The tokens of MLIR, in time that grows with the text whatever it holds.

What xDSL's lexer leaves to chance is refused at its place here: a string without its closing quote (its pattern takes twice as
long with every character), letters and digits beyond ASCII (Python's `isalpha` and `isnumeric` know more of them than `int` reads),
integers of thousands of digits and integer types too wide to have a constant.
"""

from __future__ import annotations

import re

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Position, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken

MOST_DIGITS = 4300
"""Of an integer, as Python reads it."""
WIDEST_INTEGER = (1 << 24) - 1
"""Bits of an integer type (MLIR's `IntegerType::kMaxWidth`)."""
_INTEGER_TYPE = re.compile(r"[su]?i(\d+)")


class TritonLexer(MLIRLexer):
    """A lexer of one text. Raises `ParseError`."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def lex(self) -> MLIRToken:
        self._consume_whitespace()
        here = self._peek_chars()
        if here is not None and not here.isascii():
            self._refuse(self.pos, f"unexpected character: {here}")
        return super().lex()

    def _lex_at_ident(self, start_pos: Position) -> MLIRToken:
        here = self._peek_chars()
        if here is not None and not here.isascii():
            self._refuse(start_pos, f"a name with {here!r} stands in quotes")
        return super()._lex_at_ident(start_pos)

    def _lex_bare_identifier(self, start_pos: Position) -> MLIRToken:
        token = super()._lex_bare_identifier(start_pos)
        integer = _INTEGER_TYPE.fullmatch(token.text)
        if integer is not None and (len(integer[1]) > 8 or int(integer[1]) > WIDEST_INTEGER):
            self._refuse(start_pos, f"integer bitwidth is limited to {WIDEST_INTEGER} bits")
        return token

    def _lex_number(self, start_pos: Position) -> MLIRToken:
        token = super()._lex_number(start_pos)
        if token.span.end - token.span.start > MOST_DIGITS:
            self._refuse(start_pos, f"a number of more than {MOST_DIGITS} digits")
        return token

    def _refuse(self, at: Position, message: str) -> None:
        raise ParseError(Span(at, at + 1, self.input), message)

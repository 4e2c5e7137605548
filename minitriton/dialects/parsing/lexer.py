"""The tokens of MLIR, in time that grows with the text whatever it holds.

What xDSL's lexer leaves to chance is refused at its location here: a string without its closing quote (its pattern takes twice as
long with every character), letters and digits beyond ASCII (Python's `isalpha` and `isnumeric` know more of them than `int` reads),
integers of thousands of digits and integer types too wide to have a constant.

Nearly all tokens are names, values, numbers and single characters: one pattern finds where such a token begins and ends and of what kind it
is (2 us where xDSL's lexer, which asks for one character after the other and has what is left, takes 6).
"""

import re

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Position, Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRToken, MLIRTokenKind

MOST_DIGITS = 4300
"""Of an integer, as Python reads it."""
WIDEST_INTEGER = (1 << 24) - 1
"""Bits of an integer type (MLIR's `IntegerType::kMaxWidth`)."""
_INTEGER_TYPE = re.compile(r"[su]?i(\d+)")
_COMMON = re.compile(
    r"(?:\s++|//[^\n]*+)*+(?:"
    r"((?![su]?i\d{8})[a-zA-Z_][\w$.]*+)"
    r"|(%(?:[0-9]++|[a-zA-Z$._-][\w$.-]*+))"
    r"|(->|[:,()\[\]<>=}+/*?|]|\{(?!-#))"
    r"|((?!0x[0-9a-fA-F])[0-9]{1,99}+(?![0-9.]))"
    r"|(#(?:[0-9]++|(?!-\})[a-zA-Z$._-][\w$.-]*+))"
    r"|(!(?:[0-9]++|[a-zA-Z$._-][\w$.-]*+))"
    r")",
    re.ASCII,
)
"""Space and remarks, then a token of one of `_KINDS`; no name that may be of a type too wide, no number that may have too many digits."""

_KINDS = (
    MLIRTokenKind.EOF, MLIRTokenKind.BARE_IDENT, MLIRTokenKind.PERCENT_IDENT, MLIRTokenKind.EOF,
    MLIRTokenKind.INTEGER_LIT, MLIRTokenKind.HASH_IDENT, MLIRTokenKind.EXCLAMATION_IDENT,
)  # fmt: skip
"""By group of `_COMMON`: the first is none, the third is of `KIND_BY_PUNCTUATION_SPELLING`."""
_PUNCTUATION = 3


class _Common(Token[MLIRTokenKind, str]):
    """A token that makes its span when it is asked for one, which is seldom."""

    def __init__(self, kind: MLIRTokenKind, start: Position, end: Position, text: str, whole: Input[str]) -> None:
        self.kind = kind
        self._bounds = (start, end, whole)
        self._text = text

    @property
    def span(self) -> Span[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return Span(*self._bounds)

    @property
    def text(self) -> str:
        return self._text


class TritonLexer(MLIRLexer):
    """A lexer of a text. Raises `ParseError`."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def lex(self) -> MLIRToken:
        match = _COMMON.match(self.input.content, self.pos)
        if match is None:
            return self._lex_uncommon()
        group = match.lastindex or 0
        text = match[group]
        kind = KIND_BY_PUNCTUATION_SPELLING[text] if group == _PUNCTUATION else _KINDS[group]
        self.pos = match.end()
        return _Common(kind, match.start(group), self.pos, text, self.input)

    def _lex_uncommon(self) -> MLIRToken:
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

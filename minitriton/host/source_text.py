"""The text of a Python file as Python reads it: in the encoding that it declares, without a mark at its beginning."""

from __future__ import annotations

import tokenize


def source_text(path: str) -> str:
    """The text. Raises `OSError`, and `ValueError` or `SyntaxError` where its bytes are no text."""
    with tokenize.open(path) as file:
        return file.read()

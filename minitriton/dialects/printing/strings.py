"""How MLIR spells strings, and the places that name files.

"kernel.py":4:8       what stands between the parentheses of `loc(...)`
"""

from __future__ import annotations

import functools
import re

from xdsl.dialects.builtin import FileLineColLoc

_PLAIN = re.compile(r"[ !#-\[\]-~]*", re.ASCII)
"""Characters that a string literal need not escape."""


def bytes_literal(data: bytes) -> str:
    """`data` in quotes; what is no printable ASCII, and quotes, by number."""
    text = data.decode("latin-1")
    if not _PLAIN.fullmatch(text):
        text = "".join(
            "\\\\" if byte == 0x5C else chr(byte) if 0x20 <= byte <= 0x7E and byte != 0x22 else f"\\{byte:02X}"
            for byte in data
        )
    return f'"{text}"'


@functools.lru_cache(maxsize=256)
def _name_literal(name: str) -> str:
    return bytes_literal(name.encode())


def place_text(place: FileLineColLoc) -> str:
    """File, line and column of `place`."""
    return f"{_name_literal(place.filename.data)}:{place.line.data}:{place.column.data}"

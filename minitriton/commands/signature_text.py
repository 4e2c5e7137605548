"""The text of a signature, as far as it can be read without the kernel: its items, which parameter each is of, and whether it is a type.

Nothing of the compiler is imported: a command that has others compile looks at its arguments first.
"""

from __future__ import annotations

import ast
import re

from minitriton.errors import MinitritonError
from minitriton.language.signatures import str_to_ty

LAYOUT_CALL = re.compile(r"[\w.]*Layout\(.*\)")
_NAMED = re.compile(r"(\w+)\s*=(?!=)(.*)", re.DOTALL)
"""An item that names its parameter, the `=` not one within a type."""


def literal(text: str) -> object:
    """The Python value that `text` spells, or `text` itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def is_literal(text: str) -> bool:
    """Whether `text` spells a Python value."""
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return True


def split_items(text: str) -> list[str]:
    """The items of a list, split at commas outside of brackets and quotes."""
    parts: list[str] = []
    depth, quote, current = 0, "", ""
    for c in text:
        if quote or c in "'\"":
            quote = "" if c == quote else quote or c
        else:
            depth += (c in "[(<{") - (c in "])>}")
        if c == "," and depth == 0 and not quote:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    return [*parts, current.strip()] if current.strip() else parts


def items_by_parameter(text: str, names: list[str]) -> list[tuple[str, str]]:
    """The items of a signature, each after its parameter. Raises `MinitritonError` where one is of none."""
    found: dict[str, str] = {}
    help = "parameters: " + ", ".join(names)
    for item in split_items(text):
        named = _NAMED.fullmatch(item)
        if named and named[1] not in names:
            raise MinitritonError(f"the kernel lacks a parameter {named[1]!r}, given as {item!r}", help=help)
        free = [named[1]] if named else [n for n in names if n not in found]
        if not free:
            raise MinitritonError(f"more types than parameters at {item!r}", help=help)
        found[free[0]] = named[2].strip() if named else item
    return list(found.items())


def check_signature(text: str, names: list[str], *, constants: set[str], needed: set[str]) -> None:
    """Raises `MinitritonError` for what no kernel with these parameters takes: all that can be said without running its file.
    `constants` are compiled in, `needed` have no default."""
    items = items_by_parameter(text, names)
    for name, item in items:
        if name not in constants and not item.startswith("(") and not is_value(item):
            typed(item, name)
    if missing := [name for name in names if name in needed - {name for name, _ in items}]:
        raise MinitritonError(f"no type given for parameter {missing[0]!r}", help="name all of: " + ", ".join(names))


def typed(item: str, parameter: str) -> tuple[str, int | None]:
    """Type and hint of `TYPE[:HINT]`. Raises `MinitritonError` for what is no type, and another hint than 1 and 16."""
    kind, colon, hint = (part.strip() for part in item.partition(":"))
    try:
        str_to_ty(kind)
    except MinitritonError as error:
        raise MinitritonError(f"parameter {parameter!r} is given {item!r}: {error.message}", help=error.help) from None
    if colon and hint not in ("1", "16"):
        message = f"parameter {parameter!r} has an unknown hint {hint!r} in {item!r}"
        raise MinitritonError(message, help=":16 says divisible by 16, :1 says equal to 1")
    return kind, int(hint) if hint else None


def is_value(text: str) -> bool:
    """Whether an item gives its parameter a value, not a type; of parameters under `tl.constexpr` every item does."""
    return is_literal(text) or text.startswith(("@", "tl.", "triton.language.")) or bool(LAYOUT_CALL.fullmatch(text))

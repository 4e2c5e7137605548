"""Values that are compiled in, as command lines spell them.

1024  0.5  True  None  'text'  (64, 32)      as in Python          fp32  float32  tl.float32      the element type
@relu  @ops.relu                             what the kernel's file calls `relu`, `ops.relu`: a function, say
(fp32, @relu)                                a tuple of these      anything else                   a string
"""

from __future__ import annotations

import ast

from minitriton.errors import MinitritonError
from minitriton.frontend.function import JITCallable
from minitriton.language import dtypes
from minitriton.language.signatures import str_to_ty


def value_of(text: str, kernel: JITCallable) -> object:
    """The value that `text` spells for a parameter of `kernel`. Raises `MinitritonError` for a name that its file does not have."""
    text = text.strip()
    if is_literal(text):
        return literal(text)
    if text.startswith("@"):
        return _named(text[1:], kernel)
    if text.startswith("(") and text.endswith(")"):
        return tuple(value_of(item, kernel) for item in split_items(text[1:-1]))
    found = element_type(text)
    return text if found is None else found


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


def element_type(text: str) -> dtypes.dtype | None:
    """The element type that `text` names, in a launch's words or in the language's."""
    name = text.removeprefix("triton.language.").removeprefix("tl.")
    found = getattr(dtypes, name, None)
    if isinstance(found, dtypes.dtype):
        return found
    try:
        named = str_to_ty(name)
    except MinitritonError:
        return None
    return named if isinstance(named, dtypes.dtype) else None


def _named(name: str, kernel: JITCallable) -> object:
    first, *rest = name.split(".")
    scope = kernel.get_capture_scope()
    if first not in scope:
        raise MinitritonError(
            f"the file of {kernel.fn.__name__!r} lacks {first!r}, given as '@{name}'",
            help="@NAME is a function, or another value, that the kernel's file defines or imports",
        )
    found = scope[first]
    for part in rest:
        if not hasattr(found, part):
            raise MinitritonError(
                f"{first!r} lacks {part!r}, given as '@{name}'",
                help=f"@NAME names what the file of {kernel.fn.__name__!r} has",
            )
        found = getattr(found, part)
    return found


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

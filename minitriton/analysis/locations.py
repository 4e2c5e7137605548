"""Locations in the user's source, from the locations of the IR.

In: a location attribute. Out: the file, line and column it names; of an inlined call, the location inside the called function.
"""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute

from minitriton import language
from minitriton.errors import SourceLocation

_LIBRARY = str(Path(language.__file__).parent)
"""Where functions such as `tl.sum` are written, which a kernel's author does not see."""


def source_location(location: Attribute) -> SourceLocation | None:
    """The first file, line and column that `location` names; None if it names none."""
    match location:
        case FileLineColLoc():
            return SourceLocation(location.filename.data, location.line.data, location.column.data)
        case NameLoc():
            return source_location(location.location)
        case CallSiteLoc():
            return source_location(location.callee)
        case FusedLoc(locations=ArrayAttr(data=parts)):
            return next((found for part in parts if (found := source_location(part)) is not None), None)
        case _:
            return None


def user_location(location: Attribute) -> SourceLocation | None:
    """As `source_location`, but for what was inlined from the language's own library the location that called it."""
    while isinstance(location, NameLoc):
        location = location.location
    if isinstance(location, CallSiteLoc):
        inside = user_location(location.callee)
        in_library = inside is None or inside.file.startswith(_LIBRARY)
        return (user_location(location.caller) if in_library else None) or inside
    return source_location(location)

"""Places in the user's source, from the locations of the IR.

In: a location attribute. Out: the file, line and column it names; of an inlined call, the place inside the called function.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute

from minitriton.errors import SourceLocation


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
            return next((place for part in parts if (place := source_location(part)) is not None), None)
        case _:
            return None

"""Places in the source, from op locations."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute

from minitriton.errors import SourceLocation


def file_line_col(location: Attribute) -> FileLineColLoc | None:
    """The innermost file and line of a location (through names, call sites and fused locations)."""
    match location:
        case FileLineColLoc():
            return location
        case NameLoc():
            return file_line_col(location.location)
        case CallSiteLoc():
            return file_line_col(location.callee)
        case FusedLoc(locations=ArrayAttr(data=parts)):
            return next((place for part in parts if (place := file_line_col(part)) is not None), None)
        case _:
            return None


def source_location(location: Attribute) -> SourceLocation | None:
    """The place that an error at `location` names; None if it is not known."""
    found = file_line_col(location)
    if found is None:
        return None
    return SourceLocation(found.filename.data, found.line.data, found.column.data)

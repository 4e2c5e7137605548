"""Locations in the user's source: made at once (an op has one each, and xDSL looks up and verifies the parts of each attribute that is made), and read.

"kernel.py":4:8                              file_line_col
"x"("kernel.py":4:8)                         named
callsite("lib.py":7:2 at "kernel.py":4:8)    at_call; source_location: lib.py:7:2; user_location of a function of `tl`: kernel.py:4:8
"""

import functools
from pathlib import Path

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    StringAttr,
)
from xdsl.ir import Attribute

from minitriton import errors
from minitriton.errors import SourceLocation

_number = functools.lru_cache(maxsize=4096)(IntAttr)
"""A line or a column."""

_name = functools.lru_cache(maxsize=1024)(StringAttr)

_LIBRARY = str(Path(errors.__file__).parent / "language")
"""Where functions such as `tl.sum` are written, which a kernel's author does not see."""


def file_line_col(file: StringAttr, line: int, column: int) -> FileLineColLoc:
    """A location in a file."""
    found = object.__new__(FileLineColLoc)
    vars(found).update(filename=file, line=_number(line), column=_number(column))
    return found


def named(name: str, location: LocationAttr) -> NameLoc:
    """`location` with the name of the variable whose value an op computes there."""
    found = object.__new__(NameLoc)
    vars(found).update(desc=_name(name), location=location)
    return found


def at_call(callee: Attribute, caller: Attribute) -> CallSiteLoc:
    """A location in a function, seen from the call at the location `caller`."""
    found = object.__new__(CallSiteLoc)
    vars(found).update(callee=callee, caller=caller)
    return found


def first_line_of(location: Attribute) -> FileLineColLoc | None:
    """The first file, line and column that `location` names: of an inlined call, the location inside the called function."""
    match location:
        case FileLineColLoc():
            return location
        case NameLoc():
            return first_line_of(location.location)
        case CallSiteLoc():
            return first_line_of(location.callee)
        case FusedLoc(locations=ArrayAttr(data=parts)):
            return next((found for part in parts if (found := first_line_of(part)) is not None), None)
        case _:
            return None


def source_location(location: Attribute) -> SourceLocation | None:
    """The first file, line and column that `location` names; None if it names none."""
    found = first_line_of(location)
    return None if found is None else SourceLocation(found.filename.data, found.line.data, found.column.data)


def user_location(location: Attribute) -> SourceLocation | None:
    """As `source_location`, but for what was inlined from the language's own library the location that called it."""
    while isinstance(location, NameLoc):
        location = location.location
    if isinstance(location, CallSiteLoc):
        inside = user_location(location.callee)
        in_library = inside is None or inside.file.startswith(_LIBRARY)
        return (user_location(location.caller) if in_library else None) or inside
    return source_location(location)

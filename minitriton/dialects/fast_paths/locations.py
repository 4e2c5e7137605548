"""Locations in the source, made at once: an op has one each, and xDSL looks up and verifies the parts of each attribute that is made.

"kernel.py":4:8                              file_line_col
"x"("kernel.py":4:8)                         named
callsite("lib.py":7:2 at "kernel.py":4:8)    at_call
"""

from __future__ import annotations

import functools

from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, IntAttr, LocationAttr, NameLoc, StringAttr
from xdsl.ir import Attribute

_number = functools.lru_cache(maxsize=4096)(IntAttr)
"""A line or a column."""

_name = functools.lru_cache(maxsize=1024)(StringAttr)


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

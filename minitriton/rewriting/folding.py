"""Folding: an op whose result is already known, as a constant or as another value, with no op created.

A folder is a function of the op that returns
  - a value or an attribute, which replaces the single result (an attribute becomes an `arith.constant`),
  - a tuple of those, one a result,
  - `MODIFIED`, when it simplified the op in place,
  - None, when nothing is known.

    @folder(SubIOp)
    def fold_subi(op):          # x - x = 0,  x - 0 = x
        if op.lhs is op.rhs:
            return int_attr(op.result.type, 0)
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Literal, TypeAlias, TypeVar

from xdsl.ir import Attribute, Operation, SSAValue


class _Modified(Enum):
    MODIFIED = "modified in place"


MODIFIED = _Modified.MODIFIED

Folded: TypeAlias = SSAValue | Attribute | tuple[SSAValue | Attribute, ...] | Literal[_Modified.MODIFIED] | None
Folder: TypeAlias = Callable[..., Folded]
FolderT = TypeVar("FolderT", bound=Folder)

_folders: dict[type[Operation], Folder] = {}


def folder(*classes: type[Operation]) -> Callable[[FolderT], FolderT]:
    """Decorator: the function folds ops of these classes (exactly, not of subclasses)."""

    def register(function: FolderT) -> FolderT:
        for cls in classes:
            _folders[cls] = function
        return function

    return register


def folder_of(cls: type[Operation]) -> Folder | None:
    """The folder of ops of class `cls`."""
    return _folders.get(cls)

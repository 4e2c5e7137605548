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

What binary ops have in common is here too: constants go right, two constants give a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Literal, TypeAlias, TypeVar

from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.dialects.fast_paths.op_access import operand_at, operand_values
from minitriton.rewriting.constants import constant_attr, float_attr, int_attr, number_of, to_unsigned, width_of
from minitriton.rewriting.rewriter import Inserter


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


def folded_value(op: Operation, at: Inserter) -> SSAValue:
    """The result of a new op, or what it is known to be; what is put in is put in at `at`."""
    fold = folder_of(op.__class__)
    known = None if fold is None else fold(op)
    if isinstance(known, SSAValue):
        op.drop_all_references()
        return known
    if isinstance(known, Attribute):
        op.drop_all_references()
        return at.constant(known)
    return at.value(op)


IntRule = Callable[[int, int, int], "int | None"]
FloatRule = Callable[[float, float], float]


def both(op: Operation) -> tuple[SSAValue, SSAValue]:
    """The two operands."""
    lhs, rhs = operand_values(op)
    return lhs, rhs


def constant_to_the_right(op: Operation) -> Folded:
    """c + x  =>  x + c"""
    lhs, rhs = both(op)
    if constant_attr(lhs) is not None and constant_attr(rhs) is None:
        op.operands = (rhs, lhs)
        return MODIFIED
    return None


def fold_ints(op: Operation, rule: IntRule) -> Folded:
    """Both operands known: `rule(lhs, rhs, width)`, on signed numbers; None where the op has no value."""
    rhs = number_of(constant_attr(operand_at(op, 1)))
    if type(rhs) is not int:
        return None
    lhs = number_of(constant_attr(operand_at(op, 0)))
    if type(lhs) is not int:
        return None
    result_type = op.results[0].type
    value = rule(lhs, rhs, width_of(result_type))
    return None if value is None else int_attr(result_type, value)


def fold_floats(op: Operation, rule: FloatRule) -> Folded:
    """Both operands known: `rule(lhs, rhs)`, rounded to the result type."""
    rhs = number_of(constant_attr(operand_at(op, 1)))
    if type(rhs) is not float:
        return None
    lhs = number_of(constant_attr(operand_at(op, 0)))
    if type(lhs) is not float:
        return None
    return float_attr(op.results[0].type, rule(lhs, rhs))


def is_one(value: int | float | None, type: Attribute) -> bool:
    """True for the integer 1; the 1 of `i1` is kept as -1."""
    return value == 1 if value != -1 else width_of(type) == 1


def unsigned(rule: Callable[[int, int], int | None]) -> IntRule:
    """A rule on unsigned numbers as a rule on signed ones."""
    return lambda a, b, width: rule(to_unsigned(a, width), to_unsigned(b, width))

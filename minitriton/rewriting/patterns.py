"""Sets of rewrite patterns, looked up by op class.

A pattern is a function `(op, rewriter) -> bool`: guards that return False, then one replacement through the rewriter
and True. Patterns of one op are tried by falling `benefit`, then in the order they were added.

    combine = PatternSet()

    @combine.pattern(AddPtrOp)
    def merge_offsets(op, rewriter): ...

Folding: an op whose result is already known, as a constant or as another value, with no op created.

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
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.dialects.fast_paths.op_access import operand_at, operand_values
from minitriton.rewriting.constants import constant_attr, float_attr, int_attr, number_of, to_unsigned, width_of

if TYPE_CHECKING:
    from minitriton.rewriting.rewriter import Rewriter

Pattern: TypeAlias = "Callable[[Any, Rewriter], bool]"
PatternT = TypeVar("PatternT", bound=Callable[..., bool])
ClassPredicate: TypeAlias = Callable[[type[Operation]], bool]


class PatternSet:
    """Patterns by op class; `for_class` is cached, so that a look-up is one dictionary access."""

    def __init__(self, *sets: PatternSet) -> None:
        self._by_class: dict[type[Operation], list[tuple[int, Pattern]]] = {}
        self._by_predicate: list[tuple[ClassPredicate, int, Pattern]] = []
        self._resolved: dict[type[Operation], tuple[Pattern, ...]] = {}
        for other in sets:
            for cls, entries in other._by_class.items():
                self._by_class.setdefault(cls, []).extend(entries)
            self._by_predicate.extend(other._by_predicate)

    def pattern(self, *classes: type[Operation], benefit: int = 1) -> Callable[[PatternT], PatternT]:
        """Decorator: adds the pattern for ops of these classes."""

        def register(function: PatternT) -> PatternT:
            for cls in classes:
                self._by_class.setdefault(cls, []).append((benefit, function))
            self._resolved.clear()
            return function

        return register

    def pattern_where(self, predicate: ClassPredicate, benefit: int = 1) -> Callable[[PatternT], PatternT]:
        """Decorator: adds the pattern for all ops whose class satisfies `predicate` (a trait, say)."""

        def register(function: PatternT) -> PatternT:
            self._by_predicate.append((predicate, benefit, function))
            self._resolved.clear()
            return function

        return register

    def subset(self, *classes: type[Operation]) -> PatternSet:
        """The patterns of these op classes alone."""
        chosen = PatternSet()
        for cls in classes:
            if cls in self._by_class:
                chosen._by_class[cls] = list(self._by_class[cls])
        return chosen

    @property
    def classes(self) -> frozenset[type[Operation]]:
        """The classes of op that patterns are for, those aside that are for all ops of a kind (`pattern_where`)."""
        return frozenset(self._by_class)

    def for_class(self, cls: type[Operation]) -> tuple[Pattern, ...]:
        """The patterns to try on an op of class `cls`, best first."""
        resolved = self._resolved.get(cls)
        if resolved is None:
            entries = list(self._by_class.get(cls, ()))
            entries += [(benefit, pattern) for holds, benefit, pattern in self._by_predicate if holds(cls)]
            resolved = tuple(pattern for _, pattern in sorted(entries, key=lambda entry: -entry[0]))
            self._resolved[cls] = resolved
        return resolved


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
    """The folder of ops of class `cls`: a registered one, else the method `fold_to` of an op that only one back end has."""
    return _folders.get(cls) or getattr(cls, "fold_to", None)


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


def fold_ints(op: Operation, rule: IntRule, *, commutes: bool = False) -> Folded:
    """Both operands known: `rule(lhs, rhs, width)`, on signed numbers; None where the op has no value. Else a constant goes right if the op `commutes`."""
    rhs = number_of(constant_attr(operand_at(op, 1)))
    lhs = number_of(constant_attr(operand_at(op, 0))) if type(rhs) is int else None
    if type(rhs) is not int or type(lhs) is not int:
        return constant_to_the_right(op) if commutes else None
    result_type = op.results[0].type
    value = rule(lhs, rhs, width_of(result_type))
    return None if value is None else int_attr(result_type, value)


def fold_floats(op: Operation, rule: FloatRule, *, commutes: bool = False) -> Folded:
    """Both operands known: `rule(lhs, rhs)`, rounded to the result type. Else a constant goes right if the op `commutes`."""
    rhs = number_of(constant_attr(operand_at(op, 1)))
    lhs = number_of(constant_attr(operand_at(op, 0))) if type(rhs) is float else None
    if type(rhs) is not float or type(lhs) is not float:
        return constant_to_the_right(op) if commutes else None
    return float_attr(op.results[0].type, rule(lhs, rhs))


def is_one(value: int | float | None, type: Attribute) -> bool:
    """True for the integer 1; the 1 of `i1` is kept as -1."""
    return value == 1 if value != -1 else width_of(type) == 1


def unsigned(rule: Callable[[int, int], int | None]) -> IntRule:
    """A rule on unsigned numbers as a rule on signed ones."""
    return lambda a, b, width: rule(to_unsigned(a, width), to_unsigned(b, width))

"""Sets of rewrite patterns, looked up by op class.

A pattern is a function `(op, rewriter) -> bool`: guards that return False, then one replacement through the rewriter
and True. Patterns of one op are tried by falling `benefit`, then in the order they were added.

    combine = PatternSet()

    @combine.pattern(AddPtrOp)
    def merge_offsets(op, rewriter): ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from xdsl.ir import Operation

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

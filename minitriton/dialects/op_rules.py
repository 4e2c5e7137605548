"""What is done with an op, by its class: the one kind of registry that lowerings, meanings, and rules of analyses and passes are kept in.

    RULES = OpRules[Rule]()

    @RULES.add(arith.AddiOp, arith.SubiOp)
    def add(op: arith.AddiOp, facts: Sequence[AxisInfo]) -> AxisInfo: ...

    RULES.update({math.SinOp: float_op(np.sin)})
    RULES.of(op)      the rule for the class of `op`, else for a base class, else for a fact that it has, else None

What an op *is*, and needs no code of another layer to say, is a fact of its class instead (`facts`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from xdsl.ir import Operation

from minitriton.dialects.facts import Fact

RuleT = TypeVar("RuleT")
FunctionT = TypeVar("FunctionT", bound=Callable[..., object])

Kind = type[Operation] | type[Fact]
"""Ops of a class and of its subclasses; or all ops that have a fact and no rule of their own."""


class OpRules(Generic[RuleT]):
    """A rule for each kind of op. The answer is remembered for each class, so that asking costs one look-up."""

    def __init__(self) -> None:
        self._rules: dict[Kind, RuleT] = {}
        self._known: dict[type[Operation], RuleT | None] = {}
        self._base: OpRules[RuleT] | None = None
        self._extensions: list[OpRules[RuleT]] = []

    def extended(self) -> OpRules[RuleT]:
        """A new table whose own rules are asked first, and the rules of this one where it has none."""
        extension = OpRules[RuleT]()
        extension._base = self
        self._extensions.append(extension)
        return extension

    def add(self, *kinds: Kind) -> Callable[[FunctionT], FunctionT]:
        """Decorator: the function is the rule for ops of these kinds."""

        def register(rule: FunctionT) -> FunctionT:
            self.update(dict.fromkeys(kinds, rule))
            return rule

        return register

    def update(self, rules: Mapping[Any, Any]) -> None:
        """The rules of several kinds. A later rule for the same kind stands for the earlier one."""
        self._rules.update(rules)
        self._forget()

    def _forget(self) -> None:
        self._known.clear()
        for extension in self._extensions:
            extension._forget()

    def of(self, op: Operation) -> RuleT | None:
        """The rule for `op`; None if there is none."""
        try:
            return self._known[op.__class__]
        except KeyError:
            return self.of_class(op.__class__)

    def of_class(self, op_class: type[Operation]) -> RuleT | None:
        """The rule for ops of `op_class`; None if there is none."""
        if op_class not in self._known:
            self._known[op_class] = next(self._found(op_class), None)
        return self._known[op_class]

    @contextmanager
    def replaced(self, op_class: type[Operation], rule: RuleT | None) -> Generator[None]:
        """Within a `with`, ops of `op_class` have another rule; with None, none."""
        found = self.of_class(op_class)
        self._forget()
        self._known[op_class] = rule
        try:
            yield
        finally:
            self._forget()
            self._known[op_class] = found

    def __contains__(self, op_class: type[Operation]) -> bool:
        return self.of_class(op_class) is not None

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._rules)

    def _found(self, op_class: type[Operation]) -> Iterator[RuleT]:
        for base in op_class.__mro__:
            if base in self._rules:
                yield self._rules[base]
        for kind, rule in self._rules.items():
            if issubclass(kind, Fact) and kind.of_class(op_class) is not None:
                yield rule
        inherited = self._base.of_class(op_class) if self._base is not None else None
        if inherited is not None:
            yield inherited

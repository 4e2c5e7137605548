"""The table of lowerings.

    @lowers("tt.splat")
    def splat(f: FunctionLowering, op: SplatOp) -> None:
        f.values[op.result] = f.values[op.src]

The walk sets the builder's location before it calls the rule of an op, so a rule only says what replaces the op.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation

from minitriton.dialects.facts import Fact

Lowering = Callable[[Any, Any], None]
"""Takes the `FunctionLowering` and an op of the class that the rule is for."""

LOWERINGS: dict[str, Lowering] = {}
"""The rule for each op, by the op's name."""


_DEFAULTS: dict[type[Fact], Lowering] = {}
_FILES = {"arith": "elementwise.py", "math": "math.py"}


def lowers_all(fact: type[Fact]) -> Callable[[Lowering], Lowering]:
    """Registers a rule for every op that has `fact` and no rule of its own."""

    def register(rule: Lowering) -> Lowering:
        _DEFAULTS[fact] = rule
        return rule

    return register


def lowering_of(op: Operation) -> Lowering | None:
    """The rule for `op`: its own, else that of a fact which its class has; None if there is none."""
    rule = LOWERINGS.get(op.name)
    if rule is not None:
        return rule
    return next((default for fact, default in _DEFAULTS.items() if fact.of(op) is not None), None)


def where_to_add(name: str) -> str:
    """The place for the rule of an op called `name`."""
    return f"minitriton/codegen/lowering/{_FILES.get(name.partition('.')[0], '')} (docs/add-an-op.md)"


def lowers(*names: str) -> Callable[[Lowering], Lowering]:
    """Registers a rule for the ops of these names."""

    def register(rule: Lowering) -> Lowering:
        for name in names:
            LOWERINGS[name] = rule
        return rule

    return register

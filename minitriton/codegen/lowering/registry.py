"""The table of lowerings.

    @lowers("tt.splat")
    def splat(f: FunctionLowering, op: SplatOp) -> None:
        f.values[op.result] = f.values[op.src]

The walk sets the builder's location before it calls the rule of an op, so a rule only says what replaces the op.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minitriton.codegen.lowering.function import FunctionLowering

Lowering = Callable[["FunctionLowering", Any], None]

LOWERINGS: dict[str, Lowering] = {}
"""The rule for each op, by the op's name."""


def lowers(*names: str) -> Callable[[Lowering], Lowering]:
    """Registers a rule for the ops of these names."""

    def register(rule: Lowering) -> Lowering:
        for name in names:
            LOWERINGS[name] = rule
        return rule

    return register

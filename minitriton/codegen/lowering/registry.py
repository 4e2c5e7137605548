"""The table of lowerings.

    @lowers(tt.SplatOp)
    def splat(f: FunctionLowering, op: tt.SplatOp) -> None:
        f.values[op.result] = f.values[op.src]

The walk sets the builder's location before it calls the rule of an op, so a rule only says what replaces the op.
"""

import functools
from collections.abc import Callable
from typing import Any

from minitriton.dialects.op_rules import OpRules

Lowering = Callable[[Any, Any], None]
"""Takes the `FunctionLowering` and an op of the class that the rule is for."""

LOWERINGS: OpRules[Lowering] = OpRules()
"""The rule for each kind of op; a rule for a fact is for the ops that have it and no rule of their own."""

lowers = LOWERINGS.add


@functools.cache
def lowerings_of(backend: str) -> OpRules[Lowering]:
    """The rules of one back end (`cuda`): its own, then those that serve every target."""
    return LOWERINGS.extended()


_FILES = {"arith": "lowering/elementwise.py", "math": "nvidia/math.py"}


def where_to_add(name: str) -> str:
    """The file for the rule of an op called `name`."""
    return f"minitriton/codegen/{_FILES.get(name.partition('.')[0], 'lowering/')} (docs/add-an-op.md)"

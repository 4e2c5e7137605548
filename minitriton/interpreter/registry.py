"""The registries of meanings: what each op does to NumPy arrays.

`PURE.of(op)(op)` looks at the op once and gives a function from operand values to the result. `WITH_MACHINE.of(op)(op, machine)`
does so for ops that touch memory, ask for the program's number, or run a region.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitriton.dialects.op_rules import OpRules

Meaning = Callable[..., Any]

PURE: OpRules[Callable[[Any], Meaning]] = OpRules()
WITH_MACHINE: OpRules[Callable[[Any, Any], Meaning]] = OpRules()

"""The registries of meanings: what each op does to NumPy arrays, and the type of these.

`PURE_OPS.of(op)(op)` looks at the op once and gives a function from operand values to the result. `STATEFUL_OPS.of(op)(op, machine)`
does so for ops that touch memory, ask for the program's number, or run a region.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from minitriton.dialects.op_rules import OpRules

Array: TypeAlias = np.ndarray
"""A NumPy array or a NumPy scalar: tensors and scalars are computed alike, and a scalar has the attributes and operators of an array."""


def scalar(number: np.generic) -> Array:
    """A NumPy scalar, which stays one, as an operand like any other."""
    return cast(Array, number)


Meaning = Callable[..., Any]

PURE_OPS: OpRules[Callable[[Any], Meaning]] = OpRules()
STATEFUL_OPS: OpRules[Callable[[Any, Any], Meaning]] = OpRules()


def is_forwarding_terminator(op: Operation) -> bool:
    """Whether `op` ends a block and has no meaning of its own: the op around it takes its operands."""
    return op.has_trait(IsTerminator) and STATEFUL_OPS.of(op) is None

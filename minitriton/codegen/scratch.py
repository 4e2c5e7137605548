"""How much shared memory an op needs while it runs, as its lowering uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation

from minitriton.analysis.locations import source_location
from minitriton.dialects.op_rules import OpRules
from minitriton.errors import LoweringError

SCRATCH: OpRules[Callable[[Any], int]] = OpRules()
"""How many bytes of scratch; an op without a rule needs none."""

needs_scratch = SCRATCH.add


def scratch_bytes(op: Operation) -> int:
    """Bytes of shared memory that `op` needs while it runs. Raises `LoweringError` at its location if it cannot be lowered."""
    rule = SCRATCH.of(op)
    if rule is None:
        return 0
    try:
        return rule(op)
    except LoweringError as error:
        error.location = error.location or source_location(op.location)
        raise

"""How much shared memory an op needs while it runs, as its lowering uses it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation

from minitriton.analysis.locations import source_location
from minitriton.codegen.target_interface import target_info
from minitriton.dialects.facts.launch import backend_name
from minitriton.dialects.op_rules import FunctionT, Kind, OpRules
from minitriton.errors import LoweringError

SCRATCH: OpRules[Callable[[Any], int]] = OpRules()
"""How many bytes of scratch, on every target; an op without a rule needs none."""

needs_scratch = SCRATCH.add


@functools.cache
def _scratch_of(backend: str) -> OpRules[Callable[[Any], int]]:
    """The rules of one back end, then those that serve every target."""
    return SCRATCH.extended()


def needs_scratch_on(backend: str) -> Callable[..., Callable[[FunctionT], FunctionT]]:
    """The decorator of the rules of one back end: `@needs_scratch_on("cuda")(tt.AtomicRMWOp)`."""

    def register(*kinds: Kind) -> Callable[[FunctionT], FunctionT]:
        return _scratch_of(backend).add(*kinds)

    return register


def scratch_bytes(op: Operation) -> int:
    """Bytes of shared memory that `op` needs while it runs. Raises `LoweringError` at its location if it cannot be lowered."""
    name = backend_name(op)
    target_info(name)
    rule = _scratch_of(name).of(op)
    if rule is None:
        return 0
    try:
        return rule(op)
    except LoweringError as error:
        error.location = error.location or source_location(op.location)
        raise

"""How much shared memory an op needs while it runs, as its lowering uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation

from minitriton.codegen.target_interface import target_info
from minitriton.dialects.facts.launch import backend_name
from minitriton.dialects.locations import source_location
from minitriton.dialects.op_rules import FunctionT, Kind, OpRules
from minitriton.errors import LoweringError

SCRATCH: OpRules[Callable[[Any], int]] = OpRules()
"""How many bytes of scratch, on every target; an op without a rule needs none."""

_without_scratch: set[type[Operation]] = set()
"""Classes of op that no back end known so far has a rule for: of most ops nobody needs to ask which back end they are compiled for."""


def needs_scratch(*kinds: Kind) -> Callable[[FunctionT], FunctionT]:
    """The decorator of the rules that serve every target."""
    _without_scratch.clear()
    return SCRATCH.add(*kinds)


_of_back_ends: dict[str, OpRules[Callable[[Any], int]]] = {}


def _scratch_of(backend: str) -> OpRules[Callable[[Any], int]]:
    """The rules of one back end, then those that serve every target."""
    if backend not in _of_back_ends:
        _of_back_ends[backend] = SCRATCH.extended()
    return _of_back_ends[backend]


def needs_scratch_on(backend: str) -> Callable[..., Callable[[FunctionT], FunctionT]]:
    """The decorator of the rules of one back end: `@needs_scratch_on("cuda")(tt.AtomicRMWOp)`."""

    def register(*kinds: Kind) -> Callable[[FunctionT], FunctionT]:
        _without_scratch.clear()
        return _scratch_of(backend).add(*kinds)

    return register


def scratch_bytes(op: Operation) -> int:
    """Bytes of shared memory that `op` needs while it runs. Raises `LoweringError` at its location if it cannot be lowered."""
    if op.__class__ in _without_scratch:
        return 0
    name = backend_name(op)
    target_info(name)
    rule = _scratch_of(name).of(op)
    if rule is None:
        if not any(rules.of(op) for rules in _of_back_ends.values()):
            _without_scratch.add(op.__class__)
        return 0
    try:
        return rule(op)
    except LoweringError as error:
        error.location = error.location or source_location(op.location)
        raise

"""How much shared memory an op needs while it runs, as its lowering uses it."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

SCRATCH: dict[str, Callable[[Operation], int]] = {}
"""Bytes of scratch by op name; an op that is not listed needs none."""


def needs_scratch(*names: str) -> Callable[[Callable[[Operation], int]], Callable[[Operation], int]]:
    """Registers how many bytes the ops of these names need."""

    def register(rule: Callable[[Operation], int]) -> Callable[[Operation], int]:
        for name in names:
            SCRATCH[name] = rule
        return rule

    return register


def scratch_bytes(op: Operation) -> int:
    """Bytes of shared memory that `op` needs while it runs."""
    rule = SCRATCH.get(op.name)
    return rule(op) if rule is not None else 0

"""Methods of conditions that have no function of their own: `x.logical_and(y)`."""

# Declarations have no bodies: what they give is what the frontend emits.
# pyright: reportReturnType=false

from __future__ import annotations

from minitriton.language.declare import builtin
from minitriton.language.values import Operand, member, tensor


@member
@builtin
def logical_and(input: Operand, other: Operand) -> tensor:
    """Whether both are true, both computed. Raises where one has more than a bit."""


@member
@builtin
def logical_or(input: Operand, other: Operand) -> tensor:
    """Whether one is true, both computed. Raises where one has more than a bit."""

"""Methods of conditions that have no function of their own: `x.logical_and(y)`."""

from __future__ import annotations

from typing import Any

from minitriton.language.declare import builtin
from minitriton.language.values import member


@member
@builtin
def logical_and(input: Any, other: Any) -> Any:
    """Whether both are true, both computed. Raises where one has more than a bit."""


@member
@builtin
def logical_or(input: Any, other: Any) -> Any:
    """Whether one is true, both computed. Raises where one has more than a bit."""

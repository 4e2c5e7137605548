"""Differences from Triton that docs/differences-from-triton.md lists: recognised by their cause, counted by name.

`known_difference` tells a known difference from a new one by taking its cause away and running the kernel again.
"""

from __future__ import annotations

from collections.abc import Sequence

from minitriton.fuzz.agreement import Finding
from minitriton.fuzz.tree import Kernel


def known_difference(kernel: Kernel, finding: Finding, oracles: Sequence[str]) -> str | None:
    """The name of the known difference that explains `finding`; None for a new one."""
    return None

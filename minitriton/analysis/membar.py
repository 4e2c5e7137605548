"""Barriers where threads would otherwise read or overwrite shared memory too early.

In: a module and the places of its buffers. Out: the same module with `ttg.local_barrier` before each op whose accesses conflict
with earlier ones that no barrier separates from it.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from minitriton.analysis.allocation import Allocation


def insert_barriers(module: ModuleOp, allocation: Allocation) -> None:
    """Insert the barriers that `module` needs, function by function, callees first."""
    raise NotImplementedError

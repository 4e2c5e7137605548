"""Fences, then barriers, between accesses of shared memory, for the offsets that `place-shared-memory` has written.

Fences come first, for they must precede the barrier that the copy follows.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.analysis.shared_memory.allocation import read_allocation
from minitriton.analysis.shared_memory.membar import insert_barriers
from minitriton.analysis.shared_memory.proxy_fences import insert_proxy_fences
from minitriton.codegen.scratch import scratch_bytes
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass

_KEPT = KEPT_IN_PLACE | {Property.EXCHANGES_LOWERED, Property.GLOBAL_SCRATCH, Property.SHARED_ALLOCATED}


@register_pass
class InsertProxyFences(Pass, stage="llir", origin="required"):
    """Puts fences where the copy unit would otherwise overwrite shared memory that threads still read or write."""

    name = "insert-proxy-fences"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.SHARED_ALLOCATED})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.COPIES_FENCED})
    keeps: ClassVar[frozenset[Property]] = _KEPT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        insert_proxy_fences(op, read_allocation(op, scratch_bytes))


@register_pass
class InsertBarriers(Pass, stage="llir", origin="required"):
    """Puts barriers where threads would otherwise read or overwrite shared memory too early."""

    name = "insert-barriers"
    requires: ClassVar[frozenset[Property]] = frozenset(
        {Property.ENCODINGS, Property.SHARED_ALLOCATED, Property.COPIES_FENCED}
    )
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.BARRIERS})
    keeps: ClassVar[frozenset[Property]] = _KEPT | {Property.COPIES_FENCED}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        insert_barriers(op, read_allocation(op, scratch_bytes))

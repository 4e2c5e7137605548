"""`tritongpu-global-scratch-memory-allocation`: places for the global memory that programs ask for (`analysis.global_scratch`)."""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.analysis.global_scratch import allocate_global_scratch
from minitriton.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass


@register_pass
class AllocateGlobalScratch(Pass, stage="llir", origin="triton"):
    """Gives each request for global scratch memory its place."""

    name: ClassVar[str] = "tritongpu-global-scratch-memory-allocation"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR, Property.INLINED})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.GLOBAL_SCRATCH})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE | {Property.EXCHANGES_LOWERED}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        allocate_global_scratch(op)

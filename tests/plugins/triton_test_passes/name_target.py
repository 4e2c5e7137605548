"""A target for modules without one, whose tests name it to Triton's `convert-triton-amdgpu-to-llvm`.

In: any module. Out: the module with `ttg.target = "hip:gfx942"`, if it had none.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr

from minitriton.pipeline.pass_registry import EVERYTHING, Pass, Property, register_pass


@register_pass
class NameTarget(Pass, origin="triton"):
    """Names the target of a module."""

    name = "test-name-target"
    requires: ClassVar[frozenset[Property]] = frozenset()
    keeps: ClassVar[frozenset[Property]] = EVERYTHING
    arch: str = "gfx942"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes.setdefault("ttg.target", StringAttr(f"hip:{self.arch}"))

"""A kernel in Gluon as a source: its first IR is TTGIR, whose module says for how many warps it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from minitriton.pipeline.ast_source import ASTSource
from minitriton.target import CompileOptions, GPUTarget

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from minitriton.frontend.function import Seen


class GluonASTSource(ASTSource):
    """A Gluon kernel with its argument types."""

    ext = "gluon"

    def hash(self) -> str:
        return f"gluon-{super().hash()}"

    def _first_ir(
        self,
        target: GPUTarget,
        options: CompileOptions,
        context: Context,
        is_debugged: bool,
        is_verbatim: bool,
        seen: Seen | None,
    ) -> ModuleOp:
        from xdsl.dialects.builtin import StringAttr

        from minitriton.dialects.attribute_values import i32_attr
        from minitriton.dialects.verification.verifier import verify
        from minitriton.errors import IRError
        from minitriton.frontend.gluon import emitters as emitters  # registers Gluon's rules
        from minitriton.host.source_text import line_at

        module = super()._first_ir(target, options, context, is_debugged, is_verbatim, seen)
        module.attributes.update(
            {
                "ttg.num-ctas": i32_attr(options.num_ctas),
                "ttg.num-warps": i32_attr(options.num_warps),
                "ttg.target": StringAttr(target.ttg_target),
                "ttg.threads-per-warp": i32_attr(target.warp_size),
            }
        )
        limit: int | None = getattr(options, "maxnreg", None)
        if limit is not None:
            module.attributes["ttg.maxnreg"] = i32_attr(limit)
        try:
            verify(module)
        except IRError as error:
            if error.location is not None:
                error.source_line = line_at(error.location.file, error.location.line)
            warps = re.search(r"Layout has (\d+) warps per CTA, but the context requires (\d+)", error.message)
            if warps is not None:
                error.help = f"launch with num_warps={warps[1]}, or give the layout {warps[2]} warps: gl.num_warps() is their number"
            raise
        return module

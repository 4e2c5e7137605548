"""A layout that an op's result has from now on, because it was chosen for what the op does."""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr

from minitriton.dialects import tt, ttg
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.passes.tensor_layouts import insert_after_value, set_layout
from minitriton.rewriting.rewriter import Rewriter


def settle_layout(op: tt.GatherOp | tt.ReshapeOp, layout: DistributedEncoding, rewriter: Rewriter) -> None:
    """Gives the result `layout` for good (`efficient_layout`); who used it gets it converted back."""
    result = op.results[0]
    back = ttg.ConvertLayoutOp(result, result.type)
    back.location = op.location
    rewriter.replace_all_uses(result, back.results[0])
    back.operands[0] = result
    set_layout(result, layout)
    op.properties["efficient_layout"] = UnitAttr()
    insert_after_value(back, result)
    rewriter.add(back)
    rewriter.modified(op)

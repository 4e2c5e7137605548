"""The layouts that `AutoLayout` left open, from the uses that say one.

%0 = tt.make_range : tensor<64xi32, #gluon.auto_encoding>               %0 = tt.make_range : tensor<64xi32, #blocked>
%1 = gluon.set_auto_layout %0 : ... -> tensor<64xi32, #blocked>    =>
%2 = tt.addptr %p, %1                                                   %2 = tt.addptr %p, %0

Counterpart of lib/Dialect/Gluon/Transforms/ResolveAutoEncodings.cpp.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue

from minitriton.dialects import tt
from minitriton.dialects.encodings import layout_of
from minitriton.dialects.fast_paths.operations import ops_of
from minitriton.dialects.gluon import AutoEncodingAttr, SetAutoLayoutOp
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.passes.gluon.infer_layouts import infer_layouts, require_resolved
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass


def _is_auto(encoding: Attribute) -> bool:
    return isinstance(encoding, AutoEncodingAttr)


@register_pass
class ResolveAutoEncodings(Pass, stage="ttgir", origin="triton"):
    """Gives each tensor whose layout is `AutoLayout` the layout that its uses ask for."""

    name = "gluon-resolve-auto-encodings"
    requires = frozenset({Property.ENCODINGS})
    keeps = KEPT_IN_PLACE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in (each for each in op.body.ops if isinstance(each, tt.FuncOp)):
            seeds: list[tuple[SSAValue, DistributedEncoding]] = []
            for chosen in ops_of(func, SetAutoLayoutOp):
                layout = layout_of(chosen.result.type)
                if isinstance(layout, DistributedEncoding):
                    seeds.append((chosen.src, layout))
            infer_layouts(func, _is_auto, seeds)
        for chosen in ops_of(op, SetAutoLayoutOp):
            chosen.result.replace_all_uses_with(chosen.src)
            block = chosen.parent
            assert block is not None
            block.erase_op(chosen)
        require_resolved(op, _is_auto)

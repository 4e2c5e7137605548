"""The layouts that `CoalescedLayout` asks for: of each access to memory the one with the fewest transactions.

%v = tt.load %p : tensor<1024x!tt.ptr<f32>, #gluon.coalesced_encoding>    =>    tt.load %p : tensor<1024x!tt.ptr<f32>, #blocked>

What the access takes and gives, and all that is connected with it, has the layout too: nothing is converted.
Counterpart of lib/Dialect/Gluon/Transforms/InferCoalescedEncodings.cpp.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.dialects import tt
from minitriton.dialects.gluon import CoalescedEncodingAttr
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.passes.coalesce import LayoutChooser, memory_accesses
from minitriton.passes.gluon.infer_layouts import infer_layouts, is_unresolved, require_resolved
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass


def _is_coalesced(encoding: Attribute) -> bool:
    return isinstance(encoding, CoalescedEncodingAttr)


@register_pass
class InferCoalescedEncodings(Pass, stage="ttgir", origin="triton"):
    """Gives each access to memory whose layout is `CoalescedLayout` the layout that coalesces it."""

    name = "gluon-infer-coalesced-encodings"
    requires = frozenset({Property.ENCODINGS})
    keeps = KEPT_IN_PLACE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found, _ = memory_accesses(op)
        accesses = [each for each in found if is_unresolved(each.type, _is_coalesced)]
        seeds: dict[Operation, list[tuple[SSAValue, DistributedEncoding]]] = {}
        if accesses:
            chooser = LayoutChooser(op, accesses, AxisInfoAnalysis(op, as_asked=True))
            for access in accesses:
                layout = chooser.layout(access)
                seeds.setdefault(_function(access.op), []).extend((value, layout) for value in access.op.operands)
        for func in (each for each in op.body.ops if isinstance(each, tt.FuncOp)):
            infer_layouts(func, _is_coalesced, seeds.get(func, []))
        require_resolved(op, _is_coalesced)


def _function(op: Operation) -> Operation:
    while not isinstance(op, tt.FuncOp):
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op

"""Which CTA of a cluster holds which part of each tensor.

In: TTGIR of several CTAs, whose memory accesses are coalesced. Out: dots, reductions and stores whose CTAs need nothing from
each other, and everything else in layouts with the same CTAs; where two of them meet, a `ttg.convert_layout` between CTAs.

    %s = tt.reduce %x along 1    %x: CTAs along 1  ->  along 0, and so what computes %x, up to its loads

Triton's planner, step by step (lib/Dialect/TritonNvidiaGPU/Transforms/PlanCTA.cpp). Where that one ends the compiler (layouts
that it does not know, conflicts in loops) or would run an atomic or a loop twice, a conversion is left instead.
"""

from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton.dialects import tt, ttg
from minitriton.pipeline.pass_registry import POWERS_OF_TWO, Pass, Property, register_pass


@register_pass
class PlanCTA(Pass, stage="ttgir", origin="triton"):
    """Shares tensors among the CTAs of a cluster.

    `ctas_along_rows`: of the result of a dot, where each has 16 rows and columns; 0: tiles of 64 or more.
    """

    name = "triton-nvidia-gpu-plan-cta"
    requires = frozenset({Property.ENCODINGS})
    ctas_along_rows: int = 0

    values = {"ctas_along_rows": POWERS_OF_TWO}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Plans every function. Does nothing for one CTA."""
        if ttg.num_ctas(op) == 1:
            return
        for function in [found for found in op.walk() if isinstance(found, tt.FuncOp)]:
            _plan(function, self.ctas_along_rows)


def _plan(function: Operation, ctas_along_rows: int) -> None:
    from minitriton.passes.plan_cta.propagation import CastQueue, propagate_all
    from minitriton.passes.plan_cta.tiling import dot_layouts, is_store, reduction_layouts, store_layouts

    ops = list(function.walk())
    queue = CastQueue()
    tiled = False
    for cls, rule in (
        (tt.DotOp, partial(dot_layouts, ctas_along_rows=ctas_along_rows)),
        (tt.ReduceOp, reduction_layouts),
    ):
        for op in [op for op in ops if isinstance(op, cls)]:
            layouts = rule(op)
            if layouts is not None:
                tiled = True
                queue.surround(op, *layouts)
    if not tiled:
        for op, layout in store_layouts([op for op in ops if is_store(op)]):
            queue.surround(op, [layout] * len(op.operands), [layout] * len(op.results))
    propagate_all(queue)

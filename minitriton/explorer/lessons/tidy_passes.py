"""Three passes for an exercise: they all say that they tidy up, and one of them breaks kernels."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton.dialects import arith, tt, ttg
from minitriton.pipeline.pass_registry import Pass, register_pass


@register_pass
class TidyConversions(Pass):
    """Takes out conversions of layouts that change nothing."""

    name = "exercise-tidy-conversions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for one in list(op.walk()):
            if isinstance(one, ttg.ConvertLayoutOp) and one.operands[0].type == one.results[0].type:
                _replaced_by_operand(one)


@register_pass
class TidyQuotients(Pass):
    """Takes out divisions by a number that is the same for all of a tensor, as if that were always 1."""

    name = "exercise-tidy-quotients"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for one in list(op.walk()):
            if isinstance(one, arith.DivfOp) and isinstance(one.operands[1].owner, tt.SplatOp):
                _replaced_by_operand(one)


@register_pass
class TidyConstants(Pass):
    """Takes out constants that nobody uses."""

    name = "exercise-tidy-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for one in list(op.walk()):
            if isinstance(one, arith.ConstantOp) and not any(one.results[0].uses):
                one.detach()


def _replaced_by_operand(op: Operation) -> None:
    op.results[0].replace_all_uses_with(op.operands[0])
    op.detach()

"""Casts to wider types behind the loads, reductions, loops and conversions that come before their first use.

In: TTGIR, in the order in which it will be lowered. Out: the same ops in another order.

    %w = tt.load ... : tensor<8192xf16>                    %w = tt.load ... : tensor<8192xf16>
    %f = arith.extf %w : f16 to f32                        %s = "tt.reduce"(%x) ...
    %s = "tt.reduce"(%x) ...                       =>      %f = arith.extf %w : f16 to f32
    %y = arith.mulf %f, %s                                 %y = arith.mulf %f, %s

Until then a thread holds half the registers, and does not wait for the load before the reduction: RMS norm 4096x8192 f16 at 16 warps takes
40 registers for 48, with which an SM holds three blocks for two. The loads of layer norm's last line start together. Triton's lowering gets there as LLVM sinks its scalar casts, which it does
not do to vectors. Left out by `without="minitriton-widen-late"`.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation

from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.dialects.narrowing import instance_of
from minitriton.pass_registry import KEPT_BY_DEFAULT, Pass, Property, register_pass
from minitriton.passes.tensor_layouts import element_bits

_CASTS = frozenset({arith.ExtFOp, arith.ExtSIOp, arith.ExtUIOp, arith.SIToFPOp, arith.UIToFPOp, tt.FpToFpOp})
_WAITING = (ttg.ConvertLayoutOp, tt.GatherOp, tt.HistogramOp, tt.LoadOp)
"""Ops without regions before which threads may wait for each other, and loads, which start before the cast waits for an earlier one."""


@register_pass
class WidenLate(Pass, stage="ttgir"):
    """Moves casts to wider types to their first use."""

    name = "minitriton-widen-late"
    acts_on = _CASTS
    requires = frozenset({Property.ENCODINGS})
    keeps: ClassVar[frozenset[Property]] = KEPT_BY_DEFAULT | {Property.DOT_OPERANDS_FENCED}

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        """Move the casts of each block, the last first, so that chains of casts move together."""
        moved = False
        blocks: dict[Block, list[Operation]] = {}
        for found in ops_in(op):
            if found.__class__ in _CASTS and found.parent is not None and _widens(found):
                blocks.setdefault(found.parent, []).append(found)
        for block, casts in blocks.items():
            number = {each: index for index, each in enumerate(block.ops)}
            waiting = [index for each, index in number.items() if each.regions or isinstance(each, _WAITING)]
            for cast in reversed(casts) if waiting else ():
                user = _first_user(cast, block, number)
                if user is None or bisect_left(waiting, number[cast]) == bisect_left(waiting, number[user]):
                    continue
                cast.detach()
                block.insert_op_before(cast, user)
                number[cast] = number[user]
                moved = True
        return moved


def _widens(cast: Operation) -> bool:
    source, result = cast.operands[0].type, cast.results[0].type
    if not instance_of(source, TensorType) or not instance_of(result, TensorType):
        return False
    return 1 < element_bits(source) < element_bits(result)


def _first_user(cast: Operation, block: Block, number: dict[Operation, int]) -> Operation | None:
    """The first op of the block that uses the result, or has an op within that does."""
    users = {block.find_ancestor_op_in_block(use.operation) for use in cast.results[0].uses}
    return min((user for user in users if user is not None), key=number.__getitem__, default=None)

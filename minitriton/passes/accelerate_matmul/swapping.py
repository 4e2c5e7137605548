"""A product of tf32 whose right operand lies with K not contiguous changes sides: what was on the right comes first, and goes through registers.

    for ... iter_args(%c = 0 : MxN)                     for ... iter_args(%t = 0 : NxM)
        %d = tt.dot %a, %b, %c       : MxN      =>          %d = tt.dot (tt.trans %b), (tt.trans %a), %t     : NxM
                                                        tt.trans %d : MxN

`wgmma` reads 32-bit operands from shared memory with K contiguous only. The first operand it takes from registers, too, where each thread
has picked its elements from any order. Copies to shared memory stay as they are in global memory, 16 bytes at a time. Triton 3.6.0 copies
such an operand element by element.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import Float32Type, TensorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from minitriton.dialects import tt
from minitriton.dialects.facts.launch import num_ctas
from minitriton.dialects.fast_paths.op_access import set_type
from minitriton.dialects.tt.inference import infer_trans
from minitriton.passes.accelerate_matmul.instruction import mma_layout
from minitriton.passes.accelerate_matmul.operands import is_from_memory, lies_across, without_conversions
from minitriton.passes.tensor_layouts import insert_after_value, shape_of
from minitriton.rewriting.constants import constant_attr, constant_op, splat_to

_TURNED = (1, 0)
_ROWS = 64
"""Rows of a `wgmma` (PTX ISA, "wgmma.mma_async")."""


def swap_product(dot: tt.DotOp, arch: int) -> None:
    """Swaps the sides of `dot` where that keeps an operand from being transposed on its way to shared memory; the sum turns with them."""
    if not _gains(dot, arch):
        return
    block = cast(Block, dot.parent)
    place = _place_in_loop(dot)
    if place is None and isinstance(dot.c, BlockArgument):
        return
    a, b = (_turned(without_conversions(value), dot) for value in (dot.a, dot.b))
    swapped = tt.DotOp(
        b,
        a,
        dot.c if place is not None else _turned(dot.c, dot),
        input_precision=dot.input_precision.data,
        max_num_imprecise_acc=dot.max_num_imprecise_acc.value.data,
    )
    if place is not None:
        _turn_sum(cast(scf.ForOp, dot.parent_op()), place)
        set_type(swapped.result, dot.c.type)
    swapped.location = dot.location
    block.insert_op_before(swapped, dot)
    dot.result.replace_all_uses_with(swapped.result if place is not None else _turned(swapped.result, dot))
    block.erase_op(dot)


def _gains(dot: tt.DotOp, arch: int) -> bool:
    """Whether the right operand alone, of 32 bits, lies across in memory, and the turned product is one of `wgmma` too. Not with
    several CTAs: each has loaded, of either operand, what its own part of the product takes on that side."""
    type_ = cast(TensorType, dot.a.type)
    if not isinstance(type_.element_type, Float32Type) or not (is_from_memory(dot.a) and is_from_memory(dot.b)):
        return False
    if num_ctas(dot) > 1:
        return False
    layout = mma_layout(dot, arch)
    if layout is None or not layout.is_hopper or shape_of(dot.result)[1] % _ROWS:
        return False
    return lies_across(dot.b, 1) and not lies_across(dot.a, 0)


def _place_in_loop(dot: tt.DotOp) -> int | None:
    """Which of its loop's values the sum of `dot` is, if that is all it is in the loop."""
    loop, sum_ = dot.parent_op(), dot.c
    if not isinstance(loop, scf.ForOp) or not isinstance(sum_, BlockArgument) or sum_.block is not dot.parent:
        return None
    end = dot.result.get_user_of_unique_use()
    if not sum_.has_one_use() or not isinstance(end, scf.YieldOp) or end.parent is not dot.parent:
        return None
    place = sum_.index - 1
    return place if end.operands[place] is dot.result else None


def _turn_sum(loop: scf.ForOp, place: int) -> None:
    """Value number `place` of `loop` is the transpose of what it was; behind the loop it is turned back."""
    argument, result = loop.body.block.args[place + 1], loop.results[place]
    init = place + 3
    loop.operands[init] = _turned(loop.operands[init], loop)
    users = tuple(result.uses)
    for value in (argument, result):
        set_type(value, infer_trans(value.type, _TURNED))
    back = tt.TransOp(result, order=_TURNED)
    back.location = loop.location
    insert_after_value(back, result)
    for use in users:
        use.operation.operands[use.index] = back.result


def _turned(value: SSAValue, before: Operation) -> SSAValue:
    """The transpose of `value`, made before an op; a number repeated is a constant again."""
    type_ = infer_trans(value.type, _TURNED)
    constant = constant_attr(value)
    number = splat_to(constant, type_) if constant is not None else None
    new = tt.TransOp(value, order=_TURNED) if number is None else constant_op(number, type_)
    new.location = before.location
    cast(Block, before.parent).insert_op_before(new, before)
    return new.results[0]

"""A dot of blocked layouts becomes one on tensor cores.

    %d = tt.dot %a, %b, %c                                     : -> tensor<128x128xf32, #blocked>
becomes on sm_80
    %a1 = ttg.convert_layout %a                                : -> #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
    %b1 = ttg.convert_layout %b                                : -> #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>
    %d1 = tt.dot %a1, %b1, (ttg.convert_layout %c)             : -> tensor<128x128xf32, #mma>
and on sm_90, with %a in a buffer if it comes from memory, else in registers,
    %b1 = ttg.local_alloc %b                                   : -> !ttg.memdesc<64x128xf16, #shared, #smem>
    %d1 = ttng.warp_group_dot %a1, %b1, (ttg.convert_layout %c)

Answers to `BlockedToMMA` of lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import TensorType

from minitriton.dialects import tt, ttg, ttng
from minitriton.layouts.encodings import NvidiaMma
from minitriton.passes.accelerate_matmul.instruction import mma_layout
from minitriton.passes.accelerate_matmul.operands import (
    in_registers,
    in_shared_memory,
    is_from_memory,
    lies_across,
    loaded_bits,
)
from minitriton.passes.tensor_layouts import element_bits, layout_of_value, with_layout
from minitriton.remarks import remark
from minitriton.rewriting.rewriter import Rewriter
from minitriton.target.architectures import architecture_of

_TF32_BITS = 32


def blocked_to_mma(arch: int, swap_tf32: bool, wide_integers: bool) -> Callable[[tt.DotOp, Rewriter], bool]:
    """The pattern for one compute capability (times ten); with `swap_tf32` a left operand of tf32 with K not contiguous goes by registers,
    with `wide_integers` `wgmma` of integers has up to 256 columns."""

    def rewrite(op: tt.DotOp, rewriter: Rewriter) -> bool:
        layout = layout_of_value(op.result)
        if layout is None or isinstance(layout, NvidiaMma):
            return False
        mma = mma_layout(op, arch, wide_integers)
        if architecture_of(arch).has_wgmma and (mma is None or not mma.is_hopper):
            remark(op, "MMA version 3 acceleration not applied due to unsupported shapes or data types.")
        if mma is None:
            return False
        type_ = with_layout(op.result.type, mma)
        total = rewriter.insert(ttg.ConvertLayoutOp(op.c, type_)).result
        precision, imprecise = op.input_precision.data, op.max_num_imprecise_acc.value.data
        if mma.is_hopper:
            bits = element_bits(cast(TensorType, op.a.type))
            if is_from_memory(op.a) and not (swap_tf32 and bits == _TF32_BITS and lies_across(op.a, 0)):
                a = in_shared_memory(op.a, 0, rewriter)
            else:
                a = in_registers(op.a, 0, bits, mma, rewriter)
            b = in_shared_memory(op.b, 1, rewriter)
            new = rewriter.insert(
                ttng.WarpGroupDotOp(a, b, total, input_precision=precision, max_num_imprecise_acc=imprecise)
            )
        else:
            bits = min(loaded_bits(op.a), loaded_bits(op.b))
            a, b = (in_registers(value, index, bits, mma, rewriter) for index, value in enumerate((op.a, op.b)))
            new = rewriter.insert(tt.DotOp(a, b, total, input_precision=precision, max_num_imprecise_acc=imprecise))
        rewriter.replace_with(op, ttg.ConvertLayoutOp(new.result, op.result.type))
        return True

    return rewrite

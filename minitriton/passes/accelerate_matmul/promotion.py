"""Operands of a type that the chosen instruction does not multiply are widened in front of it.

    tt.dot %a, %b, %c : f8E4M3FN on mma.sync, sm_90   =>   tt.dot (tt.fp_to_fp %a : f16), (tt.fp_to_fp %b : f16), %c
    tt.dot %a, %b, %c : f16 -> f32, multiply-adds     =>   tt.dot (arith.extf %a : f32), (arith.extf %b : f32), %c

Only sm_89 has `mma.sync` for fp8: newer chips emulate it by f16. Answers to `decomposeMixedModeDotOp` of
lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import AnyFloat, ModuleOp, TensorType, f16
from xdsl.ir import Attribute, Block, SSAValue

from minitriton.dialects import arith, tt
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.layouts.encodings import NvidiaMma
from minitriton.passes.accelerate_matmul.instruction import FP8
from minitriton.passes.tensor_layouts import layout_of_value

HAS_FP8_MMA = (89, 120)


def promote_operands(module: ModuleOp, arch: int) -> None:
    """Widens the operands of all dots that need it."""
    for op in ops_in(module):
        if isinstance(op, tt.DotOp):
            wider = _wider_type(op, arch)
            if wider is not None:
                for index in (0, 1):
                    op.operands[index] = _promoted(op, op.operands[index], wider)


def _wider_type(dot: tt.DotOp, arch: int) -> Attribute | None:
    element = cast(TensorType, dot.a.type).element_type
    if isinstance(layout_of_value(dot.result), NvidiaMma):
        return f16 if isinstance(element, FP8) and arch not in HAS_FP8_MMA else None
    wanted = cast(TensorType, dot.result.type).element_type
    # Integers are widened by the multiply-add itself.
    return wanted if element != wanted and isinstance(element, AnyFloat) else None


def _promoted(dot: tt.DotOp, value: SSAValue, element: Attribute) -> SSAValue:
    type_ = cast(TensorType, value.type)
    cast_class = tt.FpToFpOp if isinstance(type_.element_type, FP8) else arith.ExtFOp
    new = cast_class(value, TensorType(element, type_.shape, type_.encoding))
    new.location = dot.location
    cast(Block, dot.parent).insert_op_before(new, dot)
    return new.results[0]

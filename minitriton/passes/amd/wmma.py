"""Dots on the matrix cores of RDNA: the part of `tritonamdgpu-accelerate-matmul` for gfx11 and gfx12.

    %d = tt.dot %a, %b, %c                                     : -> tensor<64x64xf32, #blocked>
becomes on gfx1100
    %a1 = ttg.convert_layout %a                                : -> #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 16}>
    %b1 = ttg.convert_layout %b                                : -> #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 16}>
    %d1 = tt.dot %a1, %b1, (ttg.convert_layout %c)             : -> tensor<64x64xf32, #mma>

where #mma = #ttg.amd_wmma<{version = 1, isTranspose = true, warpsPerCTA = [2, 2]}>. Operands that no instruction takes are widened, where that loses
nothing; else multiply-adds remain. Counterpart of `BlockedToWMMA` of AccelerateAMDMatmul.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    TensorType,
    bf16,
    f16,
    f32,
    i8,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.dialects import arith, tt, ttg
from minitriton.layouts.encodings import AmdWmma, Blocked, DotOperand, Encoding
from minitriton.passes.tensor_layouts import element_bits, layout_of_value, shape_of, with_element, with_layout
from minitriton.pipeline.choice import remark
from minitriton.rewriting.rewriter import Rewriter
from minitriton.target.amd import WMMA_SIDE, wmma_of

_Types = tuple[Attribute, Attribute, Attribute]
"""Elements of A, of B, and of the accumulator."""
_COMMON: tuple[_Types, ...] = ((f16, f16, f32), (bf16, bf16, f32), (i8, i8, i32))
WarpsOf = Callable[[Operation, tuple[int, ...], int], tuple[int, ...]]
"""How warps share a dot's result of a shape, by instructions of that many rows and columns."""


def to_wmma(dot: tt.DotOp, rewriter: Rewriter, version: int, size: int, warps_of: WarpsOf) -> bool:
    """The pattern: `size` is 0 or the rows and columns that the instruction has to have."""
    if not isinstance(layout_of_value(dot.result), Blocked):
        return False
    types = _operand_types(dot, version)
    shape, depth = shape_of(dot.result), shape_of(dot.a)[-1]
    if types is None or not (size or min(shape[-2:]) >= WMMA_SIDE):
        return False
    a, b, accumulator = types
    found = wmma_of(version, str(a), str(b)) if size in (0, WMMA_SIDE) else None
    if found is None or (not size and depth % found.depth):
        remark(
            dot,
            f"no WMMA of version {version} for {a} and {b} with k = {depth} and {size or WMMA_SIDE} rows: multiply-adds remain",
        )
        return False
    layout = AmdWmma(version, True, warps_of(dot, shape, WMMA_SIDE), (), (), (WMMA_SIDE, WMMA_SIDE, found.depth))
    total = _converted(rewriter, dot.c, layout, accumulator)
    operands = [
        _converted(rewriter, value, DotOperand(index, layout, found.per_lane), element)
        for index, (value, element) in enumerate(((dot.a, a), (dot.b, b)))
    ]
    precision, imprecise = dot.input_precision.data, dot.max_num_imprecise_acc.value.data
    new = rewriter.insert(
        tt.DotOp(operands[0], operands[1], total, input_precision=precision, max_num_imprecise_acc=imprecise)
    )
    back = _converted(rewriter, new.result, layout_of_value(dot.result), cast(TensorType, dot.result.type).element_type)
    rewriter.replace_op(dot, back)
    return True


def _operand_types(dot: tt.DotOp, version: int) -> _Types | None:
    """Those that the fewest values have to be converted to, the first of equals: only to what is as wide or wider."""
    eights = (Float8E4M3FNType(), Float8E5M2Type()) if version > 1 else ()
    here = [cast(TensorType, value.type) for value in (dot.a, dot.b, dot.c, dot.result)]
    best, least = None, len(here) + 1
    for types in (*_COMMON, *((a, b, f32) for a in eights for b in eights)):
        wanted = (*types, types[2])
        cost = 0
        for type_, to in zip(here, wanted, strict=True):
            if type_.element_type == to:
                continue
            is_float = isinstance(to, AnyFloat)
            if is_float != isinstance(type_.element_type, AnyFloat) or element_bits(type_) > element_bits(
                TensorType(to, [1])
            ):
                cost = least
            cost += 1
        if cost < least:
            best, least = types, cost
    return best


def _converted(rewriter: Rewriter, value: SSAValue, layout: Encoding | None, element: Attribute) -> SSAValue:
    """`value` in `layout`, then as `element`."""
    assert layout is not None
    moved = rewriter.insert(ttg.ConvertLayoutOp(value, with_layout(value.type, layout))).result
    before = cast(TensorType, value.type).element_type
    if before == element:
        return moved
    to = with_element(moved, element)
    if isinstance(before, Float16Type) and isinstance(element, Float32Type):
        return rewriter.insert(arith.ExtFOp(moved, to)).results[0]
    if isinstance(before, Float32Type) and isinstance(element, Float16Type):
        return rewriter.insert(arith.TruncFOp(moved, to)).results[0]
    if isinstance(element, AnyFloat):
        return rewriter.insert(tt.FpToFpOp(moved, to)).results[0]
    wider = element_bits(to) > element_bits(moved.type)
    return rewriter.insert((arith.ExtUIOp if wider else arith.TruncIOp)(moved, to)).results[0]

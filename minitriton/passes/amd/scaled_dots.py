"""Dots of microscaled numbers on AMD's matrix cores.

    %d = tt.dot_scaled %a scale %s, %b, %c lhs = e2m1 rhs = e4m3                          : -> tensor<128x128xf32, #blocked>
becomes on gfx950
    %d1 = tt.dot_scaled %a1 scale %s1, %b1 scale 127 (1.0), (ttg.convert_layout %c)       : -> tensor<128x128xf32, #mma>

with operands in `#ttg.dot_op` of #mma = #ttg.amd_mfma<{version = 4, instrShape = [32, 32, 64], ...}>, 16 bytes each, and scales in the linear layout
that gives a lane the scale of its 32 numbers. Where no instruction takes the types (bf16, fp16), and on other GPUs, operands are widened to 16 bits
and multiplied by their scales; the matrix cores then take an ordinary dot.

A dot with one scaled operand widens it by `amdg.upcast_mxfp` where no instruction scales (gfx90a, gfx942).

Counterpart of ScaledBlockedToScaledMFMAF8F6F4, ScaledBlockedToMFMA and DecomposeAMDScaledBlocked of AccelerateAMDMatmul.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects.builtin import AnyFloat, BoolAttr, TensorType, bf16, f16, i8
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from minitriton.analysis.slices.def_use import backward_ops
from minitriton.dialects import amdg, arith, tt, ttg
from minitriton.dialects.facts.launch import num_warps, threads_per_warp
from minitriton.dialects.tt.types import tensor_type
from minitriton.layouts.builders import swizzled_shared_for_dot
from minitriton.layouts.encodings import AmdMfma, Blocked, DistributedEncoding, DotOperand, SwizzledShared
from minitriton.layouts.inference import inverse_permutation, reshape_dst, trans_dst
from minitriton.layouts.memory import plan_access, registers_to_offsets
from minitriton.layouts.properties import get_order
from minitriton.layouts.to_linear import amd_scale, to_linear_layout
from minitriton.passes.accelerate_matmul.scaled import ScaledOperand, unpacked
from minitriton.passes.tensor_layouts import (
    element_bits,
    layout_of_tensor,
    layout_of_value,
    shape_of,
    with_element,
    with_layout,
)
from minitriton.rewriting.constants import int_attr
from minitriton.rewriting.rewriter import Rewriter
from minitriton.target.amd import SCALED_MFMA, Mfma

WarpsOf = Callable[[Operation, tuple[int, ...], int], tuple[int, ...]]
"""How so many waves share the result of a dot, by instructions of so many rows."""

NATIVE = ("e2m1", "e4m3", "e5m2")
_RUN = 16
"""Bytes along k that a lane loads at once."""
_GROUP = 32
_ONE = 127
_SOURCE = "amdg.decomposed_dot_scaled_source"


def scaled_rows(shape: Sequence[int], depth: int, size: int) -> int:
    """Rows and columns of the instruction for a result of `shape` and `depth` numbers along k, `size` if it is not 0; 0 if there is none."""
    least = min(shape)
    rows = size or (32 if least >= 32 else 16)
    found = SCALED_MFMA.get(rows) if least >= 16 or size else None
    return rows if found is not None and depth % found.depth == 0 else 0


def to_scaled_mfma(dot: tt.DotScaledOp, rewriter: Rewriter, size: int, warps_of: WarpsOf) -> bool:
    """The dot in the layout of a scaled instruction; False where there is none."""
    formats = (dot.a_elem_type.data.value, dot.b_elem_type.data.value)
    shape = shape_of(dot.result)
    if any(each not in NATIVE for each in formats) or len(shape) == 3 or num_warps(dot) == 1:
        return False
    if any(has_float_scale(scale) for scale in (dot.a_scale, dot.b_scale)):
        return False
    is_packed = (bool(dot.lhs_k_pack.value.data), bool(dot.rhs_k_pack.value.data))
    depth = shape_of(dot.a)[-1] * (2 if formats[0] == "e2m1" and is_packed[0] else 1)
    rows = scaled_rows(shape, depth, size)
    if not rows:
        return False
    per_cta = warps_of(dot, shape, rows)
    scales = (dot.a_scale, dot.b_scale)
    result = cast(TensorType, dot.result.type)
    tiles = tiles_for_scales(scales, rows, shape, per_cta)
    layout = AmdMfma(4, per_cta, (rows, rows, SCALED_MFMA[rows].depth), True, (), tiles, element_bits(result))
    total = rewriter.insert(ttg.ConvertLayoutOp(dot.c, with_layout(dot.c.type, layout))).result
    values = [
        _operand(dot, rewriter, value, index, layout, is_packed[index]) for index, value in enumerate((dot.a, dot.b))
    ]
    new_scales = [
        _scale(rewriter, scale, value, index, layout, formats[index])
        for index, (scale, value) in enumerate(zip(scales, values, strict=True))
    ] if any(scale is not None for scale in scales) else [None, None]  # fmt: skip
    (a, b), (a_scale, b_scale) = values, new_scales
    new = rewriter.insert(
        tt.DotScaledOp(
            a, b, total, a_scale, b_scale, a_elem_type=formats[0], b_elem_type=formats[1],
            fast_math=bool(dot.fast_math.value.data),
        )
    )  # fmt: skip
    rewriter.replace_with(dot, ttg.ConvertLayoutOp(new.result, result))
    return True


def has_float_scale(scale: SSAValue | None) -> bool:
    """Whether scales are those of nvfp4, floats of 16 numbers each, which no instruction takes."""
    return scale is not None and isinstance(cast(TensorType, scale.type).element_type, AnyFloat)


def _operand(
    dot: tt.DotScaledOp, rewriter: Rewriter, value: SSAValue, index: int, layout: AmdMfma, is_packed: bool
) -> SSAValue:
    """`value` as an operand; fp4 that is packed along M or N comes through LDS, which packs it along k."""
    operand = DotOperand(index, layout, _RUN)
    if is_packed:
        return rewriter.insert(ttg.ConvertLayoutOp(value, with_layout(value.type, operand))).result
    source, shape = layout_of_value(value), shape_of(value)
    assert source is not None
    wide = tuple(size * 2 if dim == index else size // 2 for dim, size in enumerate(shape))
    buffer = swizzled_shared_for_dot(
        operand, shape, (index, 1 - index), source.cga, element_bits(cast(TensorType, value.type))
    )
    type_ = ttg.MemDescType(shape, i8, ttg.encoding_attr(buffer), ttg.SharedMemorySpaceAttr())
    memory = rewriter.insert(ttg.LocalAllocOp(value, type_)).results[0]
    packed = tensor_type(wide, i8, ttg.encoding_attr(operand))
    return rewriter.insert(amdg.LocalLoadPackedTransposedOp(memory, packed)).results[0]


def _scale(
    rewriter: Rewriter, scale: SSAValue | None, value: SSAValue, index: int, layout: AmdMfma, form: str
) -> SSAValue:
    """The scales of an operand in the layout of the instruction; 1.0 where there are none."""
    if scale is not None:
        shape = shape_of(scale)
        moved = with_layout(scale.type, amd_scale(DotOperand(index, layout, _RUN), shape))
        return rewriter.insert(ttg.ConvertLayoutOp(scale, moved)).result
    whole = shape_of(value)
    shape = (whole[index], whole[1 - index] * (2 if form == "e2m1" else 1) // _GROUP)
    type_ = tensor_type(shape, i8, ttg.encoding_attr(amd_scale(DotOperand(index, layout, _RUN), shape)))
    return rewriter.constant(int_attr(type_, _ONE))


# Which tiles a wave has -------------------------------------------------------------------------------------------------


def tiles_for_scales(
    scales: Sequence[SSAValue | None], rows: int, shape: Sequence[int], warps: Sequence[int]
) -> tuple[int, ...]:
    """Instructions of a wave next to each other along M and N, so that loads of scales are widest: a lane has one byte for an instruction."""
    most, chosen = 2, (1, 1)
    for m in range(1, min(2, shape[0] // rows) + 1):
        for n in range(1, min(2, shape[1] // rows) + 1):
            layout = AmdMfma(4, tuple(warps), (rows, rows, SCALED_MFMA[rows].depth), True, (), (m, n))
            width = sum(_loaded_at_once(scale, index, layout) for index, scale in enumerate(scales))
            if width > most:
                most, chosen = width, (m, n)
    if scales[0] is None and scales[1] is not None:
        chosen = (min(-(-shape[0] // rows), chosen[1]), chosen[1])
    if scales[1] is None and scales[0] is not None:
        chosen = (chosen[0], min(-(-shape[1] // rows), chosen[0]))
    return chosen


_CONSTANT = 4


def _loaded_at_once(scale: SSAValue | None, index: int, layout: AmdMfma) -> int:
    """How many scales a lane would load at once, were the load in the layout that the instruction wants."""
    if scale is None:
        return 1
    op = scale.owner
    if isinstance(op, arith.ConstantOp | tt.SplatOp):
        return _CONSTANT
    wanted: DistributedEncoding | None = amd_scale(DotOperand(index, layout, _RUN), shape_of(scale))
    value = scale
    while isinstance(value, OpResult) and wanted is not None and not isinstance(value.op, tt.LoadOp):
        op = value.op
        if isinstance(op, tt.ReshapeOp):
            wanted = reshape_dst(shape_of(value), wanted, shape_of(op.operands[0]))
        elif isinstance(op, tt.TransOp):
            order = inverse_permutation(op.order.get_values())
            permuted = trans_dst(wanted, shape_of(value), order)
            wanted = permuted if isinstance(permuted, DistributedEncoding) else None
        elif not isinstance(op, ttg.ConvertLayoutOp):
            return 1
        value = op.operands[0]
    if not isinstance(value, OpResult) or wanted is None:
        return 1
    shape = shape_of(value)
    plain = SwizzledShared(1, 1, 1, get_order(layout_of_tensor(value), shape), ())
    offsets = registers_to_offsets(to_linear_layout(wanted, shape), to_linear_layout(plain, shape))
    return plan_access(offsets, 8).vector


def source_of_scales(value: SSAValue) -> SSAValue | None:
    """The scales that an operand was multiplied by, which `UpcastOperand` marked; the mark goes."""
    if isinstance(value, BlockArgument):
        return None
    for op in backward_ops(value, lambda op: True, through_arguments=False):
        if op.attributes.pop(_SOURCE, None) is not None:
            return op.results[0]
    return None


# Operands that are widened in the layout of the instruction ------------------------------------------------------------


def to_upcast_mfma(
    dot: tt.DotScaledOp, rewriter: Rewriter, tile: tuple[int, int], instruction: Mfma | None, version: int, kpack: int
) -> bool:
    """A dot with one scaled operand as one of 16-bit floats, that operand widened by `amdg.upcast_mxfp` where lanes hold it; False where it cannot.

    Waves share rows of the scaled operand only, so that each has the scales of its numbers.
    """
    shape, is_k_packed = shape_of(dot.result), (dot.lhs_k_pack.value.data, dot.rhs_k_pack.value.data)
    forms = (dot.a_elem_type.data.value, dot.b_elem_type.data.value)
    scales = (dot.a_scale, dot.b_scale)
    has_scale = [scale is not None for scale in scales]
    if not all(is_k_packed) or len(shape) == 3 or sum(has_scale) != 1 or any(map(has_float_scale, scales)):
        return False
    if any(form == "e2m1" and not scaled for form, scaled in zip(forms, has_scale, strict=True)):
        return False
    if any(form not in (*NATIVE, "bf16", "fp16") for form in forms) or forms[has_scale.index(True)] not in NATIVE:
        return False
    if instruction is None or tile[0] != tile[1] or shape_of(dot.a)[-1] % instruction.depth:
        return False
    compute, result = f16 if "fp16" in forms else bf16, cast(TensorType, dot.result.type)
    warps, lanes = num_warps(dot), threads_per_warp(dot)
    per_cta = (warps, 1) if has_scale[0] else (1, warps)
    layout = AmdMfma(version, per_cta, (*tile, instruction.depth), True, (), (), element_bits(result))
    total = rewriter.insert(ttg.ConvertLayoutOp(dot.c, with_layout(dot.c.type, layout))).result
    width = instruction.per_lane * kpack
    widths = [4 if form == "e2m1" else 8 if "e2m1" in forms else width for form in forms]
    operands: list[SSAValue] = []
    for index, value in enumerate((dot.a, dot.b)):
        moved = with_layout(value.type, DotOperand(index, layout, widths[index]))
        held: SSAValue = rewriter.insert(ttg.ConvertLayoutOp(value, moved)).result
        if forms[index] in ("e4m3", "e5m2"):
            held = rewriter.insert(tt.FpToFpOp(held, with_element(held, compute))).results[0]
        operands.append(held)
    for index, scale in enumerate(scales):
        if scale is None:
            continue
        blocked = Blocked((1, 1), (tile[0], lanes // tile[0]), (warps, 1), (1, 0))
        moved_scale = rewriter.insert(ttg.ConvertLayoutOp(scale, with_layout(scale.type, blocked))).result
        pairs = 2 if forms[index] == "e2m1" else 1
        wide = list(shape_of(operands[index]))
        wide[1 - index] *= pairs
        encoding = ttg.encoding_attr(DotOperand(index, layout, widths[index] * pairs))
        upcast = amdg.UpcastMXFPOp(
            operands[index],
            moved_scale,
            forms[index],
            bool(dot.fast_math.value.data),
            tensor_type(tuple(wide), compute, encoding),
        )
        operands[index] = rewriter.insert(upcast).results[0]
    new = rewriter.insert(tt.DotOp(operands[0], operands[1], total))
    rewriter.replace_with(dot, ttg.ConvertLayoutOp(new.result, result))
    return True


# Widened operands -------------------------------------------------------------------------------------------------------


class UpcastOperand(ScaledOperand):
    """Operands that gfx950 widens and scales in one instruction: `amdg.scaled_upcast_fp8` and `_fp4`."""

    def scaled(self, value: SSAValue, scale: SSAValue | None) -> SSAValue:
        """`value` in 16 bits, times its scales."""
        if self.form in ("bf16", "fp16"):
            return value
        if scale is None or has_float_scale(scale):
            return super().scaled(value, scale)
        k_dim = len(shape_of(value)) - 1 - self.index
        axis = self.packed_axis(k_dim)
        wide = unpacked(value, axis, self.compute) if self.is_fp4 else with_element(value, self.compute)
        if isinstance(scale.owner, Operation):
            scale.owner.attributes[_SOURCE] = BoolAttr.from_bool(True)
        scale = self.as_of_left(scale)
        repeated = self.repeated(self.as_float(scale, bf16), k_dim, _GROUP)
        factor = self.add(ttg.ConvertLayoutOp(repeated, tensor_type(wide.get_shape(), bf16, wide.encoding)))
        if self.is_fp4:
            result = self.add(amdg.ScaledUpcastFp4Op(value, factor, axis, wide))
        else:
            result = self.add(amdg.ScaledUpcastFp8Op(value, factor, wide))
        return result if self.dot.fast_math.value.data else self.nan_where(result, scale, k_dim, _GROUP)

"""`tt.dot_scaled` as a dot of operands that are widened and multiplied by their scales.

    %d = tt.dot_scaled %a scale %s, %b, %c lhs = e4m3 rhs = bf16

    %a16 = tt.fp_to_fp %a : bf16                    ttg.fp4_to_fp for e2m1
    %s16 = tt.bitcast (arith.shli (arith.extui %s : i16), 7) : bf16       a scale is the exponent of a power of two
    %rep = %s16, each number 32 times along k       expand_dims, broadcast, trans, reshape
    %x   = arith.select (%s == 255), nan, arith.mulf %a16, %rep           without fastMath
    %d   = tt.dot %x, %b16, %c

Scales of nvfp4 are e4m3, one for each 16 elements; Triton 3.6.0 lacks a dot of them on sm_90. Scales are row-major of the result on either side: those of b are transposed. Counterpart of
lib/Dialect/TritonGPU/Transforms/DecomposeScaledBlocked.cpp and `transposeDotOp` of AccelerateMatmul.cpp; OCP Microscaling Formats
(MX) v1.0, section 5.4, for what a scale means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import AnyFloat, IntegerType, TensorType, bf16, f16, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.tt.types import tensor_type
from minitriton.host.frozen import frozen
from minitriton.layouts.builders import default_blocked
from minitriton.layouts.encodings import Blocked, DotOperand, NvidiaMma, Slice
from minitriton.layouts.inference import fp4_to_fp_dst, reshape_dst
from minitriton.passes.tensor_layouts import layout_of_tensor, layout_of_value, shape_of, with_element, with_layout
from minitriton.rewriting.constants import float_attr, int_attr
from minitriton.rewriting.rewriter import Rewriter

NAN_SCALE = 0xFF


def transpose_for_left_scale(op: tt.DotScaledOp) -> None:
    """a @ (b * scale) + c  =  ((b * scale)^T @ a^T + c^T)^T: the scaled operand comes first."""
    if op.a_scale is not None or op.b_scale is None:
        return
    block = cast(Block, op.parent)

    def placed(new: Operation) -> SSAValue:
        new.location = op.location
        block.insert_op_before(new, op)
        return new.results[0]

    a, b, c = (placed(tt.TransOp(value, order=(1, 0))) for value in (op.a, op.b, op.c))
    swapped = tt.DotScaledOp(
        b,
        a,
        c,
        op.b_scale,
        None,
        a_elem_type=op.b_elem_type.data,
        b_elem_type=op.a_elem_type.data,
        fast_math=bool(op.fast_math.value.data),
        lhs_k_pack=bool(op.rhs_k_pack.value.data),
        rhs_k_pack=bool(op.lhs_k_pack.value.data),
    )
    result = placed(tt.TransOp(placed(swapped), order=(1, 0)))
    op.result.replace_all_uses_with(result)
    block.erase_op(op)


def decompose_scaled(
    least_scale: bool, operand_class: type[ScaledOperand] | None = None
) -> Callable[[tt.DotScaledOp, Rewriter], bool]:
    """The pattern that makes a dot of 16-bit floats; with `least_scale` a scale of 0 is 2^-127 in bf16, too. `operand_class` scales an operand."""

    def rewrite(op: tt.DotScaledOp, rewriter: Rewriter) -> bool:
        return _decompose(op, rewriter, least_scale, operand_class or ScaledOperand)

    return rewrite


def _decompose(op: tt.DotScaledOp, rewriter: Rewriter, least_scale: bool, operand_class: type[ScaledOperand]) -> bool:
    layout = layout_of_value(op.result)
    if layout is None or isinstance(layout, NvidiaMma):
        return False
    formats = (op.a_elem_type.data, op.b_elem_type.data)
    compute = f16 if tt.ScaleDotElemType.FP16 in formats else bf16
    operands: list[SSAValue] = []
    for index, (value, scale) in enumerate(((op.a, op.a_scale), (op.b, op.b_scale))):
        side = operand_class(op, rewriter, index, formats[index].value, compute, least_scale)
        scaled = side.scaled(value, scale)
        operands.append(
            _inserted(rewriter, ttg.ConvertLayoutOp(scaled, with_layout(scaled.type, DotOperand(index, layout))))
        )
    a, b = operands
    dot = rewriter.insert(tt.DotOp(a, b, op.c))
    rewriter.replace_with(op, ttg.ConvertLayoutOp(dot.result, op.result.type))
    return True


def _inserted(rewriter: Rewriter, op: Operation) -> SSAValue:
    return rewriter.insert(op).results[0]


def unpacked(value: SSAValue, axis: int, element: Attribute) -> TensorType:
    """The type of `value` with two elements for each byte along `axis`."""
    shape = shape_of(value)
    wide = tuple(size * 2 if dim == axis else size for dim, size in enumerate(shape))
    # As Triton, which asks for the order of the dimensions in the shape of the result.
    layout = fp4_to_fp_dst(layout_of_tensor(value), wide, axis)
    if not isinstance(layout, Blocked):
        layout = fp4_to_fp_dst(layout_of_tensor(value), shape, axis)
    assert layout is not None
    return tensor_type(wide, element, ttg.encoding_attr(layout))


@frozen
class ScaledOperand:
    """One operand of the dot: the left (`index` 0) or the right one."""

    dot: tt.DotScaledOp
    rewriter: Rewriter
    index: int
    form: str
    compute: AnyFloat
    least_scale: bool

    @property
    def is_fp4(self) -> bool:
        """Whether bytes hold two numbers."""
        return self.form == "e2m1"

    def add(self, op: Operation) -> SSAValue:
        return _inserted(self.rewriter, op)

    def packed_axis(self, k_dim: int) -> int:
        """The dimension along which a byte holds two neighbours: k, or the other one of the last two."""
        along_k = self.dot.rhs_k_pack if self.index else self.dot.lhs_k_pack
        return k_dim if along_k.value.data else k_dim - 1 + 2 * self.index

    def scaled(self, value: SSAValue, scale: SSAValue | None) -> SSAValue:
        """`value` in 16 bits, times its scales."""
        rank = len(shape_of(value))
        k_dim = rank - 1 - self.index
        if self.is_fp4:
            axis = self.packed_axis(k_dim)
            value = self.add(ttg.Fp4ToFpOp(value, unpacked(value, axis, self.compute), axis=axis))
        else:
            value = self.add(tt.FpToFpOp(value, with_element(value, self.compute)))
        if scale is None:
            return value
        scale = self.as_of_left(scale)
        group = shape_of(value)[k_dim] // shape_of(scale)[k_dim]
        repeated = self.repeated(self.as_float(scale, self.compute), k_dim, group)
        factor = self.add(ttg.ConvertLayoutOp(repeated, value.type))
        product = self.add(arith.MulfOp(value, factor))
        # A scale that is a float is NaN by itself.
        done = self.dot.fast_math.value.data or isinstance(cast(TensorType, scale.type).element_type, AnyFloat)
        return product if done else self.nan_where(product, scale, k_dim, group)

    def as_of_left(self, scale: SSAValue) -> SSAValue:
        """The scale with k along the same dimension as the operand: both come with it last."""
        rank = len(shape_of(scale))
        if self.index == 0:
            return scale
        return self.add(tt.TransOp(scale, order=(*range(rank - 2), rank - 1, rank - 2)))

    def as_float(self, scale: SSAValue, compute: AnyFloat) -> SSAValue:
        """The scale in a 16-bit type: of nvfp4 an e4m3, else 2 to the power of (scale - 127); f16 has too few exponents and goes by f32."""
        if isinstance(cast(TensorType, scale.type).element_type, AnyFloat):
            return self.add(tt.FpToFpOp(scale, with_element(scale, compute)))
        wide = f32 if compute == f16 else compute
        bits, mantissa = (32, 23) if wide == f32 else (16, 7)
        integer = IntegerType(bits)
        widened = self.add(arith.ExtUIOp(scale, with_element(scale, integer)))
        amount = self.rewriter.constant(int_attr(integer, mantissa))
        amounts = self.add(tt.SplatOp(amount, widened.type))
        shifted = self.add(arith.ShLIOp(widened, amounts))
        if self.least_scale and wide == compute:
            # Byte 0 is 2^-127, a subnormal number: a bit of the mantissa.
            least = self.rewriter.constant(int_attr(widened.type, 1 << mantissa - 1))
            shifted = self.add(arith.MaxUIOp(shifted, least))
        number = self.add(tt.BitcastOp(shifted, with_element(shifted, wide)))
        if wide != compute:
            number = self.add(arith.TruncFOp(number, with_element(number, compute)))
        return number

    def repeated(self, value: SSAValue, dim: int, times: int) -> SSAValue:
        """Each element of `value` so many times along `dim`."""
        shape = shape_of(value)
        rank = len(shape)
        warps, lanes = ttg.num_warps(self.dot), ttg.threads_per_warp(self.dot)
        blocked = default_blocked((*shape, 1), warps, lanes, ttg.num_ctas(self.dot))
        value = self.add(ttg.ConvertLayoutOp(value, with_layout(value.type, Slice(rank, blocked))))
        value = self.add(tt.ExpandDimsOp(value, axis=rank))
        type_ = cast(TensorType, value.type)
        value = self.add(tt.BroadcastOp(value, tensor_type((*shape, times), type_.element_type, type_.encoding)))
        order = [*range(dim + 1), rank, *range(dim + 1, rank)]
        value = self.add(tt.TransOp(value, order=order))
        merged = tuple(size * times if d == dim else size for d, size in enumerate(shape))
        layout = reshape_dst(shape_of(value), layout_of_tensor(value), merged)
        assert layout is not None, "merging neighbouring dimensions keeps a layout linear"
        return self.add(tt.ReshapeOp(value, tensor_type(merged, type_.element_type, ttg.encoding_attr(layout))))

    def nan_where(self, product: SSAValue, scale: SSAValue, dim: int, group: int) -> SSAValue:
        """NaN where the scale is one."""
        limit = self.rewriter.constant(int_attr(scale.type, NAN_SCALE))
        is_nan = self.add(arith.CmpiOp(scale, limit, "eq"))
        condition = self.repeated(is_nan, dim, group)
        condition = self.add(ttg.ConvertLayoutOp(condition, with_layout(condition.type, layout_of_tensor(product))))
        nan = self.rewriter.constant(float_attr(product.type, float("nan")))
        return self.add(arith.SelectOp(condition, nan, product))

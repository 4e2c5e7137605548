"""Microscaled operands that are widened to 16 bits and scaled for an ordinary dot.

    amdg.scaled_upcast_fp8, _fp4    `v_cvt_scalef32_pk_bf16_fp8` of gfx950, two numbers and a scale; elsewhere multiplications in f32
    amdg.upcast_mxfp                multiplications in f32; a lane first fetches the scales of its numbers from the lanes of its wave that hold them

Scales are powers of two, so that the multiplications are exact. Counterpart of Triton's ScaledUpcastToLLVM.cpp and UpcastMXFPToLLVM.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, i1, i32
from xdsl.ir import SSAValue

from minitriton.codegen.amd import lowers
from minitriton.codegen.amd.casts import as_f32
from minitriton.codegen.lowering.casts import resized
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.indexing import fp4_numbers
from minitriton.codegen.lowering.warp_shuffle import shuffle
from minitriton.codegen.types import (
    BF16,
    F16,
    F32,
    I8,
    I16,
    I32,
    element_type,
    lane_type,
    lanes,
    scalar_type,
    vector_type,
)
from minitriton.dialects import amdg, rocdl, tt
from minitriton.dialects.attribute_values import is_true
from minitriton.dialects.encodings import layout_of
from minitriton.layouts.encodings import DistributedEncoding, DotOperand
from minitriton.layouts.to_linear import to_linear_layout

_CONVERTS_VERSION = 4
"""Of the matrix cores of gfx950, which has `v_cvt_scalef32_pk_*` (CDNA4 ISA, "VOP3 Instructions")."""
_GROUP = 32
"""32 neighbours along k share a scale."""
_NAN = 0xFF
_EXPONENT = 23
_IN_WORD = 4
_FORMATS = {"f8E4M3FN": "fp8", "f8E5M2": "bf8"}


@lowers(amdg.ScaledUpcastFp8Op, amdg.ScaledUpcastFp4Op)
def scaled_upcast(f: FunctionLowering, op: amdg.ScaledUpcastFp8Op | amdg.ScaledUpcastFp4Op) -> None:
    """Numbers of 8 or 4 bits times scales, rounded to the type of the result."""
    b, name = f.b, element_type(op.input.type).name
    scales = resized(b, f.vector(op.scale), F32)
    if _shares_scales(f, op):
        form = "fp4" if isinstance(op, amdg.ScaledUpcastFp4Op) else _FORMATS[str(element_type(op.input.type))]
        f.values[op.output] = _converted(f, f.vector(op.input), scales, form, op.output)
        return
    if isinstance(op, amdg.ScaledUpcastFp8Op):
        numbers = as_f32(b, f.vector(op.input), name)
    else:
        numbers = resized(b, fp4_numbers(f, op.input, op.output, op.axis.value.data), F32)
    f.values[op.output] = resized(b, b.fmul(numbers, scales), scalar_type(op.output.type))


def _shares_scales(f: FunctionLowering, op: amdg.ScaledUpcastFp8Op | amdg.ScaledUpcastFp4Op) -> bool:
    """Whether four bytes are neighbours along k, so that they have one scale, on a GPU that converts so."""
    layout = layout_of(op.input.type)
    if f.module.target.mfma_version != _CONVERTS_VERSION or not isinstance(layout, DotOperand):
        return False
    k = len(f.facts(op.input.type).shape) - 1 - layout.op_idx
    is_along_k = isinstance(op, amdg.ScaledUpcastFp8Op) or op.axis.value.data == k
    return is_along_k and (layout.k_width or 0) >= 4


def _converted(f: FunctionLowering, packed: SSAValue, scales: SSAValue, form: str, result: SSAValue) -> SSAValue:
    """Words of four bytes by instructions that make two numbers each."""
    b, into = f.b, vector_type(scalar_type(result.type), 2)
    words = b.unpack(b.bitcast(packed, vector_type(I32, lanes(packed.type) // 4)))
    per_word = 8 if form == "fp4" else 4
    kind = "f16" if lane_type(into) is F16 else "bf16"
    parts: list[SSAValue] = []
    for number, word in enumerate(words):
        scale = b.extract(scales, number * per_word)
        for part in range(per_word // 2):
            properties = {"form": StringAttr(f"{kind}.{form}"), "part": IntegerAttr(part, i32 if form == "fp4" else i1)}
            parts.append(b.value(rocdl.CvtScalePkOp, (word, scale), into, properties))
    return b.concat(parts)


@lowers(amdg.UpcastMXFPOp)
def upcast_mxfp(f: FunctionLowering, op: amdg.UpcastMXFPOp) -> None:
    """Numbers in the layout of an operand times the scales of their groups."""
    b, result = f.b, op.result
    operand = layout_of(result.type)
    assert isinstance(operand, DotOperand)
    if op.fp_type.data is tt.ScaleDotElemType.E2M1:
        shape = f.facts(result.type).shape
        numbers = fp4_numbers(f, op.src, result, len(shape) - 1 - operand.op_idx)
    else:
        numbers = f.vector(op.src)
    scales, register_of = _scales(f, op, operand)
    words = b.cast(L.ZExtOp, scales, I32)
    powers = b.bitcast(b.shl(words, _EXPONENT), vector_type(F32, lanes(scales.type)))
    if not is_true(op.fast_math):
        is_nan = b.icmp("eq", words, b.constant(words.type, _NAN))
        powers = b.select(is_nan, b.constant(powers.type, float("nan")), powers)
    scaled = b.fmul(resized(b, numbers, F32), b.permute(powers, register_of))
    if scalar_type(result.type) is F16:
        f.values[result] = resized(b, scaled, F16)
        return
    # The numbers have fewer bits than a bf16: the lower half is zero, but of subnormal products.
    upper = b.cast(L.TruncOp, b.lshr(b.bitcast(scaled, vector_type(I32, lanes(scaled.type))), 16), I16)
    f.values[result] = b.bitcast(upper, vector_type(BF16, lanes(scaled.type)))


def _scales(f: FunctionLowering, op: amdg.UpcastMXFPOp, operand: DotOperand) -> tuple[SSAValue, list[int]]:
    """The scales of a lane's numbers as bytes, and which of them each number has. They are [rows, k / 32] on either side.

    Registers of a lane travel together, four in a word, from each lane that has some of the row's.
    """
    b, source, type_ = f.b, layout_of(op.scale.type), op.scale.type
    assert isinstance(source, DistributedEncoding) and isinstance(type_, TensorType)
    held = to_linear_layout(source, type_.get_shape())
    holder = held.pseudoinvert()
    k = 1 - operand.op_idx

    def of_scale(at: Sequence[int]) -> dict[str, int]:
        return holder.apply({"dim0": at[1 - k], "dim1": at[k] // _GROUP})

    bases = to_linear_layout(operand, f.facts(op.result.type).shape).bases
    by_lane, by_warp = ([of_scale(basis) for basis in bases[name]] for name in ("lane", "warp"))
    own_warp = [sum(1 << bit for bit in [n] if any(held.bases["warp"][n])) for n in range(len(by_warp))]
    if any(at["register"] or at["warp"] for at in by_lane) or by_warp != [
        {**at, "register": 0, "lane": 0, "warp": warp} for at, warp in zip(by_warp, own_warp, strict=True)
    ]:
        raise f.unsupported(
            op, "scales that the lanes' waves do not have", help="let tritonamdgpu-accelerate-matmul choose the layouts"
        )
    vector = f.vector(op.scale)
    count = -(-lanes(vector.type) // _IN_WORD) * _IN_WORD
    padded = b.permute(vector, [min(n, lanes(vector.type) - 1) for n in range(count)])
    words = b.unpack(b.bitcast(padded, vector_type(I32, count // _IN_WORD)))
    found = [of_scale(offset) for offset in f.facts(op.result.type).layout.offsets]
    masks = sorted({at["lane"] for at in found})
    lane = f.shared_index([at["lane"] for at in by_lane])
    fetched = [shuffle(f, word, b.xor(lane, b.i32(mask)) if mask else lane, "idx") for mask in masks for word in words]
    scales = b.bitcast(b.concat(fetched), vector_type(I8, count * len(masks)))
    return scales, [masks.index(at["lane"]) * count + at["register"] for at in found]

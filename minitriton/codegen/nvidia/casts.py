"""Conversions that NVIDIA GPUs have instructions for: 8-bit floats, rounding towards zero, bytes to bf16, the high half of a 64-bit product.

    tt.fp_to_fp %x : tensor<f32> -> tensor<f8E4M3FN>   ->   cvt.rn.satfinite.e4m3x2.f32, two lanes at a time

8-bit floats are bytes: they are read by way of f16, which holds them exactly, and written from f16 or f32.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import IntegerAttr, IntegerType, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering.casts import resized
from minitriton.codegen.lowering.elementwise import Emit, apply, each_lane, mulhiui, operands_of
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.nvidia import lowers
from minitriton.codegen.types import (
    BF16,
    F16,
    F32,
    F64,
    I8,
    I16,
    I64,
    element_type,
    lane_type,
    lanes,
    scalar_type,
    vector_type,
)
from minitriton.dialects import arith, nvvm, tt
from minitriton.dialects.attribute_values import string_attr, word
from minitriton.dialects.narrowing import instance_of

_FLOAT_WIDTH = {"bf16": 16, "f16": 16, "f32": 32, "f64": 64}


@lowers(tt.MulhiUIOp)
def mulhiui_64(f: FunctionLowering, op: tt.MulhiUIOp) -> None:
    element = scalar_type(op.results[0].type)
    if element is not I64:
        mulhiui(f, op)
        return
    made = apply(f, operands_of(f, op), lambda b, v: each_lane(b, "llvm.nvvm.mulhi.ull", v, element))
    f.values[op.results[0]] = made


def inline_ptx(
    b: Builder, text: str, constraints: str, packed: int, operands: Sequence[SSAValue], elements: Sequence[Attribute]
) -> Sequence[SSAValue]:
    """Pure inline PTX for every `packed` lanes."""
    properties: dict[str, Attribute] = {
        "asm_string": string_attr(text),
        "constraints": string_attr(constraints),
        "packed": IntegerAttr(packed, 32),
        "pure": UnitAttr(),
    }
    types = [vector_type(element, lanes(operands[0].type)) for element in elements]
    return b.operation(nvvm.InlinePtxOp, operands, types, properties).results


# A signed byte s as bf16 without `cvt`: 0x4300 | (s & 0x7f) is 128 + (s & 0x7f); its sign bit lands in the exponent's lowest
# bit, which the second operand of the subtraction keeps, so that 128 or 256 is taken away.
_S8_TO_BF16_SM90 = """{
.reg .b32 low, high, low_value, high_value, low_offset, high_offset;
prmt.b32 low, $2, 0x43, 0x4140;
prmt.b32 high, $2, 0x43, 0x4342;
and.b32 low_value, low, 0xff7fff7f;
and.b32 high_value, high, 0xff7fff7f;
and.b32 low_offset, low, 0xff80ff80;
and.b32 high_offset, high, 0xff80ff80;
sub.bf16x2 $0, low_value, low_offset;
sub.bf16x2 $1, high_value, high_offset;
}"""


@lowers(arith.SIToFPOp)
def sitofp(f: FunctionLowering, op: arith.SIToFPOp) -> None:
    element = scalar_type(op.results[0].type)
    source = element_type(op.operands[0].type)
    packed = (
        element is BF16
        and instance_of(source, IntegerType)
        and source.width.data == 8
        and f.module.target.has_bf16_arithmetic
        and f.count(op.operands[0]) >= 4
    )

    def emit(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
        if packed and lanes(v[0].type) >= 4:
            return inline_ptx(b, _S8_TO_BF16_SM90, "=r,=r,r", 4, v, (BF16,))[0]
        return b.cast(L.SIToFPOp, v[0], element)

    f.values[op.results[0]] = apply(f, operands_of(f, op), emit)


# 8-bit floats ---------------------------------------------------------------------------------------------------------


@lowers(tt.FpToFpOp)
def fp_to_fp(f: FunctionLowering, op: tt.FpToFpOp) -> None:
    """By the kinds of float; `rounding` matters where precision is lost."""
    source, result = element_type(op.operands[0].type).name, element_type(op.results[0].type).name
    towards_zero = op.rounding is not None and word(op.rounding) == "rtz"
    emit = _conversion(f, op, source, result, towards_zero, scalar_type(op.results[0].type))
    f.values[op.results[0]] = apply(f, operands_of(f, op), emit)


def _conversion(
    f: FunctionLowering, op: Operation, source: str, result: str, towards_zero: bool, element: Attribute
) -> Emit:
    """From `source` to `result`, whose scalar type in LLVM is `element`; between 8-bit floats by way of f16."""
    if source in _FLOAT_WIDTH and result in _FLOAT_WIDTH:
        if towards_zero and _FLOAT_WIDTH[result] < _FLOAT_WIDTH[source]:
            return lambda b, v: _towards_zero(b, _f32_towards_zero(b, v[0]), element)
        return lambda b, v: resized(b, v[0], element)
    if source not in _FLOAT_WIDTH and result not in _FLOAT_WIDTH:
        if source == result:
            return lambda b, v: v[0]
        read = _conversion(f, op, source, "f16", False, F16)
        write = _conversion(f, op, "f16", result, towards_zero, I8)
        return lambda b, v: write(b, [read(b, v)])
    eight_bits = source if result in _FLOAT_WIDTH else result
    if eight_bits not in ("f8E4M3FN", "f8E5M2"):
        raise f.unsupported(op, f"{source} to {result} is not a conversion of NVIDIA GPUs", help="use fp8e4nv or fp8e5")
    native = f.module.target.has_fp8_conversions
    if eight_bits == "f8E4M3FN" and not native:
        raise f.unsupported(op, "fp8e4nv needs compute capability 8.9", help="use fp8e5 on this GPU")
    if source == eight_bits:
        read = _read_e4m3 if eight_bits == "f8E4M3FN" else (_read_e5m2_native if native else _read_e5m2)
        return lambda b, v: resized(b, read(b, v[0]), element)
    if towards_zero:
        if result != "f8E5M2":
            raise f.unsupported(op, "rounding towards zero to fp8e4nv", help="round to nearest")
        return lambda b, v: _top_bytes(b, _as_f16_towards_zero(b, v[0]))
    if native:
        kind = "e4m3x2" if result == "f8E4M3FN" else "e5m2x2"
        return lambda b, v: _write_native(b, v[0], kind)
    return lambda b, v: _write_e5m2(b, _as_f16_towards_zero(b, v[0]))


def _f32_towards_zero(b: Builder, value: SSAValue) -> SSAValue:
    """As f32; f64 towards zero, so that rounding on in that direction rounds once."""
    if lane_type(value.type) is F64:
        return each_lane(b, "llvm.nvvm.d2f.rz", (value,), F32)
    return resized(b, value, F32)


def _towards_zero(b: Builder, value: SSAValue, element: Attribute) -> SSAValue:
    if element is F32:
        return value
    if element is BF16:
        return each_lane(b, "llvm.nvvm.f2bf16.rz", (value,), BF16)
    return inline_ptx(b, "cvt.rz.f16.f32 $0, $1;", "=h,f", 1, (value,), (F16,))[0]


def _as_f16_towards_zero(b: Builder, value: SSAValue) -> SSAValue:
    """As f16, towards zero: rounding to nearest afterwards is then not done twice."""
    element = lane_type(value.type)
    return value if element is F16 else _towards_zero(b, _f32_towards_zero(b, value), F16)


def _read_e4m3(b: Builder, value: SSAValue) -> SSAValue:
    return inline_ptx(b, "cvt.rn.f16x2.e4m3x2 $0, $1;", "=r,h", 2, (value,), (F16,))[0]


def _read_e5m2_native(b: Builder, value: SSAValue) -> SSAValue:
    return inline_ptx(b, "cvt.rn.f16x2.e5m2x2 $0, $1;", "=r,h", 2, (value,), (F16,))[0]


def _read_e5m2(b: Builder, value: SSAValue) -> SSAValue:
    """An e5m2 is the upper half of the f16 of the same value."""
    text = "prmt.b32 $0, 0, $2, 0x5040;\n\tprmt.b32 $1, 0, $2, 0x7060;"
    return inline_ptx(b, text, "=r,=r,r", 4, (value,), (F16,))[0]


def _write_native(b: Builder, value: SSAValue, kind: str) -> SSAValue:
    element = lane_type(value.type)
    if element is F16:
        return inline_ptx(b, f"cvt.rn.satfinite.{kind}.f16x2 $0, $1;", "=h,r", 2, (value,), (I8,))[0]
    return inline_ptx(b, f"cvt.rn.satfinite.{kind}.f32 $0, $2, $1;", "=h,f,f", 2, (resized(b, value, F32),), (I8,))[0]


def _top_bytes(b: Builder, value: SSAValue) -> SSAValue:
    bits = b.bitcast(value, vector_type(I16, lanes(value.type)))
    return b.cast(L.TruncOp, b.lshr(bits, 8), I8)


def _write_e5m2(b: Builder, value: SSAValue) -> SSAValue:
    """The upper byte of an f16, to nearest even; NaNs stay NaNs."""
    type_ = vector_type(I16, lanes(value.type))
    bits = b.bitcast(value, type_)
    odd = b.and_(b.lshr(bits, 8), b.constant(type_, 1))
    rounded = b.add(b.add(bits, b.constant(type_, 0x7F)), odd)
    not_a_number = b.or_(bits, b.constant(type_, 0x0200))
    chosen = b.select(b.fcmp("uno", value, value), not_a_number, rounded)
    return b.cast(L.TruncOp, b.lshr(chosen, 8), I8)

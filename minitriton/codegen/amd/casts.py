"""Conversions to and from 8-bit floats, in both of AMD's kinds, and towards zero.

    tt.fp_to_fp %x : f8E4M3FN -> f32      its bits as those of an f32, times 2^120
    tt.fp_to_fp %x : f32 -> f8E4M3FNUZ    rounded to nearest even as integers; numbers below the normal ones by adding a power of two

By integer arithmetic, the same on every GPU. As in Triton numbers too large become the largest (f8E5M2: infinity), of the FNUZ kinds infinity becomes
NaN, which is their only number with a sign and nothing else. Counterpart of the software conversions of ElementwiseOpToLLVM.cpp.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects import llvm as L
from xdsl.ir import Attribute, SSAValue

from minitriton.codegen.amd import lowers
from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering.casts import resized
from minitriton.codegen.lowering.elementwise import Emit, apply, operands_of
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.types import BF16, F16, F32, I8, I16, I32, element_type, lanes, scalar_type, vector_type
from minitriton.dialects import tt
from minitriton.dialects.attribute_values import word

_SIGN, _MAGNITUDE, _INFINITY = 0x80, 0x7FFFFFFF, 0x7F800000


class _Small(NamedTuple):
    """An 8-bit float: bits of its mantissa, what its exponent has more than the number's, its largest number, what is beyond that, its NaN."""

    mantissa: int
    bias: int
    largest: int
    beyond: int
    nan: int

    @property
    def has_one_nan(self) -> bool:
        """Whether a sign alone is NaN, and there is no infinity."""
        return self.nan == _SIGN


_KINDS = {
    "f8E4M3FN": _Small(3, 7, 0x7E, 0x7E, 0x7F),
    "f8E5M2": _Small(2, 15, 0x7B, 0x7C, 0x7F),
    "f8E4M3FNUZ": _Small(3, 8, 0x7F, 0x7F, _SIGN),
    "f8E5M2FNUZ": _Small(2, 16, 0x7F, 0x7F, _SIGN),
}


@lowers(tt.FpToFpOp)
def fp_to_fp(f: FunctionLowering, op: tt.FpToFpOp) -> None:
    """By the kinds of float; `rounding` matters where precision is lost."""
    source, result = element_type(op.operands[0].type).name, element_type(op.results[0].type).name
    towards_zero = op.rounding is not None and word(op.rounding) == "rtz"
    for name in (source, result):
        if name.startswith("f8") and name not in _KINDS:
            raise f.unsupported(
                op, f"{name} is not a float of AMD's GPUs", help="use fp8e4nv, fp8e5, fp8e4b8 or fp8e5b16"
            )
    emit = _conversion(source, result, towards_zero, scalar_type(op.results[0].type))
    if emit is None:
        raise f.unsupported(op, f"rounding towards zero to {result}", help="round to nearest")
    f.values[op.results[0]] = apply(f, operands_of(f, op), emit)


def _conversion(source: str, result: str, towards_zero: bool, element: Attribute) -> Emit | None:
    """From `source` to `result`, whose scalar type in LLVM is `element`: by way of f32."""
    if source in _KINDS:
        read = _KINDS[source]
        if result in _KINDS:
            write = _KINDS[result]
            return lambda b, v: _written(b, _read(b, v[0], read), write)
        return lambda b, v: resized(b, _read(b, v[0], read), element)
    if result in _KINDS:
        kind = _KINDS[result]
        if towards_zero:
            return (lambda b, v: _upper_byte(b, v[0])) if result == "f8E5M2" else None
        return lambda b, v: _written(b, resized(b, v[0], F32), kind)
    if towards_zero and element in (F16, BF16):
        return lambda b, v: _towards_zero(b, resized(b, v[0], F32), element)
    return lambda b, v: resized(b, v[0], element)


def as_f32(b: Builder, value: SSAValue, name: str) -> SSAValue:
    """8-bit floats, named as MLIR does, as f32."""
    return _read(b, value, _KINDS[name])


def _read(b: Builder, value: SSAValue, kind: _Small) -> SSAValue:
    """An 8-bit float as f32."""
    type_ = vector_type(I32, lanes(value.type))
    floats = vector_type(F32, lanes(value.type))
    byte = b.cast(L.ZExtOp, value, I32)
    sign = b.shl(b.and_(byte, b.constant(type_, _SIGN)), 24)
    magnitude = b.and_(byte, b.constant(type_, _SIGN - 1))
    scaled = b.bitcast(b.or_disjoint(sign, b.shl(magnitude, 23 - kind.mantissa)), floats)
    number = b.fmul(scaled, b.constant(floats, 2.0 ** (127 - kind.bias)))
    nan = b.constant(floats, float("nan"))
    if kind.has_one_nan:
        return b.select(b.icmp("eq", byte, b.constant(type_, _SIGN)), nan, number)
    if kind.beyond != kind.largest:
        infinite = b.bitcast(b.or_(sign, b.constant(type_, _INFINITY)), floats)
        number = b.select(b.icmp("eq", magnitude, b.constant(type_, kind.beyond)), infinite, number)
    return b.select(b.icmp("ugt", magnitude, b.constant(type_, kind.beyond)), nan, number)


def _written(b: Builder, value: SSAValue, kind: _Small) -> SSAValue:
    """An f32 as an 8-bit float, to nearest even."""
    type_ = vector_type(I32, lanes(value.type))

    def number(of: int) -> SSAValue:
        return b.constant(type_, of)

    dropped = 23 - kind.mantissa
    bits = b.bitcast(value, type_)
    magnitude = b.and_(bits, number(_MAGNITUDE))
    odd = b.and_(b.lshr(magnitude, dropped), number(1))
    rounded = b.add(b.add(magnitude, odd), number((1 << dropped - 1) - 1))
    normal = b.lshr(b.sub(rounded, number(127 - kind.bias << 23)), dropped)
    normal = b.select(b.icmp("ugt", normal, number(kind.largest)), number(kind.beyond), normal)
    # A sum with this number has the multiples of the least number of the kind as its lowest bits, rounded by the addition.
    exponent = 127 + 1 - kind.bias - kind.mantissa + 23
    unit = b.bitcast(number(exponent << 23), value.type)
    with b.never_fused():
        shifted = b.fadd(b.bitcast(magnitude, value.type), unit)
    small = b.sub(b.bitcast(shifted, type_), number(exponent << 23))
    result = b.select(b.icmp("ult", magnitude, number(128 - kind.bias << 23)), small, normal)
    sign = b.and_(b.lshr(bits, 24), number(_SIGN))
    if kind.has_one_nan:
        signed = b.select(b.icmp("eq", result, number(0)), result, b.or_(result, sign))
        whole = b.select(b.icmp("uge", magnitude, number(_INFINITY)), number(kind.nan), signed)
    else:
        unsigned = b.select(b.icmp("ugt", magnitude, number(_INFINITY)), number(kind.nan), result)
        whole = b.or_(unsigned, sign)
    return b.cast(L.TruncOp, whole, I8)


def _towards_zero(b: Builder, value: SSAValue, element: Attribute) -> SSAValue:
    """An f32 as bf16, without its lower half, or as f16, by an instruction; NaNs stay NaNs."""
    count = lanes(value.type)
    if element is F16:
        halves = [_rounded_to_f16(b, each) for each in b.unpack(value)]
        return b.pack(halves)
    type_ = vector_type(I32, count)
    bits = b.bitcast(value, type_)
    quiet = b.or_(bits, b.constant(type_, 0x400000))
    kept = b.select(b.fcmp("uno", value, value), quiet, bits)
    upper = b.cast(L.TruncOp, b.lshr(kept, 16), I16)
    return b.bitcast(upper, vector_type(BF16, count))


def _rounded_to_f16(b: Builder, value: SSAValue) -> SSAValue:
    both = b.intrinsic("llvm.amdgcn.cvt.pkrtz", (value, b.constant(F32, 0.0)), vector_type(F16, 2))
    assert both is not None
    return b.extract(both, 0)


def _upper_byte(b: Builder, value: SSAValue) -> SSAValue:
    """An f8E5M2 towards zero: the upper byte of the f16 towards zero."""
    half = _towards_zero(b, resized(b, value, F32), F16)
    bits = b.bitcast(half, vector_type(I16, lanes(half.type)))
    return b.cast(L.TruncOp, b.lshr(bits, 8), I8)

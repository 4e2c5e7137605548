"""Matmuls: inputs of any format, sums in float32 (float64 for float64, exact for integers), plus the accumulator.

    tt.dot f16, f16 -> f32: the inputs as float32, multiplied by NumPy, added to the accumulator in float32
    tt.dot_scaled: fp4, fp8, bf16 or f16 inputs, each group along K multiplied by its scale in bf16 (in f16 if an input is of it), then as above

NumPy does not say in which order it sums, so results agree with a GPU's to rounding only. TF32 inputs are not rounded. A sum in float16 is
rounded to it where tensor cores do that, after each 32 bytes of K (PTX ISA, "mma" and "wgmma.mma_async": K of an instruction).
"""

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import Float16Type, Float64Type, IntegerType
from xdsl.ir import Attribute, Operation

from minitriton.dialects import amdg, tt
from minitriton.dialects.attribute_values import integer
from minitriton.dialects.encodings import layout_of
from minitriton.dialects.tt.types import element_type
from minitriton.interpreter.numbers import formats
from minitriton.interpreter.registry import PURE_OPS
from minitriton.interpreter.values import Array, decoder, dtype_of, encoder
from minitriton.layouts.encodings import DotOperand

_STEP_BYTES = 32
"""Of an instruction's K."""

_NAN_SCALE = 255

Decode = Callable[[Array], Array]

_SCALED_FORMATS = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2"}


@PURE_OPS.add(tt.DotOp)
def _dot(op: tt.DotOp) -> Callable[[Array, Array, Array], Array]:
    return matmul(*(operand.type for operand in op.operands))


def matmul(a_type: Attribute, b_type: Attribute, c_type: Attribute) -> Callable[[Array, Array, Array], Array]:
    """`a * b + c` for operands of these types (or with elements of these types)."""
    if isinstance(element_type(a_type), IntegerType):
        dtype = dtype_of(c_type)
        return lambda a, b, c: (_exact_matmul(a, b).astype(dtype) + c).astype(dtype)
    wide = np.float64 if isinstance(element_type(c_type), Float64Type) else np.float32
    decode_a, decode_b, decode_c, encode = decoder(a_type), decoder(b_type), decoder(c_type), encoder(c_type)
    if isinstance(element_type(c_type), Float16Type):
        return _matmul_in_halves(decode_a, decode_b, decode_c, encode, _STEP_BYTES // dtype_of(a_type).itemsize)

    def run(a: Array, b: Array, c: Array) -> Array:
        dot = np.matmul(decode_a(a).astype(wide), decode_b(b).astype(wide))
        return encode(dot + decode_c(c).astype(wide))

    return run


def _matmul_in_halves(
    decode_a: Decode, decode_b: Decode, decode_c: Decode, encode: Decode, step: int
) -> Callable[[Array, Array, Array], Array]:
    """`a * b + c`, rounded to the type of `c` after every `step` elements of K."""

    def run(a: Array, b: Array, c: Array) -> Array:
        left, right = decode_a(a).astype(np.float32), decode_b(b).astype(np.float32)
        for k in range(0, left.shape[-1], step):
            part = np.matmul(left[..., k : k + step], right[..., k : k + step, :])
            c = encode(part + decode_c(c).astype(np.float32))
        return c

    return run


def _exact_matmul(a: Array, b: Array) -> Array:
    """Of integers of at most 16 bits: their sums are exact in float64."""
    return np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64)


@PURE_OPS.add(tt.DotScaledOp)
def _dot_scaled(op: tt.DotScaledOp) -> Callable[..., Array]:
    c_type = op.operands[2].type
    a_packed, b_packed = (bool(integer(op.properties[name])) for name in ("lhs_k_pack", "rhs_k_pack"))
    # Along which axis two fp4 numbers share a byte: K, unless the operand is packed along its other axis.
    a_numbers = _scaled_operand(op, "a", -1 if a_packed else -2)
    b_numbers = _scaled_operand(op, "b", -2 if b_packed else -1)
    decode_c, encode = decoder(c_type), encoder(c_type)
    scales = {name: getattr(op, name) is not None for name in ("a_scale", "b_scale")}
    scale_types = [operand.type for operand in op.operands[3:]]
    in_halves = "fp16" in (_format(op, "a"), _format(op, "b"))
    rounded = _rounded_to_f16 if in_halves else _rounded_to_bf16
    fast = bool(integer(op.properties["fastMath"]))

    def scaled(numbers: Array, scale: Array, type_: Attribute, is_left: bool) -> Array:
        size = numbers.shape[-1 if is_left else -2]
        factors, is_nan = (np.repeat(part, size // scale.shape[-1], axis=-1) for part in _factors(scale, type_))
        if not is_left:
            factors, is_nan = np.swapaxes(factors, -1, -2), np.swapaxes(is_nan, -1, -2)
        product = rounded(rounded(numbers) * rounded(factors))
        return product if fast else np.where(is_nan, np.float32(np.nan), product)

    def run(a: Array, b: Array, c: Array, *given: Array) -> Array:
        left, right = a_numbers(a), b_numbers(b)
        remaining = list(zip(given, scale_types, strict=True))
        if scales["a_scale"]:
            left = scaled(left, *remaining.pop(0), True)
        if scales["b_scale"]:
            right = scaled(right, *remaining.pop(0), False)
        return encode(np.matmul(rounded(left), rounded(right)) + decode_c(c).astype(np.float32))

    return run


@PURE_OPS.add(amdg.ScaledUpcastFp8Op, amdg.ScaledUpcastFp4Op)
def _scaled_upcast(op: amdg.ScaledUpcastFp8Op | amdg.ScaledUpcastFp4Op) -> Callable[..., Array]:
    decode, encode = decoder(op.scale.type), encoder(op.output.type)
    if isinstance(op, amdg.ScaledUpcastFp4Op):
        axis, read = integer(op.axis), None
    else:
        axis, read = 0, decoder(op.input.type)

    def run(values: Array, scale: Array) -> Array:
        numbers = formats.unpack_e2m1(values, axis) if read is None else read(values).astype(np.float32)
        return encode(numbers * decode(scale))

    return run


@PURE_OPS.add(amdg.UpcastMXFPOp)
def _upcast_mxfp(op: amdg.UpcastMXFPOp) -> Callable[..., Array]:
    layout = layout_of(op.result.type)
    k = -2 if isinstance(layout, DotOperand) and layout.op_idx else -1
    is_fp4, fast = op.fp_type.data is tt.ScaleDotElemType.E2M1, bool(integer(op.fast_math))
    decode, encode, of_scale = decoder(op.src.type), encoder(op.result.type), op.scale.type

    def run(values: Array, scale: Array) -> Array:
        numbers = formats.unpack_e2m1(values, values.ndim + k) if is_fp4 else decode(values).astype(np.float32)
        factors, is_nan = (np.repeat(part, 32, axis=-1) for part in _factors(scale, of_scale))
        if k == -2:
            factors, is_nan = np.swapaxes(factors, -1, -2), np.swapaxes(is_nan, -1, -2)
        product = numbers * factors
        return encode(product if fast else np.where(is_nan, np.float32(np.nan), product))

    return run


def _format(op: Operation, side: str) -> str:
    return str(getattr(op.properties[f"{side}_elem_type"], "data"))  # noqa: B009


def _rounded_to_f16(numbers: Array) -> Array:
    return numbers.astype(np.float16).astype(np.float32)


def _rounded_to_bf16(numbers: Array) -> Array:
    return formats.decode_bf16(formats.encode_bf16(numbers))


def _scaled_operand(op: Operation, side: str, axis: int) -> Callable[[Array], Array]:
    kind = _format(op, side)
    type_ = op.operands[0 if side == "a" else 1].type
    if kind == "e2m1":
        return lambda packed: formats.unpack_e2m1(packed, packed.ndim + axis)
    if kind in _SCALED_FORMATS:
        return lambda patterns: formats.decode_small(_SCALED_FORMATS[kind], patterns.view(np.uint8))
    decode = decoder(type_)
    return lambda values: decode(values).astype(np.float32)


def _factors(scale: Array, type_: Attribute) -> tuple[Array, Array]:
    """Scales as numbers, and which of them are the NaN of a format without numbers."""
    if isinstance(element_type(type_), IntegerType):
        return formats.decode_e8m0(scale), scale.view(np.uint8) == _NAN_SCALE
    return decoder(type_)(scale).astype(np.float32), np.zeros(scale.shape, np.bool_)

"""Floats that NumPy lacks, as bit patterns: bf16, the fp8 formats, e8m0 scales, e2m1 (fp4).

In: arrays of bit patterns (uint16 for bf16, uint8 for the rest), or arrays of float32 or float64. Out: the other one.

    decode("bf16")(uint16 [0x3F80])  == float32 [1.0]
    encode("bf16")(float32 [1.00390625]) == uint16 [0x3F80]        a tie goes to the even pattern

Narrowing rounds to nearest, ties to even. An fp8 number too large becomes the largest finite one, as the GPU's
`cvt.rn.satfinite` does; NaN stays NaN.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from minitriton.interpreter.registry import Array

Convert = Callable[[Array], Array]


@dataclass(frozen=True)
class SmallFloat:
    """A format of at most 8 bits: sign (if any), exponent, mantissa.

    `finite` is the number of patterns without sign that are finite numbers, from 0 upwards in order of value; `infinite` says
    whether the pattern after them is infinity; `nan` is the pattern that NaN becomes (None if the format has none).
    """

    exponent_bits: int
    mantissa_bits: int
    bias: int
    finite: int
    nan: int | None
    infinite: bool = False
    unsigned_zero: bool = False

    @property
    def sign_bit(self) -> int:
        """The pattern of the sign."""
        return 1 << (self.exponent_bits + self.mantissa_bits)

    def magnitudes(self) -> np.ndarray:
        """The finite non-negative numbers of the format, ascending: entry i has the bit pattern i."""
        patterns = np.arange(self.finite)
        exponent = patterns >> self.mantissa_bits
        mantissa = (patterns & ((1 << self.mantissa_bits) - 1)).astype(np.float64)
        scale = 2.0 ** (np.maximum(exponent, 1) - self.bias - self.mantissa_bits)
        return (mantissa + np.where(exponent > 0, 1 << self.mantissa_bits, 0)) * scale


SMALL_FLOATS: dict[str, SmallFloat] = {
    "f8E4M3FN": SmallFloat(4, 3, 7, 0x7F, 0x7F),
    "f8E5M2": SmallFloat(5, 2, 15, 0x7C, 0x7F, infinite=True),
    "f8E4M3FNUZ": SmallFloat(4, 3, 8, 0x80, 0x80, unsigned_zero=True),
    "f8E5M2FNUZ": SmallFloat(5, 2, 16, 0x80, 0x80, unsigned_zero=True),
    "f8E4M3B11FNUZ": SmallFloat(4, 3, 11, 0x80, 0x80, unsigned_zero=True),
    "e2m1": SmallFloat(2, 1, 1, 8, None),
}
"""By the name of the MLIR type (`e2m1` has none: it only occurs packed by two)."""


@cache
def _decoding_table(name: str) -> np.ndarray:
    small = SMALL_FLOATS[name]
    magnitudes = small.magnitudes()
    table = np.full(256, np.nan)
    table[: small.finite] = magnitudes
    if small.infinite:
        table[small.finite] = np.inf
    sign = small.sign_bit
    table[sign : 2 * sign] = -table[:sign]
    if small.unsigned_zero:
        table[sign] = np.nan
    return table.astype(np.float32)


def decode_small(name: str, patterns: Array) -> Array:
    """The numbers of bit patterns of a small format, as float32 (exact)."""
    return _decoding_table(name)[patterns]


@cache
def _rounding_tables(name: str) -> tuple[np.ndarray, np.ndarray]:
    magnitudes = SMALL_FLOATS[name].magnitudes()
    return magnitudes, (magnitudes[1:] + magnitudes[:-1]) / 2


def encode_small(name: str, numbers: Array, *, toward_zero: bool = False, saturate: bool = True) -> Array:
    """The bit patterns of the numbers rounded to a small format.

    What is too large becomes the largest finite number, or infinity if the format has one and `saturate` is not asked for. Towards
    zero only infinity is infinite.
    """
    small = SMALL_FLOATS[name]
    magnitudes, halfway = _rounding_tables(name)
    exact = np.asarray(numbers, np.float64)
    size = np.abs(exact)
    if toward_zero:
        index = np.searchsorted(magnitudes, size, side="right") - 1
    else:
        index = np.searchsorted(halfway, size, side="left")
        tie = size == halfway[np.minimum(index, len(halfway) - 1)]
        index = index + (tie & (index % 2 == 1) & (index < len(halfway)))
    index = np.clip(index, 0, small.finite - 1)
    if small.infinite and (toward_zero or not saturate):
        beyond = np.inf if toward_zero else magnitudes[-1] + (magnitudes[-1] - magnitudes[-2]) / 2
        index = np.where(size >= beyond, small.finite, index)
    negative = np.signbit(exact) & ~(small.unsigned_zero & (index == 0))
    patterns = index | np.where(negative, small.sign_bit, 0)
    if small.nan is not None:
        patterns = np.where(np.isnan(exact), small.nan, patterns)
    return patterns.astype(np.uint8)


def decode_bf16(patterns: Array) -> Array:
    """bf16 bit patterns (uint16) as float32; exact."""
    return (np.asarray(patterns, np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)


def encode_bf16(numbers: Array, *, toward_zero: bool = False) -> Array:
    """float32 or float64 rounded to bf16 bit patterns (uint16)."""
    exact = np.asarray(numbers)
    bits = (exact if exact.dtype == np.float32 else to_float32_odd(exact)).view(np.uint32)
    rounded = bits if toward_zero else bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))
    patterns = (rounded >> np.uint32(16)).astype(np.uint16)
    nan = exact != exact
    return np.where(nan, np.uint16(0x7FFF), patterns) if nan.any() else patterns


def to_float32_odd(numbers: Array) -> Array:
    """As float32; a float64 that does not fit is rounded such that rounding it once more cannot go wrong (to odd)."""
    exact = np.asarray(numbers)
    if exact.dtype != np.float64:
        return exact.astype(np.float32)
    near = exact.astype(np.float32)
    bits = near.view(np.uint32)
    inexact = (near.astype(np.float64) != exact) & np.isfinite(exact)
    too_far = inexact & (np.abs(near.astype(np.float64)) > np.abs(exact))
    below: Array = np.subtract(bits, too_far.astype(np.uint32))
    odd: Array = np.bitwise_or(below, np.uint32(1))
    return np.where(inexact, odd, below).astype(np.uint32).view(np.float32)


def to_float16(numbers: Array, *, toward_zero: bool = False) -> Array:
    """As float16, to nearest even or toward zero."""
    exact = np.asarray(numbers)
    return toward_zero_in(np.float16, exact) if toward_zero else exact.astype(np.float16)


def toward_zero_in(dtype: type[np.generic], numbers: Array) -> Array:
    """As float16 or float32, toward zero."""
    exact, bits = np.asarray(numbers), np.dtype(f"u{np.dtype(dtype).itemsize}")
    near = exact.astype(dtype)
    too_far = np.abs(near.astype(np.float64)) > np.abs(exact.astype(np.float64))
    return (near.view(bits) - too_far.astype(bits)).view(dtype)


def encode_e5m2_without_hardware(numbers: Array) -> Array:
    """As GPUs before compute capability 8.9 round to e5m2: to f16 towards zero, then its upper byte to nearest even, infinities
    included (Triton's `ElementwiseOpToLLVM.cpp` of third_party/nvidia)."""
    return encode_small("f8E5M2", to_float16(numbers, toward_zero=True), saturate=False)


def decode_e8m0(patterns: Array) -> Array:
    """Scales as the compiler makes them, by putting the pattern into the exponent of a float32: pattern p is 2 to the power of p - 127 (0 a
    subnormal number), but 255 is infinity, and infinity times zero is NaN."""
    exponents = np.asarray(patterns).view(np.uint8).astype(np.uint32)
    return np.maximum(exponents << np.uint32(23), np.uint32(1 << 22)).view(np.float32)


def unpack_e2m1(packed: Array, axis: int) -> Array:
    """fp4 numbers, two to a byte along `axis` (low half first), as float32."""
    nibbles = np.asarray(packed).view(np.uint8)
    both = np.stack([nibbles & 15, nibbles >> 4], axis=axis + 1)
    shape = list(nibbles.shape)
    shape[axis] *= 2
    return decode_small("e2m1", both.reshape(shape))


# The smaller and the larger of floats as PTX and IEEE 754-2019 order them, where NumPy's choice among zeros is any.
#
# extreme(-0.0, 0.0, largest=True) = 0.0        extreme(1.0, nan, largest=True) = 1.0

Floats = npt.NDArray[np.floating[Any]]


def extreme(a: Floats, b: Floats, largest: bool, nan: bool = False) -> Floats:
    """min or max of float arrays of one type: -0 < +0; one NaN gives the other operand, or NaN with `nan` (PTX ISA, `min` and `max`)."""
    result = (np.fmax if largest else np.fmin)(a, b)
    zeros = (a == 0) & (b == 0)
    if zeros.any():
        result = np.where(zeros, a + b if largest else -(-a - b), result)
    if nan:
        result = np.where((a != a) | (b != b), a.dtype.type(np.nan), result)
    return result

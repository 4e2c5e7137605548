"""Integer instructions without a NumPy operator: high multiplications, permutes, bit fields, funnel shifts, counts.

In and out: arrays (or scalars) of unsigned or signed integers of the instruction's width.

    permute(0x33221100, 0x77665544, 0x0415) -> bytes 5, 1, 4, 0 of the pair: 0x00441155
"""

import numpy as np
import numpy.typing as npt

from minitriton.emulator.lanes import Lanes, Words32, same

U8, U16, U32, U64, I32, I64 = np.uint8, np.uint16, np.uint32, np.uint64, np.int32, np.int64
_WIDE = {np.dtype(t): np.dtype(w) for t, w in ((U16, U32), (np.int16, I32), (U32, U64), (I32, I64))}


def multiply_high(a: Lanes, b: Lanes) -> Lanes:
    """The upper half of the multiplication, signed or unsigned by dtype."""
    dtype = a.dtype
    if dtype in _WIDE:
        wide = _WIDE[dtype]
        return ((a.astype(wide) * b.astype(wide)) >> wide.type(8 * dtype.itemsize)).astype(dtype)
    ua, ub = a.astype(U64), b.astype(U64)
    mask, shift = U64(0xFFFFFFFF), U64(32)
    al, ah, bl, bh = ua & mask, ua >> shift, ub & mask, ub >> shift
    cross = ah * bl + ((al * bl) >> shift)
    other = al * bh + (cross & mask)
    high = ah * bh + (cross >> shift) + (other >> shift)
    if dtype == U64:
        return high
    return (high - np.where(a < 0, ub, U64(0)) - np.where(b < 0, ua, U64(0))).astype(I64)


def divide(a: Lanes, b: Lanes) -> Lanes:
    """Quotient truncated toward zero; all ones where the divisor is zero (the ISA leaves it open)."""
    safe = np.where(b == 0, b.dtype.type(1), b)
    quotient = a // safe
    if a.dtype.kind == "i":
        quotient = quotient + ((quotient < 0) & (quotient * safe != a)).astype(a.dtype)
    return np.where(b == 0, ~np.zeros_like(a), quotient)


def remainder(a: Lanes, b: Lanes) -> Lanes:
    """Remainder with the dividend's sign; the dividend where the divisor is zero."""
    return np.where(b == 0, a, np.fmod(a, np.where(b == 0, b.dtype.type(1), b)))


def add_saturated(a: Lanes, b: Lanes) -> npt.NDArray[np.int32]:
    """Signed 32-bit sum clamped to its range."""
    return np.clip(a.astype(I64) + b.astype(I64), -(2**31), 2**31 - 1).astype(I32)


def subtract_saturated(a: Lanes, b: Lanes) -> npt.NDArray[np.int32]:
    """Signed 32-bit difference clamped to its range."""
    return np.clip(a.astype(I64) - b.astype(I64), -(2**31), 2**31 - 1).astype(I32)


def shift_left(a: Lanes, n: Words32) -> Lanes:
    """a << n; 0 where n exceeds the width."""
    bits = 8 * a.dtype.itemsize
    return np.where(n >= bits, a.dtype.type(0), a << np.minimum(n, U32(bits - 1)).astype(a.dtype))


def shift_right(a: Lanes, n: Words32) -> Lanes:
    """a >> n, arithmetic for signed; the amount is clamped to the width."""
    bits = 8 * a.dtype.itemsize
    if a.dtype.kind == "i":
        return a >> np.minimum(n, U32(bits - 1)).astype(a.dtype)
    return np.where(n >= bits, a.dtype.type(0), a >> np.minimum(n, U32(bits - 1)).astype(a.dtype))


def funnel(a: Words32, b: Words32, c: Words32, left: bool, wrap: bool) -> Words32:
    """`shf`: the 64-bit pair (b, a) shifted left (upper word) or right (lower word)."""
    n = (c & U32(31) if wrap else np.minimum(c, U32(32))).astype(U64)
    pair = (b.astype(U64) << U64(32)) | a.astype(U64)
    return ((pair << n) >> U64(32) if left else pair >> n).astype(U32)


def permute(a: Words32, b: Words32, selector: Words32) -> Words32:
    """`prmt`: four bytes of the pair (b, a), each picked by a nibble; bit 3 of a nibble spreads the byte's sign."""
    pair = a.astype(U64) | (b.astype(U64) << U64(32))
    result = np.zeros_like(a)
    for position in range(4):
        nibble = (selector >> U32(4 * position)) & U32(15)
        byte = ((pair >> (U64(8) * (nibble & U32(7)).astype(U64))) & U64(255)).astype(U32)
        sign = np.where(byte & U32(128), U32(255), U32(0))
        result = result | (np.where(nibble & U32(8), sign, byte) << U32(8 * position))
    return result


def permute_constant(a: Words32, b: Words32, selector: int) -> Words32:
    """`prmt` with a constant selector."""
    known = {0x5410: lambda: (a & U32(0xFFFF)) | (b << U32(16)), 0x7632: lambda: (a >> U32(16)) | (b & U32(0xFFFF0000))}
    return known[selector]() if selector in known else permute(a, b, same(U32(selector)))


def logic3(a: Words32, b: Words32, c: Words32, table: int) -> Words32:
    """`lop3`: any Boolean function of three words, as the truth table 0xF0, 0xCC, 0xAA -> table."""
    result = np.zeros_like(a | b | c)
    for row in range(8):
        if table >> row & 1:
            result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result


def extract_bits(a: Lanes, position: Lanes, length: Lanes) -> Lanes:
    """`bfe`: `length` bits from `position`; signed dtypes extend with the field's top bit."""
    bits = 8 * a.dtype.itemsize
    unsigned = a.astype(U64) & U64((1 << bits) - 1)
    start, size = (position & U32(255)).astype(U64), (length & U32(255)).astype(U64)
    field = np.where(start >= bits, U64(0), unsigned >> np.minimum(start, U64(63)))
    mask = np.where(size >= 64, ~U64(0), (U64(1) << np.minimum(size, U64(63))) - U64(1))
    value = field & mask
    if a.dtype.kind == "i":
        top = np.minimum(start + size - U64(1), U64(bits - 1))
        sign = np.where(size == 0, U64(0), (unsigned >> top) & U64(1))
        value = np.where(sign == 1, value | ~mask, value)
    return value.astype(U64).astype(np.uint32 if bits == 32 else U64).view(a.dtype)


def insert_bits(a: Lanes, b: Lanes, position: Lanes, length: Lanes) -> Lanes:
    """`bfi`: the low `length` bits of `a` put into `b` at `position`."""
    bits = 8 * a.dtype.itemsize
    start, size = (position & U32(255)).astype(U64), (length & U32(255)).astype(U64)
    mask = np.where(size >= 64, ~U64(0), (U64(1) << np.minimum(size, U64(63))) - U64(1))
    placed = np.where(start >= bits, U64(0), mask << np.minimum(start, U64(63)))
    moved = np.where(start >= bits, U64(0), a.astype(U64) << np.minimum(start, U64(63)))
    return ((b.astype(U64) & ~placed) | (moved & placed)).astype(a.dtype)


def popcount(a: Lanes) -> Words32:
    """Number of ones, as uint32."""
    x = a.astype(U64)
    x = x - ((x >> U64(1)) & U64(0x5555555555555555))
    x = (x & U64(0x3333333333333333)) + ((x >> U64(2)) & U64(0x3333333333333333))
    x = (x + (x >> U64(4))) & U64(0x0F0F0F0F0F0F0F0F)
    return ((x * U64(0x0101010101010101)) >> U64(56)).astype(U32)


def leading_zeros(a: Lanes) -> Words32:
    """Number of leading zeros, as uint32; the width for 0."""
    bits = 8 * a.dtype.itemsize
    x = a.astype(U64)
    for shift in (1, 2, 4, 8, 16, 32):
        x = x | (x >> U64(shift))
    return U32(bits) - popcount(x)


def find_top(a: Lanes) -> Words32:
    """`bfind`: position of the highest one (of the highest bit that differs from the sign), 0xffffffff if none."""
    unsigned = np.where(a < 0, ~a, a) if a.dtype.kind == "i" else a
    return U32(8 * a.dtype.itemsize - 1) - leading_zeros(unsigned.astype(f"u{a.dtype.itemsize}"))


def shift_amount(a: Lanes) -> Words32:
    """`bfind.shiftamt`: how far to shift left to bring the found bit to the top, 0xffffffff if none."""
    found = find_top(a)
    return np.where(found == U32(0xFFFFFFFF), found, U32(8 * a.dtype.itemsize - 1) - found)


def reverse_bits(a: Lanes) -> Lanes:
    """The bits in the opposite order."""
    bits = 8 * a.dtype.itemsize
    x = a.astype(U64)
    result = np.zeros_like(x)
    for position in range(bits):
        result = result | (((x >> U64(position)) & U64(1)) << U64(bits - 1 - position))
    return result.astype(a.dtype)


def add_halves(a: Words32, b: Words32) -> Words32:
    """The sums of the low and of the high 16 bits, each without a carry into the other."""
    low, high = U32(0x7FFF7FFF), U32(0x80008000)
    return ((a & low) + (b & low)) ^ ((a ^ b) & high)


def dot4(a: Lanes, b: Lanes, c: Lanes, signed_a: bool, signed_b: bool) -> Words32:
    """`dp4a`: the dot of four bytes, plus c."""
    total = c.astype(I64)
    for position in range(4):
        x, y = ((v >> U32(8 * position)).astype(U8) for v in (a, b))
        total = total + (x.view(np.int8) if signed_a else x).astype(I64) * (y.view(np.int8) if signed_b else y).astype(
            I64
        )
    return total.astype(U32)

"""What vector instructions compute, as a table: name, type of the result, types of the operands, a function (ISA, section 6 "Vector ALU
Operations" and 12.6 to 12.12: VOP2, VOP1, VOPC, VOP3, VOP3P).

v_add_f32 v0, v1, s2      →   ("f32", "f32 f32", np.add)

The result's type has `+` where the function gives a flag a lane, too: a carry. `acc` stands for the destination as an operand.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from minitriton.emulator.amdgcn.scalar import first_one, leading, left, right, same_as_sign
from minitriton.emulator.amdgcn.values import U32, U64, Array, Compute, One, Three, Two
from minitriton.emulator.arithmetic import floats, integers
from minitriton.emulator.arithmetic import small_floats as small
from minitriton.interpreter.numbers.formats import extreme

Rule = tuple[str, str, Compute]
F32, F64, I32, I64 = np.float32, np.float64, np.int32, np.int64


def fma16(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Rounded once."""
    wide = floats.fused64(*(v.astype(F32) for v in (a, b, c)))
    return small.f16_from(wide).view(np.float16)


def smallest(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of floats: one NaN gives the other operand."""
    return extreme(a, b, largest=False)


def largest(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of floats: one NaN gives the other operand."""
    return extreme(a, b, largest=True)


def _median(low: Two, high: Two) -> Three:
    return lambda a, b, c: high(low(a, b), low(high(a, b), c))


def _to_integer(type: type[np.signedinteger[Any]] | type[np.unsignedinteger[Any]]) -> One:
    """Toward zero, clamped; NaN is 0."""
    limits = np.iinfo(type)

    def convert(a: np.ndarray) -> np.ndarray:
        wide = np.trunc(np.nan_to_num(a.astype(F64), nan=0.0, posinf=float(limits.max), neginf=float(limits.min)))
        return np.clip(wide, float(limits.min), float(limits.max)).astype(I64).astype(type)

    return convert


def _in_double(function: One, type: type[np.floating[Any]] = F32, *, flushes: bool = False) -> One:
    """An approximation, correctly rounded here; the ISA has 1 ulp. `exp` and `log` take and give subnormals as 0."""

    def act(a: np.ndarray) -> np.ndarray:
        if flushes:
            a = floats.flush32(a)
        result = function(a.astype(F64)).astype(type)
        return floats.flush32(result) if flushes else result

    return act


def _class(value: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """`v_cmp_class`: bits for signalling NaN, quiet NaN, -inf, -normal, -subnormal, -0, +0, +subnormal, +normal, +inf."""
    info = np.finfo(value.dtype)
    size = value.dtype.itemsize
    pattern = value.view(f"u{size}")
    quiet = (pattern >> pattern.dtype.type(info.nmant - 1)) & pattern.dtype.type(1)
    negative, magnitude = np.signbit(value), np.abs(value)
    kind = np.where(magnitude == 0, 0, np.where(magnitude < info.smallest_normal, 1, np.where(np.isinf(value), 3, 2)))
    number = np.where(np.isnan(value), quiet, np.where(negative, 5 - kind, 6 + kind)).astype(U32)
    return (wanted.astype(U32) >> number) & U32(1) != 0


def _scale(a: np.ndarray, divisor: np.ndarray, dividend: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`v_div_scale`: operands of a division brought to where neither the reciprocal nor the quotient leaves the normal range."""
    is_single = a.dtype == F32
    far, lift, digits = (96, 64, 23) if is_single else (768, 128, 53)
    one = a.dtype.type(1)
    up, down = np.ldexp(one, lift), np.ldexp(one, -lift)
    a, divisor, dividend = np.broadcast_arrays(a, divisor, dividend)
    top, bottom = np.frexp(dividend)[1], np.frexp(divisor)[1]
    tiny = np.finfo(a.dtype).smallest_normal
    is_divisor = a == divisor
    quotient, reciprocal = np.abs(dividend / divisor), np.abs(one / divisor)
    quotient_is_tiny = (quotient < tiny) & (quotient > 0)
    # The ISA asks for a subnormal of float64, which no reciprocal of a float32 is.
    reciprocal_is_tiny = (reciprocal < tiny) & (reciprocal > 0) & (not is_single)
    result, flag = a.copy(), np.zeros(a.shape, np.bool_)
    undone = np.ones(a.shape, np.bool_)

    def case(where: np.ndarray, value: np.ndarray, sets: np.ndarray | bool) -> None:
        nonlocal undone
        chosen = undone & where
        result[chosen] = np.broadcast_to(value, a.shape)[chosen]
        flag[chosen] = np.broadcast_to(sets, a.shape)[chosen]
        undone &= ~where

    case((dividend == 0) | (divisor == 0), np.full(a.shape, np.nan, a.dtype), False)
    case(top - bottom >= far, np.where(is_divisor, a * up, a), True)
    case(np.abs(divisor) < tiny, a * up, False)
    case(reciprocal_is_tiny & quotient_is_tiny, np.where(is_divisor, a * down, a), True)
    case(reciprocal_is_tiny, a * down, False)
    case(quotient_is_tiny, np.where(a == dividend, a * up, a), True)
    case(np.abs(dividend) < tiny * 2.0**digits, a * up, False)
    return result, flag


def _fix(quotient: np.ndarray, divisor: np.ndarray, dividend: np.ndarray) -> np.ndarray:
    """`v_div_fixup`: the quotient, unless an operand is special."""
    with np.errstate(all="ignore"):
        plain = dividend / divisor
    special = (divisor == 0) | (dividend == 0) | ~np.isfinite(divisor) | ~np.isfinite(dividend)
    size = np.copysign(np.abs(quotient), plain)
    bottom, top = np.frexp(divisor)[1], np.frexp(dividend)[1]
    far, most = (150, 128) if quotient.dtype == F32 else (1075, 1024)
    under, over = (top - bottom < -far) & ~special, (top - bottom > most) & ~special
    zero, infinity = np.copysign(quotient.dtype.type(0), plain), np.copysign(quotient.dtype.type(np.inf), plain)
    return np.where(special, plain, np.where(under, zero, np.where(over, infinity, size)))


def multiply_add_scaled(a: np.ndarray, b: np.ndarray, c: np.ndarray, flag: np.ndarray) -> np.ndarray:
    """`v_div_fmas`: a fused multiplication and addition; where VCC says so, what `v_div_scale` did to one operand is undone."""
    is_single = a.dtype == F32
    result = floats.fma32(a, b, c) if is_single else floats.fma64(a, b, c)
    lift = 64 if is_single else 128
    return np.where(flag, np.ldexp(result, np.where(np.abs(c) >= 2, lift, -lift)), result)


def byte_of_pair(high: np.ndarray, low: np.ndarray, selector: np.ndarray) -> np.ndarray:
    """`v_perm_b32`: each byte of the selector picks one of 8 bytes (the second operand's are 0 to 3), a sign (8 to 11), 0 (12) or 255."""
    pair = low.astype(U64) | (high.astype(U64) << U64(32))
    result = np.zeros(np.broadcast_shapes(high.shape, low.shape, selector.shape), U32)
    for position in range(4):
        pick = (selector >> U32(8 * position)) & U32(255)
        byte = (pair >> (U64(8) * (pick & U32(7)).astype(U64))) & U64(255)
        sign = (pair >> (U64(16) * (pick & U32(3)).astype(U64) + U64(15))) & U64(1)
        rest = np.where(pick < 12, sign * U64(255), np.where(pick == 12, U64(0), U64(255)))
        result |= np.where(pick < 8, byte, rest).astype(U32) << U32(8 * position)
    return result


def _byte_align(a: np.ndarray, b: np.ndarray, shift: np.ndarray, unit: int) -> np.ndarray:
    pair = b.astype(U64) | (a.astype(U64) << U64(32))
    return (pair >> ((shift & U32(31 if unit == 1 else 3)).astype(U64) * U64(unit))).astype(U32)


def below(low: int, lanes: int) -> Compute:
    """`v_mbcnt`: how many bits of a mask are of lanes below this one, among lanes 0 to 31 or 32 to 63."""

    def count(mask: np.ndarray, addend: np.ndarray) -> np.ndarray:
        lane = np.arange(lanes)
        kept = np.clip(lane - low, 0, 32).astype(U64)
        return addend + integers.popcount(mask & ((U64(1) << kept) - U64(1)).astype(U32))

    return count


def _carry(first: int, second: int, carry: int = 0) -> Compute:
    """A sum of the operands and a carry, each times 1 or -1; with it whether there is a carry or a borrow."""

    def add(a: Array, b: Array) -> tuple[Array, Array]:
        return with_carry(a, b, np.zeros(1, np.bool_))

    def with_carry(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
        wide = first * a.astype(I64) + second * b.astype(I64) + carry * c.astype(I64)
        return wide.astype(U32), (wide < 0) | (wide > 0xFFFFFFFF)

    return with_carry if carry else add


def _multiply_wide(signed: bool) -> Compute:
    def act(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wide = I64 if signed else U64
        found = a.astype(wide) * b.astype(wide)
        total = found + c
        return total, ((found ^ total) & (c ^ total)) < 0 if signed else total < found

    return act


def _signed24(a: np.ndarray) -> np.ndarray:
    return (a << 8) >> 8


def _ldexp(a: np.ndarray, n: np.ndarray) -> np.ndarray:
    return np.ldexp(a, np.clip(n.astype(I32), -4000, 4000))


def _fraction(a: np.ndarray) -> np.ndarray:
    return np.minimum(a - np.floor(a), np.nextafter(a.dtype.type(1), a.dtype.type(0)))


def _arithmetic(rules: dict[str, Rule]) -> None:
    for t, fma in (("f32", floats.fma32), ("f64", floats.fma64), ("f16", fma16)):
        rules |= {
            f"v_add_{t}": (t, f"{t} {t}", operator.add), f"v_sub_{t}": (t, f"{t} {t}", operator.sub),
            f"v_subrev_{t}": (t, f"{t} {t}", lambda a, b: b - a), f"v_mul_{t}": (t, f"{t} {t}", operator.mul),
            f"v_min_{t}": (t, f"{t} {t}", smallest), f"v_max_{t}": (t, f"{t} {t}", largest),
            f"v_fma_{t}": (t, f"{t} {t} {t}", fma), f"v_fmac_{t}": (t, f"{t} {t} acc", fma),
            f"v_fmaak_{t}": (t, f"{t} {t} {t}", fma), f"v_fmamk_{t}": (t, f"{t} {t} {t}", fma),
            f"v_min3_{t}": (t, f"{t} {t} {t}", lambda a, b, c: smallest(smallest(a, b), c)),
            f"v_max3_{t}": (t, f"{t} {t} {t}", lambda a, b, c: largest(largest(a, b), c)),
            f"v_med3_{t}": (t, f"{t} {t} {t}", _median(smallest, largest)),
            f"v_maxmin_{t}": (t, f"{t} {t} {t}", lambda a, b, c: smallest(largest(a, b), c)),
            f"v_minmax_{t}": (t, f"{t} {t} {t}", lambda a, b, c: largest(smallest(a, b), c)),
            f"v_minimum_{t}": (t, f"{t} {t}", np.minimum), f"v_maximum_{t}": (t, f"{t} {t}", np.maximum),
            f"v_minimum3_{t}": (t, f"{t} {t} {t}", lambda a, b, c: np.minimum(np.minimum(a, b), c)),
            f"v_maximum3_{t}": (t, f"{t} {t} {t}", lambda a, b, c: np.maximum(np.maximum(a, b), c)),
            f"v_floor_{t}": (t, t, np.floor), f"v_ceil_{t}": (t, t, np.ceil), f"v_trunc_{t}": (t, t, np.trunc),
            f"v_rndne_{t}": (t, t, np.rint), f"v_fract_{t}": (t, t, _fraction),
            f"v_ldexp_{t}": (t, f"{t} {'i16' if t == 'f16' else 'i32'}", _ldexp),
            f"v_div_fixup_{t}": (t, f"{t} {t} {t}", _fix),
            f"v_frexp_mant_{t}": (t, t, lambda a: np.where(np.isfinite(a), np.frexp(a)[0], a)),
            f"v_frexp_exp_i{'16' if t == 'f16' else '32'}_{t}": (
                "i16" if t == "f16" else "i32", t, lambda a: np.where(np.isfinite(a), np.frexp(a)[1], 0)
            ),
        }  # fmt: skip
        if t != "f16":
            rules[f"v_div_scale_{t}"] = (t + "+", f"{t} {t} {t}", _scale)
            rules[f"v_div_fmas_{t}"] = (t, f"{t} {t} {t} vcc", multiply_add_scaled)
    for t in ("f32", "f16"):
        unary: dict[str, One] = {
            "exp": np.exp2, "log": np.log2, "rcp": lambda a: 1 / a, "rsq": lambda a: 1 / np.sqrt(a), "sqrt": np.sqrt,
            "sin": lambda a: np.sin(a * 2 * np.pi), "cos": lambda a: np.cos(a * 2 * np.pi),
        }  # fmt: skip
        for name, function in unary.items():
            wide = _in_double(function, flushes=t == "f32" and name in ("exp", "log"))
            rules[f"v_{name}_{t}"] = (t, t, wide if t == "f32" else _in_double(function, np.float16))
    rules |= {
        "v_rcp_iflag_f32": rules["v_rcp_f32"],
        "v_mul_legacy_f32": ("f32", "f32 f32", lambda a, b: np.where((a == 0) | (b == 0), F32(0), a * b)),
        "v_rcp_f64": ("f64", "f64", lambda a: 1 / a), "v_sqrt_f64": ("f64", "f64", np.sqrt),
        "v_rsq_f64": ("f64", "f64", lambda a: 1 / np.sqrt(a)),
    }  # fmt: skip


def _integers(rules: dict[str, Rule]) -> None:
    for t in ("u16", "i16", "u32", "i32"):
        size = int(t[1:])
        rules |= {
            f"v_add_{t}": (t, f"{t} {t}", operator.add), f"v_sub_{t}": (t, f"{t} {t}", operator.sub),
            f"v_subrev_{t}": (t, f"{t} {t}", lambda a, b: b - a), f"v_min_{t}": (t, f"{t} {t}", np.minimum),
            f"v_max_{t}": (t, f"{t} {t}", np.maximum), f"v_mul_lo_{t}": (t, f"{t} {t}", operator.mul),
            f"v_min3_{t}": (t, f"{t} {t} {t}", lambda a, b, c: np.minimum(np.minimum(a, b), c)),
            f"v_max3_{t}": (t, f"{t} {t} {t}", lambda a, b, c: np.maximum(np.maximum(a, b), c)),
            f"v_med3_{t}": (t, f"{t} {t} {t}", _median(np.minimum, np.maximum)),
            f"v_mad_{t}": (t, f"{t} {t} {t}", lambda a, b, c: a * b + c),
            f"v_maxmin_{t}": (t, f"{t} {t} {t}", lambda a, b, c: np.minimum(np.maximum(a, b), c)),
            f"v_minmax_{t}": (t, f"{t} {t} {t}", lambda a, b, c: np.maximum(np.minimum(a, b), c)),
            f"v_lshlrev_b{size}": (f"u{size}", f"u{size} u{size}", _reversed(left(size))),
            f"v_lshrrev_b{size}": (f"u{size}", f"u{size} u{size}", _reversed(right(size))),
            f"v_ashrrev_i{size}": (f"i{size}", f"u{size} i{size}", _reversed(right(size))),
        }  # fmt: skip
    u3 = "u32 u32 u32"
    rules |= {
        "v_lshlrev_b64": ("u64", "u32 u64", _reversed(left(64))),
        "v_lshrrev_b64": ("u64", "u32 u64", _reversed(right(64))),
        "v_ashrrev_i64": ("i64", "u32 i64", _reversed(right(64))),
        "v_xnor_b32": ("u32", "u32 u32", lambda a, b: ~(a ^ b)), "v_xor3_b32": ("u32", u3, lambda a, b, c: a ^ b ^ c),
        "v_bfrev_b32": ("u32", "u32", integers.reverse_bits),
        "v_bfm_b32": ("u32", "u32 u32", lambda a, b: ((U32(1) << (a & U32(31))) - U32(1)) << (b & U32(31))),
        "v_bfi_b32": ("u32", u3, lambda a, b, c: (a & b) | (~a & c)),
        "v_bfe_u32": ("u32", u3, lambda a, b, c: integers.extract_bits(a, b & U32(31), c & U32(31))),
        "v_bfe_i32": ("i32", "i32 u32 u32", lambda a, b, c: integers.extract_bits(a, b & U32(31), c & U32(31))),
        "v_bcnt_u32_b32": ("u32", "u32 u32", lambda a, b: integers.popcount(a) + b),
        "v_ffbh_u32": ("u32", "u32", leading), "v_ffbh_i32": ("u32", "i32", same_as_sign), "v_ffbl_b32": ("u32", "u32", first_one),
        "v_add3_u32": ("u32", u3, lambda a, b, c: a + b + c), "v_or3_b32": ("u32", u3, lambda a, b, c: a | b | c),
        "v_and_or_b32": ("u32", u3, lambda a, b, c: (a & b) | c), "v_xad_u32": ("u32", u3, lambda a, b, c: (a ^ b) + c),
        "v_add_lshl_u32": ("u32", u3, lambda a, b, c: (a + b) << (c & U32(31))),
        "v_lshl_add_u32": ("u32", u3, lambda a, b, c: (a << (b & U32(31))) + c),
        "v_lshl_or_b32": ("u32", u3, lambda a, b, c: (a << (b & U32(31))) | c),
        "v_lshl_add_u64": ("u64", "u64 u32 u64", lambda a, b, c: (a << (b & U32(7)).astype(U64)) + c),
        "v_mul_hi_u32": ("u32", "u32 u32", integers.multiply_high), "v_mul_hi_i32": ("i32", "i32 i32", integers.multiply_high),
        "v_mul_u32_u24": ("u32", "u32 u32", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
        "v_mul_i32_i24": ("i32", "i32 i32", lambda a, b: _signed24(a) * _signed24(b)),
        "v_mul_hi_u32_u24": ("u32", "u32 u32", lambda a, b: integers.multiply_high(a & U32(0xFFFFFF), b & U32(0xFFFFFF))),
        "v_mul_hi_i32_i24": ("i32", "i32 i32", lambda a, b: integers.multiply_high(_signed24(a), _signed24(b))),
        "v_mad_u32_u24": ("u32", u3, lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c),
        "v_mad_i32_i24": ("i32", "i32 i32 i32", lambda a, b, c: _signed24(a) * _signed24(b) + c),
        "v_mad_u64_u32": ("u64+", "u32 u32 u64", _multiply_wide(False)), "v_mad_i64_i32": ("i64+", "i32 i32 i64", _multiply_wide(True)),
        "v_mad_u32_u16": ("u32", "u16 u16 u32", lambda a, b, c: a.astype(U32) * b + c),
        "v_mad_legacy_u16": ("u16", "u16 u16 u16", lambda a, b, c: a * b + c),
        "v_mul_lo_u32": ("u32", "u32 u32", operator.mul),
        "v_sad_u32": ("u32", u3, lambda a, b, c: np.where(a > b, a - b, b - a) + c),
        "v_alignbit_b32": ("u32", u3, lambda a, b, c: _byte_align(a, b, c, 1)),
        "v_alignbyte_b32": ("u32", u3, lambda a, b, c: _byte_align(a, b, c, 8)), "v_perm_b32": ("u32", u3, byte_of_pair),
        "v_add_co_u32": ("u32+", "u32 u32", _carry(1, 1)), "v_sub_co_u32": ("u32+", "u32 u32", _carry(1, -1)),
        "v_subrev_co_u32": ("u32+", "u32 u32", _carry(-1, 1)),
        "v_addc_co_u32": ("u32+", "u32 u32 mask", _carry(1, 1, 1)),
        "v_subb_co_u32": ("u32+", "u32 u32 mask", _carry(1, -1, -1)),
        "v_subbrev_co_u32": ("u32+", "u32 u32 mask", _carry(-1, 1, -1)),
    }  # fmt: skip


def _logic(rules: dict[str, Rule]) -> None:
    for size in (16, 32):
        t = f"u{size}"
        rules |= {
            f"v_and_b{size}": (t, f"{t} {t}", lambda a, b: a & b), f"v_or_b{size}": (t, f"{t} {t}", lambda a, b: a | b),
            f"v_xor_b{size}": (t, f"{t} {t}", lambda a, b: a ^ b), f"v_not_b{size}": (t, t, operator.invert),
        }  # fmt: skip


def dot_of_bytes(a: Array, b: Array, total: Array, signed: tuple[int, int]) -> Array:
    """`v_dot4`: four multiplications of bytes and additions of 32 bits."""
    for byte in range(4):
        low, high = ((v >> U32(8 * byte)).astype(np.uint8) for v in (a, b))
        first, second = (
            v.view(np.int8 if s else np.uint8).astype(I32) for v, s in zip((low, high), signed, strict=True)
        )
        total = total + (first * second).view(U32)
    return total


def _bf16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(U32) << U32(16)).view(F32)


def _dots(rules: dict[str, Rule]) -> None:
    """`v_dot2`: two multiplications and two additions, each rounded here; the ISA leaves open where hardware rounds."""
    half = np.float16

    def halves(a: np.ndarray, b: np.ndarray, total: np.ndarray) -> np.ndarray:
        low = floats.fma32(
            a.astype(np.uint16).view(half).astype(F32), b.astype(np.uint16).view(half).astype(F32), total
        )
        first, second = ((v >> U32(16)).astype(np.uint16).view(half).astype(F32) for v in (a, b))
        return floats.fma32(first, second, low)

    def bf16(a: np.ndarray, b: np.ndarray, total: np.ndarray) -> np.ndarray:
        low = floats.fma32(_bf16(a & U32(0xFFFF)), _bf16(b & U32(0xFFFF)), total)
        return floats.fma32(_bf16(a >> U32(16)), _bf16(b >> U32(16)), low)

    rules |= {
        "v_dot2_f32_f16": ("f32", "u32 u32 f32", halves), "v_dot2c_f32_f16": ("f32", "u32 u32 acc", halves),
        "v_dot2acc_f32_f16": ("f32", "u32 u32 acc", halves), "v_dot2_f32_bf16": ("f32", "u32 u32 f32", bf16),
        "v_dot2_bf16_bf16": ("u16", "u32 u32 u16", lambda a, b, c: small.bf16_from(bf16(a, b, _bf16(c)))),
        "v_dot4_u32_u8": ("u32", "u32 u32 u32", lambda a, b, c: dot_of_bytes(a, b, c, (0, 0))),
        "v_dot2_f16_f16": ("f16", "u32 u32 f16", lambda a, b, c: halves(a, b, c.astype(F32)).astype(half)),
    }  # fmt: skip


def _reversed(function: Two) -> Two:
    return lambda a, b: function(b, a)


def _conversions(rules: dict[str, Rule]) -> None:
    for name in (
        "f32_u32",
        "f32_i32",
        "f64_u32",
        "f64_i32",
        "f32_f64",
        "f64_f32",
        "f16_f32",
        "f32_f16",
        "f16_u16",
        "f16_i16",
    ):
        to, of = name.split("_")
        dtype = {"f16": np.float16, "f32": F32, "f64": F64}[to]
        rules[f"v_cvt_{name}"] = (to, of, lambda a, d=dtype: a.astype(d))
    for to, of in (("i32", "f32"), ("u32", "f32"), ("i32", "f64"), ("u32", "f64"), ("i16", "f16"), ("u16", "f16")):
        rules[f"v_cvt_{to}_{of}"] = (
            to,
            of,
            _to_integer(np.dtype({"i": "i", "u": "u"}[to[0]] + str(int(to[1:]) // 8)).type),
        )
    to_int = _to_integer(I32)
    for byte in range(4):
        rules[f"v_cvt_f32_ubyte{byte}"] = ("f32", "u32", lambda a, n=8 * byte: ((a >> U32(n)) & U32(255)).astype(F32))
    rules |= {
        "v_cvt_rpi_i32_f32": ("i32", "f32", lambda a: to_int(np.floor(a + F32(0.5)))),
        "v_cvt_flr_i32_f32": ("i32", "f32", lambda a: to_int(np.floor(a))),
        "v_cvt_pkrtz_f16_f32": ("u32", "f32 f32", lambda a, b: small.pack16(small.f16_from(a, "rz"), small.f16_from(b, "rz"))),
        "v_cvt_pk_f16_f32": ("u32", "f32 f32", lambda a, b: small.pack16(small.f16_from(a), small.f16_from(b))),
        "v_cvt_pk_bf16_f32": ("u32", "f32 f32", lambda a, b: small.pack16(small.bf16_from(a), small.bf16_from(b))),
        "v_cvt_i32_i16": ("i32", "i16", lambda a: a.astype(I32)), "v_cvt_u32_u16": ("u32", "u16", lambda a: a.astype(U32)),
        "v_pack_b32_f16": ("u32", "u16 u16", lambda a, b: a.astype(U32) | (b.astype(U32) << U32(16))),
    }  # fmt: skip


def _moves(rules: dict[str, Rule]) -> None:
    rules |= {
        "v_mov_b32": ("u32", "u32", lambda a: a), "v_mov_b16": ("u16", "u16", lambda a: a), "v_mov_b64": ("u64", "u64", lambda a: a),
        "v_accvgpr_read_b32": ("u32", "u32", lambda a: a), "v_accvgpr_write_b32": ("u32", "u32", lambda a: a),
        "v_accvgpr_mov_b32": ("u32", "u32", lambda a: a),
        "v_cndmask_b32": ("f32", "f32 f32 mask", lambda a, b, c: np.where(c, b, a)),
        "v_cndmask_b16": ("f16", "f16 f16 mask", lambda a, b, c: np.where(c, b, a)),
    }  # fmt: skip


def _rules() -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for add in (_arithmetic, _integers, _logic, _dots, _conversions, _moves):
        add(rules)
    return rules


RULES = _rules()

_FLOAT_COMPARE: dict[str, Compute] = {
    "f": lambda a, b: np.zeros(np.broadcast_shapes(a.shape, b.shape), np.bool_),
    "lt": operator.lt, "eq": operator.eq, "le": operator.le, "gt": operator.gt, "lg": lambda a, b: (a < b) | (a > b),
    "ge": operator.ge, "o": lambda a, b: (a == a) & (b == b), "u": lambda a, b: (a != a) | (b != b),
    "nge": lambda a, b: ~(a >= b), "nlg": lambda a, b: ~((a < b) | (a > b)), "ngt": lambda a, b: ~(a > b),
    "nle": lambda a, b: ~(a <= b), "neq": operator.ne, "nlt": lambda a, b: ~(a < b),
    "tru": lambda a, b: np.ones(np.broadcast_shapes(a.shape, b.shape), np.bool_),
}  # fmt: skip
_INTEGER_COMPARE: dict[str, Compute] = {
    "f": _FLOAT_COMPARE["f"], "t": _FLOAT_COMPARE["tru"], "lt": operator.lt, "eq": operator.eq, "le": operator.le,
    "gt": operator.gt, "ne": operator.ne, "ge": operator.ge,
}  # fmt: skip


def comparison(name: str, type: str) -> Compute | None:
    """What `v_cmp_<name>_<type>` says of two operands."""
    if name == "class":
        return _class
    return (_FLOAT_COMPARE if type[0] == "f" else _INTEGER_COMPARE).get(name)

"""`cvt` in every form: between integers, floats and packed narrow floats, with rounding and saturation.

cvt.rzi.s32.f32 %r2, %r1   →   r2 = float_to_integer(r1_f32, "rzi", D_s32)
"""

import numpy as np

from minitriton.emulator.arithmetic import floats as fm
from minitriton.emulator.arithmetic import small_floats as sf
from minitriton.emulator.lanes import Bytes, Lanes, Singles, Words16
from minitriton.emulator.ptx.program import Instruction
from minitriton.emulator.translate import NAMES, BlockWriter, bits_of, rule

_PACKED_FLOAT = ("f16x2", "bf16x2", "e4m3x2", "e5m2x2")
_ROUND: dict[str, np.ufunc] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def float_to_integer(x: Lanes, mode: str, dtype: np.dtype) -> Lanes:
    """Rounds and clamps to the range of `dtype`. NaN gives 0, of doubles and in 64 bits the highest bit (PTX ISA 9.0, "cvt")."""
    rounded = _ROUND[mode](x.astype(np.float64))
    limits = np.iinfo(dtype)
    nan = rounded != rounded
    low, high = float(limits.min), float(limits.max)
    inside = np.where(nan, 0.0, np.clip(rounded, low, high))
    result = np.where(inside >= high, dtype.type(limits.max), np.where(inside >= high, 0, inside).astype(dtype))
    if dtype.itemsize == 8 or x.dtype == np.float64:
        result = np.where(nan, np.uint64(1 << (8 * dtype.itemsize - 1)).astype(dtype), result)
    return result


def integer_to_float(x: Lanes, mode: str, kind: str) -> Lanes:
    """Integers to float32 or float64, rounded once."""
    if kind == "f64":
        return x.astype(np.float64)
    if mode == "rn":
        return x.astype(np.float32)
    near = np.asarray(x.astype(np.float32))
    if x.dtype.itemsize < 8:
        return fm.round32(x.astype(np.float64), mode)
    back = near.astype(np.longdouble)
    wide = np.asarray(x).astype(np.longdouble)
    wrong = {"rz": abs(back) > abs(wide), "rm": back > wide, "rp": back < wide}[mode]
    target = {"rz": 0.0, "rm": -np.inf, "rp": np.inf}[mode]
    return np.where(wrong, np.nextafter(near, np.float32(target)), near)


def saturate_integer(x: Lanes, dtype: np.dtype) -> Lanes:
    """Clamps integers to the range of a narrower or other-signed dtype."""
    limits = np.iinfo(dtype)
    own = np.iinfo(x.dtype)
    return np.clip(x, max(limits.min, own.min), min(limits.max, own.max)).astype(dtype)


def round_integral(x: Lanes, mode: str) -> Lanes:
    """Rounds to an integral value of the same float type."""
    return _ROUND[mode](x)


def pack8(low: Bytes, high: Bytes) -> Words16:
    """Two bytes to a 16-bit word."""
    return low.astype(np.uint16) | (high.astype(np.uint16) << np.uint16(8))


def low8(x: Words16) -> Bytes:
    """The lower byte."""
    return x.astype(np.uint8)


def high8(x: Words16) -> Bytes:
    """The upper byte of a 16-bit word."""
    return (x >> np.uint16(8)).astype(np.uint8)


def keep_positive(x: Singles) -> Singles:
    """`.relu` on float32: negative values and NaN become 0 (NaN stays canonical NaN by the caller's conversion)."""
    return np.where(x < 0, np.float32(0), x)


NAMES.update({
    "clip": np.clip, "float_to_integer": float_to_integer, "integer_to_float": integer_to_float, "saturate_integer": saturate_integer,
    "round_integral": round_integral, "pack8": pack8, "low8": low8, "high8": high8, "keep_positive": keep_positive,
    "bf16_from": sf.bf16_from, "f16_from": sf.f16_from, "tf32_from": sf.tf32_from,
    "e4m3_from": sf.e4m3_from, "e5m2_from": sf.e5m2_from, "e4m3_to": sf.e4m3_to, "e5m2_to": sf.e5m2_to,
})  # fmt: skip


@rule("cvt")
def _convert(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    if parts[1] == "pack":
        _pack(w, i, parts)
        return
    to, of = parts[-2], parts[-1]
    if to in _PACKED_FLOAT:
        _to_packed(w, i, parts, to, of)
    elif to == "tf32":
        mode = next(p for p in parts if p in ("rna", "rn", "rz"))
        w.write(i.operands[0], "u32", f"tf32_from({w.read(i.operands[1], 'f32')}, {mode!r})")
    elif to[0] in "us" and of[0] in "us":
        _integer(w, i, parts, to, of)
    elif to[0] in "us":
        mode = next(p for p in parts if p in _ROUND)
        value = _as_float(w, i, of, "ftz" in parts)
        w.write(i.operands[0], to, f"float_to_integer({value}, {mode!r}, D_{to})")
    elif of[0] in "us":
        _from_integer(w, i, parts, to, of)
    else:
        _float(w, i, parts, to, of)


def _pack(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    """`cvt.pack.sat`: two words clamped to a narrow type, packed, with the upper part of a third."""
    to = parts[3]
    width = bits_of(to)
    if to[0] not in "us" or parts[2] != "sat" or parts[4] != "s32":
        raise ValueError("cvt.pack from other types than s32")
    high, low = w.read(i.operands[1], "s32"), w.read(i.operands[2], "s32")
    limits = f"{-(1 << width - 1) if to[0] == 's' else 0}, {(1 << width - (to[0] == 's')) - 1}"
    mask, shift = w.constant((1 << width) - 1, "u32"), w.constant(width, "u32")
    halves = [f"(clip({v}, {limits}).view(D_u32) & {mask})" for v in (high, low)]
    packed = f"({halves[0]} << {shift}) | {halves[1]}"
    for below in i.operands[3:]:
        packed = f"{packed} | ({w.read(below, 'u32')} << {w.constant(2 * width, 'u32')})"
    w.write(i.operands[0], "u32", packed)


def _as_float(w: BlockWriter, i: Instruction, of: str, ftz: bool) -> str:
    operand = i.operands[1]
    if of in ("f16", "bf16"):
        return w.temporary(f"{of}_to({w.read(operand, 'u16')})")
    value = w.read(operand, of)
    return w.temporary(f"flush32({value})") if ftz and of == "f32" else value


def _integer(w: BlockWriter, i: Instruction, parts: list[str], to: str, of: str) -> None:
    value = w.read(i.operands[1], of)
    if "sat" in parts:
        value = f"saturate_integer({value}, D_{to})"
    elif bits_of(to) != bits_of(of):
        value = f"{value}.astype(D_{to})"
    else:
        value = f"{value}.view(D_{to})"
    w.write(i.operands[0], to, value)


def _from_integer(w: BlockWriter, i: Instruction, parts: list[str], to: str, of: str) -> None:
    mode = next((p for p in parts if p in ("rn", "rz", "rm", "rp")), "rn")
    value = w.read(i.operands[1], of)
    if to in ("f32", "f64"):
        w.write(i.operands[0], to, f"integer_to_float({value}, {mode!r}, {to!r})")
    elif to == "bf16":
        w.write(i.operands[0], "u16", f"bf16_from({value}.astype(D_f64))")
    else:
        w.write(i.operands[0], "u16", f"f16_from({value}.astype(D_f64), {mode!r})")


def _float(w: BlockWriter, i: Instruction, parts: list[str], to: str, of: str) -> None:
    value = _as_float(w, i, of, "ftz" in parts)
    mode = next((p for p in parts if p in ("rn", "rz", "rm", "rp")), "rn")
    integral = next((p for p in parts if p in _ROUND), None)
    if integral:
        value = f"round_integral({value}, {integral!r})"
    if to in ("f16", "bf16"):
        w.write(i.operands[0], "u16", f"{to}_from({value}, {'rz' if mode == 'rz' else 'rn'!r}, {'relu' in parts})")
        return
    if to == "f32" and of == "f64":
        value = f"round32({value}, {mode!r})"
    elif to == "f64" and of != "f64":
        value = f"{value}.astype(D_f64)"
    if to == "f32" and "ftz" in parts:
        value = f"flush32({value})"
    if "sat" in parts and to == "f32":
        value = f"saturate32({value})"
    w.write(i.operands[0], to, value)


def _to_packed(w: BlockWriter, i: Instruction, parts: list[str], to: str, of: str) -> None:
    """Two values to a packed word: the first operand is the upper half."""
    format = to[:-2]
    mode = "rz" if "rz" in parts else "rn"
    relu = "relu" in parts
    if of == "f32":
        high, low = (w.read(o, "f32") for o in i.operands[1:3])
        if format in ("f16", "bf16"):
            halves = [f"{format}_from({v}, {mode!r}, {relu})" for v in (low, high)]
            w.write(i.operands[0], "u32", f"pack16({halves[0]}, {halves[1]})")
            return
    elif of in ("e4m3x2", "e5m2x2"):
        value = w.read(i.operands[1], "u16")
        halves = [f"f16_from({of[:-2]}_to({half}({value})), 'rn', {relu})" for half in ("low8", "high8")]
        w.write(i.operands[0], "u32", f"pack16({halves[0]}, {halves[1]})")
        return
    else:
        value = w.read(i.operands[1], "u32")
        low, high = (w.temporary(f"{of[:-2]}_to({half}({value}))") for half in ("low16", "high16"))
    if relu:
        low, high = (w.temporary(f"keep_positive({v})") for v in (low, high))
    w.write(i.operands[0], "u16", f"pack8({format}_from({low}), {format}_from({high}))")

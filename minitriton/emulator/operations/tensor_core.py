"""The sums of the tensor cores, as Hopper's hardware makes them.

In: operands A [..., rows, k] and B [..., k, columns] as exact values, an addend C. Out: A B + C, where

1. every product is exact and has the sum of its operands' exponents;
2. a group of dots and the addend are aligned to the largest exponent E among them and truncated (toward zero) below
   2**(E - fraction); the truncated terms are added exactly;
3. the sum is truncated to the result's format (float16: rounded to nearest even), and is the addend of the next group.

    1 + 2**-25 + 2**-25 (terms), addend 0   →   1 + 2**-24; with 2**-26 in place of 2**-25 the result is 1

A group is 32 bytes of an operand's row: 16 halves, 8 tf32, 32 fp8. `fraction` is 25; 13 for fp8 in `wgmma`, whose float32
results keep 13 bits of fraction. Fasi et al., "Numerical behavior of NVIDIA tensor cores" (2021) found the alignment and the
truncation, Xie et al., "MMA-Sim" (2025, arXiv 2511.10909) the widths, validated bit for bit on an H100.

Matrix fragments: `ldmatrix`, `stmatrix` and `mma.sync`.

Fragments are spread over the 32 lanes of a warp: lane `l` is in group `g = l // 4`, at position `t = l % 4`. With `per` elements in
a 32-bit register, register `r` of A holds row `g + 8 * (r % 2)`, columns `4 * per * (r // 2) + per * t` onward.

    m16n8k16, f16: lane 5 (g = 1, t = 1), register 0 of A   →   A[1, 2], A[1, 3]
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minitriton.emulator.arithmetic import small_floats as sf
from minitriton.emulator.arithmetic.floats import bits16, bits32, fma64
from minitriton.emulator.lanes import Lanes
from minitriton.emulator.machine import Machine
from minitriton.emulator.operations import tensor_core
from minitriton.emulator.operations.memory import check_read, check_write, locate, measure
from minitriton.emulator.threads import Mask
from minitriton.target.architectures import WARP_SIZE

GROUP_BYTES = 32
_SMALLEST = {"f16": -14, "bf16": -126, "tf32": -126, "f32": -126, "e4m3": -6, "e5m2": -14}
"""Exponent of the subnormal numbers of a format."""
_ITEM = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1}
_OF_ZERO = -300
"""Below every exponent of a sum that a result can show, and far enough from the end of float64's range."""
_KEPT = (~np.uint64((1 << 29) - 1), ~np.uint64((1 << 39) - 1))
"""Bits of a float64 that float32, and the narrow results of fp8, keep."""
_NORMAL = 2.0**-126
_AT_ONCE = 1 << 15
"""Terms that are summed in one array; more go term by term, over arrays that fit the cache."""


@dataclass(frozen=True)
class Accumulation:
    """How dots of one format accumulate in another."""

    operand: str
    other: str
    """Formats of A and of B."""
    result: str
    """`f32` or `f16`."""
    narrow: bool = False
    """fp8 in `wgmma`."""

    @property
    def group(self) -> int:
        """Terms that are aligned together."""
        return GROUP_BYTES // _ITEM[self.operand]

    @property
    def fraction(self) -> int:
        """Bits of the aligned terms below the largest one's exponent."""
        return 13 if self.narrow else 25


def _exponents(values: np.ndarray, format: str) -> np.ndarray:
    exponents = np.maximum(np.frexp(values)[1] - 1, _SMALLEST[format])
    return np.where(values == 0, _OF_ZERO, exponents)


def _power(exponents: np.ndarray) -> np.ndarray:
    """2**e as float64, for normal results."""
    return ((exponents.astype(np.int64) + 1023) << 52).view(np.float64)


def multiply_accumulate(a: np.ndarray, b: np.ndarray, c: np.ndarray, how: Accumulation) -> np.ndarray:
    """A B + C: float32 or float16 [..., rows, columns] from A [..., rows, k], B [..., k, columns] and C of the result's type."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    exponents_a, exponents_b = _exponents(a, how.operand), _exponents(b, how.other)
    for start in range(0, a.shape[-1], how.group):
        part = slice(start, start + how.group)
        c = _fused(
            a[..., part], b[..., part, :], c, exponents_a[..., part], exponents_b[..., part, :], how
        )  # fmt: skip
    return c


def _fused(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, ea: np.ndarray, eb: np.ndarray, how: Accumulation
) -> np.ndarray:
    wide = c.astype(np.float64)
    largest = _exponents(wide, how.result)
    if not (np.isfinite(a).all() and np.isfinite(b).all() and np.isfinite(wide).all()):
        plain = a @ b + wide
        special = ~np.isfinite(plain)
        a, b, wide = (np.where(np.isfinite(v), v, 0.0) for v in (a, b, wide))
        ea, eb = _exponents(a, how.operand), _exponents(b, how.other)
        return np.where(special, plain.astype(c.dtype), _fused(a, b, wide.astype(c.dtype), ea, eb, how))
    terms = a.shape[-1]
    if c.size * terms <= _AT_ONCE:
        sums = ea[..., :, :, None] + eb[..., None, :, :]
        largest = np.maximum(np.maximum(largest, sums.max(axis=-2)), _OF_ZERO)
        scale = _power(how.fraction - largest)
        total = np.trunc(a[..., :, :, None] * b[..., None, :, :] * scale[..., :, None, :]).sum(axis=-2)
        total += np.trunc(wide * scale)
    else:
        for k in range(terms):
            np.maximum(largest, ea[..., :, k, None] + eb[..., None, k, :], out=largest)
        np.maximum(largest, _OF_ZERO, out=largest)
        scale = _power(how.fraction - largest)
        total = np.trunc(wide * scale)
        term = np.empty_like(total)
        for k in range(terms):
            np.multiply(a[..., :, k, None], b[..., None, k, :], out=term)
            term *= scale
            np.trunc(term, out=term)
            total += term
    return _rounded(total * _power(largest - how.fraction), how)


def _rounded(exact: np.ndarray, how: Accumulation) -> np.ndarray:
    exact = exact + 0.0
    if how.result == "f16":
        return exact.astype(np.float16)
    truncated = (exact.view(np.uint64) & _KEPT[how.narrow]).view(np.float64).astype(np.float32)
    size = np.abs(exact)
    small = (size < _NORMAL) & (size > 0)
    if small.any():
        step = 2.0**-136 if how.narrow else 2.0**-149
        truncated = np.where(small, (np.trunc(exact / step) * step).astype(np.float32), truncated)
    return truncated


def multiply_accumulate64(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """A B + C of float64: a fused multiply-add for every k, in order."""
    for k in range(a.shape[-1]):
        left, right = np.broadcast_arrays(a[..., :, k, None], b[..., None, k, :])
        c = fma64(left, right, c)
    return c


def multiply_accumulate_integers(a: np.ndarray, b: np.ndarray, c: np.ndarray, saturate: bool) -> np.ndarray:
    """A B + C of integers, exact, as int32; beyond its range clamped with `saturate`, else wrapped."""
    exact = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64) + c.astype(np.int64)
    limits = np.iinfo(np.int32)
    wide = np.clip(exact, limits.min, limits.max) if saturate else exact
    return wide.astype(np.int32)


ACCUMULATORS: dict[str, type[np.float16 | np.float32 | np.int32 | np.float64]] = {
    "f16": np.float16,
    "f32": np.float32,
    "s32": np.int32,
    "f64": np.float64,
}


def decode(data: np.ndarray, type: str) -> np.ndarray:
    """Bytes (last axis) as values to multiply, low bits first: float32, float64 for f64 and integers (exact there)."""
    data = np.ascontiguousarray(data)
    if type == "f16":
        return data.view(np.float16).astype(np.float32)
    if type == "bf16":
        return sf.bf16_to(data.view(np.uint16))
    if type == "tf32":
        return (data.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    if type == "e4m3":
        return sf.e4m3_to(data)
    if type == "e5m2":
        return sf.e5m2_to(data)
    if type == "f64":
        return data.view(np.float64)
    if type == "b1":
        return np.unpackbits(data, axis=-1, bitorder="little").astype(np.float64)
    if type in ("s4", "u4"):
        both = np.stack([data & 15, data >> 4], axis=-1).reshape(*data.shape[:-1], -1)
        values = both.astype(np.float64)
        return values - 16 * (values > 7) if type == "s4" else values
    return data.view(np.int8 if type == "s8" else np.uint8).astype(np.float64)


def load_matrix(x: Machine, site: int, count: int, transposed: bool, address: Lanes, mask: Mask) -> list[np.ndarray]:
    """`ldmatrix`: lane 8j + i gives the address of row i of matrix j; each lane gets two neighbours of every matrix."""
    mask = x.mask(mask)
    giving = x.lane < 8 * count
    offset, got = locate(x, site, "shared", address, giving if mask is None else giving & mask, 16)
    if x.check:
        lanes = np.nonzero(got)[0] if got is not None else x.index
        if lanes.size:
            check_read(x, site, "shared", offset, lanes, 16)
            measure(x, site, "shared", offset, lanes, 16)
    words = x.shared.views[4][(offset // 4)[:, None] + np.arange(4)].reshape(-1, 32, 4)
    found: list[np.ndarray] = []
    for j in range(count):
        matrix = words[:, 8 * j : 8 * j + 8]
        if transposed:
            halves = np.ascontiguousarray(matrix).view(np.uint16)
            matrix = np.ascontiguousarray(halves.swapaxes(1, 2)).view(np.uint32)
        found.append(matrix.reshape(-1))
    return found


def store_matrix(x: Machine, site: int, transposed: bool, address: Lanes, values: list[Lanes], mask: Mask) -> None:
    """`stmatrix`: the inverse of `load_matrix`."""
    mask = x.mask(mask)
    count = len(values)
    giving = x.lane < 8 * count
    offset, got = locate(x, site, "shared", address, giving if mask is None else giving & mask, 16)
    rows = np.zeros((x.count // WARP_SIZE, WARP_SIZE, 4), np.uint32)
    for j, value in enumerate(values):
        matrix = np.ascontiguousarray(x.spread(value)).reshape(-1, 8, 4)
        if transposed:
            halves = matrix.view(np.uint16)
            matrix = np.ascontiguousarray(halves.swapaxes(1, 2)).view(np.uint32)
        rows[:, 8 * j : 8 * j + 8] = matrix
    lanes = x.index if got is None else np.nonzero(got)[0]
    if not lanes.size:
        return
    index = (offset[lanes] // 4)[:, None] + np.arange(4)
    new = rows.reshape(-1, 4)[lanes]
    memory = x.shared.views[4]
    same = (memory[index] == new).all(1)
    memory[index] = new
    if x.check:
        measure(x, site, "shared", offset, lanes, 16)
        check_write(x, site, "shared", offset[lanes], lanes, 16, same, (memory[index] != new).any(1))


def _bytes_of(x: Machine, registers: Sequence[Lanes]) -> np.ndarray:
    """Registers as bytes: [warps, group, position, register, byte]."""
    stacked = np.stack([x.spread(r) for r in registers], axis=-1)
    return stacked.view(np.uint8).reshape(-1, 8, 4, len(registers), stacked.dtype.itemsize)


def fragment_a(x: Machine, registers: Sequence[Lanes], type: str) -> np.ndarray:
    """A as [warps, rows, k] from its registers (rows 16; 8 for f64)."""
    data = _bytes_of(x, registers)
    warps, count = data.shape[0], len(registers)
    if count == 1:
        return decode(data, type).reshape(warps, 8, -1)
    halves = data.reshape(warps, 8, 4, count // 2, 2, -1)
    rows = halves.transpose(0, 4, 1, 3, 2, 5)
    return decode(rows, type).reshape(warps, 16, -1)


def fragment_b(x: Machine, registers: Sequence[Lanes], type: str) -> np.ndarray:
    """B as [warps, k, 8] from its registers."""
    data = _bytes_of(x, registers)
    columns = data.transpose(0, 1, 3, 2, 4)
    return decode(columns, type).reshape(data.shape[0], 8, -1).swapaxes(1, 2)


def accumulator(x: Machine, registers: Sequence[Lanes], type: str, rows: int) -> np.ndarray:
    """C as [warps, rows, 8]."""
    stacked = np.stack([x.spread(r) for r in registers], axis=-1)
    values = stacked.view(ACCUMULATORS[type])
    fragments = values.reshape(-1, 8, 4, rows // 8, 2)
    return fragments.transpose(0, 3, 1, 2, 4).reshape(-1, rows, 8)


def to_registers(d: np.ndarray, type: str) -> list[np.ndarray]:
    """D as registers, the inverse of `accumulator`."""
    rows = d.shape[1]
    fragments = d.reshape(-1, rows // 8, 8, 4, 2).transpose(0, 2, 3, 1, 4)
    lanes = fragments.reshape(-1, rows // 4)
    if type == "f16":
        packed = np.ascontiguousarray(bits16(lanes)).view(np.uint32)
        return [np.ascontiguousarray(packed[:, r]) for r in range(packed.shape[1])]
    if type == "f32":
        lanes = bits32(lanes)
    return [np.ascontiguousarray(lanes[:, r]).view(f"u{lanes.dtype.itemsize}") for r in range(lanes.shape[1])]


def multiply_add(
    x: Machine,
    types: tuple[str, str, str, str],
    saturate: bool,
    a: list[Lanes],
    b: list[Lanes],
    c: list[Lanes],
    differing: bool = False,
) -> list[np.ndarray]:
    """`mma.sync`: D = A B + C. For single bits the sum counts where both are set, or, of `differing`, where one of them is."""
    of_d, of_a, of_b, of_c = types
    left, right = fragment_a(x, a, of_a), fragment_b(x, b, of_b)
    addend = accumulator(x, c, of_c, left.shape[1])
    if differing:
        # a xor b is a + b - 2 a b
        counted = left.sum(-1)[..., :, None] + right.sum(-2)[..., None, :] + addend
        return to_registers(tensor_core.multiply_accumulate_integers(-2 * left, right, counted, saturate), of_d)
    if of_d == "s32":
        return to_registers(tensor_core.multiply_accumulate_integers(left, right, addend, saturate), of_d)
    if of_d == "f64":
        return to_registers(tensor_core.multiply_accumulate64(left, right, addend), of_d)
    addend = addend.astype(ACCUMULATORS[of_d])
    how = tensor_core.Accumulation(of_a, of_b, of_d)
    return to_registers(tensor_core.multiply_accumulate(left, right, addend, how), of_d)

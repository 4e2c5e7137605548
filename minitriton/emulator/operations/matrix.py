"""Matrix fragments: `ldmatrix`, `stmatrix` and `mma.sync`.

Fragments are spread over the 32 lanes of a warp: lane `l` is in group `g = l // 4`, at position `t = l % 4`. With `per` elements in
a 32-bit register, register `r` of A holds row `g + 8 * (r % 2)`, columns `4 * per * (r // 2) + per * t` onward.

    m16n8k16, f16: lane 5 (g = 1, t = 1), register 0 of A   →   A[1, 2], A[1, 3]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minitriton.emulator.arithmetic import small_floats as sf
from minitriton.emulator.arithmetic.floats import bits16, bits32
from minitriton.emulator.lanes import Lanes
from minitriton.emulator.machine import Machine
from minitriton.emulator.operations import tensor_core
from minitriton.emulator.operations.memory import check_read, check_write, locate, measure
from minitriton.emulator.threads import Mask
from minitriton.target.architectures import WARP_SIZE

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

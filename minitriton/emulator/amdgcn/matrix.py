"""Matrix cores: `v_mfma_*`, and `v_mfma_*_f8f6f4` with scales (ISA, section 7 "Matrix Arithmetic Instructions"). EXEC does not count: all lanes take part.

v_mfma_f32_32x32x8_f16: D[32, 32] = A[32, 8] @ B[8, 32] + C. With the 64 lanes and `n = 8 * 32 / 64` elements a lane:

    A: row lane % 32, columns lane / 32 * n + 0..n-1          B: column lane % 32, rows likewise
    C, D: column lane % 32; register r has row 8 * (r / 4) + 4 * (lane / 32) + r % 4

With several blocks (`_4b`) each group of lanes has a matrix of its own; `cbsz:n abid:i` has each 2^n blocks multiply with the A of the i-th of them. Multiplications are exact, the sum is in float64 and rounded once; hardware
rounds in steps that the ISA leaves open.

v_mfma_scale_f32_16x16x128_f8f6f4 D, A, B, C, scales of A, scales of B cbsz:4 blgp:0         v_mfma_f32_16x16x128_f8f6f4 D, A, B, C

A and B are floats of 8 or 4 bits, `cbsz` and `blgp` say which. 32 neighbours along k of a row share a scale 2^(s - 127); 255 is NaN. With `n` rows and
`g = 64 / n` groups of lanes

    A of 8 bits: row lane % n; element e has k = e / 16 * 16 g + lane / n * 16 + e % 16      of 4 bits: k = lane / n * 32 + e
    scales: row lane % n, k = lane / n * 32 and the 31 after it; a byte of the word, which `op_sel` (lower bit) and `op_sel_hi` choose

B likewise by columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from minitriton.emulator.amdgcn.program import LANES, Constant, Instruction, Isa, Register, registers_of
from minitriton.emulator.amdgcn.values import DTYPES, U32, Step, constant, join, register_of, words
from minitriton.emulator.amdgcn.waves import Waves
from minitriton.emulator.ptx.program import EmulationError
from minitriton.interpreter.numbers.formats import decode_bf16, decode_e8m0, decode_small
from minitriton.target.amd import FNUZ, OCP

_NAME = re.compile(
    r"v_mfma_(f32|f64|i32)_(\d+)x(\d+)x(\d+)_?(?:(\d+)b_)?(f64|f32|xf32|f16|bf16|i8|fp8|bf8)(?:_(fp8|bf8|1k))?$"
)
_BYTES = {"f64": 8, "f32": 4, "xf32": 4, "f16": 2, "bf16": 2, "i8": 1, "fp8": 1, "bf8": 1}
_SCALED_NAME = re.compile(r"v_mfma_(scale_)?f32_(\d+)x(\d+)x(\d+)_f8f6f4$")
_FORMATS = {0: ("f8E4M3FN", 8), 1: ("f8E5M2", 8), 4: ("e2m1", 4)}
"""By `cbsz` and `blgp`: the format and its bits. 2 and 3, of 6 bits, are not done."""
_ELEMENTS = 32
_NAN = 0xFF
_MODIFIERS_OF_SCALED = frozenset({"op_sel", "op_sel_hi", "cbsz", "blgp"})
_GROUP = 4
"""Consecutive rows that a lane has in consecutive registers."""


@dataclass(frozen=True)
class Shape:
    """`blocks` matrices of M x N, K long."""

    m: int
    n: int
    k: int
    blocks: int

    @property
    def depth(self) -> int:
        """Elements of A and of B in a lane."""
        return self.m * self.k * self.blocks // LANES

    @property
    def results(self) -> int:
        """Elements of D in a lane."""
        return self.m * self.n * self.blocks // LANES


def operand_at(shape: Shape) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By lane and element of A (or B): block, row (column), and position along K."""
    lane = np.arange(LANES)[:, np.newaxis]
    group, element = lane // shape.m, np.arange(shape.depth)[np.newaxis]
    row = lane % shape.m + 0 * element
    return group % shape.blocks + 0 * element, row, group // shape.blocks * shape.depth + element


def result_at(shape: Shape, *, is_double: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By register and lane of D: block, row and column."""
    register, lane = np.arange(shape.results)[:, np.newaxis], np.arange(LANES)[np.newaxis]
    column, group = lane % shape.n, lane // shape.n
    groups = LANES // shape.n
    if is_double:
        return 0 * (register + lane), register * groups + group, column + 0 * register
    if groups * _GROUP <= shape.m:
        within = shape.m * shape.n // LANES
        block, register = register // within, register % within
        return (
            block + 0 * lane,
            register // _GROUP * _GROUP * groups + group * _GROUP + register % _GROUP,
            column + 0 * register,
        )
    return group + 0 * register, register + 0 * lane, column + 0 * register


def decoder(kind: str, target: str) -> Callable[[np.ndarray], np.ndarray]:
    """From patterns [..., elements] to float64 or int64."""
    if kind in FNUZ:
        name = (FNUZ if target.startswith("gfx94") else OCP)[kind]
        return lambda a: decode_small(name, a).astype(np.float64)
    if kind == "bf16":
        return lambda a: decode_bf16(a).astype(np.float64)
    if kind == "i8":
        return lambda a: a.view(np.int8).astype(np.int64)
    if kind == "xf32":
        return lambda a: (a & U32(0xFFFFE000)).view(np.float32).astype(np.float64)
    return lambda a: a.view(f"f{_BYTES[kind]}").astype(np.float64)


def rule_of(i: Instruction, isa: Isa) -> Step | None:
    """What a matrix instruction does; None for others."""
    if not i.name.startswith("v_mfma"):
        return None
    match = _NAME.match(i.name)
    if match is None:
        return _scaled(i)
    if i.modifiers.keys() - {"cbsz", "abid"}:
        raise _unknown(i)
    into, m, n, k = match[1], int(match[2]), int(match[3]), int(match[4])
    kind = match[6]
    kinds = (kind, match[7] if match[7] in ("fp8", "bf8") else kind)
    blocks = int(match[5] or 0) or _blocks(i, m, k, kind, into)
    shape = Shape(m, n, k, blocks)
    if shape.depth * LANES != m * k * blocks or (into == "f64" and (m, n, blocks) != (16, 16, 1)):
        raise i.error(f"the emulator does not know {i.name}")
    read = [_reader(i, 1 + which, shape, kinds[which], decoder(kinds[which], isa.target)) for which in range(2)]
    shared, chosen = 1 << int(i.modifiers.get("cbsz", 0)), int(i.modifiers.get("abid", 0))
    if shared > blocks or chosen >= shared:
        raise i.error(f"{i.name} has {blocks} blocks")
    source = np.arange(blocks) // shared * shared + chosen

    def multiply(x: Waves) -> np.ndarray:
        a, b = read[0](x), read[1](x)
        a = a if shared == 1 else a[:, source]
        return np.matmul(a, b.swapaxes(-1, -2))

    return _added(i, shape, into, multiply)


def _scaled(i: Instruction) -> Step:
    """With scales, or of the types of such instructions."""
    match = _SCALED_NAME.match(i.name)
    if match is None or i.modifiers.keys() - _MODIFIERS_OF_SCALED:
        raise _unknown(i)
    m, n, k = int(match[2]), int(match[3]), int(match[4])
    if m != n or (m, k) not in ((16, 128), (32, 64)):
        raise _unknown(i)
    shape = Shape(m, n, k, 1)
    read = [
        _narrow_reader(i, 1 + side, shape, i.modifiers.get(name, "0")) for side, name in enumerate(("cbsz", "blgp"))
    ]
    factors = [_scales(i, 4 + side, side, shape) if match[1] else None for side in range(2)]

    def multiply(x: Waves) -> np.ndarray:
        left, right = (
            matrix(x) if factor is None else matrix(x) * np.repeat(factor(x), _ELEMENTS, axis=2)
            for matrix, factor in zip(read, factors, strict=True)
        )
        return np.matmul(left, right.swapaxes(-1, -2))[:, np.newaxis]

    return _added(i, shape, "f32", multiply)


def _unknown(i: Instruction) -> EmulationError:
    return i.error(f"the emulator does not know this form of {i.name}")


def _added(i: Instruction, shape: Shape, into: str, multiply: Callable[[Waves], np.ndarray]) -> Step:
    """`multiply`, [wave, block, row, column], plus C to D."""
    size = 2 if into == "f64" else 1
    result = register_of(i, 0, shape.results * size)
    block, row, column = result_at(shape, is_double=into == "f64")
    accumulator = i.operands[3].base
    start = None if isinstance(accumulator, Constant) else register_of(i, 3, shape.results * size).index
    value = constant(accumulator.value, into) if isinstance(accumulator, Constant) else None
    dtype, wide = DTYPES[into], np.int64 if into == "i32" else np.float64

    def act(x: Waves) -> None:
        found = multiply(x)[:, block, row, column].swapaxes(0, 1)
        if start is None:
            c = np.broadcast_to(np.asarray(value), found.shape)
        elif size == 2:
            c = join(x.v[start : start + 2 * shape.results : 2], x.v[start + 1 : start + 2 * shape.results : 2]).view(
                dtype
            )
        else:
            c = x.v[start : start + shape.results].view(dtype)
        total = (found + c.astype(wide)).astype(dtype)
        parts = words(total, into)
        where = slice(None) if x.active is None else x.active
        for word, part in enumerate(parts):
            x.v[result.index + word : result.index + shape.results * size : size, where] = part[:, where]

    return Step(i, act, registers_of(i.operands[1:]), frozenset(result.all))


def _blocks(i: Instruction, m: int, k: int, kind: str, into: str) -> int:
    """Of names without it (`v_mfma_f32_4x4x4f16`): what fills the operand's registers."""
    held = register_of(i, 1).count * 4 // _BYTES[kind]
    return max(1, held * LANES // (m * k))


def _reader(
    i: Instruction, number: int, shape: Shape, kind: str, decode: Callable[[np.ndarray], np.ndarray]
) -> Callable[[Waves], np.ndarray]:
    """An operand as [wave, block, row, k]."""
    held = register_of(i, number, max(1, shape.depth * _BYTES[kind] // 4))
    first, count = held.index, held.count
    block, row, position = operand_at(shape)
    extent = (shape.blocks, shape.m, shape.k)
    into = np.int64 if kind == "i8" else np.float64

    def read(x: Waves) -> np.ndarray:
        packed = np.ascontiguousarray(np.moveaxis(x.v[first : first + count], 0, 2))
        elements = decode(packed.view(f"u{_BYTES[kind]}"))[:, :, : shape.depth]
        matrix = np.zeros((x.waves, *extent), into)
        matrix[:, block, row, position] = elements
        return matrix

    return read


def _narrow_reader(i: Instruction, number: int, shape: Shape, chosen: str) -> Callable[[Waves], np.ndarray]:
    """An operand of floats of 8 or 4 bits as [wave, row, k]."""
    if int(chosen) not in _FORMATS:
        raise i.error("the emulator does not do floats of 6 bits")
    name, bits = _FORMATS[int(chosen)]
    held = i.operands[number].base
    count = _ELEMENTS * bits // 32
    if not isinstance(held, Register) or held.count not in (count, 8):
        raise i.error(f"{i.name} takes {count} registers here")
    first = held.index
    lane, element = np.arange(LANES)[:, np.newaxis], np.arange(_ELEMENTS)[np.newaxis]
    group, row = lane // shape.m, lane % shape.m + 0 * element
    if bits == 8:
        position = element // 16 * 16 * (LANES // shape.m) + group * 16 + element % 16
    else:
        position = group * _ELEMENTS + element

    def read(x: Waves) -> np.ndarray:
        packed = np.ascontiguousarray(np.moveaxis(x.v[first : first + count], 0, 2)).view(np.uint8)
        if bits == 4:
            packed = np.stack([packed & 15, packed >> 4], axis=3).reshape(x.waves, LANES, _ELEMENTS)
        matrix = np.zeros((x.waves, shape.m, shape.k))
        matrix[:, row, position] = decode_small(name, packed)
        return matrix

    return read


def _scales(i: Instruction, number: int, side: int, shape: Shape) -> Callable[[Waves], np.ndarray]:
    """The scales of an operand as [wave, row, k / 32]."""
    chosen = sum(
        int(i.modifiers.get(name, "[0,0,0]").strip("[]").split(",")[side]) << bit
        for bit, name in enumerate(("op_sel", "op_sel_hi"))
    )
    base = i.operands[number].base
    first = None if isinstance(base, Constant) else register_of(i, number, 1)
    lane = np.arange(LANES)

    def read(x: Waves) -> np.ndarray:
        if first is None:
            assert isinstance(base, Constant)
            word = np.broadcast_to(np.asarray(constant(base.value, "u32")), (x.waves, LANES))
        else:
            word = (
                np.broadcast_to(x.s[first.scalar][:, np.newaxis], (x.waves, LANES))
                if first.is_scalar
                else x.v[first.index]
            )
        byte = (word >> U32(8 * chosen)).astype(np.uint8)
        numbers = np.where(byte == _NAN, np.nan, decode_e8m0(byte).astype(np.float64))
        found = np.zeros((x.waves, shape.m, shape.k // _ELEMENTS))
        found[:, lane % shape.m, lane // shape.m] = numbers
        return found

    return read

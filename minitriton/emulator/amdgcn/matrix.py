"""Matrix cores: `v_mfma_*` (ISA, section 7 "Matrix Arithmetic Instructions"). EXEC does not count: all lanes take part.

v_mfma_f32_32x32x8_f16: D[32, 32] = A[32, 8] @ B[8, 32] + C. With the 64 lanes and `n = 8 * 32 / 64` elements a lane:

    A: row lane % 32, columns lane / 32 * n + 0..n-1          B: column lane % 32, rows likewise
    C, D: column lane % 32; register r has row 8 * (r / 4) + 4 * (lane / 32) + r % 4

With several blocks (`_4b`) each group of lanes has a matrix of its own; `cbsz:n abid:i` has each 2^n blocks multiply with the A of the i-th of them. Multiplications are exact, the sum is in float64 and rounded once; hardware
rounds in steps that the ISA leaves open.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from minitriton.emulator.amdgcn.program import LANES, Constant, Instruction, Isa, registers_of
from minitriton.emulator.amdgcn.values import DTYPES, U32, Step, constant, join, register_of, words
from minitriton.emulator.amdgcn.vector import OCP_FORMATS, SMALL_FORMATS
from minitriton.emulator.amdgcn.waves import Waves
from minitriton.interpreter.numbers.formats import decode_bf16, decode_small

_NAME = re.compile(
    r"v_mfma_(f32|f64|i32)_(\d+)x(\d+)x(\d+)_?(?:(\d+)b_)?(f64|f32|xf32|f16|bf16|i8|fp8|bf8)(?:_(fp8|bf8|1k))?$"
)
_BYTES = {"f64": 8, "f32": 4, "xf32": 4, "f16": 2, "bf16": 2, "i8": 1, "fp8": 1, "bf8": 1}
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
    if kind in SMALL_FORMATS:
        name = (SMALL_FORMATS if target.startswith("gfx94") else OCP_FORMATS)[kind]
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
    if match is None or i.modifiers.keys() - {"cbsz", "abid"}:
        raise i.error(f"the emulator does not know this form of {i.name}")
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
    size = 2 if into == "f64" else 1
    result = register_of(i, 0, shape.results * size)
    block, row, column = result_at(shape, is_double=into == "f64")
    accumulator = i.operands[3].base
    start = None if isinstance(accumulator, Constant) else register_of(i, 3, shape.results * size).index
    value = constant(accumulator.value, into) if isinstance(accumulator, Constant) else None
    dtype, wide = DTYPES[into], np.int64 if into == "i32" else np.float64

    def act(x: Waves) -> None:
        a, b = read[0](x), read[1](x)
        a = a if shared == 1 else a[:, source]
        found = np.matmul(a, b.swapaxes(-1, -2))[:, block, row, column].swapaxes(0, 1)
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

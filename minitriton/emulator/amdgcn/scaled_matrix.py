"""Matrix cores with scales: `v_mfma_scale_f32_*_f8f6f4`, and `v_mfma_f32_*_f8f6f4` without (CDNA4 ISA, "Matrix Arithmetic Instructions").

v_mfma_scale_f32_16x16x128_f8f6f4 D, A, B, C, scales of A, scales of B cbsz:4 blgp:0

A and B are floats of 8 or 4 bits, `cbsz` and `blgp` say which. 32 neighbours along k of a row share a scale 2^(s - 127); 255 is NaN. With `n` rows and
`g = 64 / n` groups of lanes

    A of 8 bits: row lane % n; element e has k = e / 16 * 16 g + lane / n * 16 + e % 16      of 4 bits: k = lane / n * 32 + e
    scales: row lane % n, k = lane / n * 32 and the 31 after it; a byte of the word, which `op_sel` (lower bit) and `op_sel_hi` choose

B likewise by columns. C and D are as without scales.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from minitriton.emulator.amdgcn.matrix import Shape, result_at
from minitriton.emulator.amdgcn.program import LANES, Constant, Instruction, Register, registers_of
from minitriton.emulator.amdgcn.values import U32, Step, constant, register_of
from minitriton.emulator.amdgcn.waves import Waves
from minitriton.interpreter.numbers.formats import decode_e8m0, decode_small

_NAME = re.compile(r"v_mfma_(scale_)?f32_(\d+)x(\d+)x(\d+)_f8f6f4$")
_FORMATS = {0: ("f8E4M3FN", 8), 1: ("f8E5M2", 8), 4: ("e2m1", 4)}
"""By `cbsz` and `blgp`: the format and its bits. 2 and 3, of 6 bits, are not done."""
_ELEMENTS = 32
_NAN = 0xFF
_MODIFIERS = frozenset({"op_sel", "op_sel_hi", "cbsz", "blgp"})


def rule_of(i: Instruction) -> Step | None:
    """What such an instruction does; None for others."""
    match = _NAME.match(i.name)
    if match is None:
        return None
    m, n, k = int(match[2]), int(match[3]), int(match[4])
    if m != n or (m, k) not in ((16, 128), (32, 64)) or i.modifiers.keys() - _MODIFIERS:
        raise i.error(f"the emulator does not know this form of {i.name}")
    shape = Shape(m, n, k, 1)
    read = [_reader(i, 1 + side, shape, i.modifiers.get(name, "0")) for side, name in enumerate(("cbsz", "blgp"))]
    factors = [_scales(i, 4 + side, side, shape) if match[1] else None for side in range(2)]
    result = register_of(i, 0, shape.results)
    _, row, column = result_at(shape, is_double=False)
    accumulator = i.operands[3].base
    start = None if isinstance(accumulator, Constant) else register_of(i, 3, shape.results).index
    value = constant(accumulator.value, "f32") if isinstance(accumulator, Constant) else None

    def act(x: Waves) -> None:
        with np.errstate(all="ignore"):
            left, right = (
                matrix(x) if factor is None else matrix(x) * np.repeat(factor(x), _ELEMENTS, axis=2)
                for matrix, factor in zip(read, factors, strict=True)
            )
            found = np.matmul(left, right.swapaxes(-1, -2))[:, row, column].swapaxes(0, 1)
            c = value if start is None else x.v[start : start + shape.results].view(np.float32)
            total = (found + np.asarray(c).astype(np.float64)).astype(np.float32).view(U32)
        where = slice(None) if x.active is None else x.active
        x.v[result.index : result.index + shape.results, where] = total[:, where]

    return Step(i, act, registers_of(i.operands[1:]), frozenset(result.all))


def _reader(i: Instruction, number: int, shape: Shape, chosen: str) -> Callable[[Waves], np.ndarray]:
    """An operand as [wave, row, k]."""
    if int(chosen) not in _FORMATS:
        raise i.error("the emulator does not do floats of 6 bits")
    name, bits = _FORMATS[int(chosen)]
    held = i.operands[number].base
    words = _ELEMENTS * bits // 32
    if not isinstance(held, Register) or held.count not in (words, 8):
        raise i.error(f"{i.name} takes {words} registers here")
    first = held.index
    lane, element = np.arange(LANES)[:, np.newaxis], np.arange(_ELEMENTS)[np.newaxis]
    group, row = lane // shape.m, lane % shape.m + 0 * element
    if bits == 8:
        position = element // 16 * 16 * (LANES // shape.m) + group * 16 + element % 16
    else:
        position = group * _ELEMENTS + element

    def read(x: Waves) -> np.ndarray:
        packed = np.ascontiguousarray(np.moveaxis(x.v[first : first + words], 0, 2)).view(np.uint8)
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

"""Matrix instructions of RDNA: `v_wmma_*` (RDNA3 ISA, section 7.9, and RDNA4 ISA, section 7.12 "Wave Matrix Multiply Accumulate"), waves of 32 lanes.

v_wmma_f32_16x16x16_f16: D[16, 16] = A[16, 16] @ B[16, 16] + C

              RDNA3                                                        RDNA4
    A         row lane % 16, columns 0 to 15; both halves hold the same    row lane % 16, columns lane / 16 * n + 0..n-1 of n a lane
    B         column lane % 16, rows likewise                              likewise
    C, D      column lane % 16; register r has row 2 r + lane / 16         column lane % 16; register r has row 8 (lane / 16) + r

Results of 16 bits: RDNA3 has one in a register, in the half that `op_sel:[0,0,1]` says, and keeps the other; RDNA4 has two in one. `neg_lo` of integers
says that A and B have signs. Multiplications are exact, the sum is in float64 or int64 and rounded once; hardware rounds in steps that the ISA leaves open.
"""

from __future__ import annotations

import re

import numpy as np

from minitriton.emulator.amdgcn.matrix import decoder
from minitriton.emulator.amdgcn.program import Constant, Instruction, Isa, registers_of
from minitriton.emulator.amdgcn.values import DTYPES, U16, U32, Array, Fetch, Step, constant, register_of
from minitriton.emulator.amdgcn.waves import Waves
from minitriton.emulator.arithmetic import small_floats as small
from minitriton.interpreter.numbers.formats import decode_bf16

_NAME = re.compile(r"v_wmma_(f32|f16|bf16|i32)_16x16x(16|32)_(f16|bf16|iu8|iu4|fp8|bf8)(?:_(fp8|bf8))?$")
_BITS = {"f16": 16, "bf16": 16, "iu8": 8, "iu4": 4, "fp8": 8, "bf8": 8}
_SIDE, _LANES = 16, 32
_ALLOWED = frozenset({"neg_lo", "clamp", "op_sel"})


def rule_of(i: Instruction, isa: Isa) -> Step | None:
    """What a matrix instruction does; None for others."""
    match = _NAME.match(i.name)
    if match is None:
        return None
    if isa.lanes != _LANES or i.modifiers.keys() - _ALLOWED:
        raise i.error(f"the emulator does not know this form of {i.name}")
    is_old, into, depth, kind = not isa.has_split_waits, match[1], int(match[2]), match[3]
    kinds = kind, match[4] or kind
    negated = _flags(i, "neg_lo")
    if any(negated) and (kind[0] != "i" or negated[2]):
        raise i.error(f"the emulator does not do neg_lo of {i.name}")
    read = [_reader(i, 1 + n, depth, kinds[n], isa, is_old=is_old, signed=bool(negated[n])) for n in range(2)]
    lane, register = np.arange(_LANES)[np.newaxis], np.arange(8)[:, np.newaxis]
    row = 2 * register + lane // _SIDE if is_old else 8 * (lane // _SIDE) + register
    column = lane % _SIDE + 0 * register
    is_half = into in ("f16", "bf16")
    held = 8 if is_old or not is_half else 4
    result = register_of(i, 0, held)
    high = _flags(i, "op_sel")[2]
    fetch = _accumulator(i, held, into, is_old=is_old, high=high)
    clamps = "clamp" in i.modifiers

    def act(x: Waves) -> None:
        found = np.matmul(read[0](x), read[1](x).swapaxes(-1, -2))[:, row, column].swapaxes(0, 1)
        total = found + fetch(x)
        if into == "i32" and clamps:
            total = np.clip(total, -(1 << 31), (1 << 31) - 1)
        words = _as_words(total, into)
        if is_half and is_old:
            before = x.v[result.index : result.index + held]
            words = before & U32(0xFFFF) | words << U32(16) if high else before & U32(0xFFFF0000) | words
        elif is_half:
            words = words[::2] | words[1::2] << U32(16)
        where = slice(None) if x.active is None else x.active
        x.v[result.index : result.index + held, where] = words[:, where]

    reads = registers_of(i.operands[1:])
    return Step(i, act, reads | frozenset(result.all) if is_half and is_old else reads, frozenset(result.all))


def _flags(i: Instruction, name: str) -> list[int]:
    return [int(n) for n in i.modifiers.get(name, "[0,0,0]").strip("[]").split(",")]


def _as_words(total: Array, into: str) -> Array:
    if into == "i32":
        return total.astype(np.int64).astype(U32)
    single = total.astype(np.float32)
    if into == "f32":
        return single.view(U32)
    return (total.astype(np.float16).view(U16) if into == "f16" else small.bf16_from(single)).astype(U32)


def _accumulator(i: Instruction, held: int, into: str, *, is_old: bool, high: int) -> Fetch:
    """C [register, wave, lane] as float64 or int64."""
    base = i.operands[3].base
    if isinstance(base, Constant):
        value = constant(base.value, into if into in DTYPES else "f32").astype(
            np.int64 if into == "i32" else np.float64
        )
        return lambda x: value
    first = register_of(i, 3, held).index

    def read(x: Waves) -> Array:
        words = x.v[first : first + held]
        if into in ("f32", "i32"):
            return words.view(DTYPES[into]).astype(np.int64 if into == "i32" else np.float64)
        halves = np.stack([words & U32(0xFFFF), words >> U32(16)], axis=1).astype(U16)
        picked = halves[:, high] if is_old else halves.reshape(2 * held, *words.shape[1:])
        return (picked.view(np.float16) if into == "f16" else decode_bf16(picked)).astype(np.float64)

    return read


def _reader(i: Instruction, number: int, depth: int, kind: str, isa: Isa, *, is_old: bool, signed: bool) -> Fetch:
    """An operand as [wave, row, k]. On RDNA3 the lanes of both halves must agree."""
    size = _BITS[kind]
    each = depth if is_old else depth // 2
    held = register_of(i, number, each * size // 32)
    decode = None if kind[0] == "i" else decoder(kind, isa.target)
    site = i.index

    def read(x: Waves) -> Array:
        packed = np.ascontiguousarray(np.moveaxis(x.v[held.index : held.index + held.count], 0, 2))
        if decode is not None:
            elements = decode(packed.view(f"u{size // 8}"))
        else:
            octets = packed.view(np.uint8)
            if size == 4:
                octets = np.stack([octets & 15, octets >> 4], axis=-1).reshape(*octets.shape[:2], -1)
            elements = octets.astype(np.int64)
            elements -= (elements >> (size - 1) << size) if signed else 0
        lower, upper = elements[:, :_SIDE], elements[:, _SIDE:]
        if not is_old:
            return np.concatenate([lower, upper], axis=2)
        differs = (packed[:, :_SIDE] != packed[:, _SIDE:]).any((1, 2))
        if x.active is not None:
            differs &= x.active
        if x.check and differs.any():
            text = f"operand {number} is not the same in lanes 0 to 15 and in lanes 16 to 31"
            x.find("unequal-copies", site, np.nonzero(differs)[0] * x.warp_size, text)
        return lower

    return read

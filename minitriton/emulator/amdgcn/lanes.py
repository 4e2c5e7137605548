"""Lanes that read each other: DPP, reads and writes of one lane, LDS permutations without memory; and parts of registers, SDWA (ISA, sections
6.5 "SDWA", 6.6 "Data Parallel Primitives", 11 "LDS", `DS_SWIZZLE_B32`, `DS_PERMUTE_B32`).

row_shr:1      →   lane 5 reads lane 4; lane 16, the first of a row, reads none
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from minitriton.emulator.amdgcn.program import EXEC, LANES, Instruction
from minitriton.emulator.amdgcn.values import U32, Fetch, typed
from minitriton.emulator.amdgcn.waves import Waves

ROW, BANK, HALF = 16, 4, 32
_LANE = np.arange(LANES)
Reads = np.ndarray
"""By lane the lane that it reads; -1 for none."""


def _row(target: Callable[[np.ndarray], np.ndarray]) -> Reads:
    """Within rows: `target` gives the column, any outside of the row for none."""
    column = target(_LANE % ROW)
    return np.where((column >= 0) & (column < ROW), _LANE // ROW * ROW + column, -1)


def _wave(move: int, *, wraps: bool) -> Reads:
    lane = _LANE + move
    return lane % LANES if wraps else np.where((lane >= 0) & (lane < LANES), lane, -1)


def control(i: Instruction) -> Reads | None:
    """Which lane each reads by the instruction's DPP modifier; None if it has none."""
    for name, text in i.modifiers.items():
        if name == "quad_perm":
            picks = np.array([int(n) for n in text.strip("[]").split(",")])
            return _LANE // BANK * BANK + picks[_LANE % BANK]
        n = int(text) if re.fullmatch(r"\d+", text) else 1
        found: dict[str, Callable[[], Reads]] = {
            "row_shl": lambda n=n: _row(lambda c: c + n),
            "row_shr": lambda n=n: _row(lambda c: c - n),
            "row_ror": lambda n=n: _row(lambda c: (c - n) % ROW),
            "row_mirror": lambda: _row(lambda c: ROW - 1 - c),
            "row_half_mirror": lambda: _row(lambda c: c ^ 7),
            "row_newbcast": lambda n=n: _row(lambda c: np.full_like(c, n)),
            "row_bcast": lambda n=n: np.where(n < _LANE, (_LANE // (n + 1)) * (n + 1) - 1, -1),
            "wave_shl": lambda: _wave(1, wraps=False),
            "wave_rol": lambda: _wave(1, wraps=True),
            "wave_shr": lambda: _wave(-1, wraps=False),
            "wave_ror": lambda: _wave(-1, wraps=True),
        }
        if name in found:
            return found[name]()
    return None


class Crossing:
    """DPP of an instruction: how its first operand is read, and which lanes keep their result."""

    def __init__(self, i: Instruction) -> None:
        reads = control(i)
        if reads is None:
            raise i.error(f"{i.name} states no DPP control that the emulator knows")
        self.reads = np.maximum(reads, 0)
        self.there = reads >= 0
        self.reads_zero = "bound_ctrl" in i.modifiers
        rows, banks = (int(i.modifiers.get(name, "0xf"), 0) for name in ("row_mask", "bank_mask"))
        self.chosen = ((rows >> _LANE // ROW) & 1 == 1) & ((banks >> _LANE % ROW // BANK) & 1 == 1)
        self.writes_all = bool(self.chosen.all())

    def valid(self, x: Waves) -> np.ndarray:
        """Lanes that read one that EXEC has."""
        lanes = x.lanes
        return self.there if lanes is None else self.there & lanes[:, self.reads]

    def source(self, fetch: Fetch) -> Fetch:
        """The operand: 0 from no lane."""

        def read(x: Waves) -> np.ndarray:
            value = np.broadcast_to(fetch(x), (x.waves, LANES))
            return np.where(self.valid(x), value[:, self.reads], value.dtype.type(0))

        return read

    def write(self, x: Waves, register: int, value: np.ndarray) -> None:
        """The result, where the masks and, without `bound_ctrl`, the operand allow it."""
        kept = self.chosen if self.reads_zero else self.chosen & self.valid(x)
        x.set_vector(register, np.where(kept, value, x.v[register]))


def part(i: Instruction, which: str, fetch: Fetch, type: str, *, extends: bool) -> Fetch:
    """The part of 32 bits that SDWA selects: `BYTE_1`, `WORD_0`, `DWORD`."""
    if which == "DWORD":
        return typed(fetch, type)
    match = re.fullmatch(r"(BYTE|WORD)_(\d)", which)
    if match is None:
        raise i.error(f"{which} selects no part of a register")
    size = 8 if match[1] == "BYTE" else 16
    shift, kind = U32(int(match[2]) * size), np.dtype(f"{'i' if extends else 'u'}{size // 8}")

    def read(x: Waves) -> np.ndarray:
        small = (fetch(x) >> shift).astype(f"u{size // 8}").view(kind)
        return small.astype(np.int32).view(U32)

    return typed(read, type)


def put_part(i: Instruction, old: np.ndarray, value: np.ndarray) -> np.ndarray:
    """32 bits with `value` in the part that `dst_sel` selects, and in the rest what `dst_unused` says."""
    which, rest = i.modifiers.get("dst_sel", "DWORD"), i.modifiers.get("dst_unused", "UNUSED_PAD")
    if which == "DWORD":
        return value
    size = 8 if which[:4] == "BYTE" else 16
    shift = int(which[-1]) * size
    mask = U32(((1 << size) - 1) << shift)
    placed = (value << U32(shift)) & mask
    if rest == "UNUSED_PRESERVE":
        return placed | (old & ~mask)
    if rest == "UNUSED_SEXT":
        signed = (value << U32(32 - size)).view(np.int32) >> (32 - size)
        return (signed << shift).view(U32) | placed
    return placed


def swizzle(i: Instruction) -> Reads:
    """`ds_swizzle_b32`: a permutation within each four lanes, or of the numbers within each 32."""
    text = i.modifiers.get("offset", "0")
    lane, half = _LANE % HALF, _LANE // HALF * HALF
    if match := re.fullmatch(r"swizzle\((\w+), *(.*)\)", text):
        kind, rest = match[1], match[2].strip('"')
        if kind == "QUAD_PERM":
            picks = np.array([int(n) for n in rest.split(",")])
            return _LANE // BANK * BANK + picks[_LANE % BANK]
        if kind == "BITMASK_PERM":
            bits = [rest[4 - b] for b in range(5)]
            found = np.zeros_like(lane)
            for b, c in enumerate(bits):
                found |= (((lane >> b) & 1) ^ (c == "i") if c in "pi" else np.full_like(lane, int(c))) << b
            return half + found
        numbers = [int(n) for n in rest.split(",")]
        if kind == "SWAP":
            return half + (lane ^ numbers[0])
        if kind == "REVERSE":
            return half + (lane ^ (numbers[0] - 1))
        if kind == "BROADCAST":
            return half + lane // numbers[0] * numbers[0] + numbers[1]
        raise i.error(f"the emulator does not know swizzle({kind})")
    mode = int(text, 0)
    if mode & 0x8000:
        return _LANE // BANK * BANK + np.array([(mode >> 2 * n) & 3 for n in range(BANK)])[_LANE % BANK]
    kept, set_bits, flipped = (mode >> 5 * n & 31 for n in range(3))
    return half + (((lane & kept) | set_bits) ^ flipped)


def pulled(x: Waves, value: np.ndarray, reads: np.ndarray) -> np.ndarray:
    """What each lane reads of the lanes `reads` [wave, lane]; 0 of lanes that do not act."""
    lanes = x.lanes
    value = np.broadcast_to(value, (x.waves, LANES))
    reads = np.broadcast_to(reads, (x.waves, LANES))
    found = np.take_along_axis(value, reads, 1)
    return found if lanes is None else np.where(np.take_along_axis(lanes, reads, 1), found, U32(0))


def pushed(x: Waves, value: np.ndarray, to: np.ndarray) -> np.ndarray:
    """What each lane gets that lanes send to `to` [wave, lane]: of several the last, of none 0."""
    result = np.zeros((x.waves, LANES), U32)
    sends = np.ones((x.waves, LANES), np.bool_) if x.lanes is None else x.lanes
    wave, lane = np.nonzero(sends)
    result[wave, np.broadcast_to(to, sends.shape)[wave, lane]] = np.broadcast_to(value, sends.shape)[wave, lane]
    return result


def first_lane(x: Waves) -> np.ndarray:
    """By wave, its first lane that EXEC has; lane 0 if it has none."""
    lanes = x.flags(EXEC)
    return np.argmax(lanes, axis=1)

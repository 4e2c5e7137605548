"""Lanes that read each other: DPP, reads and writes of one lane, LDS permutations without memory; and parts of registers, SDWA (ISA, sections
6.5 "SDWA", 6.6 "Data Parallel Primitives", 11 "LDS", `DS_SWIZZLE_B32`, `DS_PERMUTE_B32`).

row_shr:1      →   lane 5 reads lane 4; lane 16, the first of a row, reads none
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from minitriton.emulator.amdgcn.program import EXEC, Instruction, Isa, registers_of
from minitriton.emulator.amdgcn.values import U32, Fetch, Step, raw, register_of, source, typed
from minitriton.emulator.amdgcn.waves import Waves

ROW, BANK, HALF = 16, 4, 32
Reads = np.ndarray
"""By lane the lane that it reads; -1 for none."""


def _row(lane: np.ndarray, target: Callable[[np.ndarray], np.ndarray]) -> Reads:
    """Within rows: `target` gives the column, any outside of the row for none."""
    column = target(lane % ROW)
    return np.where((column >= 0) & (column < ROW), lane // ROW * ROW + column, -1)


def _wave(lane: np.ndarray, move: int, *, wraps: bool) -> Reads:
    moved = lane + move
    return moved % len(lane) if wraps else np.where((moved >= 0) & (moved < len(lane)), moved, -1)


_OF_CDNA = ("row_newbcast", "row_bcast", "wave_shl", "wave_rol", "wave_shr", "wave_ror")
_OF_RDNA = ("row_share", "row_xmask", "dpp8")


def control(i: Instruction, isa: Isa) -> Reads | None:
    """Which lane each reads by the instruction's DPP modifier; None if it has none that the target knows (RDNA3 ISA, section 7.7 "DPP")."""
    lane = np.arange(isa.lanes)
    for name, text in i.modifiers.items():
        if name in (_OF_CDNA if isa.is_rdna else _OF_RDNA):
            return None
        if name == "dpp8":
            picks = np.array([int(n) for n in text.strip("[]").split(",")])
            return lane // 8 * 8 + picks[lane % 8]
        if name == "quad_perm":
            picks = np.array([int(n) for n in text.strip("[]").split(",")])
            return lane // BANK * BANK + picks[lane % BANK]
        n = int(text) if re.fullmatch(r"\d+", text) else 1
        found: dict[str, Callable[[], Reads]] = {
            "row_shl": lambda n=n: _row(lane, lambda c: c + n),
            "row_shr": lambda n=n: _row(lane, lambda c: c - n),
            "row_ror": lambda n=n: _row(lane, lambda c: (c - n) % ROW),
            "row_mirror": lambda: _row(lane, lambda c: ROW - 1 - c),
            "row_half_mirror": lambda: _row(lane, lambda c: c ^ 7),
            "row_newbcast": lambda n=n: _row(lane, lambda c: np.full_like(c, n)),
            "row_share": lambda n=n: _row(lane, lambda c: np.full_like(c, n)),
            "row_xmask": lambda n=n: _row(lane, lambda c: c ^ n),
            "row_bcast": lambda n=n: np.where(n < lane, (lane // (n + 1)) * (n + 1) - 1, -1),
            "wave_shl": lambda: _wave(lane, 1, wraps=False),
            "wave_rol": lambda: _wave(lane, 1, wraps=True),
            "wave_shr": lambda: _wave(lane, -1, wraps=False),
            "wave_ror": lambda: _wave(lane, -1, wraps=True),
        }
        if name in found:
            return found[name]()
    return None


class Crossing:
    """DPP of an instruction: how its first operand is read, and which lanes keep their result."""

    def __init__(self, i: Instruction, isa: Isa) -> None:
        reads = control(i, isa)
        if reads is None:
            raise i.error(f"{i.name} states no DPP control that the emulator knows")
        self.reads = np.maximum(reads, 0)
        self.there = reads >= 0
        self.reads_zero = "bound_ctrl" in i.modifiers
        self.reads_inactive = i.modifiers.get("fi") == "1"
        lane = np.arange(isa.lanes)
        rows, banks = (int(i.modifiers.get(name, "0xf"), 0) for name in ("row_mask", "bank_mask"))
        self.chosen = ((rows >> lane // ROW) & 1 == 1) & ((banks >> lane % ROW // BANK) & 1 == 1)
        self.writes_all = bool(self.chosen.all())

    def valid(self, x: Waves) -> np.ndarray:
        """Lanes that read one that EXEC has."""
        lanes = x.lanes
        return self.there if lanes is None or self.reads_inactive else self.there & lanes[:, self.reads]

    def source(self, fetch: Fetch) -> Fetch:
        """The operand: 0 from no lane."""

        def read(x: Waves) -> np.ndarray:
            value = np.broadcast_to(fetch(x), x.shape)
            return np.where(self.valid(x), value.take(self.reads, axis=1), value.dtype.type(0))

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


def swizzle(i: Instruction, isa: Isa) -> Reads:
    """`ds_swizzle_b32`: a permutation within each four lanes, or of the numbers within each 32."""
    text = i.modifiers.get("offset", "0")
    every = np.arange(isa.lanes)
    lane, half = every % HALF, every // HALF * HALF
    if match := re.fullmatch(r"swizzle\((\w+), *(.*)\)", text):
        kind, rest = match[1], match[2].strip('"')
        if kind == "QUAD_PERM":
            picks = np.array([int(n) for n in rest.split(",")])
            return every // BANK * BANK + picks[every % BANK]
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
        return every // BANK * BANK + np.array([(mode >> 2 * n) & 3 for n in range(BANK)])[every % BANK]
    kept, set_bits, flipped = (mode >> 5 * n & 31 for n in range(3))
    return half + (((lane & kept) | set_bits) ^ flipped)


def pulled(x: Waves, value: np.ndarray, reads: np.ndarray) -> np.ndarray:
    """What each lane reads of the lanes `reads` [wave, lane]; 0 of lanes that do not act."""
    lanes = x.lanes
    value, reads = np.broadcast_to(value, x.shape), np.broadcast_to(reads, x.shape)
    found = np.take_along_axis(value, reads, 1)
    return found if lanes is None else np.where(np.take_along_axis(lanes, reads, 1), found, U32(0))


def pushed(x: Waves, value: np.ndarray, to: np.ndarray) -> np.ndarray:
    """What each lane gets that lanes send to `to` [wave, lane]: of several the last, of none 0."""
    result = np.zeros(x.shape, U32)
    sends = np.ones(x.shape, np.bool_) if x.lanes is None else x.lanes
    wave, lane = np.nonzero(sends)
    result[wave, np.broadcast_to(to, sends.shape)[wave, lane]] = np.broadcast_to(value, sends.shape)[wave, lane]
    return result


def first_lane(x: Waves) -> np.ndarray:
    """By wave, its first lane that EXEC has; lane 0 if it has none."""
    lanes = x.flags(EXEC)
    return np.argmax(lanes, axis=1)


def permute_rows(i: Instruction, isa: Isa) -> Step:
    """`v_permlane16_b32` and `v_permlanex16_b32` (RDNA3 ISA, section 16.12): each lane of a row reads the lane of its row, or of the other row of its pair,
    whose number its four bits of two scalar words say. `op_sel:[1,0]` reads of lanes that EXEC lacks, too; else these leave what is there, or
    with `op_sel:[0,1]` give 0."""
    target = register_of(i, 0, 1).index
    fetch = raw(i, i.operands[1])
    low, high = (source(i, o, "u32", scalar=True) for o in i.operands[2:4])
    inactive, zero = (
        [*i.modifiers.get("op_sel", "[0,0]").strip("[]").split(","), "0", "0"][n] == "1" for n in range(2)
    )
    lane = np.arange(isa.lanes)
    row = lane // ROW * ROW ^ (ROW if "x16" in i.name else 0)
    shift, is_high = (lane % 8 * 4).astype(U32), lane % ROW >= 8

    def act(x: Waves) -> None:
        words = [np.broadcast_to(f(x), (x.waves,))[:, np.newaxis] for f in (low, high)]
        picks = (np.where(is_high, words[1], words[0]) >> shift & U32(ROW - 1)).astype(np.int64) + row
        found = np.take_along_axis(np.broadcast_to(fetch(x), x.shape), picks, 1)
        if x.lanes is not None and not inactive:
            otherwise = U32(0) if zero else x.v[target]
            found = np.where(np.take_along_axis(x.lanes, picks, 1), found, otherwise)
        x.set_vector(target, found)

    return Step(i, act, registers_of(i.operands), frozenset({target}))

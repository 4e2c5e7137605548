"""Values of other lanes of the wave, word by word.

    bfly 1, 2, 3     update.dpp quad_perm        within four lanes
    bfly 4           two update.dpp row_shl:4 and row_shr:4, each of every other bank
    bfly 7, 8, 15    update.dpp row_half_mirror, row_ror:8, row_mirror
    bfly below 32    ds_swizzle, which takes no address register
    others           ds_bpermute
    a reduction      row_shr:8, 4, 2, 1, row_bcast:15, row_bcast:31, readlane 63

DPP moves words between registers, the others by way of LDS (AMD Instinct MI300 ISA, "Data Parallel Processing").
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i32
from xdsl.ir import Attribute, SSAValue

from minitriton.codegen.builder import Builder
from minitriton.codegen.types import I32, I64, INTEGERS, bit_width, lane_type, lanes, vector_type
from minitriton.dialects import llvm as ours
from minitriton.dialects import rocdl

Values: TypeAlias = list[SSAValue]

_ROW_SHL, _ROW_SHR, _ROW_ROR = 0x100, 0x110, 0x120
_ROW_MIRROR, _ROW_HALF_MIRROR = 0x140, 0x141
_ROW_BCAST_15, _ROW_BCAST_31 = 0x142, 0x143
_QUAD_PERM = {mask: sum((lane ^ mask) << 2 * lane for lane in range(4)) for mask in (1, 2, 3)}
_DPP_OF_XOR = {**_QUAD_PERM, 7: _ROW_HALF_MIRROR, 8: _ROW_ROR + 8, 15: _ROW_MIRROR}
_ALL = 0xF
_EVEN_BANKS, _ODD_BANKS = 0x5, 0xA
_ODD_ROWS, _UPPER_ROWS = 0xA, 0xC
WAVE = 64
"""Lanes of the waves that `row_bcast` reduces: those of RDNA lack it."""
_SWIZZLED = 32
"""Lanes among which `ds_swizzle` moves words."""


def shuffle(b: Builder, value: SSAValue, offset: SSAValue, kind: str, thread: SSAValue) -> SSAValue:
    """As `TargetInfo.shuffle`; the wave's lanes count around for `up` and `down`."""
    mask = b.number_of(offset) if kind == "bfly" else None
    if mask is not None and 0 < mask < _SWIZZLED:
        return in_words(b, value, lambda word: _exchanged(b, word, mask))
    lane = {
        "idx": lambda: offset,
        "bfly": lambda: b.xor(thread, offset),
        "up": lambda: b.sub(thread, offset),
        "down": lambda: b.add(thread, offset),
    }[kind]()
    address = b.shl(lane, 2)
    return in_words(b, value, lambda word: b.value(rocdl.DsBpermuteOp, (address, word), I32))


def _exchanged(b: Builder, word: SSAValue, mask: int) -> SSAValue:
    """The word of the lane whose number differs in the bits of `mask`, below 32."""
    if mask in _DPP_OF_XOR:
        return dpp(b, b.poison(I32), word, _DPP_OF_XOR[mask], bound=True)
    if mask == 4:
        upper = dpp(b, b.poison(I32), word, _ROW_SHL + 4, banks=_EVEN_BANKS)
        return dpp(b, upper, word, _ROW_SHR + 4, banks=_ODD_BANKS)
    offset = IntegerAttr(mask << 10 | _SWIZZLED - 1, i32)
    return b.value(rocdl.DsSwizzleOp, (word,), I32, {"offset": offset})


def reduce_wave(b: Builder, values: Values, combine: Callable[[Values, Values], Values]) -> Values:
    """The values of 64 lanes combined, in all lanes: the last lane of each row gets those of its row, that of the wave those of all rows.

    Triton's steps and order, without a way through LDS; the last lane of a row never takes the value of a lane that is not there.
    """
    for distance in (8, 4, 2, 1):
        take = partial(dpp, b, b.poison(I32), control=_ROW_SHR + distance, bound=True)
        values = combine(values, [in_words(b, value, take) for value in values])
    for control, rows in ((_ROW_BCAST_15, _ODD_ROWS), (_ROW_BCAST_31, _UPPER_ROWS)):
        values = combine(values, [in_words(b, value, partial(_kept_outside, b, control, rows)) for value in values])
    last = b.i32(WAVE - 1)
    return [in_words(b, value, lambda word: b.value(rocdl.ReadlaneOp, (word, last), I32)) for value in values]


def _kept_outside(b: Builder, control: int, rows: int, word: SSAValue) -> SSAValue:
    return dpp(b, word, word, control, rows=rows)


def dpp(
    b: Builder,
    old: SSAValue,
    word: SSAValue,
    control: int,
    *,
    rows: int = _ALL,
    banks: int = _ALL,
    bound: bool = False,
) -> SSAValue:
    """`update.dpp`: the word of the lane that `control` names, `old` outside of `rows` and `banks`; 0 for a lane that is not there if `bound`."""
    numbers = {"dppCtrl": control, "rowMask": rows, "bankMask": banks}
    properties: dict[str, Attribute] = {name: IntegerAttr(number, i32) for name, number in numbers.items()}
    if bound:
        properties["boundCtrl"] = UnitAttr()
    return b.value(rocdl.UpdateDppOp, (old, word), I32, properties)


def in_words(b: Builder, value: SSAValue, move: Callable[[SSAValue], SSAValue]) -> SSAValue:
    """`value` of any type after `move` was done to each of its words of 32 bits; narrow elements share a word where they fill it."""
    type_ = value.type
    element, count = lane_type(type_), lanes(type_)
    if isinstance(element, L.LLVMPointerType):
        address = b.cast(ours.PtrToIntOp, value, I64)
        return b.cast(ours.IntToPtrOp, in_words(b, address, move), element)
    bits = bit_width(element)
    if count * bits % 32:
        narrow = b.bitcast(value, vector_type(INTEGERS[bits], count))
        wide = in_words(b, b.cast(L.ZExtOp, narrow, I32), move)
        return b.bitcast(b.cast(L.TruncOp, wide, INTEGERS[bits]), type_)
    words = b.unpack(b.bitcast(value, vector_type(I32, count * bits // 32)))
    return b.bitcast(b.pack([move(word) for word in words]), type_)

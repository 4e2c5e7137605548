"""Follows a `WarpShuffle` plan: words are exchanged between the lanes of a warp."""

from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.ir import SSAValue

from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.shared import from_memory, to_memory
from minitriton.codegen.types import I1, I32, INTEGERS, bit_width, lane_type, lanes, vector_type
from minitriton.layouts.plans import SelectSwap, Ship, Shuffle, WarpShuffle


def shuffled(f: FunctionLowering, plan: WarpShuffle, value: SSAValue) -> SSAValue:
    """The registers of the destination."""
    element = lane_type(value.type)
    kept = to_memory(f, value)
    source = f.b.permute(kept, plan.source)
    halves = _words(f, source, plan.pack)
    moved = [_steps(f, plan.steps, words) for words in halves]
    back = _elements(f, moved, source, plan.pack)
    return from_memory(f, f.b.permute(back, plan.result), element)


def _words(f: FunctionLowering, value: SSAValue, pack: int) -> list[list[SSAValue]]:
    """The 32-bit words of a vector: one list, or one per half of 64-bit elements."""
    b = f.b
    count = lanes(value.type)
    bits = bit_width(lane_type(value.type))
    if bits == 64:
        words = b.unpack(b.bitcast(value, vector_type(I32, 2 * count)))
        return [words[0::2], words[1::2]]
    if bits * pack == 32:
        return [b.unpack(b.bitcast(value, vector_type(I32, count // pack)))]
    # Elements that do not fill a word are spread: each takes 32 // pack bits.
    room = {1: 32, 2: 16, 4: 8}[pack]
    wide = vector_type(INTEGERS[room], count)
    integer = b.bitcast(value, vector_type(INTEGERS[bits], count))
    spread = b.lanewise(L.ZExtOp, (integer,), wide)
    return [b.unpack(b.bitcast(spread, vector_type(I32, count // pack)))]


def _elements(f: FunctionLowering, halves: Sequence[Sequence[SSAValue]], like: SSAValue, pack: int) -> SSAValue:
    """The inverse of `_words`: a vector of the type of `like`."""
    b = f.b
    count = lanes(like.type)
    bits = bit_width(lane_type(like.type))
    if bits == 64:
        words = [word for pair in zip(*halves, strict=True) for word in pair]
        return b.bitcast(b.pack(words), like.type)
    packed = b.pack(halves[0])
    if bits * pack == 32:
        return b.bitcast(packed, like.type)
    room = {1: 32, 2: 16, 4: 8}[pack]
    spread = b.bitcast(packed, vector_type(INTEGERS[room], count))
    return b.bitcast(b.cast(L.TruncOp, spread, INTEGERS[bits]), like.type)


def _steps(
    f: FunctionLowering, steps: Sequence[SelectSwap | Shuffle | Ship], words: Sequence[SSAValue]
) -> list[SSAValue]:
    result = list(words)
    for step in steps:
        match step:
            case SelectSwap():
                clear = _bit_of_lane(f, step.lane_bit)
                other = 1 << step.word_bit
                result = [f.b.select(clear, word, result[i ^ other]) for i, word in enumerate(result)]
            case Shuffle():
                result = _shuffle(f, step, result)
            case Ship():
                result = _ship(f, step, result)
    return result


def _bit_of_lane(f: FunctionLowering, bit: int) -> SSAValue:
    set_ = f.zero_in(1 << bit)
    assert set_ is not None
    return set_


def _shuffle(f: FunctionLowering, step: Shuffle, words: list[SSAValue]) -> list[SSAValue]:
    b = f.b
    if step.is_xor:
        return [
            shuffle(f, word, b.i32(mask), "bfly") if mask else word
            for word, mask in zip(words, step.masks, strict=True)
        ]
    own = f.shared_index(step.lane_columns)
    lanes_ = {mask: b.xor(own, b.i32(mask)) if mask else own for mask in set(step.masks)}
    return [shuffle(f, word, lanes_[mask], "idx") for word, mask in zip(words, step.masks, strict=True)]


def _ship(f: FunctionLowering, step: Ship, words: list[SSAValue]) -> list[SSAValue]:
    b = f.b
    clear = _bit_of_lane(f, step.lane_bit)
    mask = b.i32(1 << step.lane_bit)
    result = list(words)
    bit = 1 << step.word_bit
    for low in range(len(words)):
        if low & bit:
            continue
        high = low | bit
        swapped = f.module.info.swap_lanes(b, f.module.target, step.lane_bit, words[low], words[high])
        if swapped is not None:
            result[low], result[high] = swapped
            continue
        got = shuffle(f, b.select(clear, words[high], words[low]), mask, "bfly")
        result[low] = b.select(clear, words[low], got)
        result[high] = b.select(clear, got, words[high])
    return result


# `shfl.sync`: values of other lanes of the warp.


def shuffle_xor(f: FunctionLowering, value: SSAValue, mask: int) -> SSAValue:
    """The value of the lane whose number differs in the bits of `mask`."""
    return shuffle(f, value, f.b.i32(mask), "bfly")


def shuffle(f: FunctionLowering, value: SSAValue, offset: SSAValue, kind: str) -> SSAValue:
    """`shfl.sync` of all lanes of a vector. Booleans travel as words."""
    if lane_type(value.type) is I1:
        wide = f.b.cast(L.ZExtOp, value, I32)
        return f.b.cast(L.TruncOp, shuffle(f, wide, offset, kind), I1)
    return f.module.info.shuffle(f.b, value, offset, kind)

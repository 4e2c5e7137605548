"""The partial results of a reduction combined by the lanes of a warp, each of which loads some of them.

    16 warps, one result: lane l loads partial result l & 15; butterfly shuffles by 8, 4, 2 and 1 combine them in all lanes.
    8 warps, 4 results:   lane l loads that of warp l >> 2 of result l & 3; shuffles by 16, 8 and 4; result r comes from lane r.

Else each thread loads all partial results of all its results and combines them for itself: sooner done where they are few, more registers
and more instructions where they are many (4 rows of an argmax at 8 warps: 28 combinations a thread for 3). Partial results are combined in
the same order, from the highest bit of the warp's number down.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.ir import Operation, SSAValue

from minitriton.codegen.lowering.combine import combine, single_combiner
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.lane_shuffle import shuffle, shuffle_xor
from minitriton.codegen.lowering.memory import memory_type
from minitriton.codegen.lowering.shared_access import load_shared
from minitriton.codegen.types import I1, bit_width, lanes, scalar_type
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.memory import plan_access

LANE_BITS = 5
_ALL_LANES = (1 << LANE_BITS) - 1


def worth_sharing(op: Operation, silent: int, warps: int, results: int, crosses_ctas: bool) -> bool:
    """Whether lanes combine `warps` partial results of each of a thread's `results` with fewer instructions.

    They can where all lanes need the same (`silent` has all bits of the lane). A shuffle counts as two instructions, for its latency.
    """
    if crosses_ctas or silent & _ALL_LANES != _ALL_LANES or warps > 1 << LANE_BITS:
        return False
    operands = len(op.operands)
    combination = sum(1 for _ in op.regions[0].block.ops) - 1
    alone = operands * results * warps / 4 + results * (warps - 1) * combination
    held = max(1, results * warps >> LANE_BITS)
    together = held * (operands + (warps.bit_length() - 1) * (2 * operands + combination))
    if results > 1 or not _commutes(op):
        together += 2 * results * operands
    return alone >= _GAIN * together


_GAIN = 1.4
"""How many times as many instructions it takes a thread to do all alone, before the latency of shuffles pays."""


def _commutes(op: Operation) -> bool:
    """Whether lanes that combine the same two numbers in either order have the same result."""
    inner = single_combiner(op)
    return inner is not None and inner.name.removeprefix("arith.").startswith(
        ("add", "mul", "max", "min", "and", "or", "xor")
    )


def by_lanes(
    f: FunctionLowering,
    op: Operation,
    written: LinearLayout,
    warp_bits: Sequence[int],
    base: SSAValue,
    offsets: Sequence[int],
) -> list[SSAValue]:
    """For each operand its results, one for each key, in every lane. `written` says where the partial results lie: from key
    (`register`) and warp, of which the bits `warp_bits` run along the axis."""
    keys, warps = written.bases["register"], written.bases["warp"]
    along = [warps[bit] for bit in warp_bits]
    shared = min(len(keys), LANE_BITS - len(along))
    idle = [(0,)] * (LANE_BITS - len(along) - shared)
    layout = LinearLayout(
        {
            "register": keys[shared:],
            "lane": [*keys[:shared], *along, *idle],
            "warp": [(0,) if bit in warp_bits else basis for bit, basis in enumerate(warps)],
        },
        {"offset": written.get_out_dim_size("offset")},
    )
    values: list[SSAValue] = []
    for operand, at in zip(op.operands, offsets, strict=False):
        element = scalar_type(operand.type)
        kept = memory_type(element)
        loaded = load_shared(f, plan_access(layout, bit_width(kept)), kept, base, at)
        values.append(f.b.cast(L.TruncOp, loaded, I1) if element is I1 else loaded)
    for bit in reversed(range(shared, shared + len(along))):
        others = [shuffle_xor(f, value, 1 << bit) for value in values]
        with f.b.never_fused():
            values = combine(f, op, values, others)
    if not shared and _commutes(op):
        return values
    return [_from_lanes(f, value, 1 << shared) for value in values]


def _from_lanes(f: FunctionLowering, value: SSAValue, count: int) -> SSAValue:
    """The results of lanes 0 to `count` - 1, which combined in the right order, register by register."""
    pieces = [shuffle(f, value, f.b.i32(lane), "idx") for lane in range(count)]
    if count == 1:
        return pieces[0]
    held = lanes(value.type)
    return f.b.permute(f.b.concat(pieces), [lane * held + n for n in range(held) for lane in range(count)])

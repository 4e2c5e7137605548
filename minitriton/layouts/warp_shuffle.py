"""Layout conversions inside a warp, as permutations of index bits.

In: two layouts that give every warp the same elements. Out: a `WarpShuffle` plan, or None.

Such a conversion permutes the bits of (register, lane). Any permutation is a permutation of register bits (renaming, free),
then one of lane bits (one shuffle a word), then disjoint exchanges of a register bit with a lane bit. An exchange is

    r ^= l (select)   l ^= r (shuffle)   r ^= l (select)

so that all exchanges and the lane permutation together need at most one shuffle a word. One exchange alone needs half of
that (`Ship`). Zhou et al., arXiv 2505.23819; answers to getWarpLayoutConvertDecomposition in Triton's lib/Analysis/Utility.cpp.
"""

from __future__ import annotations

from typing import NamedTuple

from minitriton.layouts import f2
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.plans import SelectSwap, Ship, Shuffle, WarpShuffle, packed_masks

WORD_BITS = 32


class WarpDecomposition(NamedTuple):
    """Register bit `i` becomes `registers[i]`, lane bit `i` becomes `lanes[i]`, then each `(r, l)` of `exchanges` swaps.

    Registers are numbered without those that hold copies. `src_bits` and `dst_bits` are their bits in the layouts.
    """

    registers: tuple[int, ...]
    lanes: tuple[int, ...]
    exchanges: tuple[tuple[int, int], ...]
    src_bits: tuple[int, ...]
    dst_bits: tuple[int, ...]


def decompose(src: LinearLayout, dst: LinearLayout) -> WarpDecomposition | None:
    """The permutation of register and lane bits that turns `src` into `dst`; None if it is not one."""
    names = list(src.out_dims)
    dst = dst.transpose_outs(names)
    src_bits = tuple(i for i, column in enumerate(src.flat_bases("register")) if column)
    dst_bits = tuple(i for i, column in enumerate(dst.flat_bases("register")) if column)
    num_regs = max(len(src_bits), len(dst_bits))
    num_lanes = max(src.get_in_dim_size_log2("lane"), dst.get_in_dim_size_log2("lane"))
    s = _columns(src, src_bits, num_regs, num_lanes)
    t = _columns(dst, dst_bits, num_regs, num_lanes)
    target = _permutation(s, t)
    if target is None:
        return None
    registers, lanes, exchanges = _factor(target, num_regs)
    return WarpDecomposition(registers, lanes, exchanges, src_bits, dst_bits)


def _columns(layout: LinearLayout, bits: tuple[int, ...], num_regs: int, num_lanes: int) -> list[int]:
    """The images of the register bits and of the lane bits, each made up with zeros to the same number."""
    registers = layout.flat_bases("register")
    columns = [registers[i] for i in bits]
    lanes = list(layout.flat_bases("lane"))
    return columns + [0] * (num_regs - len(columns)) + lanes + [0] * (num_lanes - len(lanes))


def _permutation(s: list[int], t: list[int]) -> list[int] | None:
    """Where each index bit of `s` goes in `t`. Bits that hold copies on both sides stay; the others are paired in order."""
    where = {column: i for i, column in enumerate(t) if column}
    held = [column for column in s if column]
    if len(where) != sum(1 for column in t if column) or len(set(held)) != len(held) or f2.rank(held) != len(held):
        return None
    target = [-1] * len(s)
    src_free: list[int] = []
    dst_free: list[int] = []
    for i, (a, b) in enumerate(zip(s, t, strict=True)):
        if a == b:
            target[i] = i
            continue
        if a:
            if a not in where:
                return None
            target[i] = where[a]
        else:
            src_free.append(i)
        if not b:
            dst_free.append(i)
    for i, j in zip(src_free, dst_free, strict=False):
        target[i] = j
    return target if sorted(target) == list(range(len(s))) else None


def _factor(target: list[int], num_regs: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...]]:
    """Runs of lane bits taken out of every cycle: `(.. r_m l_j .. l_k r_i ..) = (r_i l_j) (.. r_m r_i ..) (l_j .. l_k)`."""
    registers = list(range(num_regs))
    lanes = list(range(len(target) - num_regs))
    exchanges: list[tuple[int, int]] = []
    visited = [False] * len(target)
    for start in range(len(target)):
        if visited[start]:
            continue
        # From a lane-only start no register is ever met: every mixed cycle was begun at one of its registers.
        entered_from = first_lane = -1
        at = start
        while not visited[at]:
            visited[at] = True
            to = target[at]
            if at < num_regs and to < num_regs:
                registers[at] = to
            elif at >= num_regs and to >= num_regs:
                lanes[at - num_regs] = to - num_regs
            elif at < num_regs:
                entered_from, first_lane = at, to - num_regs
            else:
                registers[entered_from] = to
                lanes[at - num_regs] = first_lane
                exchanges.append((to, first_lane))
            at = to
    return tuple(registers), tuple(lanes), tuple(exchanges)


def plan_warp_shuffle(parts: WarpDecomposition, bitwidth: int, src_size: int, dst_size: int) -> WarpShuffle:
    """The plan for elements of `bitwidth` bits; `src_size` and `dst_size` are the bits of the layouts' registers."""
    num_regs = len(parts.registers)
    paired = {r for r, _ in parts.exchanges}
    came_from = {to: i for i, to in enumerate(parts.registers)}
    # Any register bit that is not exchanged may select the element within a word; low ones on both sides pack for free.
    free = sorted((r for r in range(num_regs) if r not in paired), key=lambda r: (r + came_from[r], r))
    pack_bits = min(f2.log2(max(1, min(4, WORD_BITS // bitwidth))), len(free))
    low = free[:pack_bits]
    order = low + [r for r in range(num_regs) if r not in low]
    position = {r: i for i, r in enumerate(order)}

    # x index bit `position[registers[i]]` is source register bit `i`; bits that the source has not are copies.
    source_of = [0] * num_regs
    for i, to in enumerate(parts.registers):
        source_of[position[to]] = 1 << parts.src_bits[i] if i < len(parts.src_bits) else 0
    result_of = [0] * dst_size
    for i, bit in enumerate(parts.dst_bits):
        result_of[bit] = 1 << position[i]
    words = 1 << (num_regs - pack_bits)
    swaps = tuple((position[r] - pack_bits, lane) for r, lane in parts.exchanges)
    return WarpShuffle(
        source=tuple(f2.span(source_of)),
        pack=1 << pack_bits,
        steps=_steps(swaps, parts.lanes, words),
        result=tuple(f2.span(result_of)),
    )


def _steps(
    swaps: tuple[tuple[int, int], ...], lanes: tuple[int, ...], words: int
) -> tuple[SelectSwap | Shuffle | Ship, ...]:
    lanes_stay = lanes == tuple(range(len(lanes)))
    if lanes_stay and len(swaps) == 1:
        return (Ship(*swaps[0]),)
    from_lane = [0] * len(lanes)
    for i, to in enumerate(lanes):
        from_lane[to] = i
    columns = tuple(1 << lane for lane in from_lane)
    masks = packed_masks([w for w, _ in swaps], [columns[lane] for _, lane in swaps], words)
    before = tuple(SelectSwap(w, from_lane[lane]) for w, lane in swaps)
    after = tuple(SelectSwap(w, lane) for w, lane in swaps)
    if lanes_stay and not any(masks):
        return ()
    return (*before, Shuffle(columns, masks), *after)


# `tt.gather` within a warp: which lane and which register hold the element that an index names.
#
# In: the layouts of source and indices, and the axis. Out: a `WarpGather`, or None where an element may be in another warp.
#
#     source, indices: lane 0..31 along the axis, one row a warp      the lane is the index itself, the register that of the index
#     source with two registers along the axis                        two shuffles for each index, and a choice by one of its bits
#
# The source is read through a right inverse P of its layout S. With I the layout of the indices, c the coordinates besides the axis and
# a index along the axis, the element is in P(c) ^ P(a). It may be fetched in the warp w that asks if S also has it there: S(w ^ P(c)w) = 0
# for each basis of I, and S(P(a)w) = 0 for each bit a.

_OUTER = ("warp", "block")
_MOST_SHUFFLES = 8
"""For each index. Through shared memory it takes a store, a barrier, and a load in which about four lanes meet in a bank."""


class WarpGather(NamedTuple):
    """The lane is the sum (xor) of what the bits of thread, block, index register and index add to it."""

    thread_lanes: tuple[int, ...]
    block_lanes: tuple[int, ...]
    register_lanes: tuple[int, ...]
    """For each register of the indices."""
    index_lanes: tuple[int, ...]
    first_registers: tuple[int, ...]
    """For each register of the indices, the register of the source where the index is 0."""
    index_registers: tuple[int, ...]
    """What the bits of the index add to that register."""

    @property
    def choices(self) -> list[int]:
        """All that an index can add to the register, ascending."""
        span = {0}
        for added in self.index_registers:
            span |= {choice ^ added for choice in span}
        return sorted(span)


def plan_warp_gather(source: LinearLayout, indices: LinearLayout, axis: int) -> WarpGather | None:
    """How each warp gathers from its own lanes."""
    dims = source.get_out_dim_names()
    inverse = source.pseudoinvert()
    along = [
        inverse.apply({dim: (1 << bit) * (dim == dims[axis]) for dim in dims})
        for bit in range(f2.log2(source.get_out_dim_size(dims[axis])))
    ]
    owners: dict[str, list[dict[str, int]]] = {}
    for dim, images in indices.bases.items():
        owners[dim] = [
            inverse.apply({out: 0 if out == dims[axis] else basis[n] for n, out in enumerate(dims)}) for basis in images
        ]
        for bit, owner in enumerate(owners[dim]):
            own = {outer: owner.get(outer, 0) ^ ((1 << bit) * (dim == outer)) for outer in _OUTER}
            if _moves(source, own) or (dim != "register" and owner.get("register", 0)):
                return None
    if any(_moves(source, owner) for owner in along):
        return None
    of_registers = owners.get("register", [])
    count = range(1 << len(of_registers))

    def column(owners_: list[dict[str, int]], dim: str) -> tuple[int, ...]:
        return tuple(owner.get(dim, 0) for owner in owners_)

    plan = WarpGather(
        column(owners.get("lane", []) + owners.get("warp", []), "lane"),
        column(owners.get("block", []), "lane"),
        tuple(f2.apply(column(of_registers, "lane"), register) for register in count),
        column(along, "lane"),
        tuple(f2.apply(column(of_registers, "register"), register) for register in count),
        column(along, "register"),
    )
    return plan if len(plan.choices) <= _MOST_SHUFFLES else None


def _moves(source: LinearLayout, at: dict[str, int]) -> bool:
    """Whether another warp or block holds other elements."""
    point = {dim: at.get(dim, 0) if dim in _OUTER else 0 for dim in source.get_in_dim_names()}
    return any(source.apply(point).values())

"""Converting a tensor between layouts whose CTAs share it in different ways.

In: two layouts of a cluster. Out: a `ClusterExchange`: every CTA stores what it holds to its own shared memory, the cluster waits,
and every thread loads its elements from the CTAs that have them; or a plan of `plans.py` where each CTA has all that it needs.

    src  rows 0..31 in CTA 0, rows 32..63 in CTA 1          a CTA's memory: 32 rows of 64 columns
    dst  columns 0..31 in CTA 0, columns 32..63 in CTA 1    element (i, j) comes from CTA i / 32, row i % 32, column j

The tensor's bits are split into `local` ones, which the registers, lanes and warps of `src` reach, and those of the rank, which its
CTAs add. CTAs that hold copies read their own. PTX ISA, "mapa", "barrier.cluster"; DSMEM in the CUDA programming guide.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from minitriton.layouts import f2
from minitriton.layouts.algebra import action_remove_broadcasted_regs
from minitriton.layouts.conversion import minimal_cvt_of_layouts, plan_conversion
from minitriton.layouts.encodings import DistributedEncoding, Linear
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.memory import plan_access
from minitriton.layouts.plans import ConversionPlan, PlannedMemoryAccess
from minitriton.layouts.swizzling import optimal_swizzling_ld_st
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.target.architectures import PLAIN_ACCESSES, WIDEST_ACCESS_BITS, Architecture

THREAD_DIMS = ("register", "lane", "warp")


class ClusterAccess(NamedTuple):
    """A `PlannedMemoryAccess` whose offset depends on the CTA's rank too, in the memory of one of the cluster's CTAs.

    Bit `i` of the own rank moves every address by `block[i]` bytes (xor). Access `n` meets the memory of the CTA whose rank is
    `ranks[n]`, xor `rank_lane`, `rank_warp` and `rank_block` of the set bits of lane, warp and own rank.
    """

    access: PlannedMemoryAccess
    block: tuple[int, ...]
    rank_lane: tuple[int, ...]
    rank_warp: tuple[int, ...]
    rank_block: tuple[int, ...]
    ranks: tuple[int, ...]

    def address(self, number: int, lane: int, warp: int, rank: int) -> int:
        """The byte address of access `number` in a thread, relative to the buffer in its CTA."""
        one = self.access.accesses[number]
        return (self.access.base(lane, warp) ^ f2.apply(self.block, rank) ^ one.xor) + one.add

    def rank(self, number: int, lane: int, warp: int, rank: int) -> int:
        """The rank of the CTA that access `number` of a thread meets."""
        thread = f2.apply(self.rank_lane, lane) ^ f2.apply(self.rank_warp, warp)
        return self.ranks[number] ^ thread ^ f2.apply(self.rank_block, rank)


class ClusterExchange(NamedTuple):
    """The tensor goes through `scratch_bytes` of shared memory of every CTA: `stores`, a barrier, `loads`, a barrier.

    Stores meet the own CTA. With `crosses` the barriers are those of the cluster; else no CTA reads what another one wrote.
    """

    bitwidth: int
    scratch_bytes: int
    crosses: bool
    stores: ClusterAccess
    loads: ClusterAccess


def crosses_ctas(src: DistributedEncoding, dst: DistributedEncoding, shape: Sequence[int]) -> bool:
    """Whether a conversion needs a `plan_between_ctas`: CTAs hold other elements afterwards, or copies of others."""
    if src.num_ctas == 1:
        return False
    return "block" in minimal_cvt_of_layouts(to_linear_layout(src, shape), to_linear_layout(dst, shape)).out_dims


def plan_between_ctas(
    src: DistributedEncoding,
    dst: DistributedEncoding,
    shape: Sequence[int],
    bitwidth: int,
    target: Architecture = PLAIN_ACCESSES,
) -> ClusterExchange | ConversionPlan:
    """The plan for elements of `bitwidth` bits (pointers: 64) where `crosses_ctas`; cached."""
    return _plan(to_linear_layout(src, shape), to_linear_layout(dst, shape), bitwidth, target)


class _Coordinates(NamedTuple):
    """The bits of a tensor's index as `local` bits and rank bits: the columns of the matrix that takes them there, inverted."""

    columns: tuple[int, ...]
    size: int
    split: tuple[int, ...]
    """The bits of the rank that tell parts of the tensor apart. The others number copies."""

    @property
    def num_local(self) -> int:
        return self.size - len(self.split)

    def of(self, bases: Sequence[int]) -> tuple[list[int], list[int]]:
        """For each basis the local index and the rank."""
        solved = f2.solve(self.columns, bases, self.size)
        assert solved is not None
        low = (1 << self.num_local) - 1
        ranks = [sum(1 << bit for j, bit in enumerate(self.split) if x >> self.num_local >> j & 1) for x in solved]
        return [x & low for x in solved], ranks


def _coordinates(src: LinearLayout) -> _Coordinates:
    size = src.get_total_out_dim_size_log2()
    columns: list[int] = []
    split: list[int] = []

    def add(vector: int) -> bool:
        new = f2.rank([*columns, vector]) > len(columns)
        if new:
            columns.append(vector)
        return new

    for vector in sorted({basis for dim in THREAD_DIMS for basis in src.flat_bases(dim)} - {0}):
        add(vector)
    for bit, vector in enumerate(src.flat_bases("block")):
        if add(vector):
            split.append(bit)
    return _Coordinates(tuple(columns), size, tuple(split))


@lru_cache(maxsize=1024)
def _plan(
    src: LinearLayout, dst: LinearLayout, bitwidth: int, target: Architecture
) -> ClusterExchange | ConversionPlan:
    dst = dst.transpose_outs(list(src.out_dims))
    coordinates = _coordinates(src)
    num_ctas = len(dst.flat_bases("block"))
    dims = (*THREAD_DIMS, "block")
    held = {dim: coordinates.of(src.flat_bases(dim))[0] for dim in dims}
    wanted = {dim: coordinates.of(dst.flat_bases(dim)) for dim in dims}
    ranks = {dim: found[1] for dim, found in wanted.items()}
    local = {dim: found[0] for dim, found in wanted.items()}
    for bit in set(range(num_ctas)) - set(coordinates.split):
        ranks["block"][bit] |= 1 << bit
    own = [1 << bit for bit in range(num_ctas)]
    crosses = ranks["block"] != own or any(any(ranks[dim]) for dim in THREAD_DIMS)
    if not crosses and not any(held["block"]) and not any(local["block"]):
        size = (1 << coordinates.num_local,)
        return plan_conversion(_linear(held, size), _linear(local, size), size, bitwidth, target)
    bits = max(8, bitwidth)
    smem = _arrangement(held, local, coordinates.num_local, bits)
    return ClusterExchange(
        bitwidth=bits,
        scratch_bytes=(1 << coordinates.num_local) * bits // 8,
        crosses=crosses,
        stores=_access(held, {dim: [0] * len(held[dim]) for dim in THREAD_DIMS} | {"block": own}, smem, bits),
        loads=_access(local, ranks, smem, bits),
    )


Columns = dict[str, list[int]]


def _linear(bases: Columns, shape: tuple[int, ...]) -> Linear:
    register, lane, warp = (tuple((basis,) for basis in bases[dim]) for dim in THREAD_DIMS)
    return Linear(register, lane, warp, (), shape)


def _over_cluster(bases: Columns, bits: int) -> LinearLayout:
    """The layout whose warps are those of all CTAs."""
    parts = {"register": bases["register"], "lane": bases["lane"], "warp": [*bases["warp"], *bases["block"]]}
    return LinearLayout.trusted(
        {dim: tuple((basis,) for basis in columns) for dim, columns in parts.items()}, {"dim0": 1 << bits}
    )


def _arrangement(held: Columns, wanted: Columns, bits: int, bitwidth: int) -> LinearLayout:
    """The offset of each local element in shared memory."""
    src, dst = (
        action_remove_broadcasted_regs(layout).apply(layout)
        for layout in (_over_cluster(held, bits), _over_cluster(wanted, bits))
    )
    smem = optimal_swizzling_ld_st(src, dst, bitwidth)
    return smem if smem.is_invertible() else LinearLayout.identity_1d(1 << bits, "offset", "dim0")


def _access(local: Columns, ranks: Columns, smem: LinearLayout, bitwidth: int) -> ClusterAccess:
    """The accesses of a map to local elements and ranks, planned as one space in which the rank makes the highest bits.

    A gap as long as a vector keeps elements of two CTAs from being taken for neighbours.
    """
    local_bits = smem.get_total_in_dim_size_log2()
    bits = local_bits + f2.log2(WIDEST_ACCESS_BITS // 8)
    cvt = _over_cluster(local, local_bits).invert_and_compose(smem)
    all_ranks = {**ranks, "warp": [*ranks["warp"], *ranks["block"]]}
    bases = {
        dim: tuple((offset | rank << bits,) for offset, rank in zip(cvt.flat_bases(dim), all_ranks[dim], strict=True))
        for dim in THREAD_DIMS
    }
    one = plan_access(LinearLayout.trusted(bases, {"offset": 1 << bits + len(ranks["block"])}), bitwidth)
    shift = bits + f2.log2(bitwidth // 8)
    low = (1 << shift) - 1
    warps = len(local["warp"])

    def parted(columns: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return tuple(column & low for column in columns), tuple(column >> shift for column in columns)

    lane, rank_lane = parted(one.lane)
    warp, rank_warp = parted(one.warp[:warps])
    block, rank_block = parted(one.warp[warps:])
    return ClusterAccess(
        access=PlannedMemoryAccess(
            bitwidth=one.bitwidth,
            vector=one.vector,
            lane=lane,
            warp=warp,
            accesses=tuple(
                type(access)(access.xor & low, access.add & low, access.registers) for access in one.accesses
            ),
            result=one.result,
        ),
        block=block,
        rank_lane=rank_lane,
        rank_warp=rank_warp,
        rank_block=rank_block,
        ranks=tuple((access.xor | access.add) >> shift for access in one.accesses),
    )

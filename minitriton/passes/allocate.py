"""`tritongpu-allocate-warp-groups`: which warps run the partitions of `ttg.warp_specialize`, and with how many registers.

    partition0 num_warps(4), partition1 num_warps(1)      =>      partitions of 4, 1, 2 and 1 warps (the last two do nothing),
    requestedRegisters = [152, 24]                                warpGroupStartIds = [4, 8, 9, 11],
                                                                  actualRegisters = [default, 152, 24, 24, 24],
                                                                  module attributes {ttg.maxnreg, ttg.total-num-warps = 12}

`setmaxnreg` counts for whole warp groups of 4 warps, so partitions are padded to such; a group takes what its hungriest partition asks for,
what is left over goes to the default warps. Counterpart of lib/Conversion/TritonGPUToLLVM/AllocateWarpGroups.cpp.

`tritongpu-global-scratch-memory-allocation`: offsets of the global memory that programs ask for (`analysis.global_scratch`).
"""

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Region

from minitriton.analysis.global_scratch import allocate_global_scratch
from minitriton.dialects.attribute_values import i32_array, i32_attr
from minitriton.dialects.facts.launch import MAXNREG, num_warps, threads_per_warp
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.dialects.ttg import WarpReturnOp, WarpSpecializeOp, WarpSpecializePartitionsOp
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.target.architectures import LIMITS

TOTAL_WARPS = "ttg.total-num-warps"
GROUP = 4
"""Warps of a warp group."""
_IDLE_REGISTERS = 16
"""Asked for by a thread that does nothing."""
_STEP = 8
"""Registers are allotted in multiples of this (PTX ISA, "setmaxnreg")."""
_FEWEST = 24
"""That can be allotted (PTX ISA, "setmaxnreg")."""


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step


def _pad(op: WarpSpecializeOp, groups: int) -> None:
    """Partitions that do nothing, until the warps of `op` are `groups` warp groups."""
    counts = list(op.num_warps_of_partitions)
    missing = groups * GROUP - sum(counts)
    padding: list[int] = []
    while missing > 0:
        padding.append(1 << (missing.bit_length() - 1))
        missing -= padding[-1]
    if not padding:
        return
    old = op.partitions
    regions = list(old.regions)
    for region in regions:
        old.detach_region(region)
    for _ in padding:
        block = Block(arg_types=[value.type for value in op.operands])
        block.add_op(WarpReturnOp())
        regions.append(Region(block))
    new = WarpSpecializePartitionsOp(regions)
    new.location = old.location
    holder = op.partition_op_holder.block
    holder.insert_op_before(new, old)
    holder.erase_op(old)
    op.properties["partitionNumWarps"] = i32_array((*counts, *padding))
    if op.requested_registers is not None:
        asked = (*(int(n) for n in op.requested_registers.get_values()), *[_IDLE_REGISTERS] * len(padding))
        op.properties["requestedRegisters"] = i32_array(asked)


def _assign_first_warps(op: WarpSpecializeOp, first: int) -> list[int]:
    """Start ids: the largest partitions first, from warp `first` on."""
    counts = op.num_warps_of_partitions
    starts = [0] * len(counts)
    for index in sorted(range(len(counts)), key=lambda index: -counts[index]):
        starts[index] = first
        first += counts[index]
    op.properties["warpGroupStartIds"] = i32_array(tuple(starts))
    return starts


def _share_registers(op: WarpSpecializeOp, starts: list[int], maxnreg: int, default_warps: int, lanes: int) -> bool:
    """Sets `actualRegisters`; False if `op` asks for nothing, or for so much that the default warps have too few."""
    counts = op.num_warps_of_partitions
    if op.requested_registers is None or sum(counts) % GROUP:
        return False
    asked = [int(n) for n in op.requested_registers.get_values()]
    of_group: dict[int, int] = {}
    group = -1
    actual = [0] * len(counts)
    members: dict[int, list[int]] = {}
    for index in sorted(range(len(counts)), key=lambda index: starts[index]):
        if starts[index] % GROUP == 0:
            group += 1
        members.setdefault(group, []).append(index)
        of_group[group] = max(of_group.get(group, 0), _round_up(asked[index], _STEP))
    budget = maxnreg * default_warps * lanes
    for group, indices in members.items():
        budget += (maxnreg - of_group[group]) * sum(counts[index] for index in indices) * lanes
        for index in indices:
            actual[index] = of_group[group]
    left = budget // (default_warps * lanes) // _STEP * _STEP if budget > 0 else 0
    if left < _FEWEST:
        return False
    op.properties["actualRegisters"] = i32_array((left, *actual))
    return True


@register_pass
class AllocateWarpGroups(Pass, stage="llir", origin="triton"):
    """Gives the partitions of warp-specialized code their warps and registers."""

    name: ClassVar[str] = "tritongpu-allocate-warp-groups"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.PARTITION_WARPS})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Number the warps of all partitions, and say how many warps a block has."""
        found = ops_of(op, WarpSpecializeOp)
        default_warps = num_warps(op)
        groups = _round_up(max((sum(each.num_warps_of_partitions) for each in found), default=0), GROUP) // GROUP
        lanes = threads_per_warp(op)
        given = op.attributes.get(MAXNREG)
        if isinstance(given, IntegerAttr):
            maxnreg = given.value.data
        else:
            maxnreg = LIMITS.registers_per_sm // (default_warps + groups * GROUP) // lanes // _STEP * _STEP
        for each in found:
            _pad(each, groups)
            if _share_registers(each, _assign_first_warps(each, default_warps), maxnreg, default_warps, lanes):
                op.attributes[MAXNREG] = i32_attr(maxnreg)
        op.attributes[TOTAL_WARPS] = i32_attr(default_warps + groups * GROUP)


@register_pass
class AllocateGlobalScratch(Pass, stage="llir", origin="triton"):
    """Gives each request for global scratch memory its offset."""

    name: ClassVar[str] = "tritongpu-global-scratch-memory-allocation"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR, Property.INLINED})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.GLOBAL_SCRATCH})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE | {Property.EXCHANGES_LOWERED}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        allocate_global_scratch(op)

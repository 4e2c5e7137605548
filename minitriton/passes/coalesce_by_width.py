"""Layouts as wide as accesses really are, where those of `tritongpu-coalesce` are wider.

In: TTGIR after `tritongpu-coalesce`, which gives a thread as many neighbours as are contiguous and aligned. Out: the same, but a
thread gets no more of them than one instruction moves or changes, so that neighbouring threads stay neighbours in memory.

    tt.load %p, %mask      16 bytes are contiguous, but the mask may change from element to element: [8] makes eight
                           accesses with gaps of 16 bytes between threads, [1] eight without gaps
    f16 in, f8 out         [16] for both makes two loads of 16 bytes with gaps, [8] makes one, and stores of 8 bytes
    f8 in, f16 out         [16] and [8] need shared memory between them, [8] and [8] do not
    tt.atomic_rmw add      i32: [4] makes four instructions of a warp, each with gaps of 16 bytes between lanes (64 sectors), [1] four
                           without gaps (16 sectors): the second-level cache does atomics a sector (32 bytes) at a time

A mask that is true up to some element (`offsets < n`, n odd) needs no other layout: the access is marked `split_mask`, and code generation
moves whole vectors where they are whole, single elements where the mask ends in one (`split-masks=false` switches that off).

Loads and stores of the same data (`analysis.slices.def_use`) change together, so that no conversion is needed between them, unless a conversion takes fewer
instructions than narrow accesses do (int8 in, f32 out, by a warp). Not a pass of
Triton's, whose layouts follow contiguity alone. Loads and stores of a kernel that adds floats across elements are left alone: it would add them in
another order. Atomics add in no fixed order either way. So are those of data that is scanned along the contiguous axis: a scan takes five shuffles for each
run of neighbours (FlagGems' radix sort: 0.96 of Triton's speed with runs of 2 for 4).
Left out by `without="minitriton-coalesce-by-width"`.
"""

from functools import partial
from math import prod
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr
from xdsl.ir import SSAValue

from minitriton.analysis.access_width import access_width, is_prefix, neighbours
from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.lattice import axis_lengths, pointee_bits
from minitriton.analysis.exchangeable import float_order_matters
from minitriton.analysis.slices.def_use import ConnectedData
from minitriton.dialects import tt, ttg
from minitriton.dialects.facts.memory_access import MemoryAccess
from minitriton.dialects.facts.pass_attributes import SPLIT_MASK
from minitriton.dialects.fast_paths.op_access import operand_at, ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.builders import blocked_for_cga
from minitriton.layouts.encodings import Bases, Blocked
from minitriton.passes.coalesce import convert_to_layout
from minitriton.pipeline.choice import Candidate, Choice, note
from minitriton.pipeline.pass_registry import Pass, Property, register_pass

Shape = tuple[tuple[int, ...], tuple[int, ...], Bases]
"""Shape of the tensor, order of its axes, and its split over the CTAs of a cluster."""


_Atomic = tt.AtomicRMWOp | tt.AtomicCASOp
_Access = tt.LoadOp | tt.StoreOp | _Atomic


class _BlockedAccess(NamedTuple):
    """A load, store or atomic in a blocked layout, whose threads have `held` neighbours each."""

    op: _Access
    layout: Blocked
    shape: tuple[int, ...]
    held: int
    bits: int

    @property
    def mask(self) -> SSAValue | None:
        access = MemoryAccess.of(self.op)
        assert access is not None
        return access.mask_of(self.op)

    @property
    def group(self) -> Shape:
        """What accesses must share to work in one layout."""
        return self.shape, self.layout.order, self.layout.cga


@register_pass
class CoalesceByWidth(Pass, stage="ttgir"):
    """Narrows layouts to what one access moves or changes."""

    name = "minitriton-coalesce-by-width"
    requires = frozenset({Property.ENCODINGS})

    split_masks: bool = True
    """False: a mask that ends within vectors makes the layout narrow."""
    own_layouts: str = ""
    """`true`: a load and a store of the same data have a layout each, with a conversion; `false`: one; empty: what takes fewer instructions."""
    values = {"own_layouts": ("", "true", "false")}

    def apply(self, ctx: Context, op: ModuleOp) -> bool | None:
        """Mark masks that can be split; change the layouts of accesses that are narrower than their layout."""
        accesses = ops_of(op, tt.LoadOp, tt.StoreOp, tt.AtomicRMWOp, tt.AtomicCASOp)
        found = [access for each in accesses if (access := _access(each)) is not None]
        atomics = [access for access in found if isinstance(access.op, _Atomic)]
        changed = self._narrow_loads_and_stores(op, [access for access in found if not isinstance(access.op, _Atomic)])
        axis_info = AxisInfoAnalysis(op, as_asked=True)
        for atomic in atomics:
            width = access_width(axis_info, atomic.op).width
            if width < atomic.held:
                convert_to_layout(atomic.op, _narrowed(atomic, width))
        return None if changed or atomics else False

    def _narrow_loads_and_stores(self, op: ModuleOp, accesses: list[_BlockedAccess]) -> bool:
        """Whether there may have been something to change."""
        axis_info = AxisInfoAnalysis(op, as_asked=True)
        if not _may_change(accesses, axis_info):
            return False
        for access in accesses:
            if _splits(axis_info, access):
                note(access.op, partial(_mask_choice, access, self.split_masks))
                if self.split_masks:
                    access.op.attributes[SPLIT_MASK] = UnitAttr()
        if float_order_matters(op):
            return True
        data = ConnectedData(op)
        groups: dict[tuple[SSAValue, Shape], list[_BlockedAccess]] = {}
        for access in accesses:
            groups.setdefault((data.group(access.op), access.group), []).append(access)
        scanned = {
            (data.of(operand), axis_lengths(operand.type), scan.axis.value.data)
            for scan in ops_of(op, tt.ScanOp)
            for operand in scan.operands
        }
        groups = {
            (value, shape): group
            for (value, shape), group in groups.items()
            if (value, shape[0], shape[1][0])
            not in scanned  # as many rounds of shuffles as a thread has runs of neighbours
        }
        widths = [[_width(axis_info, access) for access in group] for group in groups.values()]
        for group, own in zip(groups.values(), widths, strict=True):
            found = [width for width in own if width is not None]
            has_own = len(found) == len(group) and _takes_own_layouts(group, found, self.own_layouts)
            for access, width in zip(group, own, strict=True):
                narrow = width if has_own else min(found, default=None)
                if narrow is not None and narrow < access.held:
                    convert_to_layout(access.op, _narrowed(access, narrow))
        return True


ACCESS = 7
"""Instructions of one more access: an address of 64 bits, a mask, the access. Each is one before the last load is in flight."""
BARRIER = 30
"""Instructions that a warp could do while it waits for the others."""


def _takes_own_layouts(group: list[_BlockedAccess], widths: list[int], wanted: str) -> bool:
    """Whether a load and a store of the same data keep layouts of their own widths, with a conversion in between.

    int8 to f32 in tiles of 64x32 by a warp, 64 elements a thread: 12 loads more would be 84 instructions, the conversion is 64, and was 1.09 times as
    fast. By 16 warps, 16 elements a thread: 21, and 16 with a barrier; one layout was 1.04 times as fast (H200, 2026-11-28).
    """
    if len(group) != 2 or widths[0] == widths[1] or {type(access.op) for access in group} != {tt.LoadOp, tt.StoreOp}:
        return False
    op, warps = group[1].op, ttg.num_warps(group[1].op)
    elements = max(prod(group[1].shape) // (warps * ttg.threads_per_warp(op)), 1)
    more = sum(elements // min(widths) - elements // width for width in widths)
    words = elements * max(access.bits for access in group) // 128
    costs = {"false": ACCESS * more, "true": 4 * words + BARRIER * (warps > 1)}
    taken = wanted or min(costs, key=lambda way: costs[way])
    reasons = {"false": f"{more} accesses more", "true": "a conversion through shared memory"}
    note(
        op,
        lambda: Choice.of(
            f"layouts of {op.name} and its load",
            "instructions a thread",
            "minitriton-coalesce-by-width{own-layouts=@}",
            (Candidate(way, cost, reasons[way]) for way, cost in costs.items()),
            taken,
        ),
    )
    return taken == "true"


def _access(op: _Access) -> _BlockedAccess | None:
    type_ = operand_at(op, 0).type
    if not instance_of(type_, TensorType):
        return None
    layout, bits = ttg.layout_of(type_), pointee_bits(type_)
    if not isinstance(layout, Blocked) or not bits:
        return None
    held = layout.size_per_thread[layout.order[0]]
    return _BlockedAccess(op, layout, type_.get_shape(), held, bits) if held > 1 else None


def _may_change(accesses: list[_BlockedAccess], axis_info: AxisInfoAnalysis) -> bool:
    """Whether some access has another layout than one like it, or more elements than it moves at once."""
    if len({(access.group, access.layout) for access in accesses}) > len({access.group for access in accesses}):
        return True
    return any((width := _width(axis_info, access)) is not None and width < access.held for access in accesses)


MOST_SPLIT = 256
"""Elements of a thread above which masks are not split: two ways of accessing each vector make such a kernel, which has no registers for
its elements (a thread has 255), twice as long. Follows from the registers of a thread, not from a family of kernels."""


def _mask_choice(access: _BlockedAccess, taken: bool) -> Choice:
    found = (
        Candidate("true", 1, "whole where the mask is, single elements where it ends"),
        Candidate("false", access.held, "an access for each element, in a layout of narrow threads"),
    )
    option = "minitriton-coalesce-by-width{split-masks=@}"
    return Choice.of(f"split of the mask of {access.op.name}", "accesses a vector", option, found, str(taken).lower())


def _splits(axis_info: AxisInfoAnalysis, access: _BlockedAccess) -> bool:
    """Whether the mask ends within vectors, once in each."""
    mask = access.mask
    if mask is None or prod(access.shape) > MOST_SPLIT * ttg.num_warps(access.op) * ttg.threads_per_warp(access.op):
        return False
    width = neighbours(axis_info, access.op.ptr, None, held=access.held).width
    if axis_info.mask_alignment(mask) >= width:
        return False
    return is_prefix(axis_info, mask, access.layout.order[0], width)


def _width(axis_info: AxisInfoAnalysis, access: _BlockedAccess) -> int | None:
    """How many neighbours one instruction moves; None if pointers are scattered, so that no layout helps."""
    pointer, fastest = access.op.ptr, access.layout.order[0]
    if axis_info.get(pointer).contiguity[fastest] < access.held:
        return None
    mask = None if SPLIT_MASK in access.op.attributes else access.mask
    return neighbours(axis_info, pointer, mask, held=access.held).width


def _narrowed(access: _BlockedAccess, width: int) -> Blocked:
    """The layout with `width` neighbours a thread."""
    size_per_thread = list(access.layout.size_per_thread)
    size_per_thread[access.layout.order[0]] = width
    return blocked_for_cga(
        access.shape,
        size_per_thread,
        access.layout.order,
        ttg.num_warps(access.op),
        ttg.threads_per_warp(access.op),
        access.layout.cga,
    )

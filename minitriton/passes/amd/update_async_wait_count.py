"""`tritonamdgpu-update-async-wait-count`: waits for groups of copies become waits for a number of instructions, which the hardware counts.

    copy (2 instructions); commit; copy (1 instruction); commit
    ttg.async_wait {num = 1}                  =>                  amdg.async_wait {num_inst = 1}

What may be outstanding is the fewest instructions on any way from the group that is waited for to the wait. LLVM does not see across iterations which
copy a read of LDS needs, so that it would wait for all.

Counterpart of UpdateAsyncWaitCount.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from minitriton.analysis.access_width import buffer_width, neighbours
from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.wave_copies import Copy, instructions_of_every_wave
from minitriton.dialects import amdg, tt, ttg
from minitriton.dialects.fast_paths.op_access import operand_values, ops_of
from minitriton.dialects.tt.types import element_type
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.passes.tensor_layouts import layout_of_value, shape_of
from minitriton.pipeline.choice import remark
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.rewriting.constants import int_constant
from minitriton.rewriting.effects import own_effects
from minitriton.rewriting.rewriter import Inserter

Count = Callable[[Operation], int]
_CDNA = ("gfx90a", "gfx942", "gfx950")
_WITH_COPIES = (*_CDNA, "gfx1250")


@register_pass
class UpdateAsyncWaitCount(Pass, stage="ttgir", origin="triton"):
    """Has waits count instructions in place of groups."""

    name: ClassVar[str] = "tritonamdgpu-update-async-wait-count"
    acts_on = frozenset({ttg.AsyncWaitOp})
    requires = frozenset({Property.ENCODINGS})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE
    arch_generation_name: str = ""
    """LLVM's name of the GPU."""
    sure_copies_only: bool = False
    """Whether copies count that every wave is sure to issue, no others: a wave whose lanes are all masked branches around a copy."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace every wait."""
        if self.arch_generation_name not in _WITH_COPIES:
            return
        instructions = _Instructions(
            AxisInfoAnalysis(op),
            remarks=self.arch_generation_name in ("gfx942", "gfx950"),
            sure_on=self.arch_generation_name if self.sure_copies_only else "",
        )
        for wait in ops_of(op, ttg.AsyncWaitOp):
            tokens = list(operand_values(wait))
            if tokens:
                least = min(_fewest_since(token, wait, instructions.of, 0, math.inf) for token in tokens)
            else:
                least = _Backward(instructions.of).fewest(wait, wait, wait.num.value.data, 0, math.inf)
            new = amdg.AsyncWaitOp(tokens, 0 if least == math.inf else int(least))
            Inserter.before(wait).insert(new)
            wait.results[0].replace_all_uses_with(new.results[0])
            wait.detach()
            wait.erase()


class _Instructions:
    """How many instructions that copy to LDS an op becomes."""

    def __init__(self, facts: AxisInfoAnalysis, remarks: bool, sure_on: str) -> None:
        self.facts, self.remarks, self.sure_on = facts, remarks, sure_on
        self.known: dict[Operation, int] = {}

    def of(self, op: Operation) -> int:
        """Of an op; 0 for what copies nothing."""
        if op not in self.known:
            self.known[op] = self._count(op)
        return self.known[op]

    def _count(self, op: Operation) -> int:
        if self.sure_on and isinstance(op, Copy):
            return instructions_of_every_wave(self.facts, op, self.sure_on)
        if isinstance(op, ttg.AsyncCopyGlobalToLocalOp):
            width = neighbours(self.facts, op.src, None).width
            return self._accesses(op.src, op.destination, op.mask, width)
        if isinstance(op, amdg.BufferLoadToLocalOp):
            return self._accesses(op.offsets, op.dest, op.mask, buffer_width(self.facts, op.ptr, op.offsets, None))
        if self.remarks and any(
            isinstance(effect.value, SSAValue) and _is_global(effect.value) for effect in own_effects(op) or ()
        ):
            remark(
                op,
                "Global memory operation between async wait and async_loads. This will hinder the interleaving of memory operations and "
                "might impact performance.",
            )
        return 0

    def _accesses(self, source: SSAValue, buffer: SSAValue, mask: SSAValue | None, width: int) -> int:
        layout, shape = layout_of_value(source), shape_of(source)
        assert layout is not None and isinstance(buffer.type, ttg.MemDescType)
        shared = ttg.layout_of(buffer.type)
        assert shared is not None
        map_ = to_linear_layout(layout, shape).invert_and_compose(to_linear_layout(shared, shape))
        width = min(width, map_.get_num_consecutive_in_out())
        if mask is not None:
            width = min(width, self.facts.mask_alignment(mask))
        return max(1, (1 << len(map_.bases.get("register", ()))) // width)


def _is_global(value: SSAValue) -> bool:
    return isinstance(element_type(value.type), tt.PointerType)


# From a token -----------------------------------------------------------------------------------------------------------


def _between(first: Operation | None, end: Operation | None, count: Count) -> int:
    """The fewest instructions from `first` up to `end`."""
    total = 0
    op = first
    while op is not None and op is not end:
        if isinstance(op, scf.IfOp):
            total += min(_in(region.block, count) if region.blocks else 0 for region in op.regions)
        elif isinstance(op, scf.ForOp):
            low, high, step = (int_constant(value) for value in operand_values(op)[:3])
            if low is not None and high is not None and step:
                total += max(0, -((low - high) // step)) * _in(op.regions[0].block, count)
        else:
            total += count(op)
        op = op.next_op
    return total


def _in(block: Block, count: Count) -> int:
    return _between(block.first_op, block.last_op, count)


def _fewest_since(token: SSAValue, user: Operation, count: Count, so_far: int, least: float) -> float:
    """The fewest instructions between what defines `token` and `user`, on any way through loops."""
    region = token.block.parent if isinstance(token, BlockArgument) else token.owner.parent_region()
    at: Operation | None = user
    while at is not None and at.parent_region() is not region:
        so_far += _between(cast(Block, at.parent).first_op, at, count)
        at = at.parent_op()
    if at is None:
        return 0
    if isinstance(token, OpResult):
        return min(least, so_far + _between(token.op.next_op, at, count))
    assert isinstance(token, BlockArgument)
    loop = token.block.parent_op()
    if not isinstance(loop, scf.ForOp) or token.index == 0:
        return 0
    so_far += _between(token.block.first_op, at, count)
    if so_far >= least:
        return least
    last = cast(Operation, token.block.last_op)
    first = _fewest_since(operand_values(loop)[token.index + 2], loop, count, so_far, least)
    again = _fewest_since(operand_values(last)[token.index - 1], last, count, so_far, least)
    return min(first, again, least)


# From a number of groups ------------------------------------------------------------------------------------------------


class _Backward:
    """Walks back from a wait until as many groups were committed as may be outstanding."""

    def __init__(self, count: Count) -> None:
        self.count = count
        self.seen: set[tuple[Operation, int, int]] = set()

    def fewest(self, at: Operation | None, came_from: Operation, groups: int, so_far: int, best: float) -> float:
        """The fewest instructions on any way back from `at`."""
        while at is not None:
            if groups < 0 or so_far >= best:
                return min(best, so_far)
            if isinstance(at, scf.IfOp | scf.ForOp | scf.WhileOp):
                for following in self._ways(at, came_from, groups, so_far):
                    best = min(best, self.fewest(following, at, groups, so_far, best))
                return best
            if isinstance(at, tt.FuncOp):
                return min(best, so_far)
            if at.regions and not isinstance(at, tt.ReduceOp):
                remark(
                    at,
                    "has subregions but is not analyzed when determining async wait count; this yields conservative waits",
                )
                return 0
            so_far += self.count(at)
            groups -= isinstance(at, ttg.AsyncCommitGroupOp)
            came_from, at = at, _before(at)
        return min(so_far, best)

    def _ways(self, op: Operation, came_from: Operation, groups: int, so_far: int) -> list[Operation | None]:
        """What comes before an op with regions, or before what is in them."""
        ends = [region.block.last_op for region in op.regions if region.blocks]
        inside = next((number for number, region in enumerate(op.regions) if came_from.parent_region() is region), None)
        if isinstance(op, scf.IfOp):
            if inside is not None:
                return [_before(op)]
            return ends if len(ends) > 1 else [*ends, _before(op)]
        is_new = (op, groups, so_far) not in self.seen
        if isinstance(op, scf.ForOp):
            if inside is not None:
                self.seen.add((op, groups, so_far))
            return [_before(op), *(ends if inside is None or is_new else [])]
        if inside != 0:
            return ends[:1]
        self.seen.add((op, groups, so_far))
        return [_before(op), *(ends[1:] if is_new else [])]


def _before(op: Operation) -> Operation | None:
    previous = op.prev_op or op.parent_op()
    return None if isinstance(previous, ModuleOp) else previous

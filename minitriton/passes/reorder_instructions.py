"""Shorter lives for registers: conversions close to their use, allocations and transposes close to their source.

In: TTGIR. Out: the same ops in another order.

    %a = ttg.local_load ...                          scf.for ... {
    scf.for ... {                                      %a = ttg.local_load ...
      tt.dot %a, %b, %acc                     =>       tt.dot %a, %b, %acc
    }                                                }

Counterpart of lib/Dialect/TritonGPU/Transforms/ReorderInstructions.cpp.

Casts to wider types after the loads, reductions, loops and conversions that come before their first use.

In: TTGIR, in the order in which it will be lowered. Out: the same ops in another order.

    %w = tt.load ... : tensor<8192xf16>                    %w = tt.load ... : tensor<8192xf16>
    %f = arith.extf %w : f16 to f32                        %s = "tt.reduce"(%x) ...
    %s = "tt.reduce"(%x) ...                       =>      %f = arith.extf %w : f16 to f32
    %y = arith.mulf %f, %s                                 %y = arith.mulf %f, %s

Until then a thread holds half the registers, and does not wait for the load before the reduction: RMS norm 4096x8192 f16 at 16 warps takes
40 registers for 48, with which an SM holds three blocks for two. The loads of layer norm's last line start together. Triton's lowering gets there as LLVM sinks its scalar casts, which it does
not do to vectors. Left out by `without="minitriton-sink-widening-casts"`.
"""

from bisect import bisect_left, bisect_right
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import MemoryEffectKind

from minitriton.analysis.shared_memory.liveness import Aliases, is_shared_memdesc, shared_memory_aliases
from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.fast_paths.op_access import BlockOrder, ops_in, ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.encodings import DotOperand
from minitriton.passes.loop_rewriting import loop_around
from minitriton.passes.tensor_layouts import element_bits, layout_of_value
from minitriton.pipeline.pass_registry import KEPT_BY_DEFAULT, Pass, Property, register_pass
from minitriton.rewriting.effects import may_write, own_effects


@register_pass
class ReorderInstructions(Pass, stage="ttgir", origin="triton"):
    """Moves conversions to their uses, allocations and transposes to their sources."""

    name = "tritongpu-reorder-instructions"
    acts_on = frozenset({ttg.ConvertLayoutOp, ttg.LocalLoadOp, ttg.LocalAllocOp, tt.TransOp, ttg.MemDescTransOp})
    requires = frozenset({Property.ENCODINGS})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Five walks, each over the order that the one before it left."""
        for move in (
            move_after_frees,
            _into_loops,
            _allocs_to_sources,
            move_transposes_to_sources,
            _second_operands_last,
        ):
            move(op)


def move_after(op: Operation, anchor: Operation) -> None:
    """Puts `op` right after `anchor`."""
    op.detach()
    cast(Block, anchor.parent).insert_op_after(op, anchor)


def _defining_op(op: Operation) -> Operation | None:
    owner = op.operands[0].owner if op.operands else None
    return owner if isinstance(owner, Operation) else None


def move_after_frees(module: Operation) -> None:
    """A conversion waits for the buffers that are freed before its first use: it may get their memory."""
    frees = bool(ops_of(module, ttg.LocalDeallocOp))
    for op in ops_of(module, ttg.ConvertLayoutOp) if frees else ():
        block = cast(Block, op.parent)
        users = {block.find_ancestor_op_in_block(use.operation) for use in op.results[0].uses}
        anchor = None
        following = op.next_op
        while following is not None and following not in users:
            if isinstance(following, ttg.LocalDeallocOp):
                anchor = following
            following = following.next_op
        if anchor is not None:
            move_after(op, anchor)


def _into_loops(module: ModuleOp) -> None:
    """A dot operand with one use moves into the loop of its use, where nothing writes what it was loaded from."""
    moves: list[tuple[Operation, Operation]] = []
    buffers = _Buffers(module)
    for op in ops_of(module, ttg.LocalLoadOp, ttg.ConvertLayoutOp):
        if isinstance(op, ttg.ConvertLayoutOp) and not isinstance(layout_of_value(op.results[0]), DotOperand):
            continue
        user = op.results[0].get_user_of_unique_use()
        if user is not None and loop_around(user) is not loop_around(op) and buffers.may_move_down(op, user):
            moves.append((op, user))
    for op, user in moves:
        op.detach()
        cast(Block, user.parent).insert_op_before(op, user)


class _Buffers:
    """The buffers in shared memory that loads read and other ops write."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._aliases: Aliases | None = None

    def may_move_down(self, op: Operation, user: Operation) -> bool:
        """Whether `op`, if it is a load of a buffer, reads the same before `user`, in each iteration of the loops around that."""
        buffer = op.operands[0]
        if not isinstance(buffer.type, ttg.MemDescType) or not buffer.type.mutable:
            return True
        if self._aliases is None:
            self._aliases = shared_memory_aliases(self._module)
        end = cast(Block, op.parent).find_ancestor_op_in_block(user)
        following = op.next_op
        while end is not None and following is not None:
            if any(self._may_change(inner, buffer) for inner in ops_in(following)):
                return False
            if following is end:
                return True
            following = following.next_op
        return False

    def _may_change(self, op: Operation, buffer: SSAValue) -> bool:
        effects = own_effects(op)
        if effects is None:
            changed = list(op.operands)
        else:
            changed = [
                e.value for e in effects if e.kind is not MemoryEffectKind.READ and isinstance(e.value, SSAValue)
            ]
        aliases = self._aliases or {}
        mine = aliases.get(buffer)
        return any(
            is_shared_memdesc(value)
            and (mine is None or value not in aliases or not set(mine).isdisjoint(aliases[value]))
            for value in changed
        )


def _allocs_to_sources(module: ModuleOp) -> None:
    """A buffer is filled right after what fills it, unless that is a constant, which costs no registers."""
    for op in ops_of(module, ttg.LocalAllocOp):
        source = _defining_op(op)
        if source is not None and not isinstance(source, arith.ConstantOp | tt.SplatOp):
            move_after(op, source)


def move_transposes_to_sources(module: Operation) -> None:
    """A transpose follows what it transposes."""
    for op in ops_of(module, tt.TransOp, ttg.MemDescTransOp):
        source = _defining_op(op)
        if source is not None:
            move_after(op, source)


def _second_operands_last(module: ModuleOp) -> None:
    """The second operand of a dot is loaded after the first."""
    order = BlockOrder()
    writes = _WritePositions(order)
    for op in ops_of(module, ttg.LocalLoadOp):
        layout = layout_of_value(op.results[0])
        if not isinstance(layout, DotOperand) or layout.op_idx != 1:
            continue
        dot = op.results[0].get_user_of_unique_use()
        if not isinstance(dot, tt.DotOp):
            continue
        first = _defining_op(dot)
        if isinstance(first, ttg.LocalLoadOp) and writes.may_move_down(op, first):
            order.forget(op)
            move_after(op, first)


class _WritePositions:
    """Where the ops of each block stand that write; none of these moves."""

    def __init__(self, order: BlockOrder) -> None:
        self._order = order
        self._writing: dict[Block, list[Operation]] = {}

    def may_move_down(self, op: Operation, anchor: Operation) -> bool:
        """Whether `anchor` follows `op`, with no write in between."""
        block = cast(Block, op.parent)
        end = block.find_ancestor_op_in_block(anchor)
        if end is None or end is op or self._order.comes_before(end, op):
            return False
        if block not in self._writing:
            self._writing[block] = [each for each in block.ops if may_write(each)]
        writing = self._writing[block]
        following = bisect_right(writing, self._order.number(op), key=self._order.number)
        return following == len(writing) or self._order.comes_before(end, writing[following])


_CASTS = frozenset({arith.ExtFOp, arith.ExtSIOp, arith.ExtUIOp, arith.SIToFPOp, arith.UIToFPOp, tt.FpToFpOp})
_WAITING = (ttg.ConvertLayoutOp, tt.GatherOp, tt.HistogramOp, tt.LoadOp)
"""Ops without regions before which threads may wait for each other, and loads, which start before the cast waits for an earlier one."""


@register_pass
class SinkWideningCasts(Pass, stage="ttgir"):
    """Moves casts to wider types to their first use."""

    name = "minitriton-sink-widening-casts"
    acts_on = _CASTS
    requires = frozenset({Property.ENCODINGS})
    keeps = KEPT_BY_DEFAULT | {Property.DOT_OPERANDS_FENCED}

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        """Move the casts of each block, the last first, so that chains of casts move together."""
        moved = False
        blocks: dict[Block, list[Operation]] = {}
        for found in ops_in(op):
            if found.__class__ in _CASTS and found.parent is not None and _widens(found):
                blocks.setdefault(found.parent, []).append(found)
        for block, casts in blocks.items():
            number = {each: index for index, each in enumerate(block.ops)}
            waiting = [index for each, index in number.items() if each.regions or isinstance(each, _WAITING)]
            for each in reversed(casts) if waiting else ():
                user = _first_user(each, block, number)
                if user is None or bisect_left(waiting, number[each]) == bisect_left(waiting, number[user]):
                    continue
                each.detach()
                block.insert_op_before(each, user)
                number[each] = number[user]
                moved = True
        return moved


def _widens(cast: Operation) -> bool:
    source, result = cast.operands[0].type, cast.results[0].type
    if not instance_of(source, TensorType) or not instance_of(result, TensorType):
        return False
    return 1 < element_bits(source) < element_bits(result)


def _first_user(cast: Operation, block: Block, number: dict[Operation, int]) -> Operation | None:
    """The first op of the block that uses the result, or has an op within that does."""
    users = {block.find_ancestor_op_in_block(use.operation) for use in cast.results[0].uses}
    return min((user for user in users if user is not None), key=number.__getitem__, default=None)

"""Shorter lives for registers: conversions close to their use, allocations and transposes close to their source.

In: TTGIR. Out: the same ops in another order.

    %a = ttg.local_load ...                          scf.for ... {
    scf.for ... {                                      %a = ttg.local_load ...
      tt.dot %a, %b, %acc                     =>       tt.dot %a, %b, %acc
    }                                                }

Answers to lib/Dialect/TritonGPU/Transforms/ReorderInstructions.cpp.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import MemoryEffectKind

from minitriton.analysis.shared_memory.alias import Aliases, is_shared_memdesc, shared_memory_aliases
from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.fast_paths.block_order import BlockOrder
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.layouts.encodings import DotOperand
from minitriton.pass_registry import Pass, Property, register_pass
from minitriton.passes.tensor_layouts import layout_of_value
from minitriton.rewriting.effects import may_write, own_effects


@register_pass
class ReorderInstructions(Pass, stage="ttgir", origin="triton"):
    """Moves conversions to their uses, allocations and transposes to their sources."""

    name = "tritongpu-reorder-instructions"
    acts_on = frozenset({ttg.ConvertLayoutOp, ttg.LocalLoadOp, ttg.LocalAllocOp, tt.TransOp, ttg.MemDescTransOp})
    requires = frozenset({Property.ENCODINGS})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Five walks, each over the order that the one before it left."""
        for move in (_behind_frees, _into_loops, _allocs_to_sources, _transposes_to_sources, _second_operands_last):
            move(op)


def _ops(module: ModuleOp, *names: str) -> list[Operation]:
    return [op for op in ops_in(module) if op.name in names]


def _move_after(op: Operation, place: Operation) -> None:
    op.detach()
    cast(Block, place.parent).insert_op_after(op, place)


def _defining_op(op: Operation) -> Operation | None:
    owner = op.operands[0].owner if op.operands else None
    return owner if isinstance(owner, Operation) else None


def _behind_frees(module: ModuleOp) -> None:
    """A conversion waits for the buffers that are freed before its first use: it may get their memory."""
    frees = bool(_ops(module, "ttg.local_dealloc"))
    for op in _ops(module, "ttg.convert_layout") if frees else ():
        block = cast(Block, op.parent)
        users = {block.find_ancestor_op_in_block(use.operation) for use in op.results[0].uses}
        place = None
        following = op.next_op
        while following is not None and following not in users:
            if following.name == "ttg.local_dealloc":
                place = following
            following = following.next_op
        if place is not None:
            _move_after(op, place)


def _into_loops(module: ModuleOp) -> None:
    """A dot operand with one use moves into the loop of its use, where nothing writes what it was loaded from."""
    moves: list[tuple[Operation, Operation]] = []
    buffers = _Buffers(module)
    for op in _ops(module, "ttg.local_load", "ttg.convert_layout"):
        if op.name == "ttg.convert_layout" and not isinstance(layout_of_value(op.results[0]), DotOperand):
            continue
        user = op.results[0].get_user_of_unique_use()
        if user is not None and _loop_around(user) is not _loop_around(op) and buffers.may_move_down(op, user):
            moves.append((op, user))
    for op, user in moves:
        op.detach()
        cast(Block, user.parent).insert_op_before(op, user)


def _loop_around(op: Operation) -> Operation | None:
    parent = op.parent_op()
    while parent is not None and parent.name != "scf.for":
        parent = parent.parent_op()
    return parent


class _Buffers:
    """The buffers in shared memory that loads read and other ops write."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._aliases: Aliases | None = None

    def may_move_down(self, op: Operation, user: Operation) -> bool:
        """Whether `op`, if it is a load of a buffer, reads the same in front of `user`, in each iteration of the loops around that."""
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
    """A buffer is filled right behind what fills it, unless that is a constant, which costs no registers."""
    for op in _ops(module, "ttg.local_alloc"):
        source = _defining_op(op)
        if source is not None and not isinstance(source, arith.ConstantOp | tt.SplatOp):
            _move_after(op, source)


def _transposes_to_sources(module: ModuleOp) -> None:
    for op in _ops(module, "tt.trans", "ttg.memdesc_trans"):
        source = _defining_op(op)
        if source is not None:
            _move_after(op, source)


def _second_operands_last(module: ModuleOp) -> None:
    """The second operand of a dot is loaded behind the first."""
    order = BlockOrder()
    writes = _WritePlaces(order)
    for op in _ops(module, "ttg.local_load"):
        layout = layout_of_value(op.results[0])
        if not isinstance(layout, DotOperand) or layout.op_idx != 1:
            continue
        dot = op.results[0].get_user_of_unique_use()
        if dot is None or dot.name != "tt.dot":
            continue
        first = _defining_op(dot)
        if first is not None and first.name == "ttg.local_load" and writes.may_move_down(op, first):
            order.forget(op)
            _move_after(op, first)


class _WritePlaces:
    """Where the ops of each block stand that write, of which none moves."""

    def __init__(self, order: BlockOrder) -> None:
        self._order = order
        self._writing: dict[Block, list[Operation]] = {}

    def may_move_down(self, op: Operation, place: Operation) -> bool:
        """Whether `place` follows `op`, with no write in between."""
        block = cast(Block, op.parent)
        end = block.find_ancestor_op_in_block(place)
        if end is None or end is op or self._order.comes_before(end, op):
            return False
        if block not in self._writing:
            self._writing[block] = [each for each in block.ops if may_write(each)]
        writing = self._writing[block]
        following = bisect_right(writing, self._order.number(op), key=self._order.number)
        return following == len(writing) or self._order.comes_before(end, writing[following])

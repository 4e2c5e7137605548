"""The first reads of an iteration done at the end of the one before, under its last dot.

    scf.for ... iter_args(%read) {                      %t0 = async_wait; %a0 = local_load %ring[first]
      %t = async_wait {num = 2}                         scf.for ... iter_args(%read, %a = %a0, %t = %t0) {
      %a = local_load %ring[%read]                        %d = tt.dot %a, ...
      %d = tt.dot %a, ...                          =>     %b = local_load ...
      %b = local_load ...                                 %t1 = async_wait {num = 0}
      %e = tt.dot %b, ..., %d                             %a1 = local_load %ring[%next]
      async_copy ... ; commit; commit                     async_copy ... ; commit; commit
      yield %next                                         %e = tt.dot %b, ..., %d
    }                                                     yield %next, %a1, %t1
                                                        }

Without it all warps wait after the barrier for their first reads while tensor cores are idle. What the last iteration reads for the next is not used.

The wait may come before the commits of its iteration, if it then leaves as many groups fewer in flight. The copies that it passes are
those that the wait left in flight when it stood at the top: they may have written at any time before or after the reads, so that a program in
which they write what is read would be wrong already.
"""

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import UnitAttr, i32
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import MemoryEffectKind

from minitriton.dialects import tt, ttg
from minitriton.dialects.facts.pass_attributes import APART_UNTIL_WAIT
from minitriton.dialects.fast_paths.op_access import operand_values, ops_in
from minitriton.host.frozen import frozen
from minitriton.passes.loop_rewriting import append_result
from minitriton.passes.pipelining.schedule import body_ops, terminator_of
from minitriton.rewriting.constants import int_attr
from minitriton.rewriting.effects import EffectKind, effect_kind, own_effects
from minitriton.rewriting.regions import clone_op
from minitriton.rewriting.rewriter import Inserter


@frozen
class _FirstReads:
    """What an iteration does until its first reads are there: `ops`; those in `moving` wait or read, or use what was read."""

    loop: scf.ForOp
    ops: list[Operation]
    moving: set[Operation]

    @property
    def carried(self) -> list[SSAValue]:
        """What the rest of the iteration uses of the moving ops."""
        return [
            result
            for op in self.ops
            if op in self.moving
            for result in op.results
            if any(use.operation not in self.moving for use in result.uses)
        ]

    @property
    def arguments(self) -> set[BlockArgument]:
        """What the loop carries and these ops use."""
        block = self.loop.body.block
        values = (value for op in self.ops for value in operand_values(op))
        return {value for value in values if isinstance(value, BlockArgument) and value.block is block}


def _first_reads(loop: scf.ForOp, values: Sequence[SSAValue]) -> _FirstReads | None:
    """The ops of `loop` that `values` are made by; None where one cannot be done an iteration ahead."""
    block, needed = loop.body.block, set[Operation]()
    pending = list(values)
    while pending:
        value = pending.pop()
        if value is block.args[0]:
            return None
        op = value.owner
        if not isinstance(op, Operation) or op in needed or op.parent is not block:
            continue
        is_read = isinstance(op, ttg.AsyncWaitOp | ttg.LocalLoadOp)
        if not is_read and (op.regions or effect_kind(op) is not EffectKind.FREE):
            return None
        needed.add(op)
        pending += operand_values(op)
    moving = set[Operation]()
    ops = [op for op in body_ops(loop) if op in needed]
    for op in ops:
        if isinstance(op, ttg.AsyncWaitOp | ttg.LocalLoadOp) or any(
            value.owner in moving for value in operand_values(op)
        ):
            moving.add(op)
    return _FirstReads(loop, ops, moving) if moving else None


def writes_shared_memory(op: Operation) -> bool:
    """Whether `op` may write shared memory, or wait, other than by asynchronous copies from global memory."""
    for inner in ops_in(op):
        if isinstance(inner, ttg.AsyncCopyGlobalToLocalOp | ttg.AsyncCommitGroupOp | tt.LoadOp):
            continue
        effects = own_effects(inner)
        if effects is None or any(
            effect.kind is not MemoryEffectKind.READ
            and not (isinstance(effect.value, SSAValue) and not isinstance(effect.value.type, ttg.MemDescType))
            for effect in effects
        ):
            return True
    return False


def copies_to_shared_memory(op: Operation) -> bool:
    """Whether `op` starts, or commits, asynchronous copies from global memory."""
    return any(isinstance(inner, ttg.AsyncCopyGlobalToLocalOp | ttg.AsyncCommitGroupOp) for inner in ops_in(op))


def _is_first(found: _FirstReads) -> bool:
    """Whether nothing that the reads must not pass stands before them in their iteration."""
    left = set(found.ops)
    for op in body_ops(found.loop):
        if not left:
            return True
        if op in left:
            left.discard(op)
        elif writes_shared_memory(op) or copies_to_shared_memory(op):
            return False
    return not left


def _early_position(found: _FirstReads) -> tuple[Operation, int] | None:
    """The first copy of the iteration, and how many groups are committed from there on, if the wait and the reads may stand before it."""
    first: Operation | None = None
    groups, is_open = 0, False
    for op in body_ops(found.loop):
        if isinstance(op, ttg.AsyncCopyGlobalToLocalOp) and first is None:
            first = op
        if first is None:
            continue
        if isinstance(op, ttg.AsyncCopyGlobalToLocalOp):
            is_open = True
        elif isinstance(op, ttg.AsyncCommitGroupOp):
            groups, is_open = groups + 1, False
        if writes_shared_memory(op) or isinstance(op, ttg.LocalLoadOp) or op in found.moving or op.regions:
            return None
    waits = [op for op in found.ops if isinstance(op, ttg.AsyncWaitOp)]
    if first is None or is_open or len(waits) != 1 or waits[0].num.value.data < groups:
        return None
    order: dict[Operation | Block, int] = {op: number for number, op in enumerate(body_ops(found.loop))}
    yielded = operand_values(terminator_of(found.loop))
    for argument in found.arguments:
        value = yielded[argument.index - 1]
        if value.owner in order and order[value.owner] > order[first]:
            return None
    return first, groups


def read_ahead(
    loop: scf.ForOp, values: Sequence[SSAValue], last: Operation, in_flight: int | None = None
) -> str | None:
    """Does what gives `values` an iteration ahead, before `last`, a dot whose result nothing but the next iteration needs. Says why it did not.

    `in_flight`: only if the reads can stand before the copies of their iteration, and copies are still waited for so many iterations after they start.
    """
    found = _first_reads(loop, values)
    end = terminator_of(loop)
    if found is None or last in found.ops or not _is_first(found):
        return _OTHER_WORK
    if any(use.operation is not end for result in last.results for use in result.uses):
        return _OTHER_WORK
    early = _early_position(found)
    if in_flight is not None:
        if early is None:
            return _OTHER_WORK
        waits = (op.num.value.data // early[1] for op in found.ops if isinstance(op, ttg.AsyncWaitOp))
        if (left := min(waits)) < in_flight:
            return f"copies would be waited for {left} iterations after they start, and a load takes {in_flight}"
    block = loop.body.block
    if early is None or last.next_op is not end:
        last.detach()
        block.insert_op_before(last, end)
    at = Inserter.before(last) if early is None else Inserter.before(early[0])
    outside = dict(zip(block.args[1:], operand_values(loop)[3:], strict=True))
    following = dict(zip(block.args[1:], operand_values(end), strict=True))
    carried = found.carried
    initial = _made(Inserter.before(loop), found, {**outside}, carried)
    ahead = _made(at, found, {**following}, carried, early[1] if early is not None else None)
    _carry(loop, carried, initial, ahead)
    following_op = early[0] if early is not None else None
    while following_op is not None:
        if isinstance(following_op, ttg.AsyncCopyGlobalToLocalOp):
            following_op.attributes[APART_UNTIL_WAIT] = UnitAttr()
        following_op = following_op.next_op
    for op in reversed(found.ops):
        if op in found.moving:
            block.erase_op(op)
    return None


_OTHER_WORK = "other work stands before them or after its last dot"


def _made(
    at: Inserter,
    found: _FirstReads,
    values: dict[SSAValue, SSAValue],
    carried: list[SSAValue],
    passed: int | None = None,
) -> list[SSAValue]:
    """The first reads once more, with `values` for what the loop carries; `passed`: groups whose commits the wait comes before."""
    for op in found.ops:
        copy = clone_op(op, values)
        if passed is not None and isinstance(copy, ttg.AsyncWaitOp):
            copy.properties["num"] = int_attr(i32, copy.num.value.data - passed)
        if passed is not None and isinstance(copy, ttg.LocalLoadOp):
            copy.attributes[APART_UNTIL_WAIT] = UnitAttr()
        at.place(copy)
    return [values[value] for value in carried]


def _carry(loop: scf.ForOp, values: list[SSAValue], initial: list[SSAValue], following: list[SSAValue]) -> None:
    """`values` of the body become what the loop carries."""
    block, end = loop.body.block, terminator_of(loop)
    for value in values:
        argument = block.insert_arg(value.type, len(block.args))
        argument.name_hint = value.name_hint
        value.replace_all_uses_with(argument)
        append_result(loop, value.type)
    loop.operands = [*operand_values(loop), *initial]
    end.operands = [*operand_values(end), *following]

"""Which dots run on tensor cores, what they read, and which wait covers them.

%d = ttng.warp_group_dot %a, %b, %c {isAsync}        dot_of(%w) is this dot; buffers_read: the buffers of %a and %b
%e = ttng.warp_group_dot ...
%w = ttng.warp_group_dot_wait %d {pendings = 1}      the wait that covers %d: no more dots stay in flight than began after it
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from minitriton.analysis.in_flight.rings import VIEWS
from minitriton.dialects import ttg, ttng
from minitriton.dialects.fast_paths.op_access import last_op_of, operand_values


def dot_of(value: SSAValue) -> ttng.WarpGroupDotOp | None:
    """The dot whose result `value` is, before or after a wait."""
    while isinstance(value, OpResult) and isinstance(value.op, ttng.WarpGroupDotWaitOp):
        value = value.op.operands[value.index]
    return value.op if isinstance(value, OpResult) and isinstance(value.op, ttng.WarpGroupDotOp) else None


def covering_wait(following: Iterable[Operation]) -> ttng.WarpGroupDotWaitOp | None:
    """The first wait that covers a dot, of the ops after it in order; None if none does."""
    started = 0
    for op in following:
        if isinstance(op, ttng.WarpGroupDotOp):
            started += 1
        elif isinstance(op, ttng.WarpGroupDotWaitOp) and op.pendings.value.data <= started:
            return op
    return None


def buffers_read(dot: ttng.WarpGroupDotOp) -> list[SSAValue]:
    """The operands that a dot reads from shared memory while it runs."""
    return [value for value in operand_values(dot)[:2] if isinstance(value.type, ttg.MemDescType)]


def dots_reading(op: Operation) -> list[ttng.WarpGroupDotOp]:
    """The dots that read a buffer which holds the result of `op`."""
    found: list[ttng.WarpGroupDotOp] = []
    pending = [use.operation for use in op.results[0].uses]
    while pending:
        user = pending.pop()
        if isinstance(user, ttng.WarpGroupDotOp):
            found.append(user)
        if isinstance(user, (ttg.LocalAllocOp, *VIEWS)):
            pending.extend(use.operation for use in user.results[0].uses)
    return found


def buffers_read_until(wait: ttng.WarpGroupDotWaitOp) -> list[SSAValue] | None:
    """The buffers that the dots waited for read. None if a dot is not known: a wait that leaves some in flight is for those of iterations
    before, whose buffers it does not name."""
    if wait.pendings.value.data:
        return None
    found: list[SSAValue] = []
    for value in wait.operands:
        if isinstance(value.type, TensorType):
            if not isinstance(value, OpResult) or not isinstance(value.op, ttng.WarpGroupDotOp):
                return None
            found.extend(buffers_read(value.op))
    return found


def carried_dots(loop: scf.ForOp) -> list[BlockArgument]:
    """The arguments of the body that carry the result of a dot from one iteration to the next."""
    block = loop.body.block
    carried = zip(block.args[1:], operand_values(last_op_of(block)), strict=True)
    return [argument for argument, value in carried if dot_of(value) is not None]


def is_carried(result: OpResult) -> bool:
    """Whether `result` is that of a loop which carries a dot there."""
    loop = result.op
    return isinstance(loop, scf.ForOp) and dot_of(operand_values(last_op_of(loop.body.block))[result.index]) is not None


def end_in_loop(dot: ttng.WarpGroupDotOp, body: Sequence[Operation], index: int) -> tuple[int, Operation] | None:
    """How many iterations later, and after which op of the loop's `body`, the dot at `index` is known to be over; None if that is not known."""
    if not dot.is_async.value.data:
        return 0, dot
    wait = covering_wait((*body[index + 1 :], *body[:index]))
    if wait is None:
        return None
    return int(wait in body[:index]), wait

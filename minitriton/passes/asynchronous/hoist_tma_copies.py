"""`minitriton-hoist-tma-copies`: a tensor copy starts as early as it can, and is waited for where its buffer is first used.

    async_tma_copy_global_to_local %q_desc[..] %q, %bar          async_tma_copy_global_to_local %q_desc[..] %q, %bar
    wait_barrier %bar, %c0                                       async_tma_copy_global_to_local %k_desc[..] %k, %other
    inval_barrier %bar                                     =>    wait_barrier %bar, %c0
    use %q                                                       inval_barrier %bar
    async_tma_copy_global_to_local %k_desc[..] %k, %other        use %q
    wait_barrier %other, %c0                                     wait_barrier %other, %c0
    use %k                                                       use %k

In: TTGIR with copies that are waited for in the same block. Out: the same. What starts a copy (its buffer, its mbarrier, the copy) moves up
after what it needs; the wait and what ends the mbarrier move down to the first use of the buffer. Neither passes what writes global memory,
which the copy reads, a loop, or an op that may do anything. Attention starts the copies of the first keys while the queries come,
and that of values while scores are computed.

`minitriton-share-tensor-copies`: the boxes of a tensor copy are started by as many warps.

    ttng.async_tma_copy_global_to_local %d[%x, %y] %buffer, %bar, %true
=>  ttng.async_tma_copy_global_to_local %d[%x, %y] %buffer, %bar, %true {ttg.issued-by-warps}

A copy into rows of more than the swizzle's 128 bytes is several instructions, one for each box. One warp starts them one after the other, each
with a descriptor, coordinates and an address of its own in uniform registers; warp number i starts box number i at once, of one code.

In: TTGIR with barriers. Out: the same. A kernel in which the first warp alone waits for buffers (`minitriton-first-warp-barriers`) is left alone,
as other warps may not fill them there. Triton always shares them; here only Gluon's pipeline does, in which loops fill and wait in turn.
"""

from typing import ClassVar, NamedTuple, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue

from minitriton.analysis.in_flight.outstanding import InFlight
from minitriton.analysis.in_flight.rings import VIEWS, views_of
from minitriton.dialects import tt, ttg, ttng
from minitriton.dialects.facts.launch import num_ctas
from minitriton.dialects.facts.pass_attributes import ISSUED_BY_WARPS
from minitriton.dialects.fast_paths.op_access import ops_in, ops_of
from minitriton.pipeline.pass_registry import EVERYTHING, KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.rewriting.effects import is_memory_effect_free

_PASSED = (
    tt.LoadOp,
    ttg.LocalAllocOp,
    ttng.InitBarrierOp,
    ttng.BarrierExpectOp,
    ttng.AsyncTMACopyGlobalToLocalOp,
    ttng.WaitBarrierOp,
    ttng.InvalBarrierOp,
    ttng.WarpGroupDotOp,
    ttng.WarpGroupDotWaitOp,
    *VIEWS,
)
"""Ops with effects that a copy under way does not meet, on other buffers than its own."""


@register_pass
class HoistTmaCopies(Pass, stage="llir"):
    """Starts tensor copies earlier, and waits for them later."""

    name: ClassVar[str] = "minitriton-hoist-tma-copies"
    acts_on = frozenset({ttng.WaitBarrierOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Move the starts of all such copies, the first of a block first, then the waits, the last first."""
        waits, in_flight = ops_of(op, ttng.WaitBarrierOp), InFlight(op)
        copies = [copy for wait in waits if (copy := _copy_before(wait, in_flight)) is not None]
        for copy in copies:
            _hoist(copy)
        for copy in reversed(copies):
            _sink(copy)


class _AwaitedCopy(NamedTuple):
    """A copy that is waited for once, with all that its mbarrier is for, and the buffer, in one block."""

    start: list[Operation]
    wait: ttng.WaitBarrierOp
    end: ttng.InvalBarrierOp
    own: frozenset[SSAValue]
    """The mbarrier, the buffer, and its views."""


def _copy_before(wait: ttng.WaitBarrierOp, in_flight: InFlight) -> _AwaitedCopy | None:
    """The copy that `wait` is for; None where there is more to it."""
    barrier, following = wait.alloc, wait.next_op
    if not isinstance(barrier, OpResult) or not isinstance(barrier.op, ttg.LocalAllocOp) or wait.pred is not None:
        return None
    users = [use.operation for use in barrier.uses]
    copies = [copy for copy, _ in in_flight.ended_by(wait) if isinstance(copy, ttng.AsyncTMACopyGlobalToLocalOp)]
    if len(copies) != 1 or any(op.parent is not wait.parent for op in (barrier.op, *users)):
        return None
    if not isinstance(following, ttng.InvalBarrierOp) or following.alloc is not barrier or len(users) != 5:
        return None
    start: list[Operation] = [barrier.op]
    buffer = copies[0].destination
    if isinstance(buffer, OpResult) and isinstance(buffer.op, ttg.LocalAllocOp) and buffer.op.parent is wait.parent:
        start.append(buffer.op)
    start += [user for user in users if isinstance(user, (ttng.InitBarrierOp, ttng.BarrierExpectOp))] + copies
    order = {op: number for number, op in enumerate(cast(Block, wait.parent).ops)}
    return _AwaitedCopy(sorted(start, key=order.__getitem__), wait, following, frozenset({barrier, *views_of(buffer)}))


def _hoist(copy: _AwaitedCopy) -> None:
    """Move the start after the last op that it needs or must not pass."""
    needed = {v.op for op in copy.start for v in op.operands if isinstance(v, OpResult) and v.op not in copy.start}
    block = cast(Block, copy.wait.parent)
    anchor = copy.start[0]
    before = anchor.prev_op
    while before is not None and before not in needed and _may_pass(before, copy.own):
        anchor, before = before, before.prev_op
    if anchor is copy.start[0] or not any(
        isinstance(op, ttng.WarpGroupDotOp) for op in _between(anchor, copy.start[0])
    ):
        return
    for op in copy.start:
        op.detach()
        block.insert_op_before(op, anchor)


def _between(first: Operation, last: Operation) -> list[Operation]:
    found: list[Operation] = []
    op: Operation | None = first
    while op is not None and op is not last:
        found.append(op)
        op = op.next_op
    return found


def _sink(copy: _AwaitedCopy) -> None:
    """Move the wait before the first op that uses the buffer, or that it must not pass."""
    anchor = copy.end.next_op
    while anchor is not None and _may_pass(anchor, copy.own):
        anchor = anchor.next_op
    if anchor is None or anchor is copy.end.next_op:
        return
    block = cast(Block, copy.wait.parent)
    for op in (copy.wait, copy.end):
        op.detach()
        block.insert_op_before(op, anchor)


def _may_pass(op: Operation, own: frozenset[SSAValue]) -> bool:
    if op.regions or op.next_op is None:
        return is_memory_effect_free(op) and op.next_op is not None and not _uses(op, own)
    if isinstance(op, VIEWS):
        return True
    return (is_memory_effect_free(op) or isinstance(op, _PASSED)) and not _uses(op, own)


def _uses(op: Operation, own: frozenset[SSAValue]) -> bool:
    return any(operand in own for inner in ops_in(op) for operand in inner.operands)


@register_pass
class ShareTensorCopies(Pass, stage="llir"):
    """Lets several warps start the boxes of a tensor copy."""

    name: ClassVar[str] = "minitriton-share-tensor-copies"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.BARRIERS})
    keeps: ClassVar[frozenset[Property]] = EVERYTHING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if num_ctas(op) > 1:
            return
        for function in ops_of(op, tt.FuncOp):
            if not ops_of(function, ttng.FirstWarpWaitsOp):
                for copy in ops_of(function, ttng.AsyncTMACopyGlobalToLocalOp):
                    copy.attributes[ISSUED_BY_WARPS] = UnitAttr()

"""An op that runs only where a condition holds, by what the op itself offers: a mask, a condition, or nothing to hold back.
What is assumed is assumed only there.

tt.store %p, %x          =>      %m = tt.splat %pred : i1 -> tensor<128xi1>
                                 tt.store %p, %x, %m
"""

from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase, TensorType, UnregisteredOp, i1, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from minitriton.dialects import arith, llvm, tt, ttg, ttng
from minitriton.dialects.attribute_values import integers
from minitriton.dialects.facts.memory_access import MemoryAccess
from minitriton.dialects.fast_paths.op_access import operand_at, operand_values
from minitriton.dialects.narrowing import instance_of
from minitriton.errors import PassError
from minitriton.passes.fuse_nested_loops.bounds import unread
from minitriton.rewriting.constants import int_attr
from minitriton.rewriting.effects import is_memory_effect_free
from minitriton.rewriting.rewriter import Inserter

_HARMLESS = (
    ttng.FenceAsyncSharedOp, ttg.AsyncCommitGroupOp, ttg.AsyncWaitOp, ttg.LocalAllocOp, ttg.LocalLoadOp,
    ttg.LocalStoreOp, tt.DescriptorLoadOp, tt.DescriptorGatherOp, ttng.TensormapCreateOp,
    ttng.TensormapFenceproxyAcquireOp, UnregisteredOp,
)  # fmt: skip
"""Ops with an effect that does no harm in an iteration that is not there, and those of tests."""

_CONDITIONS: dict[type[Operation], int] = {
    ttng.AsyncTMACopyGlobalToLocalOp: -1,
    ttng.AsyncTMAGatherOp: -1,
    ttng.BarrierExpectOp: 1,
    ttng.WaitBarrierOp: 2,
    ttng.ArriveBarrierOp: 1,
}
"""For ops of one condition for all threads: where among the operands, or groups of them, it is."""


def can_be_held_back(op: Operation) -> bool:
    """Whether `predicate` works for `op`."""
    if is_memory_effect_free(op) or _masked(op) is not None:
        return True
    return isinstance(op, (*_HARMLESS, llvm.AssumeOp, scf.IfOp, *_CONDITIONS)) or _is_harmless_on_amd(op)


def _is_harmless_on_amd(op: Operation) -> bool:
    from minitriton.dialects.amdg import LocalLoadPackedTransposedOp

    return isinstance(op, LocalLoadPackedTransposedOp)


def _masked(op: Operation) -> MemoryAccess | None:
    access = MemoryAccess.of(op)
    return access if access is not None and access.mask is not None else None


def predicate(op: Operation, condition: SSAValue) -> None:
    """Makes `op` do nothing unless `condition` holds. Raises `PassError` for an op that has no way to."""
    if is_memory_effect_free(op) or isinstance(op, _HARMLESS):
        return
    at = Inserter.before(op)
    if isinstance(op, scf.IfOp):
        _hold_back_else(op, condition)
        op.operands[0] = _both(at, operand_at(op, 0), condition)
        return
    if isinstance(op, llvm.AssumeOp):
        is_absent = at.value(arith.XOrIOp(condition, at.constant(int_attr(i1, 1))))
        op.operands[0] = at.value(arith.OrIOp(is_absent, op.cond))
        return
    group = _CONDITIONS.get(op.__class__)
    if group is not None:
        _set_mask(op, group, at, i1, condition)
        return
    access = _masked(op)
    if access is None and _is_harmless_on_amd(op):
        return
    if access is None:
        raise PassError(f"a pipelined loop cannot hold back {op.name}", help="set num_stages=1 for this loop")
    _set_mask(op, access.mask_group, at, access.pointer_of(op).type, condition)


def _hold_back_else(branch: scf.IfOp, condition: SSAValue) -> None:
    """Where the condition of `branch` is made false, its second region runs: what has an effect there must not.

    scf.if %c { A } else { B }      =>      scf.if %c { A } else { scf.if %pred { B } }
    """
    block = branch.regions[1].first_block
    if block is None or all(is_memory_effect_free(op) or isinstance(op, scf.YieldOp) for op in block.ops):
        return
    outer_yield = block.last_op
    assert outer_yield is not None
    values = list(operand_values(outer_yield))
    held, without = Block(), Block()
    for op in list(block.ops):
        if op is not outer_yield:
            block.detach_op(op)
            held.add_op(op)
    held.add_op(scf.YieldOp(*values))
    at = Inserter.before(outer_yield)
    absent = at.at_end(without)
    absent.insert(scf.YieldOp(*(unread(absent, value.type) for value in values)))
    inner = scf.IfOp(condition, [value.type for value in values], Region(held), Region(without))
    at.insert(inner)
    outer_yield.operands = list(inner.results)


def _both(at: Inserter, mask: SSAValue | None, condition: SSAValue) -> SSAValue:
    return condition if mask is None else at.value(arith.AndIOp(condition, mask))


def _set_mask(op: Operation, group: int, at: Inserter, shape: object, condition: SSAValue) -> None:
    """The operands with the mask `condition and mask`, in the shape of the accessed pointers."""
    if instance_of(shape, TensorType):
        type_ = TensorType(i1, shape.shape, shape.encoding)
        condition = at.value(tt.SplatOp(condition, type_))
    sizes = op.properties.get("operandSegmentSizes")
    if sizes is None:
        group = group if group >= 0 else len(operand_values(op)) - 1
        has_mask = len(operand_values(op)) > group
        first, rest = list(operand_values(op)[:group]), list(operand_values(op)[group + 1 :])
        mask = operand_at(op, group) if has_mask else None
        op.operands = [*first, _both(at, mask, condition), *rest]
        return
    counts = list(integers(sizes))
    start = sum(counts[:group])
    mask = operand_at(op, start) if counts[group] else None
    operands = list(operand_values(op))
    operands[start : start + counts[group]] = [_both(at, mask, condition)]
    counts[group] = 1
    op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, counts)
    op.operands = operands

"""How long loops are, and what must be computed in front of an outer loop for that to be known there.

scf.for %i = ... {                                     %u = arith.addi %n, %n
  %u = arith.addi %n, %n                        =>     scf.for %i = ... {
  scf.for %j = %c0 to %u step %c1 { ... } }              scf.for %j = %c0 to %u step %c1 { ... } }
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from xdsl.dialects import scf, ub
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import MemoryEffectKind

from minitriton.analysis.operations import ops_in
from minitriton.dialects import arith, tt
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.op_access import operand_values
from minitriton.dialects.verification.dominance import Dominance
from minitriton.rewriting.constants import float_attr, int_attr
from minitriton.rewriting.effects import is_memory_effect_free, recursive_effects
from minitriton.rewriting.insertion import Inserter
from minitriton.rewriting.regions import clone_op


def bounds_of(loop: scf.ForOp) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Lower bound, upper bound and step."""
    low, high, step = operand_values(loop)[:3]
    return low, high, step


def ops_before(
    values: Iterable[SSAValue], anchor: Operation, may_use: Callable[[BlockArgument], bool], dominance: Dominance
) -> list[Operation] | None:
    """The ops that must move in front of `anchor` so that `values` are defined there; None if one may not move.

    `may_use` says of a block argument that is not defined there whether it may be used nevertheless.
    """
    found: dict[Operation, None] = {}
    pending = deque(values)
    while pending:
        value = pending.popleft()
        if dominance.properly_dominates(value, anchor):
            continue
        if not isinstance(value, OpResult):
            assert isinstance(value, BlockArgument)
            if not may_use(value):
                return None
            continue
        op = value.op
        if op in found:
            continue
        if not _is_cheap(op):
            return None
        found[op] = None
        pending.extend(operand_values(op))
    return list(found)


def invariant_ops(loop: scf.ForOp, outer: scf.ForOp, dominance: Dominance) -> list[Operation] | None:
    """What must move in front of `outer` for the bounds of `loop` to be known there; None if they depend on `outer`."""
    return ops_before(bounds_of(loop), outer, lambda _: False, dominance)


def varying_ops(loop: scf.ForOp, outer: scf.ForOp, dominance: Dominance) -> list[Operation] | None:
    """The ops that compute the bounds of `loop` from the counter of `outer`; None if they need more than that."""
    first = outer.regions[0].block.args[0]
    return ops_before(bounds_of(loop), outer, lambda argument: argument is first, dominance)


def _is_cheap(op: Operation) -> bool:
    """True for ops on scalars that at most read. Divisions count: they ran before, so they do not trap."""
    if not all(_is_scalar(value.type) for value in (*operand_values(op), *op.results)):
        return False
    if is_memory_effect_free(op):
        return True
    effects = recursive_effects(op)
    return bool(effects) and all(effect.kind is MemoryEffectKind.READ for effect in effects or ())


def _is_scalar(type_: Attribute) -> bool:
    return isinstance(type_, IntegerType | IndexType | AnyFloat | tt.PointerType)


def in_program_order(ops: Iterable[Operation], root: Operation) -> list[Operation]:
    """`ops`, all inside `root`, as they stand in it."""
    wanted = set(ops)
    return [op for op in ops_in(root) if op in wanted] if wanted else []


def move_to(target: Inserter, ops: Iterable[Operation], root: Operation) -> None:
    """Moves `ops`, all inside `root`, to `target` in the order in which they stand; its anchor must not be one of them."""
    for op in in_program_order(ops, root):
        assert op.parent is not None
        op.parent.detach_op(op)
        target.place(op)


def iterations(at: Inserter, low: SSAValue, high: SSAValue, step: SSAValue) -> SSAValue:
    """ceil((high - low) / step): how often a loop runs, if that is not negative."""
    return at.value(arith.CeilDivSIOp(at.value(arith.SubiOp(high, low)), step))


def cast_integer(at: Inserter, value: SSAValue, type_: IntegerType) -> SSAValue:
    """`value` as an integer of `type_`."""
    if value.type == type_:
        return value
    if isinstance(value.type, IndexType):
        return at.value(arith.IndexCastOp(value, type_))
    assert instance_of(value.type, IntegerType)
    if value.type.width.data > type_.width.data:
        return at.value(arith.TruncIOp(value, type_))
    return at.value(arith.ExtSIOp(value, type_))


def unread(at: Inserter, type_: Attribute) -> SSAValue:
    """A value that is never read: zero where there is one, else poison."""
    element = type_.element_type if instance_of(type_, TensorType) else type_
    if instance_of(element, (IntegerType, IndexType)):
        return at.constant(int_attr(type_, 0))
    if isinstance(element, AnyFloat):
        return at.constant(float_attr(type_, 0.0))
    return at.value(ub.PoisonOp.create(result_types=[type_]))


def copies_of(at: Inserter, ops: Iterable[Operation], values: dict[SSAValue, SSAValue]) -> None:
    """Copies of `ops`, whose operands are looked up in `values` and whose results are added to it."""
    for op in ops:
        if op.results[0] not in values:
            at.place(clone_op(op, values))

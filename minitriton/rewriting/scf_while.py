"""Canonical forms of `scf.while`: no value carried or forwarded in vain, the condition known to be true in the body.

scf.while (%a = %x) { ... scf.condition(%c) %a } do { ^bb0(%b): ... scf.yield %b }     %a and %b are %x
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from minitriton.dialects import arith
from minitriton.dialects.arith.predicates import EQ, INVERTED, NE, predicate_of
from minitriton.dialects.op_access import last_op_of, operand_at, operand_values, set_arguments
from minitriton.rewriting.constants import int_attr
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.regions import is_defined_outside
from minitriton.rewriting.rewriter import Rewriter

patterns = PatternSet()


def _blocks(op: scf.WhileOp) -> tuple[Block, Block]:
    before, after = op.regions[0].first_block, op.regions[1].first_block
    assert before is not None and after is not None
    return before, after


def _condition(op: scf.WhileOp) -> Operation:
    return last_op_of(_blocks(op)[0])


def _yield(op: scf.WhileOp) -> Operation:
    return last_op_of(_blocks(op)[1])


def _drop_carried(op: scf.WhileOp, dropped: dict[int, SSAValue | None], rewriter: Rewriter) -> None:
    """The loop no longer carries the values at `dropped`; inside, the given value stands for each that is used."""
    before, _ = _blocks(op)
    for index, value in dropped.items():
        if value is not None:
            rewriter.replace_all_uses(before.args[index], value)
    terminator = _yield(op)
    terminator.operands = [value for index, value in enumerate(operand_values(terminator)) if index not in dropped]
    rewriter.modified(terminator)
    for index in sorted(dropped, reverse=True):
        before.erase_arg(before.args[index])
    inits = [value for index, value in enumerate(operand_values(op)) if index not in dropped]
    _rebuild(op, inits, list(op.results), rewriter)


def _drop_forwarded(op: scf.WhileOp, dropped: dict[int, SSAValue | None], rewriter: Rewriter) -> None:
    """The condition no longer forwards the values at `dropped`; in the body and after, the given value stands for them."""
    _, after = _blocks(op)
    for index, value in dropped.items():
        if value is not None:
            rewriter.replace_all_uses(after.args[index], value)
            rewriter.replace_all_uses(op.results[index], value)
    terminator = _condition(op)
    terminator.operands = [value for index, value in enumerate(operand_values(terminator)) if index - 1 not in dropped]
    rewriter.modified(terminator)
    for index in sorted(dropped, reverse=True):
        after.erase_arg(after.args[index])
    _rebuild(op, list(operand_values(op)), [r for r in op.results if r.index not in dropped], rewriter)


def _rebuild(op: scf.WhileOp, inits: list[SSAValue], kept: list[OpResult], rewriter: Rewriter) -> None:
    regions = list(op.regions)
    for region in regions:
        region.parent = None
    op.regions = ()
    new = scf.WhileOp.create(
        operands=inits,
        result_types=[result.type for result in kept],
        properties=op.properties,
        attributes=op.attributes,
        regions=regions,
    )
    rewriter.insert(new, op)
    for region in regions:
        for inner in region.block.ops:
            rewriter.add(inner)
    results: list[SSAValue] = list(op.results)
    for old, result in zip(kept, new.results, strict=True):
        results[old.index] = result
    rewriter.replace_op(op, *results)


@patterns.pattern(scf.WhileOp)
def drop_invariant_carried(op: scf.WhileOp, rewriter: Rewriter) -> bool:
    """A carried value that each iteration hands on unchanged is its initial value."""
    before, after = _blocks(op)
    forwarded = operand_values(_condition(op))[1:]
    dropped: dict[int, SSAValue | None] = {}
    for index, (init, value) in enumerate(zip(operand_values(op), operand_values(_yield(op)), strict=True)):
        if value is init:
            dropped[index] = init
        elif isinstance(value, BlockArgument) and value.block is after:
            source = forwarded[value.index]
            if source is before.args[index] or source is init:
                dropped[index] = init
    if not dropped:
        return False
    _drop_carried(op, dropped, rewriter)
    return True


@patterns.pattern(scf.WhileOp)
def drop_invariant_forwarded(op: scf.WhileOp, rewriter: Rewriter) -> bool:
    """A forwarded value from outside the loop is used directly."""
    forwarded = operand_values(_condition(op))[1:]
    dropped: dict[int, SSAValue | None] = {
        index: value for index, value in enumerate(forwarded) if is_defined_outside(value, op)
    }
    if not dropped:
        return False
    _drop_forwarded(op, dropped, rewriter)
    return True


@patterns.pattern(scf.WhileOp)
def condition_is_true_in_body(op: scf.WhileOp, rewriter: Rewriter) -> bool:
    """Where the condition itself is forwarded, the body sees true."""
    condition, *forwarded = operand_values(_condition(op))
    _, after = _blocks(op)
    changed = False
    true: SSAValue | None = None
    for value, argument in zip(forwarded, after.args, strict=True):
        if value is condition and argument.first_use is not None:
            if true is None:
                true = rewriter.constant(int_attr(i1, 1))
            rewriter.replace_all_uses(argument, true)
            changed = True
    return changed


@patterns.pattern(scf.WhileOp)
def comparison_is_known_in_body(op: scf.WhileOp, rewriter: Rewriter) -> bool:
    """Comparisons in the body of what the condition compared are known."""
    condition, *forwarded = operand_values(_condition(op))
    before, after = _blocks(op)
    if not isinstance(condition, OpResult) or condition.op.__class__ is not arith.CmpiOp:
        return False
    if condition.op.parent is not before:
        return False
    changed = False
    for value, argument in zip(forwarded, after.args, strict=True):
        for position in (0, 1):
            if operand_at(condition.op, position) is not value:
                continue
            for use in tuple(argument.uses):
                changed |= _replace_known(use.operation, condition.op, argument, position, rewriter)
    return changed


def _replace_known(op: Operation, known: Operation, argument: SSAValue, position: int, rewriter: Rewriter) -> bool:
    if op.__class__ is not arith.CmpiOp or operand_at(op, position) is not argument:
        return False
    if operand_values(op)[1 - position] is not operand_values(known)[1 - position]:
        return False
    predicate = predicate_of(known)
    if predicate_of(op) == predicate:
        value = 1
    elif predicate_of(op) == INVERTED[predicate] and predicate in (EQ, NE, *INVERTED):
        value = 0
    else:
        return False
    rewriter.replace_all_uses(op.results[0], rewriter.constant(int_attr(i1, value)))
    return True


@patterns.pattern(scf.WhileOp)
def drop_unused_forwarded(op: scf.WhileOp, rewriter: Rewriter) -> bool:
    """Results that neither the body nor anything after uses."""
    _, after = _blocks(op)
    dropped: dict[int, SSAValue | None] = {
        result.index: None
        for result, argument in zip(op.results, after.args, strict=True)
        if result.first_use is None and argument.first_use is None
    }
    if not dropped:
        return False
    _drop_forwarded(op, dropped, rewriter)
    return True


@patterns.pattern(scf.WhileOp)
def merge_equal_forwarded(op: scf.WhileOp, rewriter: Rewriter) -> bool:
    """A value forwarded twice is forwarded once."""
    _, after = _blocks(op)
    first: dict[SSAValue, int] = {}
    dropped: dict[int, SSAValue | None] = {}
    for index, value in enumerate(operand_values(_condition(op))[1:]):
        kept = first.setdefault(value, index)
        if kept != index:
            rewriter.replace_all_uses(after.args[index], after.args[kept])
            rewriter.replace_all_uses(op.results[index], op.results[kept])
            dropped[index] = None
    if not dropped:
        return False
    _drop_forwarded(op, dropped, rewriter)
    return True


@patterns.pattern(scf.WhileOp)
def drop_unused_carried(op: scf.WhileOp, rewriter: Rewriter) -> bool:
    """Carried values that the condition region does not use."""
    before, _ = _blocks(op)
    dropped: dict[int, SSAValue | None] = {arg.index: None for arg in before.args if arg.first_use is None}
    if not dropped:
        return False
    _drop_carried(op, dropped, rewriter)
    return True


@patterns.pattern(scf.WhileOp)
def forward_in_order(op: scf.WhileOp, rewriter: Rewriter) -> bool:
    """If the condition forwards just the carried values, each once, it does so in their order."""
    before, after = _blocks(op)
    condition = _condition(op)
    forwarded = operand_values(condition)[1:]
    if len(forwarded) != len(before.args) or tuple(forwarded) == before.args or len(set(forwarded)) != len(forwarded):
        return False
    carried = [value for value in forwarded if isinstance(value, BlockArgument) and value.block is before]
    if len(carried) != len(forwarded):
        return False
    old_position = {value.index: index for index, value in enumerate(carried)}
    order = [old_position[index] for index in range(len(before.args))]
    condition.operands = [operand_at(condition, 0), *before.args]
    rewriter.modified(condition)
    arguments = [after.args[index] for index in order]
    for index, argument in enumerate(arguments):
        argument.index = index
    set_arguments(after, arguments)
    _rebuild(op, list(operand_values(op)), [op.results[index] for index in order], rewriter)
    return True

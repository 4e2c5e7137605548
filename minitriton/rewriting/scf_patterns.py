"""Canonicalisation of structured control flow, for passes that need it without the rest; the rules of `scf.for` and `scf.while`.

`SCF_PATTERNS.subset(scf.ForOp)` is what cleans up loops alone.

%r = scf.for %i = ... iter_args(%a = %x) { scf.yield %a }      =>      %x for %r
scf.for %i = %c0 to %c1 step %c1 { body(%i) }                  =>      body(%c0)
scf.while (%a = %x) { ... scf.condition(%c) %a } do { ^bb0(%b): ... scf.yield %b }      =>      %x for %a and %b
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from minitriton.dialects import arith
from minitriton.dialects.arith.compare import EQ, INVERTED, NE, predicate_of
from minitriton.dialects.fast_paths.op_access import (
    block_of,
    defining,
    last_op_of,
    operand_at,
    operand_values,
    set_arguments,
)
from minitriton.rewriting import scf_if
from minitriton.rewriting.constants import int_attr, int_constant
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.regions import is_defined_outside
from minitriton.rewriting.rewriter import Rewriter

patterns = PatternSet()


@dataclass(slots=True)
class _Loop:
    """A loop and its parts, looked up once for all rules: they find nothing to do at almost all loops that they are shown."""

    op: scf.WhileOp
    before: Block
    after: Block
    terminator: Operation
    """Of `before`: the condition and what is forwarded."""
    condition: SSAValue
    forwarded: tuple[SSAValue, ...]

    def yielded(self) -> tuple[SSAValue, ...]:
        """What the body yields."""
        return operand_values(last_op_of(self.after))


_Rule: TypeAlias = Callable[[_Loop, Rewriter], bool]


@patterns.pattern(scf.WhileOp)
def simplify_while(op: scf.WhileOp, rewriter: Rewriter) -> bool:
    """The first of the rules below that finds something to do."""
    before = block_of(op)
    terminator = last_op_of(before)
    condition, *forwarded = operand_values(terminator)
    loop = _Loop(op, before, block_of(op, 1), terminator, condition, tuple(forwarded))
    return any(rule(loop, rewriter) for rule in _RULES)


def _drop_carried(loop: _Loop, dropped: dict[int, SSAValue | None], rewriter: Rewriter) -> None:
    """The loop no longer carries the values at `dropped`; inside, the given value stands for each that is used."""
    op, before = loop.op, loop.before
    for index, value in dropped.items():
        if value is not None:
            rewriter.replace_all_uses(before.args[index], value)
    terminator = last_op_of(loop.after)
    terminator.operands = [value for index, value in enumerate(operand_values(terminator)) if index not in dropped]
    rewriter.modified(terminator)
    for index in sorted(dropped, reverse=True):
        before.erase_arg(before.args[index])
    inits = [value for index, value in enumerate(operand_values(op)) if index not in dropped]
    _rebuild_while(op, inits, list(op.results), rewriter)


def _drop_forwarded(loop: _Loop, dropped: dict[int, SSAValue | None], rewriter: Rewriter) -> None:
    """The condition no longer forwards the values at `dropped`; in the body and after, the given value stands for them."""
    op, after, terminator = loop.op, loop.after, loop.terminator
    for index, value in dropped.items():
        if value is not None:
            rewriter.replace_all_uses(after.args[index], value)
            rewriter.replace_all_uses(op.results[index], value)
    terminator.operands = [value for index, value in enumerate(operand_values(terminator)) if index - 1 not in dropped]
    rewriter.modified(terminator)
    for index in sorted(dropped, reverse=True):
        after.erase_arg(after.args[index])
    _rebuild_while(op, list(operand_values(op)), [r for r in op.results if r.index not in dropped], rewriter)


def _rebuild_while(op: scf.WhileOp, inits: list[SSAValue], kept: list[OpResult], rewriter: Rewriter) -> None:
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


def _drop_invariant_carried(loop: _Loop, rewriter: Rewriter) -> bool:
    """A carried value that each iteration forwards unchanged is its initial value."""
    before, after, forwarded = loop.before, loop.after, loop.forwarded
    dropped: dict[int, SSAValue | None] = {}
    for index, (init, value) in enumerate(zip(operand_values(loop.op), loop.yielded(), strict=True)):
        if value is init:
            dropped[index] = init
        elif isinstance(value, BlockArgument) and value.block is after:
            source = forwarded[value.index]
            if source is before.args[index] or source is init:
                dropped[index] = init
    if not dropped:
        return False
    _drop_carried(loop, dropped, rewriter)
    return True


def _drop_invariant_forwarded(loop: _Loop, rewriter: Rewriter) -> bool:
    """A forwarded value from outside the loop is used directly."""
    dropped: dict[int, SSAValue | None] = {
        index: value for index, value in enumerate(loop.forwarded) if is_defined_outside(value, loop.op)
    }
    if not dropped:
        return False
    _drop_forwarded(loop, dropped, rewriter)
    return True


def _condition_is_true_in_body(loop: _Loop, rewriter: Rewriter) -> bool:
    """Where the condition itself is forwarded, the body sees true."""
    condition = loop.condition
    changed = False
    true: SSAValue | None = None
    for value, argument in zip(loop.forwarded, loop.after.args, strict=True):
        if value is condition and argument.first_use is not None:
            if true is None:
                true = rewriter.constant(int_attr(i1, 1))
            rewriter.replace_all_uses(argument, true)
            changed = True
    return changed


def _comparison_is_known_in_body(loop: _Loop, rewriter: Rewriter) -> bool:
    """Comparisons in the body of what the condition compared are known."""
    comparison = defining(loop.condition, arith.CmpiOp)
    if comparison is None or comparison.parent is not loop.before:
        return False
    changed = False
    for value, argument in zip(loop.forwarded, loop.after.args, strict=True):
        for position, compared in enumerate(operand_values(comparison)):
            if compared is not value:
                continue
            for use in tuple(argument.uses):
                changed |= _replace_known(use.operation, comparison, argument, position, rewriter)
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


def _drop_unused_forwarded(loop: _Loop, rewriter: Rewriter) -> bool:
    """Results that neither the body nor anything after uses."""
    dropped: dict[int, SSAValue | None] = {
        result.index: None
        for result, argument in zip(loop.op.results, loop.after.args, strict=True)
        if result.first_use is None and argument.first_use is None
    }
    if not dropped:
        return False
    _drop_forwarded(loop, dropped, rewriter)
    return True


def _merge_equal_forwarded(loop: _Loop, rewriter: Rewriter) -> bool:
    """A value forwarded twice is forwarded once."""
    op, after = loop.op, loop.after
    first: dict[SSAValue, int] = {}
    dropped: dict[int, SSAValue | None] = {}
    for index, value in enumerate(loop.forwarded):
        kept = first.setdefault(value, index)
        if kept != index:
            rewriter.replace_all_uses(after.args[index], after.args[kept])
            rewriter.replace_all_uses(op.results[index], op.results[kept])
            dropped[index] = None
    if not dropped:
        return False
    _drop_forwarded(loop, dropped, rewriter)
    return True


def _drop_unused_carried(loop: _Loop, rewriter: Rewriter) -> bool:
    """Carried values that the condition region does not use."""
    dropped: dict[int, SSAValue | None] = {arg.index: None for arg in loop.before.args if arg.first_use is None}
    if not dropped:
        return False
    _drop_carried(loop, dropped, rewriter)
    return True


def _forward_in_order(loop: _Loop, rewriter: Rewriter) -> bool:
    """If the condition forwards just the carried values, each once, it does so in their order."""
    op, before, after, condition, forwarded = loop.op, loop.before, loop.after, loop.terminator, loop.forwarded
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
    _rebuild_while(op, list(operand_values(op)), [op.results[index] for index in order], rewriter)
    return True


_RULES: tuple[_Rule, ...] = (
    _drop_invariant_carried, _drop_invariant_forwarded, _condition_is_true_in_body, _comparison_is_known_in_body,
    _drop_unused_forwarded, _merge_equal_forwarded, _drop_unused_carried, _forward_in_order,
)  # fmt: skip
"""In the order in which they are tried."""


@patterns.pattern(scf.ForOp)
def drop_loop_invariant_arguments(op: scf.ForOp, rewriter: Rewriter) -> bool:
    """A carried value that never changes, is never used, or equals another is not carried.

    An argument is kept unless it is yielded as it came, or its initial value is yielded, or neither it nor its result
    has a use; of arguments with equal initial and yielded values the first is kept.
    """
    inits = operand_values(op)[3:]
    block = block_of(op)
    arguments = block.args[1:]
    yielded = operand_values(last_op_of(block))
    kept: list[int] = []
    replaced: dict[int, SSAValue] = {}
    same: dict[tuple[SSAValue, SSAValue], int] = {}
    for index, (init, argument, result, value) in enumerate(zip(inits, arguments, op.results, yielded, strict=True)):
        unused = argument.first_use is None and result.first_use is None
        if argument is value or init is value or unused:
            replaced[index] = init
            continue
        first = same.setdefault((init, value), index)
        if first == index:
            kept.append(index)
        else:
            rewriter.replace_all_uses(argument, arguments[first])
            rewriter.replace_all_uses(result, op.results[first])
            replaced[index] = init
    if not replaced:
        return False
    _rebuild(op, kept, replaced, rewriter)
    return True


def _rebuild(op: scf.ForOp, kept: list[int], replaced: dict[int, SSAValue], rewriter: Rewriter) -> None:
    """Replaces the loop by one that carries only the values at `kept`; the others are `replaced`, inside and after."""
    block = block_of(op)
    for index, init in replaced.items():
        rewriter.replace_all_uses(block.args[1 + index], init)
    terminator = last_op_of(block)
    terminator.operands = [operand_at(terminator, index) for index in kept]
    for index in sorted(replaced, reverse=True):
        block.erase_arg(block.args[1 + index])
    region = op.regions[0]
    region.detach_block(block)
    loop = scf.ForOp.create(
        operands=[*operand_values(op)[:3], *(operand_values(op)[3 + index] for index in kept)],
        result_types=[op.results[index].type for index in kept],
        properties=op.properties,
        attributes=op.attributes,
        regions=[Region(block)],
        location=op.location,
    )
    rewriter.insert(loop, op)
    _place_arguments(block, loop)
    for inner in block.ops:
        rewriter.add(inner)
    results = dict(replaced)
    results.update(zip(kept, loop.results, strict=True))
    region.add_block(Block())
    rewriter.replace_op(op, *(results[index] for index in range(len(op.results))))


def _place_arguments(block: Block, loop: scf.ForOp) -> None:
    """The counter comes from the loop, a carried value from where its initial value does: text shows names by location."""
    block.args[0].location = loop.location
    for argument, init in zip(block.args[1:], operand_values(loop)[3:], strict=True):
        if isinstance(init, OpResult):
            argument.location = init.op.location
        elif isinstance(init, BlockArgument):
            argument.location = init.location


def constant_difference(low: SSAValue, high: SSAValue) -> int | None:
    """`high - low` where both are constants or `high` is `low` plus a constant."""
    a, b = int_constant(low), int_constant(high)
    if a is not None and b is not None:
        return b - a
    if isinstance(high, OpResult) and high.op.__class__ is arith.AddiOp and operand_at(high.op, 0) is low:
        return int_constant(operand_at(high.op, 1))
    return None


@patterns.pattern(scf.ForOp)
def simplify_trivial_loop(op: scf.ForOp, rewriter: Rewriter) -> bool:
    """No iteration: the initial values. One: the body. More, of an empty body: the yielded values."""
    low, high, step = operand_values(op)[:3]
    inits = operand_values(op)[3:]
    difference = 0 if low is high else constant_difference(low, high)
    if difference is None:
        return False
    if difference <= 0:
        rewriter.replace_op(op, *inits)
        return True
    stride = int_constant(step)
    if stride is None:
        return False
    block = block_of(op)
    if stride >= difference:
        terminator = last_op_of(block)
        rewriter.inline_block_before(block, op, (low, *inits))
        rewriter.replace_op(op, *operand_values(terminator))
        rewriter.erase_op(terminator)
        return True
    terminator = last_op_of(block)
    if block.first_op is not terminator or not all(is_defined_outside(v, op) for v in operand_values(terminator)):
        return False
    rewriter.replace_op(op, *operand_values(terminator))
    return True


SCF_PATTERNS = PatternSet(patterns, scf_if.patterns)

"""Canonical forms of `scf.if`: decided conditions, results that need no branch, branches that can be one.

%r = scf.if %c { scf.yield %x } else { scf.yield %y }       =>      %r = arith.select %c, %x, %y
"""

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from minitriton.dialects import arith
from minitriton.dialects.fast_paths.op_access import block_of, last_op_of, next_use, operand_at, operand_values
from minitriton.rewriting.constants import constant_attr, int_attr, int_constant
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.regions import is_inside
from minitriton.rewriting.rewriter import Rewriter

patterns = PatternSet()


def _else(op: Operation) -> Block | None:
    return op.regions[1].first_block


def _yielded(block: Block | None) -> tuple[SSAValue, ...]:
    return () if block is None else operand_values(last_op_of(block))


def _take_block(region: Region) -> Block | None:
    block = region.first_block
    if block is not None:
        region.detach_block(block)
    return block


def _new_if(condition: SSAValue, types: Sequence[Attribute], then: Block | None, other: Block | None) -> scf.IfOp:
    return scf.IfOp.create(
        operands=[condition],
        result_types=types,
        regions=[Region(() if then is None else then), Region(() if other is None else other)],
    )


def _add_block(rewriter: Rewriter, block: Block | None) -> None:
    if block is not None:
        for op in block.ops:
            rewriter.add(op)


def _replace_yield(rewriter: Rewriter, block: Block, values: Sequence[SSAValue]) -> None:
    old = last_op_of(block)
    rewriter.insert(scf.YieldOp.create(operands=values, location=old.location), old)
    rewriter.erase_op(old)


def _defined_in(value: SSAValue, region: Region) -> bool:
    """True if `value` is defined by an op or argument directly in `region`."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    return block is not None and block.parent is region


@patterns.pattern(scf.IfOp)
def combine_adjacent_ifs(op: scf.IfOp, rewriter: Rewriter) -> bool:
    """if (c) A else B; if (c) C else D  =>  if (c) {A; C} else {B; D}, also if one condition is the other's inverse."""
    previous = op.prev_op
    if previous is None or previous.__class__ is not scf.IfOp:
        return False
    condition, earlier = operand_at(op, 0), operand_at(previous, 0)
    if condition is earlier:
        next_then, next_else = block_of(op), _else(op)
    elif _is_inverse(condition, earlier) or _is_inverse(earlier, condition):
        next_then, next_else = _else(op), block_of(op)
    else:
        return False
    _use_yielded_values(previous, next_then, next_else, rewriter)
    types = [result.type for result in (*previous.results, *op.results)]
    then = _take_block(previous.regions[0])
    other = _take_block(previous.regions[1])
    combined = _new_if(earlier, types, then, other)
    rewriter.insert(combined, op)
    _append_branch(combined.regions[0], next_then, rewriter)
    _append_branch(combined.regions[1], next_else, rewriter)
    count = len(previous.results)
    rewriter.replace_op(previous, *combined.results[:count])
    rewriter.replace_op(op, *combined.results[count:])
    return True


def _is_inverse(value: SSAValue, of: SSAValue) -> bool:
    if not isinstance(value, OpResult) or value.op.__class__ is not arith.XOrIOp:
        return False
    return operand_at(value.op, 0) is of and int_constant(operand_at(value.op, 1)) == -1


def _use_yielded_values(op: Operation, then: Block | None, other: Block | None, rewriter: Rewriter) -> None:
    """Uses of the results of `op` in the branches that will follow its own become uses of what its own branches yield."""
    else_values = _yielded(_else(op)) or (None,) * len(op.results)
    for result, if_true, if_false in zip(op.results, _yielded(block_of(op)), else_values, strict=True):
        for use in tuple(result.uses):
            user = use.operation
            if then is not None and then.parent is not None and is_inside(user, then.parent):
                rewriter.set_operand(user, use.index, if_true)
            elif other is not None and other.parent is not None and is_inside(user, other.parent):
                assert if_false is not None
                rewriter.set_operand(user, use.index, if_false)


def _append_branch(region: Region, block: Block | None, rewriter: Rewriter) -> None:
    if block is None:
        return
    target = region.first_block
    if target is None:
        assert block.parent is not None
        block.parent.detach_block(block)
        region.add_block(block)
        return
    old = last_op_of(target)
    added = last_op_of(block)
    values = [*operand_values(old), *operand_values(added)]
    rewriter.inline_block_before(block, old)
    rewriter.erase_op(added)
    rewriter.insert(scf.YieldOp.create(operands=values, location=added.location), old)
    rewriter.erase_op(old)


@patterns.pattern(scf.IfOp)
def combine_nested_ifs(op: scf.IfOp, rewriter: Rewriter) -> bool:
    """if (a) { if (b) A }  =>  if (a & b) A, when neither has an else that does something."""
    inner = block_of(op).first_op
    outer_yield = last_op_of(block_of(op))
    if inner is None or inner.__class__ is not scf.IfOp or inner.next_op is not outer_yield:
        return False
    for block in (_else(op), _else(inner)):
        if block is not None and block.first_op is not block.last_op:
            return False
    then_values = list(operand_values(outer_yield))
    else_values = _yielded(_else(op))
    selected: list[int] = []
    for index, value in enumerate(then_values):
        if isinstance(value, OpResult) and value.op is inner:
            if _yielded(_else(inner))[value.index] is not else_values[index]:
                return False
            then_values[index] = _yielded(block_of(inner))[value.index]
        elif _defined_in(value, op.regions[0]):
            return False
        else:
            selected.append(index)
    both = rewriter.insert(
        arith.AndIOp.create(operands=[operand_at(op, 0), operand_at(inner, 0)], result_types=[i1]), op
    )
    types = [result.type for result in op.results]
    other = Block() if else_values else None
    body = _take_block(inner.regions[0])
    inner.regions[0].add_block(Block())
    new = rewriter.insert(_new_if(both.results[0], types, body, other), op)
    results: list[SSAValue] = list(new.results)
    for index in selected:
        operands = [operand_at(op, 0), then_values[index], else_values[index]]
        select = arith.SelectOp.create(operands=operands, result_types=[types[index]])
        results[index] = rewriter.insert(select, new).results[0]
    assert body is not None
    _add_block(rewriter, body)
    _replace_yield(rewriter, body, then_values)
    if other is not None:
        other.add_op(scf.YieldOp.create(operands=else_values, location=op.location))
    rewriter.replace_op(op, *results)
    return True


@patterns.pattern(scf.IfOp)
def propagate_condition(op: scf.IfOp, rewriter: Rewriter) -> bool:
    """Inside the branches the condition is known."""
    condition = operand_at(op, 0)
    first_use = condition.first_use
    if first_use is None or next_use(first_use) is None or constant_attr(condition) is not None:
        return False
    known: dict[int, SSAValue] = {}
    for use in tuple(condition.uses):
        for index, region in enumerate(op.regions):
            if is_inside(use.operation, region):
                if index not in known:
                    known[index] = rewriter.constant(int_attr(i1, 1 - index))
                rewriter.set_operand(use.operation, use.index, known[index])
                break
    return bool(known)


@patterns.pattern(scf.IfOp)
def turn_results_into_selects(op: scf.IfOp, rewriter: Rewriter) -> bool:
    """A result whose two values are defined outside the branches is a select."""
    other_block = _else(op)
    if not op.results or other_block is None:
        return False
    pairs = list(zip(_yielded(block_of(op)), _yielded(other_block), strict=True))
    stays = [_defined_in(a, op.regions[0]) or _defined_in(b, op.regions[1]) for a, b in pairs]
    if all(stays):
        return False
    types = [result.type for result, stay in zip(op.results, stays, strict=True) if stay]
    then, other = _take_block(op.regions[0]), _take_block(op.regions[1])
    assert then is not None and other is not None
    new = rewriter.insert(_new_if(operand_at(op, 0), types, then, other), op)
    results: list[SSAValue] = []
    branch_results = iter(new.results)
    for (if_true, if_false), stay in zip(pairs, stays, strict=True):
        if stay:
            results.append(next(branch_results))
        elif if_true is if_false:
            results.append(if_true)
        else:
            operands = [operand_at(op, 0), if_true, if_false]
            select = arith.SelectOp.create(operands=operands, result_types=[if_true.type])
            results.append(rewriter.insert(select, new).results[0])
    _replace_yield(rewriter, then, [a for (a, _), stay in zip(pairs, stays, strict=True) if stay])
    _replace_yield(rewriter, other, [b for (_, b), stay in zip(pairs, stays, strict=True) if stay])
    rewriter.replace_op(op, *results)
    return True


@patterns.pattern(scf.IfOp)
def remove_empty_else(op: scf.IfOp, rewriter: Rewriter) -> bool:
    """An else branch that does nothing."""
    other = _else(op)
    if op.results or other is None or other.first_op is not other.last_op:
        return False
    then = _take_block(op.regions[0])
    new = _new_if(operand_at(op, 0), (), then, None)
    new.attributes = dict(op.attributes)
    rewriter.insert(new, op)
    rewriter.erase_op(op)
    return True


@patterns.pattern(scf.IfOp)
def remove_static_condition(op: scf.IfOp, rewriter: Rewriter) -> bool:
    """if (true) A else B  =>  A"""
    known = int_constant(operand_at(op, 0))
    if known is None:
        return False
    block = block_of(op) if known else _else(op)
    if block is None:
        rewriter.erase_op(op)
        return True
    terminator = last_op_of(block)
    rewriter.inline_block_before(block, op)
    rewriter.replace_op(op, *operand_values(terminator))
    rewriter.erase_op(terminator)
    return True


@patterns.pattern(scf.IfOp)
def remove_unused_results(op: scf.IfOp, rewriter: Rewriter) -> bool:
    """Results that nothing uses are not yielded."""
    used = [result.index for result in op.results if result.first_use is not None]
    if len(used) == len(op.results):
        return False
    then, other = _take_block(op.regions[0]), _take_block(op.regions[1])
    assert then is not None and other is not None
    new = rewriter.insert(_new_if(operand_at(op, 0), [op.results[index].type for index in used], then, other), op)
    for block in (then, other):
        _add_block(rewriter, block)
        terminator = last_op_of(block)
        terminator.operands = [operand_at(terminator, index) for index in used]
        rewriter.modified(terminator)
    results: list[SSAValue] = list(op.results)
    for index, result in zip(used, new.results, strict=True):
        results[index] = result
    rewriter.replace_op(op, *results)
    return True


@patterns.pattern(scf.IfOp)
def replace_results_by_condition(op: scf.IfOp, rewriter: Rewriter) -> bool:
    """Results that both branches yield alike, or that are the condition or its inverse."""
    other = _else(op)
    if not op.results or other is None:
        return False
    changed = False
    for if_true, if_false, result in zip(_yielded(block_of(op)), _yielded(other), op.results, strict=True):
        if result.first_use is None:
            continue
        new: SSAValue | None = None
        if if_true is if_false:
            new = if_true
        elif if_true.type == i1:
            values = (int_constant(if_true), int_constant(if_false))
            if values == (-1, 0):
                new = operand_at(op, 0)
            elif values == (0, -1):
                true = rewriter.constant(int_attr(i1, 1))
                inverse = arith.XOrIOp.create(operands=[operand_at(op, 0), true], result_types=[i1])
                new = rewriter.insert(inverse, op).results[0]
        if new is not None:
            result.replace_all_uses_with(new)
            changed = True
    return changed

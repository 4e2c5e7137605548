"""Canonical forms of branches: decided ones, those to a block that nobody else jumps to, those through an empty block.

cf.cond_br %true, ^bb1, ^bb2     =>      cf.br ^bb1      =>      the ops of ^bb1, if this is the only jump to it

Canonical form of `ttg.warp_specialize`: only results that are used, only captures that are used, each once.

ttg.warp_specialize(%a, %a)                       ttg.warp_specialize(%a)
partition0(%x, %y) { use %x, %y }           =>    partition0(%x) { use %x, %x }
"""

from collections.abc import Sequence

from xdsl.dialects import cf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Operation, SSAValue

from minitriton.dialects import arith, ttg
from minitriton.dialects.fast_paths.op_access import block_successors, next_use, operand_at, operand_values
from minitriton.rewriting.constants import int_attr, int_constant
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter

patterns = PatternSet()


def _branch(target: Block, values: Sequence[SSAValue]) -> Operation:
    return cf.BranchOp(target, *values)


def _has_one_predecessor(block: Block) -> bool:
    use = block.first_use
    return use is not None and next_use(use) is None


def _through(block: Block, values: Sequence[SSAValue]) -> tuple[Block, list[SSAValue]] | None:
    """Where a jump to `block` ends up if the block only jumps on and only its arguments' uses there matter."""
    jump = block.first_op
    if not isinstance(jump, cf.BranchOp) or jump.successor is block:
        return None
    given: dict[SSAValue, SSAValue] = dict(zip(block.args, values, strict=True))
    for argument in block.args:
        if any(use.operation is not jump for use in argument.uses):
            return None
    return jump.successor, [given.get(value, value) for value in jump.arguments]


@patterns.pattern(cf.BranchOp)
def merge_into_only_predecessor(op: cf.BranchOp, rewriter: Rewriter) -> bool:
    """A block that only this branch jumps to continues the branch's own block."""
    (target,) = block_successors(op)
    if target is op.parent or not _has_one_predecessor(target):
        return False
    values = list(op.arguments)
    rewriter.inline_block_before(target, op, values)
    rewriter.erase_op(op)
    assert target.parent is not None
    target.parent.detach_block(target)
    return True


@patterns.pattern(cf.BranchOp)
def branch_through(op: cf.BranchOp, rewriter: Rewriter) -> bool:
    """A jump to a block that only jumps on."""
    (target,) = block_successors(op)
    end = _through(target, operand_values(op))
    if end is None:
        return False
    rewriter.replace_with(op, _branch(*end))
    return True


@patterns.pattern(cf.ConditionalBranchOp)
def decide(op: cf.ConditionalBranchOp, rewriter: Rewriter) -> bool:
    """A branch on a constant."""
    known = int_constant(operand_at(op, 0))
    if known is None:
        return False
    target, values = (op.then_block, op.then_arguments) if known else (op.else_block, op.else_arguments)
    rewriter.replace_with(op, _branch(target, list(values)))
    return True


@patterns.pattern(cf.ConditionalBranchOp)
def conditional_through(op: cf.ConditionalBranchOp, rewriter: Rewriter) -> bool:
    """A side that goes to a block that only jumps on."""
    if not any(isinstance(block.first_op, cf.BranchOp) for block in block_successors(op)):
        return False
    then = _through(op.then_block, op.then_arguments)
    other = _through(op.else_block, op.else_arguments)
    if then is None and other is None:
        return False
    then = then or (op.then_block, list(op.then_arguments))
    other = other or (op.else_block, list(op.else_arguments))
    rewriter.replace_with(op, cf.ConditionalBranchOp(op.cond, *then, *other))
    return True


@patterns.pattern(cf.ConditionalBranchOp)
def same_target(op: cf.ConditionalBranchOp, rewriter: Rewriter) -> bool:
    """Both sides go to one block: a jump, with selects where the values differ."""
    target, other = block_successors(op)
    if target is not other:
        return False
    pairs = list(zip(op.then_arguments, op.else_arguments, strict=True))
    if any(a is not b for a, b in pairs) and len(list(target.uses)) > 2:
        return False
    values: list[SSAValue] = []
    for a, b in pairs:
        if a is b:
            values.append(a)
        else:
            select = arith.SelectOp.create(operands=[op.cond, a, b], result_types=[a.type])
            values.append(rewriter.insert(select).results[0])
    rewriter.replace_with(op, _branch(target, values))
    return True


@patterns.pattern(cf.ConditionalBranchOp)
def condition_is_known_in_targets(op: cf.ConditionalBranchOp, rewriter: Rewriter) -> bool:
    """In a block that only this branch jumps to, the condition is known."""
    changed = False
    for target, value in ((op.then_block, 1), (op.else_block, 0)):
        if not _has_one_predecessor(target):
            continue
        constant: SSAValue | None = None
        for use in tuple(op.cond.uses):
            if use.operation.parent is target:
                if constant is None:
                    constant = rewriter.constant(int_attr(i1, value))
                rewriter.set_operand(use.operation, use.index, constant)
                changed = True
    return changed


def _partition_blocks(op: Operation) -> list[Block]:
    holder = op.regions[1].block.first_op
    assert holder is not None
    return [region.block for region in holder.regions]


@patterns.pattern(ttg.WarpSpecializeOp)
def drop_unused(op: ttg.WarpSpecializeOp, rewriter: Rewriter) -> bool:
    """Drops captures that no partition uses or that are there twice, and results that nothing uses."""
    dropped_captures = _unused_captures(op, rewriter)
    unused = [result.index for result in op.results if result.first_use is None]
    if not dropped_captures and not unused:
        return False
    for index in reversed(dropped_captures):
        for block in _partition_blocks(op):
            block.erase_arg(block.args[index])
    op.operands = [value for index, value in enumerate(operand_values(op)) if index not in dropped_captures]
    rewriter.modified(op)
    if unused:
        _drop_results(op, unused, rewriter)
    return True


def _unused_captures(op: ttg.WarpSpecializeOp, rewriter: Rewriter) -> list[int]:
    first: dict[SSAValue, int] = {}
    dropped: list[int] = []
    blocks = _partition_blocks(op)
    for index, capture in enumerate(operand_values(op)):
        if all(block.args[index].first_use is None for block in blocks):
            dropped.append(index)
            continue
        kept = first.setdefault(capture, index)
        if kept != index:
            for block in blocks:
                rewriter.replace_all_uses(block.args[index], block.args[kept])
            dropped.append(index)
    return dropped


def _drop_results(op: ttg.WarpSpecializeOp, unused: list[int], rewriter: Rewriter) -> None:
    for block in op.regions[0].blocks:
        last = block.last_op
        if isinstance(last, ttg.WarpYieldOp):
            last.operands = [value for index, value in enumerate(operand_values(last)) if index not in unused]
            rewriter.modified(last)
    kept = [result for result in op.results if result.index not in unused]
    regions = list(op.regions)
    for region in regions:
        region.parent = None
    op.regions = ()
    new = op.__class__.create(
        operands=operand_values(op),
        result_types=[result.type for result in kept],
        properties=op.properties,
        attributes=op.attributes,
        regions=regions,
    )
    rewriter.insert(new, op)
    results: list[SSAValue] = list(op.results)
    for old, result in zip(kept, new.results, strict=True):
        results[old.index] = result
    rewriter.replace_op(op, *results)

"""Canonicalisation of structured control flow, for passes that need it without the rest; the rules of `scf.for`.

`SCF_PATTERNS.subset(scf.ForOp)` is what cleans up loops alone.

%r = scf.for %i = ... iter_args(%a = %x) { scf.yield %a }      =>      %x for %r
scf.for %i = %c0 to %c1 step %c1 { body(%i) }                  =>      body(%c0)
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, OpResult, Region, SSAValue

from minitriton.dialects import arith
from minitriton.dialects.fast_paths.op_access import block_of, last_op_of, operand_at, operand_values
from minitriton.rewriting import scf_if, scf_while
from minitriton.rewriting.constants import int_constant
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.regions import is_defined_outside
from minitriton.rewriting.rewriter import Rewriter

patterns = PatternSet()


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


SCF_PATTERNS = PatternSet(patterns, scf_if.patterns, scf_while.patterns)

"""Step 4: loop arguments that only feed themselves.

In: a function whose loops carry values in two layouts. Out: a set of patterns for the greedy driver.

    %r:2 = scf.for ... iter_args(%a = %x, %b = %y)      %r:2 = scf.for ... iter_args(%a = %x, %b = %y)
      %b2 = arith.addi %b, %b                       =>    %b2 = arith.addi %b, %b
      scf.yield %a2, %b2                                  scf.yield %a2, %b
    use %r#0                                            use %r#0

What nothing live needs is yielded unchanged; canonicalisation of `scf.for` then drops the argument, and dead-code
elimination the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from minitriton.passes.remove_layout_conversions.convert_patterns import CONVERT_PATTERNS
from minitriton.passes.remove_layout_conversions.slices import yield_of
from minitriton.rewriting.effects import would_be_trivially_dead
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter
from minitriton.rewriting.scf_patterns import SCF_PATTERNS

LOOP_PATTERNS = PatternSet()


@LOOP_PATTERNS.pattern(scf.ForOp)
def yield_dead_arguments_unchanged(op: scf.ForOp, rewriter: Rewriter) -> bool:
    """Assumes that no argument is live, and marks those that results in use or effects depend on."""
    terminator = yield_of(op, 0)
    if all(result.first_use is not None for result in op.results):
        return False
    live = _live_values(op, terminator)
    if live is None:
        return False
    body = op.regions[0].block
    changed = False
    for index, value in enumerate(terminator.operands):
        arg = body.args[index + 1]
        if value in live or value is arg:
            continue
        # A value from outside is what the loop gives unless it runs no time: only the same initial value is as good.
        if not _is_inside(value, op) and value is not op.operands[index + 3]:
            continue
        terminator.operands[index] = arg
        rewriter.add(terminator)
        if isinstance(value, OpResult):
            rewriter.add(value.op)
        changed = True
    if changed:
        rewriter.modified(op)
    return changed


def _live_values(loop: Operation, terminator: Operation) -> set[SSAValue] | None:
    """The values inside `loop` that its results in use and its effects depend on; None if that is not known."""
    live: set[SSAValue] = set()
    queue: list[SSAValue] = []

    def mark(value: SSAValue) -> None:
        if value not in live and _is_inside(value, loop):
            live.add(value)
            queue.append(value)

    for result, value in zip(loop.results, terminator.operands, strict=True):
        if result.first_use is not None:
            mark(value)
    if len(live) == len(loop.results):
        return None
    for op in loop.regions[0].walk():
        if isinstance(op, scf.ForOp) or _gives_results_only(op) or would_be_trivially_dead(op):
            continue
        for operand in op.operands:
            mark(operand)
        _mark_bounds_around(op, loop, mark)
    while queue:
        value = queue.pop()
        if isinstance(value, BlockArgument):
            _mark_argument(value, mark)
        elif not _mark_definition(cast(OpResult, value), mark):
            return None
    return live


def _gives_results_only(op: Operation) -> bool:
    """Whether `op` hands values to the results of a `for` or an `if`: each is needed where that result is. A `while` may turn on any of its."""
    return isinstance(op, scf.YieldOp) and not isinstance(op.parent_op(), scf.WhileOp)


def _mark_bounds_around(op: Operation, loop: Operation, mark: Callable[[SSAValue], None]) -> None:
    """How often an effect happens is for the bounds of the loops around it to say. Triton's pass forgets them."""
    around = op.parent_op()
    while around is not None and around is not loop:
        if isinstance(around, scf.ForOp):
            _mark_bounds(around, mark)
        around = around.parent_op()


def _mark_bounds(loop: Operation, mark: Callable[[SSAValue], None]) -> None:
    for bound in loop.operands[:3]:
        mark(bound)


def _mark_argument(value: BlockArgument, mark: Callable[[SSAValue], None]) -> None:
    """An argument of a loop needs its initial value, what the body yields for it and how often."""
    loop = value.block.parent_op()
    if not isinstance(loop, scf.ForOp):
        return
    _mark_bounds(loop, mark)
    if value.index > 0:
        mark(yield_of(loop, 0).operands[value.index - 1])
        mark(loop.operands[value.index + 2])


def _mark_definition(value: OpResult, mark: Callable[[SSAValue], None]) -> bool:
    """What the result of an op needs. False for ops whose needs are not known."""
    op = value.op
    if isinstance(op, scf.ForOp):
        _mark_bounds(op, mark)
        mark(op.operands[value.index + 3])
        mark(yield_of(op, 0).operands[value.index])
    elif isinstance(op, scf.IfOp):
        mark(op.operands[0])
        for region in (0, 1):
            mark(yield_of(op, region).operands[value.index])
    elif isinstance(op, scf.WhileOp):
        return False
    else:
        for operand in op.operands:
            mark(operand)
    return True


def _is_inside(value: SSAValue, op: Operation) -> bool:
    """Whether `value` is defined in a region of `op`."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    while block is not None:
        parent = block.parent_op()
        if parent is None:
            return False
        if parent is op:
            return True
        block = parent.parent
    return False


CLEANUP_PATTERNS = PatternSet(LOOP_PATTERNS, SCF_PATTERNS.subset(scf.ForOp, scf.IfOp), CONVERT_PATTERNS)
"""What runs at the end of the pass."""

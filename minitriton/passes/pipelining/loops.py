"""Questions that the passes of the pipeliner ask of a loop."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from minitriton.analysis.in_flight.rings import VIEWS
from minitriton.dialects.fast_paths.op_access import last_op_of, operand_values, ops_in, ops_in_inner_first

NUM_STAGES = "tt.num_stages"


def terminator_of(loop: scf.ForOp) -> Operation:
    """The `scf.yield` of a loop."""
    return last_op_of(loop.regions[0].block)


def body_ops(loop: scf.ForOp) -> list[Operation]:
    """The ops directly in a loop, without its yield."""
    block = loop.regions[0].block
    return [op for op in block.ops if op is not block.last_op]


def nested_operands(op: Operation) -> dict[SSAValue, None]:
    """The operands of `op` and of all ops in it, each once."""
    if not op.regions:
        return dict.fromkeys(operand_values(op))
    return dict.fromkeys(operand for inner in ops_in(op) for operand in operand_values(inner))


def num_stages(loop: scf.ForOp, default: int) -> int:
    """How many stages the loop is to have: what it says (`tl.range(num_stages=...)`), else the kernel's number."""
    given = loop.attributes.get(NUM_STAGES)
    return given.value.data if isinstance(given, IntegerAttr) else default


def is_outer_loop(loop: scf.ForOp) -> bool:
    """True if another loop stands directly in this one."""
    return any(isinstance(op, scf.ForOp | scf.WhileOp) for op in body_ops(loop))


def uses_values_of_older_iterations(loop: scf.ForOp) -> bool:
    """Whether an iteration yields one of its arguments, so that a value is used two or more iterations later."""
    return any(isinstance(value, BlockArgument) for value in operand_values(terminator_of(loop)))


def definition_and_distance(loop: scf.ForOp, value: SSAValue) -> tuple[Operation | None, int]:
    """What defines `value`, and how many iterations before the one that uses it; None for what no iteration defines."""
    distance = 0
    seen: set[SSAValue] = set()
    while isinstance(value, BlockArgument):
        if value.block is not loop.regions[0].block or value.index == 0:
            return None, 0
        distance += 1
        value = operand_values(terminator_of(loop))[value.index - 1]
        if value in seen:
            return None, 0
        seen.add(value)
    assert isinstance(value, OpResult)
    return value.op, distance


def ancestor_in_body(loop: scf.ForOp, op: Operation) -> Operation | None:
    """`op` or the op around it that stands directly in the body of `loop`; None if it is outside."""
    block = loop.regions[0].block
    current: Operation | None = op
    while current is not None and current.parent is not block:
        current = current.parent_op()
    return current


def users_in_body(loop: scf.ForOp, op: Operation) -> list[Operation]:
    """The ops of the body that use results of `op`, in this iteration or the next, views of buffers seen through."""
    found: dict[Operation, None] = {}
    seen: set[tuple[Operation, int]] = set()
    pending = [use for result in op.results for use in result.uses]
    last = terminator_of(loop)
    while pending:
        use = pending.pop()
        user = use.operation
        if (user, use.index) in seen:
            continue
        seen.add((user, use.index))
        if user is last:
            pending.extend(loop.regions[0].block.args[use.index + 1].uses)
        elif isinstance(user, VIEWS):
            pending.extend(user.results[0].uses)
        else:
            ancestor = ancestor_in_body(loop, user)
            if ancestor is not None:
                found[ancestor] = None
    return list(found)


def loops_in(root: Operation) -> Iterator[scf.ForOp]:
    """All loops below `root`, inner before outer."""
    for op in ops_in_inner_first(root):
        if op.__class__ is scf.ForOp:
            yield op  # pyright: ignore[reportReturnType]

"""`convert-scf-to-cf`: structured loops and conditionals as blocks and branches.

%r = scf.for %i = %l to %u step %s iter_args(%a = %x) { B }        cf.br ^cond(%l, %x)
                                                            =>   ^cond(%i, %a): %c = arith.cmpi slt, %i, %u
                                                                   cf.cond_br %c, ^body, ^end
                                                                 ^body: B; %n = arith.addi %i, %s
                                                                   cf.br ^cond(%n, <yielded>)
                                                                 ^end: ...            %a for %r
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import cf, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from minitriton.dialects import arith
from minitriton.dialects.fast_paths.op_access import last_op_of, operand_at, operand_values, ops_in
from minitriton.errors import PassError
from minitriton.pipeline.pass_registry import KEPT_BY_DEFAULT, Pass, Property, register_pass


def _end_with(block: Block, op: Operation, like: Operation) -> None:
    op.location = like.location
    block.add_op(op)


def _split_at(op: Operation) -> tuple[Block, Block]:
    """The block of `op` in two: what is before, and `op` with what follows."""
    block = op.parent
    assert block is not None
    return block, block.split_before(op)


def _move_before(region: Region, target: Block) -> None:
    blocks = list(region.blocks)
    for block in blocks:
        region.detach_block(block)
    assert target.parent is not None
    target.parent.insert_block_before(blocks, target)


def _erase(op: Operation, values: Sequence[SSAValue]) -> None:
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    assert op.parent is not None
    op.parent.erase_op(op)


def _loop_annotation(loop: Operation) -> dict[str, Attribute]:
    """What the branch that repeats `loop` keeps of it: a `while` repeats where its body ends, a `for` where it tests."""
    return {name: attr for name, attr in loop.attributes.items() if name == "llvm.loop_annotation"}


def _lower_for(op: scf.ForOp) -> None:
    low, high, step = operand_values(op)[:3]
    inits = operand_values(op)[3:]
    region = op.regions[0]
    condition, last_body = region.first_block, region.last_block
    assert condition is not None and last_body is not None and condition.first_op is not None
    start, end = _split_at(op)
    body = condition.split_before(condition.first_op)
    if last_body is condition:
        last_body = body
    _move_before(region, end)
    terminator = last_op_of(last_body)
    stepped = arith.AddiOp(condition.args[0], step)
    _end_with(last_body, stepped, op)
    values = operand_values(terminator)
    last_body.detach_op(terminator)
    _end_with(last_body, cf.BranchOp(condition, stepped.results[0], *values), op)
    terminator.drop_all_references()
    _end_with(start, cf.BranchOp(condition, low, *inits), op)
    comparison = arith.CmpiOp(condition.args[0], high, "slt")
    _end_with(condition, comparison, op)
    branch = cf.ConditionalBranchOp(comparison.results[0], body, [], end, [])
    branch.attributes.update(_loop_annotation(op))
    _end_with(condition, branch, op)
    _erase(op, condition.args[1:])


def _lower_branch(region: Region, target: Block, op: Operation) -> Block:
    """Moves the blocks of one side of `op` before `target`, ending with a branch to it; the first of them."""
    first, last = region.first_block, region.last_block
    assert first is not None and last is not None
    terminator = last_op_of(last)
    values = operand_values(terminator)
    last.detach_op(terminator)
    _end_with(last, cf.BranchOp(target, *values), op)
    terminator.drop_all_references()
    _move_before(region, target)
    return first


def _lower_if(op: scf.IfOp) -> None:
    start, rest = _split_at(op)
    join = rest
    if op.results:
        join = Block(arg_types=[result.type for result in op.results])
        assert rest.parent is not None
        rest.parent.insert_block_before(join, rest)
        _end_with(join, cf.BranchOp(rest), op)
    then = _lower_branch(op.regions[0], join, op)
    other = join if op.regions[1].first_block is None else _lower_branch(op.regions[1], join, op)
    _end_with(start, cf.ConditionalBranchOp(operand_at(op, 0), then, [], other, []), op)
    _erase(op, join.args if op.results else ())


def _lower_while(op: scf.WhileOp) -> None:
    start, rest = _split_at(op)
    before, after = op.regions[0].block, op.regions[1].block
    _move_before(op.regions[0], rest)
    _move_before(op.regions[1], rest)
    _end_with(start, cf.BranchOp(before, *operand_values(op)), op)
    condition = last_op_of(before)
    flag, *values = operand_values(condition)
    before.detach_op(condition)
    _end_with(before, cf.ConditionalBranchOp(flag, after, values, rest, []), condition)
    condition.drop_all_references()
    terminator = last_op_of(after)
    yielded = operand_values(terminator)
    after.detach_op(terminator)
    latch = cf.BranchOp(before, *yielded)
    latch.attributes.update(_loop_annotation(op))
    _end_with(after, latch, terminator)
    terminator.drop_all_references()
    _erase(op, values)


_OTHERS = (scf.ParallelOp, scf.IndexSwitchOp, scf.ExecuteRegionOp)


@register_pass
class ConvertScfToCf(Pass, stage="llir", origin="triton"):
    """Replaces `scf` ops by blocks and branches."""

    name: ClassVar[str] = "convert-scf-to-cf"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})
    keeps: ClassVar[frozenset[Property]] = KEPT_BY_DEFAULT - {Property.STRUCTURED}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in ops_in(op):
            if isinstance(inner, scf.ForOp):
                _lower_for(inner)
            elif isinstance(inner, scf.IfOp):
                _lower_if(inner)
            elif isinstance(inner, scf.WhileOp):
                _lower_while(inner)
            elif isinstance(inner, _OTHERS):
                raise PassError(
                    f"{inner.name} has no lowering to branches", help="Triton kernels use scf.for, scf.if and scf.while"
                )

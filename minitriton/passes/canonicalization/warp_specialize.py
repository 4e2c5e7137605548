"""Canonical form of `ttg.warp_specialize`: only results that are used, only captures that are used, each once.

ttg.warp_specialize(%a, %a)                       ttg.warp_specialize(%a)
partition0(%x, %y) { use %x, %y }           =>    partition0(%x) { use %x, %x }
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from minitriton.dialects import ttg
from minitriton.dialects.fast_paths.op_access import operand_values
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter

patterns = PatternSet()


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

"""Equality of two modules when the order of ops within a block does not count.

    structure(a) == structure(b)    # the same ops with the same operands, in each block in any order

For passes of Triton's whose order of copies depends on addresses in its own memory (`triton-nvidia-gpu-plan-cta`, `nvgpu-warp-specialization`).
What partitions of `ttg.warp_specialize` capture may come in any order too.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from minitriton.dialects import ttg


def structure(module: ModuleOp) -> str:
    """A text that tells modules apart by their ops, types, attributes and who uses what, not by the order within a block."""
    return _op(module, {})


def _op(op: Operation, names: dict[SSAValue, str]) -> str:
    named = [names[operand] for operand in op.operands]
    if isinstance(op, ttg.WarpSpecializeOp):
        for region in op.partition_regions:
            for argument, name in zip(region.block.args, named, strict=True):
                names[argument] = name
        named.sort()
    operands = ", ".join(named)
    attributes = sorted(f"{k}={v}" for k, v in (*op.properties.items(), *op.attributes.items()))
    regions = [_block(block, names) for region in op.regions for block in region.blocks]
    types = ", ".join(str(result.type) for result in op.results)
    return f"{op.name}({operands}) {attributes} {regions} : {types}"


def _block(block: Block, names: dict[SSAValue, str]) -> list[str]:
    for argument in block.args:
        if isinstance(block.parent_op(), ttg.WarpSpecializePartitionsOp):
            break
        names[argument] = f"argument {argument.index} : {argument.type}"
    keys: list[str] = []
    for op in block.ops:
        key = _op(op, names)
        keys.append(key)
        for result in op.results:
            names[result] = f"{hash(key):x}#{result.index}"
    return sorted(keys)

"""Applies the region of a reduction or a scan to registers, all lanes of a vector at once."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from minitriton.codegen import registers
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.types import I1, lanes, vector_type
from minitriton.dialects import arith
from minitriton.dialects.arith.compare import EQ, MIRRORED, NE, SGE, SGT, SLE, SLT, predicate_of
from minitriton.dialects.fast_paths.op_access import last_op_of


def combine(
    f: FunctionLowering,
    op: Operation,
    first: Sequence[SSAValue],
    second: Sequence[SSAValue],
    increasing: Sequence[int] = (),
) -> list[SSAValue]:
    """The results of the region for operands `first` and `second`: one vector (or scalar) for each operand of `op`. Of the operands in
    `increasing`, integers, each element of `first` is known to be less than that of `second`."""
    block = op.regions[0].block
    count = lanes(first[0].type)
    if count > 1 and any(inner.regions for inner in block.ops):
        # A branch must go one way in all lanes, so each lane is on its own.
        per_lane = [
            _inlined(f, block, [f.b.extract(v, i) for v in first], [f.b.extract(v, i) for v in second], increasing)
            for i in range(count)
        ]
        return [f.b.pack(column) for column in zip(*per_lane, strict=True)]
    return _inlined(f, block, first, second, increasing)


def _inlined(
    f: FunctionLowering,
    block: Block,
    first: Sequence[SSAValue],
    second: Sequence[SSAValue],
    increasing: Sequence[int],
) -> list[SSAValue]:
    location = f.b.location
    for argument, value in zip(block.args, (*first, *second), strict=True):
        f.values[argument] = value
    last = last_op_of(block)
    pairs: set[tuple[SSAValue, SSAValue]] = {
        (block.args[number], block.args[number + len(first)]) for number in increasing
    }
    known = {inner: holds for inner in block.ops if pairs and (holds := _known(inner, pairs)) is not None}
    count = lanes(first[0].type)
    for inner, holds in known.items():
        f.values[inner.results[0]] = f.b.constant(vector_type(I1, count), holds)
    f.lower_ops([inner for inner in block.ops if inner is not last and inner not in known])
    f.b.location = location
    return [registers.vector(f.b, f.values[value], count) for value in last.operands]


def _known(op: Operation, pairs: set[tuple[SSAValue, SSAValue]]) -> bool | None:
    """What a comparison of two elements says, where the first is less than the second."""
    if not isinstance(op, arith.CmpiOp):
        return None
    predicate = predicate_of(op)
    if (op.rhs, op.lhs) in pairs:
        predicate = MIRRORED[predicate]
    elif (op.lhs, op.rhs) not in pairs:
        return None
    return {EQ: False, NE: True, SLT: True, SLE: True, SGT: False, SGE: False}.get(predicate)


def single_combiner(op: Operation) -> Operation | None:
    """The one op of the region, if it has one that combines its two arguments."""
    block = op.regions[0].block
    inner, last = block.first_op, block.last_op
    if inner is None or inner.next_op is not last or len(block.args) != 2 or len(inner.results) != 1:
        return None
    return inner if set(inner.operands) == set(block.args) else None

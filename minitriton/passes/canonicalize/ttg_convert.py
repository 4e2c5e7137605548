"""Canonical forms of layout conversions: those that vanish into their source or their user.

split(convert(x))  ->  split(x), if that gives the same layout
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, OpResult

from minitriton.dialects import tt, ttg
from minitriton.dialects.fast_paths.op_access import operand_at
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.passes.remove_layout_conversions.convert_patterns import CONVERT_PATTERNS
from minitriton.passes.tensor_layouts import result_layout
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter

patterns = PatternSet(CONVERT_PATTERNS)


@patterns.pattern(tt.SplitOp)
def split_before_converting(op: Operation, rewriter: Rewriter) -> bool:
    """Several layouts of the source give one layout of the halves."""
    source = operand_at(op, 0)
    if not isinstance(source, OpResult) or source.op.__class__ is not ttg.ConvertLayoutOp:
        return False
    unconverted = operand_at(source.op, 0)
    assert instance_of(unconverted.type, TensorType)
    layout = ttg.layout_of(unconverted.type)
    if not isinstance(layout, DistributedEncoding) or result_layout(op, layout) != ttg.layout_of(op.results[0].type):
        return False
    rewriter.replace_with(
        op, tt.SplitOp.create(operands=[unconverted], result_types=[result.type for result in op.results])
    )
    return True

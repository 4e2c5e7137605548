"""`test-tritonamdgpu-range-analysis`: says between which numbers each integer is, as Triton's analysis for AMD's GPUs prints it."""

from __future__ import annotations

import sys
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.axis_info.explain import location_of
from minitriton.analysis.integer_range.analysis import IntegerRangeAnalysis
from minitriton.analysis.integer_range.lattice import full
from minitriton.dialects import arith, tt
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.pipeline.pass_registry import Pass, register_pass

_PROGRAMS = 1 << 31


@register_pass
class PrintAmdRanges(Pass, stage="ttir"):
    """Remarks at each op with an integer result."""

    name: ClassVar[str] = "test-tritonamdgpu-range-analysis"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Print the ranges of a module."""
        ranges = IntegerRangeAnalysis(op, grid=(_PROGRAMS,) * 3)
        for function in op.ops:
            if isinstance(function, tt.FuncOp) and function.regions[0].blocks:
                arguments = function.regions[0].blocks[0].args
                for position, argument in enumerate(arguments):
                    _say(ranges, argument, f"arg {position}: " if len(arguments) > 1 else "")
        for inner in ops_in(op):
            many = len(inner.results) > 1
            for position, result in enumerate(inner.results):
                _say(ranges, result, f"result {position}: " if many else "")
            for position, result in enumerate(inner.results):
                if ranges.get(result).width and ranges.get(result).is_non_negative:
                    _remark(result, f"result {position}: non-neg" if many else "non-neg")
            if isinstance(inner, scf.ForOp):
                _remark(inner.body.block.args[0], f"inferred total trip count: {_runs(ranges, inner)}")
            if isinstance(inner, arith.CmpiOp) and ranges.get(inner.result).constant == -1:
                _remark(inner.result, "result is true")


_UNKNOWN = 1025
"""How often a loop runs of which nothing is known, as Triton takes it."""


def _runs(ranges: IntegerRangeAnalysis, loop: Operation) -> int:
    """How often the body of a loop runs at most, with all loops around it."""
    low, high, step = (ranges.get(operand) for operand in loop.operands[:3])
    is_known = step.smin > 0 and high.smax < full(high.width).smax and low.smin > full(low.width).smin
    runs = max(0, -((low.smin - high.smax) // step.smin)) if is_known else _UNKNOWN
    outer = loop.parent_op()
    while outer is not None and not isinstance(outer, scf.ForOp):
        outer = outer.parent_op()
    return runs if outer is None else runs * _runs(ranges, outer)


def _remark(value: SSAValue, text: str) -> None:
    print(f"{location_of(value)}: remark: {text}", file=sys.stderr)


def _say(ranges: IntegerRangeAnalysis, value: SSAValue, prefix: str) -> None:
    found = ranges.get(value)
    if found.width:
        _remark(value, f"{prefix}unsigned : [{found.umin}, {found.umax}] signed : [{found.smin}, {found.smax}]")

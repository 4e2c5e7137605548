"""`minitriton-ordered-indices`: within a thread, the index of a reduction's first operand is known to be less than that of its second.

    %m:2 = "tt.reduce"(%x, %index) ({                                         for the elements 0 .. 7 of a thread
    ^bb0(%a: f32, %i: i32, %b: f32, %j: i32):
      %equal = arith.cmpf oeq, %a, %b
      %before = arith.cmpi slt, %i, %j                                        true
      %tie = arith.andi %equal, %before                                       a == b
      %more = arith.cmpf ogt, %a, %b
      %first = arith.ori %more, %tie                                    =>    a >= b
      ...
    }) {axis = 1}                  %index: make_range 0 .. 1023 along 1

In: TTGIR. Out: the same, `ttg.increasing` on reductions that carry indices along: `tl.argmax`, `tl.argmin`, `tl.max(return_indices=True)`. The
lowering combines the elements of a thread in the order of the axis (`codegen/lowering/reduce.py`), and then takes comparisons of the two
indices for what they are. What LLVM is left with is one comparison an element in place of three, and an index that is a number of the
instruction in place of one in a register. Triton's LLVM finds it out from scalars, ours not from vectors.

An operand counts if axis info says that its elements are neighbours all along the axis, and if the region passes on one of its two.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, ModuleOp, TensorType, i32
from xdsl.ir import OpResult, SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.dialects import arith, tt
from minitriton.dialects.attribute_values import integer
from minitriton.dialects.facts import IntegerExtremum
from minitriton.dialects.facts.pass_attributes import INCREASING
from minitriton.dialects.fast_paths.operations import ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.pass_registry import EVERYTHING, Pass, Property, register_pass


@register_pass
class OrderedIndices(Pass, stage="llir"):
    """Notes which operands of a reduction increase along its axis."""

    name: ClassVar[str] = "minitriton-ordered-indices"
    acts_on = frozenset({tt.ReduceOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS})
    keeps: ClassVar[frozenset[Property]] = EVERYTHING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Notes them on reductions of several operands."""
        facts: AxisInfoAnalysis | None = None
        for reduction in ops_of(op, tt.ReduceOp):
            candidates = [number for number in range(len(reduction.operands)) if _passes_on(reduction, number)]
            if len(reduction.operands) > 1 and candidates:
                facts = facts or AxisInfoAnalysis(op)
                increasing = [number for number in candidates if _increases(reduction, number, facts)]
                if increasing:
                    reduction.attributes[INCREASING] = DenseArrayBase.from_list(i32, increasing)


def _passes_on(reduction: tt.ReduceOp, number: int) -> bool:
    """Whether the region gives, for an operand of integers, one of its two elements, whichever."""
    block = reduction.regions[0].block
    end = block.last_op
    if end is None or block.first_op is None or len(reduction.regions[0].blocks) != 1:
        return False
    elements: tuple[SSAValue, ...] = (block.args[number], block.args[number + len(reduction.operands)])
    if not isinstance(block.args[number].type, IntegerType):
        return False
    return _is_one_of(end.operands[number], elements)


def _is_one_of(value: SSAValue, elements: tuple[SSAValue, ...]) -> bool:
    if value in elements:
        return True
    if not isinstance(value, OpResult):
        return False
    op = value.op
    if isinstance(op, arith.SelectOp):
        return _is_one_of(op.lhs, elements) and _is_one_of(op.rhs, elements)
    return IntegerExtremum.of(op) is not None and all(operand in elements for operand in op.operands)


def _increases(reduction: tt.ReduceOp, number: int, facts: AxisInfoAnalysis) -> bool:
    operand = reduction.operands[number]
    assert instance_of(operand.type, TensorType)
    axis = integer(reduction.axis)
    return facts.get(operand).contiguity[axis] >= operand.type.get_shape()[axis] > 1

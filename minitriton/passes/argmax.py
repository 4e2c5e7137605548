"""`minitriton-nan-in-argmax`: NaN takes no part in a maximum or minimum with its index, as it takes none in `tl.max` and `tl.min`.

    %m:2 = "tt.reduce"(%x, %index) ({                                            %y = arith.maxnumf %x, %minus_infinity
    ^bb0(%a: f32, %i: i32, %b: f32, %j: i32):                               =>   %m:2 = "tt.reduce"(%y, %index) ...
      %first = arith.cmpf ogt, %a, %b
      %value = arith.select %first, %a, %b
      %at = arith.select %first, %i, %j
      ...
    }) {axis = 0}

In: TTIR. Out: reductions of `tl.argmax`, `tl.argmin` and `return_indices=True` see an infinity for each NaN. A comparison with NaN is false, so without
this the result depends on the order in which elements are combined, which is another for each layout and on the interpreter. Integers that
became floats have no NaN and are left. One instruction for each chain of elements (`codegen/lowering/reduce.py`); left out by `without="minitriton-nan-in-argmax"`.

`minitriton-ordered-indices`: within a thread, the index of a reduction's first operand is known to be less than that of its second.

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

import math
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, DenseArrayBase, IntegerType, ModuleOp, TensorType, i32
from xdsl.ir import Block, Operation, OpResult, SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.dialects import arith, tt
from minitriton.dialects.arith.float import FloatBinaryOp
from minitriton.dialects.attribute_values import integer
from minitriton.dialects.facts import IntegerExtremum
from minitriton.dialects.facts.pass_attributes import INCREASING
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.pipeline.pass_registry import EVERYTHING, Pass, Property, register_pass
from minitriton.rewriting.constants import constant_op, float_attr

_EXTREMES: dict[str, tuple[type[FloatBinaryOp], float]] = {
    "ogt": (arith.MaxnumfOp, -math.inf),
    "olt": (arith.MinnumfOp, math.inf),
}
"""By the comparison that the first of two numbers passes to be taken: what ignores NaN, and with which number."""


@register_pass
class NaNInArgmax(Pass, stage="ttir"):
    """Puts infinities for NaN before reductions that choose a number and its index."""

    name: ClassVar[str] = "minitriton-nan-in-argmax"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TTIR})

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        """Rewrites the reductions of the module."""
        chosen = [(found, extreme) for found in ops_of(op, tt.ReduceOp) if (extreme := _chosen_by(found)) is not None]
        for reduction, (ignoring, number) in chosen:
            _ignore_nan(reduction, ignoring, number)
        return bool(chosen)


def _chosen_by(reduction: tt.ReduceOp) -> tuple[type[FloatBinaryOp], float] | None:
    """How `reduction` chooses a float and its index; None if it does not."""
    block = reduction.regions[0].first_block
    if block is None or len(reduction.operands) != 2 or not isinstance(block.args[0].type, AnyFloat):
        return None
    if isinstance(reduction.operands[0].owner, arith.SIToFPOp | arith.UIToFPOp) or not _selects(block):
        return None
    a, b = block.args[0], block.args[2]
    for inner in block.ops:
        if isinstance(inner, arith.CmpfOp) and (inner.operands[0], inner.operands[1]) == (a, b):
            found = _EXTREMES.get(inner.predicate_name)
            if found is not None:
                return found
    return None


def _selects(block: Block) -> bool:
    """Whether a region gives, by one condition, its first float and index or its second ones."""
    last = block.last_op
    if last is None or len(last.operands) != 2:
        return False
    value, index = (_select_of(operand) for operand in last.operands)
    if value is None or index is None or value.operands[0] is not index.operands[0]:
        return False
    a, i, b, j = block.args
    return (*value.operands[1:], *index.operands[1:]) == (a, b, i, j)


def _select_of(value: SSAValue) -> Operation | None:
    return value.op if isinstance(value, OpResult) and isinstance(value.op, arith.SelectOp) else None


def _ignore_nan(reduction: tt.ReduceOp, ignoring: type[FloatBinaryOp], number: float) -> None:
    source = reduction.operands[0]
    assert instance_of(source.type, TensorType)
    limit = constant_op(float_attr(source.type, number))
    numbers = ignoring(source, limit.results[0])
    block = reduction.parent
    assert block is not None
    for made in (limit, numbers):
        made.location = reduction.location
        block.insert_op_before(made, reduction)
    reduction.operands[0] = numbers.results[0]


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

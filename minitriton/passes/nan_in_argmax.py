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
became floats have no NaN and are left. One instruction an element; left out by `without="minitriton-nan-in-argmax"`.
"""

from __future__ import annotations

import math
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp, TensorType
from xdsl.ir import Block, Operation, OpResult, SSAValue

from minitriton.dialects import arith, tt
from minitriton.dialects.fast_paths.operations import ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.constants import constant_op, float_attr

_EXTREMES: dict[str, tuple[type[arith.MaxnumfOp | arith.MinnumfOp], float]] = {
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


def _chosen_by(reduction: tt.ReduceOp) -> tuple[type[arith.MaxnumfOp | arith.MinnumfOp], float] | None:
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


def _ignore_nan(reduction: tt.ReduceOp, ignoring: type[arith.MaxnumfOp | arith.MinnumfOp], number: float) -> None:
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

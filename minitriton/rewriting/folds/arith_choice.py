"""Folds of comparisons and of select."""

from __future__ import annotations

import math
from functools import lru_cache

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Operation, OpResult

from minitriton.dialects import arith
from minitriton.dialects.arith.compare import (
    EQ,
    MIRRORED,
    NE,
    SGE,
    SLE,
    UGE,
    ULE,
    holds,
    predicate_of,
)
from minitriton.dialects.fast_paths.op_access import operand_at, operand_values
from minitriton.rewriting.constants import (
    constant_attr,
    float_constant,
    int_attr,
    int_constant,
    width_of,
)
from minitriton.rewriting.patterns import MODIFIED, Folded, both, folder

_TRUE_OF_EQUALS = frozenset({EQ, SLE, SGE, ULE, UGE})


@lru_cache(maxsize=32)
def predicate_attr(attr: IntegerAttr, number: int) -> IntegerAttr:
    """The predicate `number`, as an attribute like `attr`."""
    return IntegerAttr(number, attr.type)


@folder(arith.CmpiOp)
def fold_cmpi(op: Operation) -> Folded:
    """cmp(x, x);  (ext x : i1) != 0 = x;  x : i1 != 0 = x;  x : i1 == 1 = x;  c < x = x > c"""
    lhs, rhs = both(op)
    result_type = op.results[0].type
    predicate = predicate_of(op)
    if lhs is rhs:
        return int_attr(result_type, predicate in _TRUE_OF_EQUALS)
    constant = int_constant(rhs)
    if constant is None:
        if constant_attr(lhs) is None or constant_attr(rhs) is not None:
            return None
        op.properties["predicate"] = predicate_attr(op.properties["predicate"], MIRRORED[predicate])
        op.operands = (rhs, lhs)
        return MODIFIED
    width = width_of(lhs.type)
    if constant == 0 and predicate == NE:
        if isinstance(lhs, OpResult) and lhs.op.__class__ in (arith.ExtSIOp, arith.ExtUIOp):
            source = operand_at(lhs.op, 0)
            if width_of(source.type) == 1:
                return source
        if width == 1:
            return lhs
    if constant == -1 and width == 1 and predicate == EQ:
        return lhs
    known = int_constant(lhs)
    return None if known is None else int_attr(result_type, holds(predicate, known, constant, width))


_FLOAT_RELATIONS = ("", "=", ">", "=>", "<", "=<", "<>", "<=>", "=", ">", "=>", "<", "=<", "<>", "", "<=>")
"""The relations that make `arith.cmpf` true, by the number of its predicate; those from 8 on are true of a NaN."""


@folder(arith.CmpfOp)
def fold_cmpf(op: Operation) -> Folded:
    """Two constants, or a NaN on one side; scalars only."""
    if op.results[0].type != i1:
        return None
    lhs, rhs = (float_constant(value) for value in both(op))
    if rhs is not None and math.isnan(rhs):
        lhs = rhs
    if lhs is not None and math.isnan(lhs):
        rhs = lhs
    if lhs is None or rhs is None:
        return None
    predicate = predicate_of(op)
    if math.isnan(lhs):
        return int_attr(op.results[0].type, predicate >= 8)
    return int_attr(
        op.results[0].type, ("=" if lhs == rhs else "<" if lhs < rhs else ">") in _FLOAT_RELATIONS[predicate]
    )


@folder(arith.SelectOp)
def fold_select(op: Operation) -> Folded:
    """select(_, x, x) = x;  select(true, x, y) = x;  select(c, true, false) = c;  select(x == y, x, y) = y"""
    condition, true, false = operand_values(op)
    if true is false:
        return true
    known = int_constant(condition)
    if known is not None:
        return true if known else false
    if true.type == i1 and int_constant(true) == -1 and int_constant(false) == 0:
        return condition
    if isinstance(condition, OpResult) and condition.op.__class__ is arith.CmpiOp:
        predicate = predicate_of(condition.op)
        if predicate in (EQ, NE):
            compared = operand_values(condition.op)
            if (compared[0] is true and compared[1] is false) or (compared[1] is true and compared[0] is false):
                return true if predicate == NE else false
    return None

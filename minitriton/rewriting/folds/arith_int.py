"""Folds of integer arithmetic, minima and maxima, bitwise logic and shifts.

Folds of comparisons and of select.
"""

import math
from collections.abc import Callable
from functools import lru_cache

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Operation, OpResult, SSAValue

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
    toward_zero,
)
from minitriton.dialects.fast_paths.op_access import defining, operand_at, operand_values
from minitriton.rewriting.constants import (
    constant_attr,
    float_constant,
    int_attr,
    int_constant,
    to_signed,
    to_unsigned,
    width_of,
)
from minitriton.rewriting.patterns import (
    MODIFIED,
    Folded,
    IntRule,
    both,
    constant_to_the_right,
    fold_ints,
    folder,
    is_one,
    unsigned,
)

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


@folder(arith.AddiOp)
def fold_addi(op: Operation) -> Folded:
    """x + 0 = x,  (a - b) + b = a,  b + (a - b) = a"""
    lhs, rhs = both(op)
    if int_constant(rhs) == 0:
        return lhs
    for value, other in ((lhs, rhs), (rhs, lhs)):
        difference = defining(value, arith.SubiOp)
        if difference is not None and operand_at(difference, 1) is other:
            return operand_at(difference, 0)
    return fold_ints(op, lambda a, b, _: a + b, commutes=True)


@folder(arith.SubiOp)
def fold_subi(op: Operation) -> Folded:
    """x - x = 0,  x - 0 = x,  (a + b) - b = a,  (a + b) - a = b"""
    lhs, rhs = both(op)
    if lhs is rhs:
        return int_attr(op.results[0].type, 0)
    if int_constant(rhs) == 0:
        return lhs
    total = defining(lhs, arith.AddiOp)
    if total is not None and rhs in (parts := operand_values(total)):
        return parts[0] if parts[1] is rhs else parts[1]
    return fold_ints(op, lambda a, b, _: a - b)


@folder(arith.MuliOp)
def fold_muli(op: Operation) -> Folded:
    """x * 0 = 0,  x * 1 = x"""
    lhs, rhs = both(op)
    factor = int_constant(rhs)
    if factor == 0:
        return rhs
    if factor is not None and is_one(factor, rhs.type):
        return lhs
    return fold_ints(op, lambda a, b, _: a * b, commutes=True)


def _divide_signed(a: int, b: int, width: int) -> int | None:
    if b == 0 or (b == -1 and a == -(1 << (width - 1))):
        return None
    return toward_zero(a, b)


def _floor_divide(a: int, b: int, width: int) -> int | None:
    return None if _divide_signed(a, b, width) is None else a // b


def _ceil_divide(a: int, b: int, width: int) -> int | None:
    return None if _divide_signed(a, b, width) is None else -(-a // b)


_DIVIDE: dict[type[Operation], IntRule] = {
    arith.DivSIOp: _divide_signed,
    arith.DivUIOp: unsigned(lambda a, b: a // b if b else None),
    arith.FloorDivSIOp: _floor_divide,
    arith.CeilDivSIOp: _ceil_divide,
    arith.CeilDivUIOp: unsigned(lambda a, b: -(-a // b) if b else None),
}


@folder(*_DIVIDE)
def fold_division(op: Operation) -> Folded:
    """x / 1 = x; nothing is known of a division that traps."""
    lhs, rhs = both(op)
    divisor = int_constant(rhs)
    if divisor is None:
        return None
    if is_one(divisor, rhs.type):
        return lhs
    return fold_ints(op, _DIVIDE[op.__class__])


def _remainder_signed(a: int, b: int, _: int) -> int | None:
    return None if b == 0 else a - b * toward_zero(a, b)


_REMAINDER: dict[type[Operation], IntRule] = {
    arith.RemSIOp: _remainder_signed,
    arith.RemUIOp: unsigned(lambda a, b: a % b if b else None),
}


@folder(*_REMAINDER)
def fold_remainder(op: Operation) -> Folded:
    """x % 1 = 0"""
    rhs = operand_at(op, 1)
    divisor = int_constant(rhs)
    if divisor is None:
        return None
    if is_one(divisor, rhs.type):
        return int_attr(op.results[0].type, 0)
    return fold_ints(op, _REMAINDER[op.__class__])


def _signed_bounds(width: int) -> tuple[int, int]:
    return -(1 << (width - 1)), (1 << (width - 1)) - 1


_EXTREMA: dict[type[Operation], tuple[IntRule, Callable[[int], int], Callable[[int], int]]] = {
    # op: (rule, value that wins against all, value that loses against all), as signed numbers
    arith.MaxSIOp: (lambda a, b, _: max(a, b), lambda w: _signed_bounds(w)[1], lambda w: _signed_bounds(w)[0]),
    arith.MinSIOp: (lambda a, b, _: min(a, b), lambda w: _signed_bounds(w)[0], lambda w: _signed_bounds(w)[1]),
    arith.MaxUIOp: (unsigned(max), lambda _: -1, lambda _: 0),
    arith.MinUIOp: (unsigned(min), lambda _: 0, lambda _: -1),
}


@folder(*_EXTREMA)
def fold_extremum(op: Operation) -> Folded:
    """max(x, x) = x,  max(x, greatest) = greatest,  max(x, least) = x"""
    lhs, rhs = both(op)
    if lhs is rhs:
        return lhs
    rule, winner, loser = _EXTREMA[op.__class__]
    bound = int_constant(rhs)
    if bound is not None:
        width = width_of(rhs.type)
        if bound == winner(width):
            return rhs
        if bound == loser(width):
            return lhs
    return fold_ints(op, rule, commutes=True)


def _complements(a: SSAValue, b: SSAValue) -> bool:
    """True if `b` is `xori(a, -1)`."""
    inverse = defining(b, arith.XOrIOp)
    return inverse is not None and operand_at(inverse, 0) is a and int_constant(operand_at(inverse, 1)) == -1


def _and_of_and(op: Operation) -> SSAValue | None:
    """a & (a & b) = a & b"""
    for value, other in (operand_values(op), operand_values(op)[::-1]):
        inner = defining(value, arith.AndIOp)
        if inner is not None and other in operand_values(inner):
            return value
    return None


@folder(arith.AndIOp)
def fold_andi(op: Operation) -> Folded:
    """x & 0 = 0,  x & -1 = x,  x & ~x = 0,  x & (x & y) = x & y,  x & x = x"""
    lhs, rhs = both(op)
    mask = int_constant(rhs)
    if mask == 0:
        return rhs
    if mask == -1:
        return lhs
    if _complements(lhs, rhs) or _complements(rhs, lhs):
        return int_attr(op.results[0].type, 0)
    inner = _and_of_and(op)
    if inner is not None:
        return inner
    folded = fold_ints(op, lambda a, b, _: a & b)
    if folded is not None:
        return folded
    return lhs if lhs is rhs else constant_to_the_right(op)


@folder(arith.OrIOp)
def fold_ori(op: Operation) -> Folded:
    """x | 0 = x,  x | -1 = -1,  x | ~x = -1,  x | x = x"""
    lhs, rhs = both(op)
    mask = int_constant(rhs)
    if mask == 0:
        return lhs
    if mask == -1 or _complements(lhs, rhs) or _complements(rhs, lhs):
        return int_attr(op.results[0].type, -1)
    folded = fold_ints(op, lambda a, b, _: a | b)
    if folded is not None:
        return folded
    return lhs if lhs is rhs else constant_to_the_right(op)


@folder(arith.XOrIOp)
def fold_xori(op: Operation) -> Folded:
    """x ^ 0 = x,  x ^ x = 0,  (x ^ a) ^ a = x"""
    lhs, rhs = both(op)
    if int_constant(rhs) == 0:
        return lhs
    if lhs is rhs:
        return int_attr(op.results[0].type, 0)
    for value, other in ((lhs, rhs), (rhs, lhs)):
        inner = defining(value, arith.XOrIOp)
        if inner is not None and other in (parts := operand_values(inner)):
            return parts[0] if parts[1] is other else parts[1]
    return fold_ints(op, lambda a, b, _: a ^ b, commutes=True)


def _in_range(amount: int, width: int) -> bool:
    return to_unsigned(amount, width) < width


_SHIFT: dict[type[Operation], IntRule] = {
    arith.ShLIOp: lambda a, b, w: a << b if _in_range(b, w) else None,
    arith.ShRUIOp: lambda a, b, w: to_unsigned(a, w) >> b if _in_range(b, w) else None,
    arith.ShRSIOp: lambda a, b, w: to_signed(a, w) >> b if _in_range(b, w) else None,
}


@folder(*_SHIFT)
def fold_shift(op: Operation) -> Folded:
    """x << 0 = x; nothing is known of a shift by the width or more."""
    lhs, rhs = both(op)
    amount = int_constant(rhs)
    if amount is None:
        return None
    return lhs if amount == 0 else fold_ints(op, _SHIFT[op.__class__])

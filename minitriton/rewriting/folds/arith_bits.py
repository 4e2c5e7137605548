"""Folds of bitwise logic and shifts."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from minitriton.dialects import arith
from minitriton.dialects.fast_paths.op_access import defining, operand_at, operand_values
from minitriton.rewriting.constants import int_attr, int_constant, to_signed, to_unsigned
from minitriton.rewriting.folding import Folded, folder
from minitriton.rewriting.folds.binary import IntRule, both, constant_to_the_right, fold_ints


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
        if inner is not None:
            if operand_at(inner, 1) is other:
                return operand_at(inner, 0)
            if operand_at(inner, 0) is other:
                return operand_at(inner, 1)
    folded = fold_ints(op, lambda a, b, _: a ^ b)
    return folded if folded is not None else constant_to_the_right(op)


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

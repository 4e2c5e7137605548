"""Canonical forms of conversions and of select.

extsi (extui x)  =>  extui x                    trunci (extsi x)  =>  extsi x, if x is narrower than the result
select (not c), a, b  =>  select c, b, a        select c, 1, 0    =>  extui c
"""

from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Operation, SSAValue

from minitriton.dialects import arith
from minitriton.dialects.fast_paths.op_access import operand_at, operand_values
from minitriton.dialects.narrowing import instance_of
from minitriton.passes.canonicalize.arith_int import defining, significant_bits
from minitriton.rewriting.constants import int_attr, int_constant, width_of
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter

patterns = PatternSet()


@patterns.pattern(arith.ExtSIOp)
def sign_extend_zero_extended(op: Operation, rewriter: Rewriter) -> bool:
    """extsi (extui x) = extui x"""
    inner = defining(operand_at(op, 0), arith.ExtUIOp)
    if inner is None:
        return False
    rewriter.replace_with(op, arith.ExtUIOp.create(operands=operand_values(inner), result_types=[op.results[0].type]))
    return True


@patterns.pattern(arith.TruncIOp)
def truncate_extended(op: Operation, rewriter: Rewriter) -> bool:
    """trunci (ext x) = ext x, if x is narrower than the result"""
    inner = defining(operand_at(op, 0), arith.ExtSIOp, arith.ExtUIOp)
    result_type = op.results[0].type
    if inner is None or width_of(operand_at(inner, 0).type) >= width_of(result_type):
        return False
    rewriter.replace_with(op, inner.__class__.create(operands=operand_values(inner), result_types=[result_type]))
    return True


@patterns.pattern(arith.TruncIOp)
def truncate_arithmetic_shift(op: Operation, rewriter: Rewriter) -> bool:
    """trunci (x >>s n) = trunci (x >>u n), if the bits that the shift brings in are cut off"""
    inner = defining(operand_at(op, 0), arith.ShRSIOp)
    if inner is None:
        return False
    amount = int_constant(operand_at(inner, 1))
    if amount is None or amount != width_of(inner.results[0].type) - width_of(op.results[0].type):
        return False
    shift = arith.ShRUIOp.create(operands=operand_values(inner), result_types=[inner.results[0].type])
    rewriter.insert(shift)
    rewriter.replace_with(op, op.__class__.create(operands=shift.results, result_types=[op.results[0].type]))
    return True


@patterns.pattern(arith.TruncFOp)
def truncate_converted(op: Operation, rewriter: Rewriter) -> bool:
    """truncf (sitofp x) = sitofp x, where the wider float has all bits of x: else it rounds twice"""
    inner = defining(operand_at(op, 0), arith.SIToFPOp, arith.UIToFPOp)
    if inner is None or width_of(operand_at(inner, 0).type) > significant_bits(inner.results[0].type):
        return False
    rewriter.replace_with(op, inner.__class__.create(operands=operand_values(inner), result_types=[op.results[0].type]))
    return True


@patterns.pattern(arith.BitcastOp)
def merge_bitcasts(op: Operation, rewriter: Rewriter) -> bool:
    """bitcast (bitcast x) = bitcast x"""
    inner = defining(operand_at(op, 0), arith.BitcastOp)
    if inner is None:
        return False
    rewriter.replace_with(op, arith.BitcastOp.create(operands=operand_values(inner), result_types=[op.results[0].type]))
    return True


@patterns.pattern(arith.MulfOp, arith.DivfOp)
def cancel_negations(op: Operation, rewriter: Rewriter) -> bool:
    """(-x) * (-y) = x * y"""
    lhs, rhs = (defining(value, arith.NegfOp) for value in operand_values(op))
    if lhs is None or rhs is None:
        return False
    operands = [operand_at(lhs, 0), operand_at(rhs, 0)]
    new = op.__class__.create(operands=operands, result_types=[op.results[0].type], properties=op.properties)
    rewriter.replace_with(op, new)
    return True


@patterns.pattern(arith.SelectOp)
def select_of_select(op: Operation, rewriter: Rewriter) -> bool:
    """select c, (select c, a, _), b = select c, a, b, and so for the other side"""
    condition, true, false = operand_values(op)
    inner = defining(true, arith.SelectOp)
    if inner is not None and operand_at(inner, 0) is condition:
        return _replace_select(op, rewriter, condition, operand_at(inner, 1), false)
    inner = defining(false, arith.SelectOp)
    if inner is not None and operand_at(inner, 0) is condition:
        return _replace_select(op, rewriter, condition, true, operand_at(inner, 2))
    return False


def _replace_select(op: Operation, rewriter: Rewriter, *operands: SSAValue) -> bool:
    new = arith.SelectOp.create(operands=operands, result_types=[op.results[0].type])
    rewriter.replace_with(op, new)
    return True


@patterns.pattern(arith.SelectOp)
def select_of_not(op: Operation, rewriter: Rewriter) -> bool:
    """select (not c), a, b = select c, b, a, for one condition"""
    condition, true, false = operand_values(op)
    inverse = defining(condition, arith.XOrIOp)
    if inverse is None or condition.type != i1 or int_constant(operand_at(inverse, 1)) != -1:
        return False
    return _replace_select(op, rewriter, operand_at(inverse, 0), false, true)


@patterns.pattern(arith.SelectOp)
def select_of_bools(op: Operation, rewriter: Rewriter) -> bool:
    """select c, false, true = not c"""
    condition, true, false = operand_values(op)
    if true.type != i1 or int_constant(true) != 0 or int_constant(false) != -1:
        return False
    one = rewriter.constant(int_attr(i1, 1))
    rewriter.replace_with(op, arith.XOrIOp.create(operands=[condition, one], result_types=[i1]))
    return True


@patterns.pattern(arith.SelectOp)
def select_of_one_and_zero(op: Operation, rewriter: Rewriter) -> bool:
    """select c, 1, 0 = extui c;  select c, 0, 1 = extui (not c), for integer scalars"""
    condition, true, false = operand_values(op)
    result_type = op.results[0].type
    if not instance_of(result_type, IntegerType) or result_type == i1:
        return False
    values = (int_constant(true), int_constant(false))
    if values == (0, 1):
        one = rewriter.constant(int_attr(i1, 1))
        condition = rewriter.insert(arith.XOrIOp.create(operands=[condition, one], result_types=[i1])).results[0]
    elif values != (1, 0):
        return False
    rewriter.replace_with(op, arith.ExtUIOp.create(operands=[condition], result_types=[result_type]))
    return True

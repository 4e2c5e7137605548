"""Axis-info rules of `/` and `%`, signed and unsigned.

The equations are those of rounding down. Signed division rounds towards zero instead, so where a negative dividend would
break a claim, the claim asks that the dividend be known not to be negative:

    x     = [-4, -3, -2, -1]      (contiguity 4, divisibility 4)
    x / 4 = [-1,  0,  0,  0]      not constant over the group, as [4, 5, 6, 7] / 4 is
    x % 4 = [ 0, -3, -2, -1]      not contiguous over the group, as [4, 5, 6, 7] % 4 is
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from minitriton.analysis.axis_info.fact import AxisInfo, divisibility_at
from minitriton.analysis.axis_info.registry import RULES, Facts
from minitriton.analysis.axis_info.types import constant_result, integer_width, shape_of, signed, unsigned
from minitriton.dialects import arith
from minitriton.dialects.arith.predicates import toward_zero
from minitriton.dialects.narrowing import instance_of


@RULES.add(arith.DivSIOp, arith.DivUIOp)
def divide(op: arith.DivSIOp | arith.DivUIOp, facts: Facts) -> AxisInfo:
    """l / r: K = min(C_l, D_l, D_r) if l is contiguous and r constant along the axis (signed: and l >= 0 known)."""
    left, right = facts
    is_signed = isinstance(op, arith.DivSIOp)
    divisor = _read(op, right.constant_value, is_signed)
    dividend = _read(op, left.constant_value, is_signed)
    if dividend is not None and divisor:
        return constant_result(op, toward_zero(dividend, divisor))
    if divisor == 1:
        return left
    constancy = tuple(map(min, left.constancy, right.constancy))
    if not is_signed or left.non_negative:
        constancy = tuple(map(max, constancy, _aligned_groups(op, left, right)))
    rank = left.rank
    divisibility = (1,) * rank
    if dividend == 0:
        divisibility = left.divisibility
    elif divisor is not None and divisor & -divisor == abs(divisor) != 0:
        divisibility = tuple([_exact_quotient(left, d, abs(divisor)) for d in range(rank)])
    return AxisInfo((1,) * rank, divisibility, constancy, None, _quotient_non_negative(left, divisor, is_signed))


def _quotient_non_negative(left: AxisInfo, divisor: int | None, is_signed: bool) -> bool:
    if not left.non_negative:
        return False
    return not is_signed or divisor is None or divisor > 0


def _exact_quotient(left: AxisInfo, dim: int, divisor: int) -> int:
    """What divides l / divisor, if every element of l is a multiple of the divisor."""
    if left.contiguity[dim] != 1:
        return 1
    return max(1, left.divisibility[dim] // divisor)


@RULES.add(arith.RemSIOp, arith.RemUIOp)
def remainder(op: arith.RemSIOp | arith.RemUIOp, facts: Facts) -> AxisInfo:
    """l % r: C = min(C_l, D_l, D_r) if l is contiguous and r constant along the axis (signed: and l >= 0 known)."""
    left, right = facts
    is_signed = isinstance(op, arith.RemSIOp)
    divisor = _read(op, right.constant_value, is_signed)
    dividend = _read(op, left.constant_value, is_signed)
    if dividend is not None and divisor:
        return constant_result(op, dividend - divisor * toward_zero(dividend, divisor))
    if divisor == 1:
        return constant_result(op, 0)
    rank = left.rank
    contiguity = (1,) * rank
    if not is_signed or left.non_negative:
        contiguity = _aligned_groups(op, left, right)
    divisibility = tuple(
        [
            min(divisibility_at(left, d, c), divisibility_at(right, d, c)) if right.constancy[d] > 1 else 1
            for d, c in enumerate(contiguity)
        ]
    )
    non_negative = left.non_negative or (not is_signed and right.non_negative)
    return AxisInfo(contiguity, divisibility, tuple(map(min, left.constancy, right.constancy)), None, non_negative)


def _aligned_groups(op: Operation, left: AxisInfo, right: AxisInfo) -> tuple[int, ...]:
    """Length of the groups of a contiguous l that no multiple of a constant r splits; 1 where it is not of that form."""
    if not instance_of(op.results[0].type, TensorType):
        return (1,) * left.rank
    shape = shape_of(op.results[0].type)
    return tuple(
        [
            min(cl, dl, dr) if cl == size and kr == size else 1
            for cl, dl, dr, kr, size in zip(
                left.contiguity, left.divisibility, right.divisibility, right.constancy, shape, strict=True
            )
        ]
    )


def _read(op: Operation, value: int | None, is_signed: bool) -> int | None:
    if value is None:
        return None
    width = integer_width(op.results[0].type)
    return signed(value, width) if is_signed else unsigned(value, width)

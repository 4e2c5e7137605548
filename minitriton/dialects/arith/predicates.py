"""The predicates of `arith.cmpi`, numbered as in MLIR."""

from __future__ import annotations

import operator
from collections.abc import Callable

from xdsl.ir import Operation

from minitriton.dialects.attribute_values import integer

EQ, NE, SLT, SLE, SGT, SGE, ULT, ULE, UGT, UGE = range(10)

MIRRORED = {EQ: EQ, NE: NE, SLT: SGT, SLE: SGE, SGT: SLT, SGE: SLE, ULT: UGT, ULE: UGE, UGT: ULT, UGE: ULE}
"""The predicate of `r ? l` that says the same as that of `l ? r`."""

INVERTED = {EQ: NE, NE: EQ, SLT: SGE, SLE: SGT, SGT: SLE, SGE: SLT, ULT: UGE, ULE: UGT, UGT: ULE, UGE: ULT}
"""The predicate that holds where another does not."""

_COMPARE: tuple[Callable[[int, int], bool], ...] = (
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, operator.lt, operator.le, operator.gt, operator.ge,
)  # fmt: skip


def predicate_of(op: Operation) -> int:
    """The number of the predicate of a comparison."""
    return integer(op.properties["predicate"])


def holds(predicate: int, a: int, b: int, width: int) -> bool:
    """What a comparison of two integers of `width` bits says, given as signed numbers."""
    if predicate >= ULT:
        mask = (1 << width) - 1
        a, b = a & mask, b & mask
    return _COMPARE[predicate](a, b)


# Division of exact integers as `arith.divsi` has it.


def toward_zero(a: int, b: int) -> int:
    """The quotient of exact integers, rounded toward zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient

"""Ops that layouts pass through unchanged: every element of the result is computed from the elements at its place."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

_ARITH = """
    addf addi andi ceildivsi ceildivui divf divsi divui extf extsi extui floordivsi fptosi fptoui maximumf maxnumf maxsi maxui
    minimumf minnumf minsi minui mulf muli mului_extended mulsi_extended negf ori remf remsi remui shli shrsi shrui sitofp subf
    subi truncf trunci uitofp xori cmpi cmpf select
"""
_MATH = """
    absf absi atan atan2 ceil copysign cos sin ctlz cttz ctpop erf exp exp2 floor expm1 fma log log10 log1p log2 powf sqrt
    rsqrt tanh
"""
_TT = "int_to_ptr ptr_to_int bitcast fp_to_fp addptr precise_sqrt precise_divf"
_NAMES = frozenset(
    f"{dialect}.{name}"
    for dialect, names in (("arith", _ARITH), ("math", _MATH), ("tt", _TT))
    for name in names.split()
)


def is_elementwise(op: Operation) -> bool:
    """Whether all tensors of `op` may have any one layout, as Triton's planner sees it."""
    if op.name == "tt.extern_elementwise":
        pure = op.properties.get("pure")
        return isinstance(pure, IntegerAttr) and bool(pure.value.data)
    return op.name in _NAMES

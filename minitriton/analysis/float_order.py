"""Whether a module combines floats across elements in an order that layouts decide.

In: a module. Out: a truth value. Sums and products of floats round, so a layout that gives threads other elements changes their
last bits; maxima, comparisons and all of integers come out the same in any order.

    tt.reduce with arith.addf of f32      True
    tt.reduce with arith.maxnumf          False
"""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Operation

from minitriton.dialects import tt
from minitriton.dialects.facts import Rounds
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.dialects.tt.types import element_type


def float_order_matters(module: Operation) -> bool:
    """True if some reduction, scan or atomic sum of `module` rounds."""
    return any(_rounds(op) for op in ops_in(module))


def _rounds(op: Operation) -> bool:
    if isinstance(op, tt.AtomicRMWOp):
        return isinstance(element_type(op.val.type), AnyFloat)
    if not isinstance(op, tt.ReduceOp | tt.ScanOp):
        return False
    return any(
        Rounds.of(inner) and any(isinstance(result.type, AnyFloat) for result in inner.results)
        for region in op.regions
        for inner in region.walk()
    )

"""What integer ranges make possible: unsigned divisions, 32 bits instead of 64, comparisons and masks that are known.

In: TTIR. Out: TTIR that computes the same bits, for all arguments. `x` and `d` stand for integers of which `analysis.integer_range.analysis`
knows enough.

    divsi x, d;  remsi x, d          =>  divui x, d;  remui x, d              x >= 0, d >= 0
    divsi x, d;  remsi x, d          =>  the same {non_negative_dividend}     x >= 0: lowered as if unsigned, the sign of d afterwards
    remsi x, d                       =>  x                                    0 <= x < d
    divsi (extsi a), (extsi b) : i64 =>  extsi (divsi a, b : i32)             so too * + - & | ^ min max, comparisons (narrow_integers)
    cmpi slt x, y                    =>  true or false; so any result that is one number
    load %p, true                    =>  load %p                              as any op on what has become constant
    minsi x, y                       =>  x                                    x <= y
    andi x, 2^k - 1                  =>  x                                    0 <= x < 2^k
    extsi (trunci x)                 =>  x                                    x fits

Not a pass of Triton's. Shifts and masks for powers of two are left to LLVM, which makes them of unsigned divisions; axis info
and index enumeration see more in a division. What an assumption rests on is not folded. `max-programs` bounds the grid along x, where a
launch may have 2^31 - 1 programs and `pid * BLOCK` hence overflow. Left out by `without="minitriton-integer-ranges"`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation, OpResult, SSAValue

from minitriton.analysis.axis_info.rules_choice import SLE, ULE
from minitriton.analysis.integer_range.analysis import (
    FITS_32_BITS,
    GRID_LIMITS,
    NON_NEGATIVE_DIVIDEND,
    IntegerRangeAnalysis,
)
from minitriton.analysis.integer_range.rules import compare
from minitriton.dialects import arith, math, tt
from minitriton.dialects.facts import IntegerExtremum
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.dialects.llvm import AssumeOp
from minitriton.dialects.op_rules import OpRules
from minitriton.pass_registry import Pass, Property, register_pass
from minitriton.passes import simplify_integers
from minitriton.passes.canonicalization import tt_memory
from minitriton.passes.narrow_integers import (
    fits_but_for_one,
    narrow_bits,
    narrow_comparison,
    narrow_division,
    narrow_extremum,
    narrow_offset,
)
from minitriton.rewriting.constants import int_constant, width_of
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.insertion import Inserter
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.scf_patterns import SCF_PATTERNS

Rule = Callable[[Operation, IntegerRangeAnalysis, Inserter], "SSAValue | None"]
"""The value that takes the place of an op's result; None if the rule does not apply."""

_UNSIGNED: dict[type[Operation], type[Operation]] = {
    arith.DivSIOp: arith.DivUIOp,
    arith.FloorDivSIOp: arith.DivUIOp,
    arith.CeilDivSIOp: arith.CeilDivUIOp,
    arith.RemSIOp: arith.RemUIOp,
}


def one_number(op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue | None:
    """x = n, of which the range is one number"""
    number = ranges.get(op.results[0]).constant
    return None if number is None else at.integer(op.results[0].type, number)


def divide_unsigned(op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue | None:
    """divsi x, d = divui x, d and remsi x, d = remui x, d where neither is negative"""
    if not all(ranges.get(operand).is_non_negative for operand in op.operands):
        return None
    return at.value(_UNSIGNED[op.__class__](*op.operands))


def remainder_of_less(op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue | None:
    """x % d = x where 0 <= x < d"""
    x, d = (ranges.get(operand) for operand in op.operands)
    if isinstance(op, arith.RemSIOp):
        return op.operands[0] if x.smin >= 0 and x.smax < d.smin else None
    return op.operands[0] if x.umax < d.umin else None


def note_division(op: Operation, ranges: IntegerRangeAnalysis) -> None:
    """What is known of a signed division that stays one: for the lowering, which makes it of sizes, the sign afterwards.

    As ops of their own the sizes and signs would hide from axis info what it knows of quotients and remainders.
    """
    if not isinstance(op, arith.DivSIOp | arith.RemSIOp) or int_constant(op.operands[1]) is not None:
        return
    if fits_but_for_one(op, ranges):
        op.attributes[FITS_32_BITS] = UnitAttr()
    elif ranges.get(op.operands[0]).is_non_negative:
        op.attributes[NON_NEGATIVE_DIVIDEND] = UnitAttr()


def known_side(op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue | None:
    """min(x, y) = x where x <= y; max(x, y) = y"""
    kind = IntegerExtremum.of(op)
    assert kind is not None
    predicate = SLE if kind.signed else ULE
    left, right = op.operands
    small, large = (left, right) if not kind.greatest else (right, left)
    if compare(predicate, ranges.get(left), ranges.get(right)):
        return small
    return large if compare(predicate, ranges.get(right), ranges.get(left)) else None


def mask_of_less(op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue | None:
    """x & m = x where m has all bits that x may have"""
    for value, mask in (tuple(op.operands), tuple(reversed(op.operands))):
        number = int_constant(mask)
        if number is not None and number != 0:
            low_ones = (number & ~(number + 1)) % (1 << width_of(mask.type))
            if ranges.get(value).umax <= low_ones:
                return value
    return None


def extension_of_part(op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue | None:
    """ext (trunci x) = x where x fits"""
    part = op.operands[0]
    if not isinstance(part, OpResult) or not isinstance(part.op, arith.TruncIOp):
        return None
    whole = part.op.operands[0]
    if whole.type != op.results[0].type:
        return None
    x, half = ranges.get(whole), 1 << (width_of(part.type) - 1)
    fits = x.umax < 2 * half if isinstance(op, arith.ExtUIOp) else -half <= x.smin and x.smax < half
    return whole if fits else None


_NUMBERED = (arith.SelectOp, arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp, arith.TruncIOp, math.AbsIOp)
_SUMS = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.OrIOp, arith.XOrIOp)
_RULES: OpRules[tuple[Rule, ...]] = OpRules()
"""What is tried of each op, in this order."""
_RULES.update(
    {
        **dict.fromkeys(_NUMBERED, (one_number,)),
        **dict.fromkeys(_SUMS, (one_number, narrow_bits)),
        arith.AndIOp: (one_number, mask_of_less, narrow_bits),
        arith.CmpiOp: (one_number, narrow_comparison),
        arith.DivSIOp: (one_number, narrow_division, divide_unsigned),
        arith.DivUIOp: (one_number, narrow_division),
        arith.FloorDivSIOp: (one_number, divide_unsigned),
        arith.CeilDivSIOp: (one_number, divide_unsigned),
        arith.RemSIOp: (one_number, remainder_of_less, narrow_division, divide_unsigned),
        arith.RemUIOp: (one_number, remainder_of_less, narrow_division),
        arith.MinSIOp: (one_number, known_side, narrow_extremum),
        arith.MaxSIOp: (one_number, known_side, narrow_extremum),
        arith.MinUIOp: (one_number, known_side),
        arith.MaxUIOp: (one_number, known_side),
        arith.ExtSIOp: (one_number, extension_of_part),
        arith.ExtUIOp: (one_number, extension_of_part),
        tt.AddPtrOp: (narrow_offset,),
    }
)

_WORTH_LOOKING = frozenset(_RULES) - {*_NUMBERED, *_SUMS, arith.AndIOp, arith.ExtUIOp, tt.AddPtrOp}
"""Ops without which a module is not analysed: there is nothing to gain, or LLVM sees it too."""

_CLEANUP = PatternSet(simplify_integers.patterns, tt_memory.patterns, SCF_PATTERNS)


@register_pass
@dataclass(frozen=True)
class IntegerRanges(Pass):
    """Uses what is known of the ranges of integers."""

    name: ClassVar[str] = "minitriton-integer-ranges"
    requires: ClassVar = frozenset({Property.TTIR})

    max_programs: int = GRID_LIMITS[0]
    """The most programs along x that a launch of this kernel will have."""

    def apply(self, ctx: Context, op: ModuleOp) -> bool | None:
        """Rewrite every op whose ranges allow it, once, in order; then clean up."""
        found = [each for each in ops_in(op) if _RULES.of(each) is not None]
        if not any(each.__class__ in _WORTH_LOOKING for each in found):
            return False
        ranges = IntegerRangeAnalysis(op, (self.max_programs, *GRID_LIMITS[1:]))
        rewritten = [each for each in found if _rewrite(each, ranges)]
        if rewritten:
            apply_patterns_greedily(op, _CLEANUP)
        return None  # quotients may have been marked


def _rewrite(op: Operation, ranges: IntegerRangeAnalysis) -> bool:
    """Put the value of the first rule that applies in the place of the op's result."""
    if not op.results or op.results[0].first_use is None:
        return False
    at = Inserter.before(op)
    for rule in _RULES.of(op) or ():
        value = rule(op, ranges, at)
        if value is not None:
            _replace(op, value, ranges)
            return True
    note_division(op, ranges)
    return False


def _replace(op: Operation, value: SSAValue, ranges: IntegerRangeAnalysis) -> None:
    old = op.results[0]
    if value not in ranges.facts:
        ranges.facts[value] = ranges.get(old)
    for use in list(old.uses):
        if not _is_assumed(use.operation):
            use.operation.operands[use.index] = value
    if value.name_hint is None:
        value.name_hint = old.name_hint
    if old.first_use is None and op.parent is not None:
        op.parent.erase_op(op)


def _is_assumed(user: Operation) -> bool:
    """Whether an op does no more than say what is assumed: of `n % 16 == 0` the comparison too, which makes the remainder 0."""
    if isinstance(user, AssumeOp):
        return True
    return isinstance(user, arith.AndIOp | arith.CmpiOp) and all(
        _is_assumed(use.operation) for use in user.results[0].uses
    )

"""Integer arithmetic in fewer and narrower operations, each rule exact for all numbers, overflow included.

In: TTIR. Out: TTIR that computes the same. First the rules below, then those of `integer_range_rules`, which ask for the ranges of integers.

    extui a != b                                =>  a ^ trunc b             where b is 0 or 1: of bits, not of words
    not (a < b);  not (x or y)                  =>  a >= b;  not x and not y           where x and y are such comparisons
    addptr (splat p), (splat s + v) : i64       =>  addptr (splat (addptr p, s)), v
    addptr p, (extsi v)                         =>  addptr p, v             pointers extend their offsets themselves
    cmpi (extsi a), (extsi b)                   =>  cmpi a, b
    mulhiui a, b and muli a, b                  =>  halves of muli (extui a), (extui b)

Not a pass of Triton's. The first rule serves sorting networks, `(x > partner) != (flip ^ is_right)`: a comparison and the exclusive or with a
predicate are one instruction. The second lets masks such as `~(offsets >= n)` be split (`analysis.access_width`). The last one serves random numbers: `mul.wide.u32` gives both halves at once. What LLVM does as well (shifts for powers of two, division by constants) is left to it. Left out by
`without="minitriton-simplify-integers"`.
"""

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, TensorType, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.analysis.integer_range.analysis import GRID_LIMITS
from minitriton.dialects import arith, tt
from minitriton.dialects.arith.compare import EQ, INVERTED, NE, predicate_of
from minitriton.dialects.facts import Bitwise, MovesElements
from minitriton.dialects.fast_paths.op_access import defining, next_op, operand_values, ops_in
from minitriton.passes.canonicalize.tt import memory_patterns
from minitriton.passes.integer_range_rules import rewrite_by_ranges
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.constants import (
    constant_attr,
    constant_op,
    int_attr,
    int_constant,
    number_attr,
    number_of,
    to_unsigned,
    width_of,
)
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter
from minitriton.rewriting.scf_patterns import SCF_PATTERNS

patterns = PatternSet()


def _of_width(width: IntegerType, type_: Attribute) -> Attribute:
    return TensorType(width, type_.shape, type_.encoding) if isinstance(type_, TensorType) else width


def _is_bit(value: SSAValue) -> bool:
    """Whether an integer is 0 or 1 by construction."""
    number = number_of(constant_attr(value))
    if number is not None:
        return number in (0, 1)
    op = value.owner
    if not isinstance(op, Operation):
        return False
    if isinstance(op, arith.ExtUIOp):
        return width_of(op.operands[0].type) == 1
    if isinstance(op, tt.MakeRangeOp):
        return all(0 <= bound.value.data <= 2 for bound in (op.start, op.end))
    keeps = MovesElements.of(op) is not None or Bitwise.of(op) is not None
    return keeps and all(_is_bit(operand) for operand in op.operands)


def _as_bit(value: SSAValue, rewriter: Rewriter) -> SSAValue:
    """The `i1` that a value with `_is_bit` is."""
    type_ = _of_width(i1, value.type)
    number = number_of(constant_attr(value))
    if number is not None:
        return rewriter.constant(number_attr(type_, int(number)))
    op = value.owner
    assert isinstance(op, Operation)
    if isinstance(op, arith.ExtUIOp):
        return op.operands[0]
    if isinstance(op, tt.MakeRangeOp):
        return rewriter.insert(arith.TruncIOp(value, type_)).results[0]
    operands = [_as_bit(operand, rewriter) for operand in op.operands]
    copy = type(op).create(operands=operands, result_types=[type_], properties=op.properties, location=op.location)
    return rewriter.insert(copy).results[0]


@patterns.pattern(arith.CmpiOp)
def compare_bits(op: Operation, rewriter: Rewriter) -> bool:
    """(extui a != b) = a ^ trunc b, where b is 0 or 1; (extui a == b) is its complement"""
    predicate = predicate_of(op)
    left, right = op.operands
    if predicate not in (EQ, NE) or width_of(left.type) == 1 or not _is_bit(left) or not _is_bit(right):
        return False
    if not any(defining(side, arith.ExtUIOp) for side in (left, right)):
        return False
    bits = rewriter.insert(arith.XOrIOp(_as_bit(left, rewriter), _as_bit(right, rewriter)))
    if predicate == EQ:
        ones = rewriter.constant(number_attr(bits.results[0].type, 1))
        bits = rewriter.insert(arith.XOrIOp(bits.results[0], ones))
    rewriter.replace_op(op, bits.results[0])
    return True


@patterns.pattern(arith.XOrIOp)
def negate_comparison(op: Operation, rewriter: Rewriter) -> bool:
    """not (a < b) = a >= b, and not (x or y) = not x and not y"""
    if width_of(op.results[0].type) != 1 or int_constant(op.operands[1]) not in (1, -1):
        return False
    if not _is_negatable(op.operands[0]):
        return False
    rewriter.replace_op(op, _negated(op.operands[0], rewriter))
    return True


def _is_negatable(value: SSAValue) -> bool:
    """Whether a mask of comparisons that nothing else uses can be negated without a further operation."""
    made = defining(value, arith.CmpiOp, arith.OrIOp) if value.has_one_use() else None
    return made is not None and (isinstance(made, arith.CmpiOp) or all(map(_is_negatable, made.operands)))


def _negated(value: SSAValue, rewriter: Rewriter) -> SSAValue:
    made = value.owner
    assert isinstance(made, Operation)
    if isinstance(made, arith.OrIOp):
        both = [_negated(side, rewriter) for side in made.operands]
        return rewriter.insert(arith.AndIOp(both[0], both[1])).results[0]
    left, right = made.operands
    return rewriter.insert(arith.CmpiOp(left, right, INVERTED[predicate_of(made)])).results[0]


def _uniform(value: SSAValue) -> SSAValue | None:
    """The scalar that a tensor repeats."""
    splat = defining(value, tt.SplatOp)
    return None if splat is None else splat.operands[0]


def _split_sum(value: SSAValue) -> tuple[SSAValue, SSAValue] | None:
    """(v, s) of v + splat s or splat s + v."""
    add = defining(value, arith.AddiOp)
    if add is None or add.attributes:
        return None
    for varying, repeated in (tuple(add.operands), tuple(reversed(add.operands))):
        scalar = _uniform(repeated)
        if scalar is not None and _uniform(varying) is None and constant_attr(varying) is None:
            return varying, scalar
    return None


@patterns.pattern(tt.AddPtrOp)
def uniform_part_moves_to_the_pointer(op: Operation, rewriter: Rewriter) -> bool:
    """addptr (splat p), (v + splat s) = addptr (splat (addptr p, s)), v of 64 bits, which wrap as addresses do"""
    pointer, offset = op.operands
    base, parts = _uniform(pointer), _split_sum(offset)
    if base is None or parts is None or width_of(offset.type) != 64:
        return False
    moved = rewriter.insert(tt.AddPtrOp(base, parts[1]))
    splat = rewriter.insert(tt.SplatOp(moved.results[0], pointer.type))
    _replace_pointer(op, splat.results[0], parts[0], rewriter)
    return True


@patterns.pattern(tt.AddPtrOp)
def offset_is_extended_by_the_pointer(op: Operation, rewriter: Rewriter) -> bool:
    """addptr p, (extsi v) = addptr p, v"""
    extension = defining(op.operands[1], arith.ExtSIOp)
    if extension is None or width_of(extension.operands[0].type) != 32:
        return False
    _replace_pointer(op, op.operands[0], extension.operands[0], rewriter)
    return True


def _replace_pointer(op: Operation, pointer: SSAValue, offset: SSAValue, rewriter: Rewriter) -> None:
    new = tt.AddPtrOp.create(
        operands=[pointer, offset], result_types=[op.results[0].type], attributes=op.attributes, location=op.location
    )
    rewriter.replace_with(op, new)


@patterns.pattern(arith.CmpiOp)
def compare_narrow(op: Operation, rewriter: Rewriter) -> bool:
    """cmpi (extsi a), (extsi b) = cmpi a, b, whatever the predicate: extension keeps both orders"""
    left, right = (_narrow(operand) for operand in op.operands)
    if left is None or right is None or left.type != right.type or width_of(left.type) == 1:
        return False
    rewriter.replace_with(
        op, arith.CmpiOp.create(operands=[left, right], result_types=[op.results[0].type], properties=op.properties)
    )
    return True


def _narrow(value: SSAValue) -> SSAValue | None:
    """The number that a value extends with its sign."""
    extension = defining(value, arith.ExtSIOp)
    return None if extension is None else extension.operands[0]


@patterns.pattern(tt.MulhiUIOp)
def both_halves(op: Operation, rewriter: Rewriter) -> bool:
    """mulhiui a, b and muli a, b in one block are the halves of one product of 64 bits"""
    if width_of(op.results[0].type) != 32:
        return False
    left, right = operand_values(op)
    # One multiplier may serve all random numbers of a kernel; the other factor has few uses.
    factor, other = (left, right) if constant_attr(left) is None else (right, left)
    block = op.parent
    low = {
        use.operation: None
        for use in factor.uses
        if use.operation.__class__ is arith.MuliOp
        and use.operation.parent is block
        and operand_values(use.operation) in ((factor, other), (other, factor))
    }
    if not low:
        return False
    wide = _wide_product(op, rewriter)
    after = _next_ops(op)
    for product in low:
        # Copies are one after CSE.
        known = wide if product in after else _wide_product(product, rewriter)
        rewriter.replace_with(product, arith.TruncIOp(known, product.results[0].type))
    half = rewriter.constant(number_attr(wide.type, 32))
    high = rewriter.insert(arith.ShRUIOp(wide, half))
    rewriter.replace_with(op, arith.TruncIOp(high.results[0], op.results[0].type))
    return True


NEAR = 16
"""Ops between the two halves of a multiplication, at most, for them to share one: a round of Philox has four."""


def _next_ops(op: Operation) -> list[Operation]:
    """What stands right after `op`."""
    found: list[Operation] = []
    following = next_op(op)
    while following is not None and len(found) < NEAR:
        found.append(following)
        following = next_op(following)
    return found


def _wide_product(op: Operation, rewriter: Rewriter) -> SSAValue:
    """The multiplication of an op's operands in 64 bits, before `op`."""
    wide = _of_width(i64, op.results[0].type)
    factors = [_extended(operand, wide, op, rewriter) for operand in operand_values(op)]
    return rewriter.insert(arith.MuliOp(*factors), op).results[0]


def _extended(value: SSAValue, wide: Attribute, before: Operation, rewriter: Rewriter) -> SSAValue:
    """`value`, of 32 bits, in 64 without a sign."""
    number = int_constant(value)
    if number is None:
        return rewriter.insert(arith.ExtUIOp(value, wide), before).results[0]
    return rewriter.insert(constant_op(int_attr(wide, to_unsigned(number, 32))), before).results[0]


_CLEANUP = PatternSet(patterns, memory_patterns, SCF_PATTERNS)


@register_pass
class SimplifyIntegers(Pass, stage="ttir"):
    """Computes integers in fewer and narrower operations."""

    name: ClassVar[str] = "minitriton-simplify-integers"
    requires: ClassVar = frozenset({Property.TTIR})

    use_ranges: bool = True
    """False: only the rules that hold for all numbers."""

    max_programs: int = GRID_LIMITS[0]
    """The most programs along x that a launch of this kernel will have: it may be 2^31 - 1, with which `pid * BLOCK` overflows."""

    def apply(self, ctx: Context, op: ModuleOp) -> bool | None:
        """Rewrite until no rule without ranges applies; then by ranges, and clean up."""
        changed = any(_may_match(found) for found in ops_in(op)) and apply_patterns_greedily(op, patterns)
        by_ranges = rewrite_by_ranges(op, self.max_programs) if self.use_ranges else None
        if by_ranges:
            apply_patterns_greedily(op, _CLEANUP)
        return None if by_ranges is False and not changed else bool(changed or by_ranges)


_ALWAYS = frozenset({arith.ExtSIOp, arith.ExtUIOp, tt.MulhiUIOp})


def _may_match(op: Operation) -> bool:
    """Whether an op may begin a rule: most kernels have none, and are not searched."""
    cls = op.__class__
    if cls in _ALWAYS:
        return True
    if cls is arith.XOrIOp:
        return defining(op.operands[0], arith.CmpiOp, arith.OrIOp) is not None
    return cls is tt.AddPtrOp and width_of(op.operands[1].type) == 64 and _split_sum(op.operands[1]) is not None

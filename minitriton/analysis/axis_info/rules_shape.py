"""Axis-info rules of constants, ranges, casts, and of ops that move elements without changing them.

%0 = tt.make_range {start = 0, end = 128}       C = 128, D = 2^30, K = 1
%1 = tt.expand_dims %0 {axis = 0}               C = [1, 128], D = [1, 2^30], K = [1, 1]
%2 = tt.broadcast %1 : 1x128 -> 64x128          C = [1, 128], D = [1, 2^30], K = [64, 1]
"""

from xdsl.dialects import builtin, ub
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from minitriton.analysis.axis_info.lattice import (
    RULES,
    AxisInfo,
    Facts,
    anything,
    axis_lengths,
    constant_result,
    divisibility_at,
    integer_width,
    is_integer,
    pointee_bytes,
    power_of_two_part,
    rank_of,
    signed,
    splat_integer,
    unknown,
    unsigned,
)
from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.gluon import SetAutoLayoutOp

_RANGE_FROM_ZERO = 1 << 30


@RULES.add(arith.ConstantOp)
def constant(op: arith.ConstantOp, facts: Facts) -> AxisInfo:
    """A constant: every claim follows from its value."""
    value = op.value
    type_ = op.results[0].type
    if isinstance(value, IntegerAttr):
        return constant_result(op, value.value.data)
    number = splat_integer(value)
    return unknown(rank_of(type_)) if number is None else constant_result(op, number)


@RULES.add(ub.PoisonOp)
def poison(op: ub.PoisonOp, facts: Facts) -> AxisInfo:
    """Poison: nobody may look at it, so everything holds of it."""
    return anything(rank_of(op.results[0].type))


@RULES.add(tt.MakeRangeOp)
def make_range(op: tt.MakeRangeOp, facts: Facts) -> AxisInfo:
    """start, start + 1, ..., end - 1: C is the whole length, D what divides start."""
    start, end = op.start.value.data, op.end.value.data
    divisibility = power_of_two_part(start) if start else _RANGE_FROM_ZERO
    return AxisInfo((power_of_two_part(end - start),), (divisibility,), (1,), None, start >= 0)


@RULES.add(tt.SplatOp)
def splat(op: tt.SplatOp, facts: Facts) -> AxisInfo:
    """One scalar everywhere: K is the whole shape."""
    scalar = facts[0]
    shape = tuple([power_of_two_part(size) for size in axis_lengths(op.results[0].type)])
    rank = len(shape)
    return AxisInfo((1,) * rank, scalar.divisibility * rank, shape, scalar.constant_value, scalar.non_negative)


@RULES.add(tt.ExpandDimsOp)
def expand_dims(op: tt.ExpandDimsOp, facts: Facts) -> AxisInfo:
    """A new axis of length 1: C = K = 1, D what divides every single element."""
    source = facts[0]
    axis = op.axis.value.data
    if source.constant_value is not None:
        divisibility = power_of_two_part(source.constant_value)
    else:
        divisibility = min([1 if c > 1 else d for c, d in zip(source.contiguity, source.divisibility, strict=True)])
    return source._replace(
        contiguity=(*source.contiguity[:axis], 1, *source.contiguity[axis:]),
        divisibility=(*source.divisibility[:axis], divisibility, *source.divisibility[axis:]),
        constancy=(*source.constancy[:axis], 1, *source.constancy[axis:]),
    )


@RULES.add(tt.BroadcastOp)
def broadcast(op: tt.BroadcastOp, facts: Facts) -> AxisInfo:
    """Repeated along axes of length 1: there C = 1 and K is the new length."""
    source = facts[0]
    before = axis_lengths(op.operands[0].type)
    after = axis_lengths(op.results[0].type)
    return source._replace(
        contiguity=tuple([1 if size == 1 else c for size, c in zip(before, source.contiguity, strict=True)]),
        constancy=tuple(
            [
                power_of_two_part(new) if old == 1 else k
                for old, new, k in zip(before, after, source.constancy, strict=True)
            ]
        ),
    )


@RULES.add(tt.TransOp)
def transpose(op: tt.TransOp, facts: Facts) -> AxisInfo:
    """Axes in another order: the claims move with them."""
    source = facts[0]
    axes = [int(axis) for axis in op.order.get_values()]
    return source._replace(
        contiguity=tuple([source.contiguity[axis] for axis in axes]),
        divisibility=tuple([source.divisibility[axis] for axis in axes]),
        constancy=tuple([source.constancy[axis] for axis in axes]),
    )


@RULES.add(ttg.ConvertLayoutOp)
@RULES.add(SetAutoLayoutOp)
def same(op: Operation, facts: Facts) -> AxisInfo:
    """The same values: every claim stays."""
    return facts[0]


@RULES.add(builtin.UnrealizedConversionCastOp)
def builtin_cast(op: builtin.UnrealizedConversionCastOp, facts: Facts) -> AxisInfo:
    """A cast between levels: every claim stays, unless the rank changes."""
    rank = rank_of(op.results[0].type)
    to_opaque = not hasattr(op.results[0].type, "shape")
    return facts[0] if facts and (to_opaque or facts[0].rank == rank) else unknown(rank)


@RULES.add(tt.BitcastOp)
def bitcast(op: tt.BitcastOp, facts: Facts) -> AxisInfo:
    """The same bits: claims stay; contiguity between pointers only if elements keep their size."""
    source = facts[0]
    before, after = pointee_bytes(op.operands[0].type), pointee_bytes(op.results[0].type)
    if before != after:
        rank = source.rank
        divisibility = tuple([divisibility_at(source, d, 1, before or 1) for d in range(rank)])
        return AxisInfo((1,) * rank, divisibility, source.constancy)
    if source.constant_value is not None and is_integer(op.results[0].type):
        return constant_result(op, source.constant_value)
    return source


@RULES.add(arith.ExtSIOp)
def sign_extend(op: arith.ExtSIOp, facts: Facts) -> AxisInfo:
    """Widened with its sign: every claim stays."""
    source = facts[0]
    if source.constant_value is not None:
        return constant_result(op, signed(source.constant_value, integer_width(op.operands[0].type)))
    return source


@RULES.add(arith.ExtUIOp)
def zero_extend(op: arith.ExtUIOp, facts: Facts) -> AxisInfo:
    """Widened with zeros: claims stay; a sequence that may run from -1 to 0 is split into aligned groups."""
    source = facts[0]
    if source.constant_value is not None:
        return constant_result(op, unsigned(source.constant_value, integer_width(op.operands[0].type)))
    contiguity = source.contiguity
    if not source.non_negative:
        contiguity = tuple(map(min, contiguity, source.divisibility))
    return source._replace(contiguity=contiguity, non_negative=True)


@RULES.add(arith.TruncIOp)
def truncate(op: arith.TruncIOp, facts: Facts) -> AxisInfo:
    """Narrowed: every claim but the sign stays."""
    source = facts[0]
    if source.constant_value is not None:
        return constant_result(op, source.constant_value)
    return source._replace(non_negative=False)


@RULES.add(tt.GetNumProgramsOp, tt.GetProgramIdOp)
def non_negative_unknown(op: tt.GetNumProgramsOp | tt.GetProgramIdOp, facts: Facts) -> AxisInfo:
    """A program's number or the number of programs: at least 0."""
    return unknown(1, non_negative=True)

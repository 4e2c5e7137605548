"""Elementary functions of f32 that the hardware has no accurate instruction for, as polynomials on whole vectors.

Each reduces its argument, evaluates a polynomial in Horner form with `fma`, and selects the special cases. The
coefficients are minimax fits of our own (Lawson's algorithm in double precision); the errors given are of the polynomials.
"""

import math
from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.ir import Block, SSAValue

from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering.elementwise import Emit, each_lane
from minitriton.codegen.types import F32, F64, I1, I32, lanes, mangled, vector_type
from minitriton.dialects import llvm as ours

# (log(1 + f) - f) / f^2 on [sqrt(1/2) - 1, sqrt(2) - 1], error of the logarithm 4e-9 |f|.
_LOG = (
    -0.49999988079071045,
    0.3333330750465393,
    -0.2500152289867401,
    0.2000301480293274,
    -0.16611148416996002,
    0.1416347324848175,
    -0.13208812475204468,
    0.13004808127880096,
    -0.07823304831981659,
)
# (sin(r) - r) / r^3 in r^2 on [0, pi/4], error of the sine 5e-12.
_SIN = (-0.1666666716337204, 0.008333329111337662, -0.0001983933470910415, 2.71831163445313e-06)
# (cos(r) - 1) / r^2 in r^2 on [0, pi/4], error of the cosine 6e-14.
_COS = (-0.5, 0.0416666679084301, -0.001388888107612729, 2.479904105712194e-05, -2.718009852742398e-07)
# (erf(x) - x) / x in x^2 on [0, 1], error of erf(x) / x 1.5e-9.
_ERF_SMALL = (
    0.12837916612625122,
    -0.3761262595653534,
    0.11283578723669052,
    -0.026853347197175026,
    0.005187162198126316,
    -0.0007997853099368513,
    7.806903158780187e-05,
)
# log2(erfc(t)) on [0.95, 4], error of erfc 4e-11.
_ERFC_LOG2 = (
    0.00025697884848341346,
    -1.629563570022583,
    -0.9137061834335327,
    -0.15621283650398254,
    0.0362141877412796,
    -0.005992632359266281,
    0.0006153172580525279,
    -2.779025635391008e-05,
    -2.44891225520405e-07,
)

_SQRT_HALF_BITS = 0x3F3504F3
_EXPONENT_MASK = -(1 << 23)
_INFINITY_BITS = 0x7F800000
_LOG2_E = 1 / math.log(2)
# pi/2 as the sum of three floats, for `x - q pi/2` by fused multiply-adds: all positive, so that -0 less 0 times them stays -0.
_HALF_PI = (1.570796251296997, 7.549789415861596e-08, 5.390302529957765e-15)
_ROUNDS = 1.5 * 2.0**23
"""A number added to this is rounded to an integer, and that is in its low bits."""
# 2/pi = sum of part[i] 2^(-24 (i + 1)).
_TWO_OVER_PI = (10680707, 7228996, 1387004, 2578385, 16069853, 12639074, 9804092, 4427841)
_LARGE = 65536.0
"""From here on `q` has too many bits for the short way."""


def polynomial(b: Builder, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
    value = b.constant(x.type, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = fma(b, value, x, b.constant(x.type, coefficient))
    return value


def fma(b: Builder, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
    return b.overloaded("llvm.fma", (x, y, z))


def _log_parts(b: Builder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """`e` and `log(m)` for `x = 2^e m`, `m` within a factor sqrt(2) of 1; subnormal numbers are scaled up first."""
    count = lanes(x.type)
    integers = vector_type(I32, count)
    tiny = b.fcmp("olt", x, b.constant(x.type, 2.0**-126))
    x = b.select(tiny, b.fmul(x, b.constant(x.type, 2.0**23)), x)
    bits = b.bitcast(x, integers)
    scale = b.and_(b.sub(bits, b.constant(integers, _SQRT_HALF_BITS)), b.constant(integers, _EXPONENT_MASK))
    mantissa = b.bitcast(b.sub(bits, scale), x.type)
    exponent = b.cast(L.SIToFPOp, b.lanewise(L.AShrOp, (scale, b.constant(integers, 23)), integers), F32)
    shift = b.select(tiny, b.constant(x.type, -23.0), b.constant(x.type, 0.0))
    f = b.fsub(mantissa, b.constant(x.type, 1.0))
    log_m = fma(b, b.fmul(f, f), polynomial(b, f, _LOG), f)
    return b.fadd(exponent, shift), log_m


def _log_special(b: Builder, x: SSAValue, value: SSAValue) -> SSAValue:
    """-inf at 0, NaN below, infinity and NaN as they are: all that have the bits of infinity or more."""
    integers = vector_type(I32, lanes(x.type))
    special = b.icmp("uge", b.bitcast(x, integers), b.constant(integers, _INFINITY_BITS))
    infinity = b.constant(x.type, math.inf)
    value = b.select(special, fma(b, x, infinity, infinity), value)
    return b.select(b.fcmp("oeq", x, b.constant(x.type, 0.0)), b.constant(x.type, -math.inf), value)


def log(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    """The natural logarithm: `e ln 2 + log m`."""
    exponent, log_m = _log_parts(b, v[0])
    return _log_special(b, v[0], fma(b, exponent, b.constant(v[0].type, math.log(2)), log_m))


def log2(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    """The logarithm to base 2: `e + log m / ln 2`."""
    exponent, log_m = _log_parts(b, v[0])
    return _log_special(b, v[0], fma(b, log_m, b.constant(v[0].type, _LOG2_E), exponent))


def _quadrant(b: Builder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """`x - q pi/2`, and `q` modulo 4 in the low bits of an integer. Threads that hold a large number take a longer way for it."""
    rounds = b.constant(x.type, _ROUNDS)
    shifted = fma(b, x, b.constant(x.type, 2 / math.pi), rounds)
    q, rest = b.fsub(shifted, rounds), x
    for part in _HALF_PI:
        rest = fma(b, q, b.constant(x.type, -part), rest)
    number = b.bitcast(shifted, vector_type(I32, lanes(x.type)))
    large = b.fcmp("uge", b.overloaded("llvm.fabs", (x,)), b.constant(x.type, _LARGE))
    any_large = large
    if lanes(x.type) > 1:
        reduced = b.intrinsic(f"llvm.vector.reduce.or.{mangled(large.type)}", (large,), I1)
        assert reduced is not None
        any_large = reduced
    region = b.block.parent_region()
    assert region is not None
    long_way, after = Block(), Block(arg_types=(x.type, number.type))
    region.add_block(long_way)
    region.add_block(after)
    b.cond_branch(any_large, long_way, after, (), (rest, number))
    b.move_to(long_way)
    long_rest, long_number = _quadrant_of_large(b, x)
    b.branch(after, (b.select(large, long_rest, rest), b.select(large, long_number, number)))
    b.move_to(after)
    return after.args[0], after.args[1]


def _quadrant_of_large(b: Builder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The same in double precision for any finite x.

    2/pi is split into parts of 24 bits, so that each multiplication by x is exact; of each only the rest modulo 4 counts, and
    that is exact too. The integer part is subtracted from the largest term, before small ones are added.
    """
    wide = b.cast(L.FPExtOp, x, F64)
    type_ = wide.type
    quarter, four = b.constant(type_, 0.25), b.constant(type_, -4.0)
    products: list[SSAValue] = []
    for position, digits in enumerate(_TWO_OVER_PI, 1):
        product = b.fmul(wide, b.constant(type_, math.ldexp(digits, -24 * position)))
        turns = b.overloaded("llvm.rint", (b.fmul(product, quarter),))
        products.append(fma(b, turns, four, product))
    total = products[0]
    for product in products[1:]:
        total = b.fadd(total, product)
    q = b.overloaded("llvm.rint", (total,))
    rest = b.fsub(products[0], q)
    for product in products[1:]:
        rest = b.fadd(rest, product)
    angle = b.fmul(rest, b.constant(type_, math.pi / 2))
    return b.cast(L.FPTruncOp, angle, F32), b.cast(ours.FPToSIOp, q, I32)


def _sine(b: Builder, x: SSAValue, quarter: int) -> SSAValue:
    """`sin(x + quarter pi/2)`."""
    r, q = _quadrant(b, x)
    integers = q.type
    if quarter:
        q = b.add(q, b.constant(integers, quarter))
    square = b.fmul(r, r)
    cubic = fma(b, polynomial(b, square, _SIN), square, b.constant(r.type, 0.0))  # not -0: r = -0 stays what it is
    sine = fma(b, cubic, r, r)
    cosine = fma(b, square, polynomial(b, square, _COS), b.constant(r.type, 1.0))
    zero = b.constant(integers, 0)
    odd = b.icmp("ne", b.and_(q, b.constant(integers, 1)), zero)
    value = b.select(odd, cosine, sine)
    negative = b.icmp("ne", b.and_(q, b.constant(integers, 2)), zero)
    return b.select(negative, b.fneg(value), value)


def sin(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    """The sine."""
    return _sine(b, v[0], 0)


def cos(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    """The cosine."""
    return _sine(b, v[0], 1)


def erf(exp2: str) -> Emit:
    """The error function: odd polynomial below 1, `1 - 2^p(|x|)` above, 1 from 4 on. `exp2` is the target's function for that."""
    return lambda b, v: _erf(b, v, exp2)


def _erf(b: Builder, v: Sequence[SSAValue], exp2: str) -> SSAValue:
    x = v[0]
    one = b.constant(x.type, 1.0)
    size = b.overloaded("llvm.fabs", (x,))
    small = fma(b, x, polynomial(b, b.fmul(x, x), _ERF_SMALL), x)
    clamped = b.overloaded("llvm.minnum", (size, b.constant(x.type, 4.0)))
    tail = each_lane(b, exp2, (polynomial(b, clamped, _ERFC_LOG2),), F32)
    large = b.overloaded("llvm.copysign", (b.fsub(one, tail), x))
    result = b.select(b.fcmp("olt", size, one), small, large)
    return b.select(b.fcmp("uno", x, x), x, result)

"""Sine and cosine of f64 on whole vectors, with libdevice for large arguments only.

The argument is reduced by multiples of pi/2 in three fused steps, as libdevice does below 2^31, and both polynomials are evaluated: the sine
and the cosine of one value share all of it, which LLVM sees. The coefficients are those of FreeBSD's msun (`k_sin.c`, `k_cos.c`), errors 2^-58.
Threads that hold a larger number, infinity or NaN call libdevice for each element, in one loop that is out of line.
"""

import math
from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import UnitAttr, UnregisteredAttr
from xdsl.ir import Block, SSAValue

from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering.device_math import fma, polynomial
from minitriton.codegen.types import F64, I1, I32, I64, lanes, mangled, vector_type
from minitriton.dialects import llvm as ours
from minitriton.dialects.attribute_values import string_attr

# sin(r) = r + r^3 (S1 + S2 r^2 + ...), cos(r) = 1 - r^2 / 2 + r^4 (C1 + C2 r^2 + ...), for |r| <= pi/4.
_SIN = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_COS = (
    -0.5,
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
# pi/2 as the sum of three doubles, where the first two end in zeros.
_HALF_PI = (
    float.fromhex("0x1.921fb54442d18p0"),
    float.fromhex("0x1.1a62633145c00p-54"),
    float.fromhex("0x1.b839a252049c0p-104"),
)
_ROUNDER = 1.5 * 2.0**52
"""A number added to this is rounded to an integer, which the low bits of the sum hold."""
_LARGE = 2.0**31
_ROLLED = UnregisteredAttr.with_name_and_type("llvm.loop_annotation", False)(
    "llvm.loop_annotation", False, False, "unroll = <disable = true>"
)
"""Tells LLVM not to unroll a loop."""


def _quadrant(b: Builder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """`x - q pi/2`, and `q` modulo 2^32. The sign of a zero is kept."""
    rounder = b.constant(x.type, _ROUNDER)
    shifted = fma(b, x, b.constant(x.type, 2 / math.pi), rounder)
    minus = b.fneg(b.fsub(shifted, rounder))
    for part in _HALF_PI:
        x = fma(b, minus, b.constant(x.type, part), x)
    return x, b.cast(L.TruncOp, b.bitcast(shifted, vector_type(I64, lanes(x.type))), I32)


def _sine(b: Builder, x: SSAValue, quarter: int, callee: str) -> SSAValue:
    """`sin(x + quarter pi/2)`, which `callee` computes of a scalar."""
    r, q = _quadrant(b, x)
    square = b.fmul(r, r)
    # The sum with 0 has no negative zero, so that the sine keeps that of `r`.
    sine = fma(b, fma(b, square, polynomial(b, square, _SIN), b.constant(r.type, 0.0)), r, r)
    cosine = fma(b, square, polynomial(b, square, _COS), b.constant(r.type, 1.0))
    if quarter:
        q = b.add(q, b.constant(q.type, quarter))
    zero = b.constant(q.type, 0)
    value = b.select(b.icmp("ne", b.and_(q, b.constant(q.type, 1)), zero), cosine, sine)
    negative = b.icmp("ne", b.and_(q, b.constant(q.type, 2)), zero)
    return _unless_large(b, x, b.select(negative, b.fneg(value), value), callee)


def _unless_large(b: Builder, x: SSAValue, value: SSAValue, callee: str) -> SSAValue:
    """`value`; in threads for which an element of `x` is large, what `callee` gives of each."""
    large = b.fcmp("uge", b.overloaded("llvm.fabs", (x,)), b.constant(x.type, _LARGE))
    if lanes(x.type) > 1:
        reduced = b.intrinsic(f"llvm.vector.reduce.or.{mangled(large.type)}", (large,), I1)
        assert reduced is not None
        large = reduced
    region = b.block.parent_region()
    assert region is not None
    long_way, after = Block(), Block(arg_types=(x.type,))
    region.add_block(long_way)
    region.add_block(after)
    b.cond_branch(large, long_way, after, (), (value,))
    b.move_to(long_way)
    b.branch(after, (_each_by_call(b, x, callee),))
    b.move_to(after)
    return after.args[0]


def _each_by_call(b: Builder, x: SSAValue, callee: str) -> SSAValue:
    """What `callee` gives of each element; of several, in a loop over a buffer in local memory."""
    if lanes(x.type) == 1:
        return _called(b, x, callee)
    region = b.block.parent_region()
    assert region is not None
    buffer = b.local_buffer(F64, lanes(x.type))
    b.store(x, buffer)
    loop, done = Block(arg_types=(I32,)), Block()
    region.add_block(loop)
    region.add_block(done)
    b.branch(loop, (b.i32(0),))
    b.move_to(loop)
    element = b.gep(buffer, loop.args[0], F64, inbounds=True)
    b.store(_called(b, b.load(element, F64), callee), element)
    following = b.add(loop.args[0], b.i32(1))
    b.cond_branch(b.icmp("ult", following, b.i32(lanes(x.type))), loop, done, (following,))
    branch = b.block.last_op
    assert branch is not None
    branch.attributes["loop_annotation"] = _ROLLED
    b.move_to(done)
    return b.load(buffer, x.type)


def _called(b: Builder, x: SSAValue, callee: str) -> SSAValue:
    return b.value(ours.EachLaneOp, (x,), F64, {"callee": string_attr(callee), "noinline": UnitAttr()})


def sin(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    """The sine."""
    return _sine(b, v[0], 0, "__nv_sin")


def cos(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    """The cosine."""
    return _sine(b, v[0], 1, "__nv_cos")

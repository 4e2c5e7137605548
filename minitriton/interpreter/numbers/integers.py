"""Integer arithmetic, comparison and selection: wrapping, of the width of the type, signed or unsigned as the op says.

    arith.addi  i8 100, 100  = -56          arith.divsi  -7, 2 = -3 (toward zero)          arith.divui  -1, 2 = 2147483647

Where PTX leaves room it is what GPUs do: division by zero gives a quotient of all ones and the dividend as remainder. A shift by the width or
more gives 0 (or the sign), by the low 32 bits of the amount (PTX ISA, `shl`). Bits (`i1`) are booleans: their sum is
exclusive or, and read as signed numbers, true is -1.
"""

from collections.abc import Callable

import numpy as np
from xdsl.dialects import ub
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from minitriton.dialects import arith, math, tt
from minitriton.dialects.narrowing import instance_of
from minitriton.interpreter.registry import PURE_OPS, Meaning
from minitriton.interpreter.values import Array, constant_value, dtype_of, is_i1, same, unsigned_dtype, zero

Binary = Callable[[Array, Array], Array]
Halves = Callable[[Array, Array], tuple[Array, Array]]
"""Of two operands the lower and the upper half of a result."""


@PURE_OPS.add(arith.ConstantOp)
def _constant(op: arith.ConstantOp) -> Callable[[], Array]:
    value = constant_value(op.value, op.results[0].type)
    return lambda: value


def _binary(function: Binary, on_bits: Binary) -> Callable[[Operation], Binary]:
    return lambda op: on_bits if is_i1(op.results[0].type) else function


def _unsigned(function: Binary, on_bits: Binary) -> Callable[[Operation], Binary]:
    """`function` on operands read as unsigned."""

    def make(op: Operation) -> Binary:
        type_ = op.results[0].type
        if is_i1(type_):
            return on_bits
        signed, unsigned = dtype_of(type_), unsigned_dtype(type_)
        return lambda a, b: function(a.view(unsigned), b.view(unsigned)).view(signed)

    return make


def divide_toward_zero(a: Array, b: Array) -> Array:
    """The signed quotient, rounded toward zero; -1 for division by zero."""
    quotient = np.floor_divide(a, b)
    inexact_negative = (np.remainder(a, b) != 0) & ((a < 0) != (b < 0))
    return np.where(b == 0, -1, quotient + inexact_negative.astype(a.dtype)).astype(a.dtype)[()]


def remainder_of_dividend(a: Array, b: Array) -> Array:
    """The remainder, with the sign of the dividend; the dividend for division by zero."""
    return np.where(b == 0, a, np.fmod(a, b))[()]


def _divide_unsigned(a: Array, b: Array) -> Array:
    return np.where(b == 0, np.iinfo(a.dtype).max, np.floor_divide(a, b)).astype(a.dtype)[()]


def _shift(function: Binary) -> Callable[[Operation], Binary]:
    """A shift by the low 32 bits of the amount, unsigned."""

    def make(op: Operation) -> Binary:
        type_ = op.results[0].type
        if is_i1(type_):
            return _first
        unsigned = unsigned_dtype(type_)
        limit, most = unsigned.itemsize * 8, np.uint64(0xFFFF_FFFF)

        def run(a: Array, b: Array) -> Array:
            amount = np.asarray(b).view(unsigned) & most.astype(unsigned)
            # NumPy shifts by the width and more to 0 or the sign, but by a signed amount only.
            return function(a, np.minimum(amount, unsigned.type(limit)).astype(a.dtype))

        return run

    return make


def ceil_divide(a: Array, b: Array) -> Array:
    """The signed quotient, rounded up."""
    return -np.floor_divide(-a, b)


def _mask(a: Array, b: Array) -> Array:
    return a & b


def _either(a: Array, b: Array) -> Array:
    return a | b


def _differ(a: Array, b: Array) -> Array:
    return a ^ b


def _first(a: Array, b: Array) -> Array:
    return a


def _no_bits(a: Array, b: Array) -> Array:
    return a & ~a & b


def _shift_right_unsigned(a: Array, b: Array) -> Array:
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    return np.right_shift(a.view(unsigned), b.view(unsigned)).view(a.dtype)


_PREDICATES: tuple[tuple[Binary, bool], ...] = (
    (np.equal, False),
    (np.not_equal, False),
    (np.less, False),
    (np.less_equal, False),
    (np.greater, False),
    (np.greater_equal, False),
    (np.less, True),
    (np.less_equal, True),
    (np.greater, True),
    (np.greater_equal, True),
)
_EQUALITIES = 2


@PURE_OPS.add(arith.CmpiOp)
def _compare(op: arith.CmpiOp) -> Binary:
    predicate = op.predicate
    assert instance_of(predicate, IntegerAttr)
    code = predicate.value.data
    function, unsigned = _PREDICATES[code]
    type_ = op.operands[0].type
    if code < _EQUALITIES:
        return function
    if is_i1(type_):
        # Read as signed, true is -1: less than false.
        return function if unsigned else lambda a, b: function(b, a)
    if unsigned:
        dtype = unsigned_dtype(type_)
        return lambda a, b: function(a.view(dtype), b.view(dtype))
    return function


def select(condition: Array, if_true: Array, if_false: Array) -> Array:
    """Element by element, or all of one side for a scalar condition."""
    if np.ndim(condition) == 0:
        return if_true if condition else if_false
    return np.where(condition, if_true, if_false)


def _extended(op: Operation, wide: type[object], unsigned: bool, combine: Binary) -> Halves:
    """Both halves of a result twice as wide, computed in Python integers of any size."""
    type_ = op.results[0].type
    dtype = dtype_of(type_)
    read = unsigned_dtype(type_) if unsigned else dtype
    bits = dtype.itemsize * 8
    mask = (1 << bits) - 1

    def run(a: Array, b: Array) -> tuple[Array, Array]:
        # A scalar's result would come back as an int64, or a float, without the dtype.
        full = np.asarray(combine(np.asarray(a.view(read)).astype(wide), np.asarray(b.view(read)).astype(wide)), wide)
        low = np.asarray(full & mask).astype(np.uint64).astype(dtype)
        high = np.asarray((full >> bits) & mask).astype(np.uint64).astype(dtype)
        return low[()], high[()]

    return run


def _multiply_extended(unsigned: bool) -> Callable[[Operation], Halves]:
    return lambda op: _extended(op, object, unsigned, np.multiply)


@PURE_OPS.add(arith.AddUIExtendedOp)
def _add_extended(op: arith.AddUIExtendedOp) -> Halves:
    both = _extended(op, object, True, np.add)

    def run(a: Array, b: Array) -> tuple[Array, Array]:
        low, high = both(a, b)
        return low, high.astype(np.bool_)

    return run


@PURE_OPS.add(tt.MulhiUIOp)
def _mulhi_unsigned(op: tt.MulhiUIOp) -> Binary:
    both = _extended(op, object, True, np.multiply)
    return lambda a, b: both(a, b)[1]


@PURE_OPS.add(math.AbsIOp)
def _absolute(op: math.AbsIOp) -> Callable[[Array], Array]:
    return same if is_i1(op.results[0].type) else np.abs


def _count(count: Callable[[int, int], int]) -> Callable[[Operation], Callable[[Array], Array]]:
    """A function of the bits of each element and their number."""

    def make(op: Operation) -> Callable[[Array], Array]:
        dtype, unsigned = dtype_of(op.results[0].type), unsigned_dtype(op.results[0].type)
        width = dtype.itemsize * 8
        each = np.frompyfunc(lambda bits: count(int(bits), width), 1, 1)
        return lambda a: np.asarray(each(np.asarray(a).view(unsigned))).astype(dtype)[()]

    return make


@PURE_OPS.add(ub.PoisonOp)
def _poison(op: ub.PoisonOp) -> Meaning:
    value = zero(op.results[0].type)
    return lambda: value


@PURE_OPS.add(arith.SelectOp)
def _select(op: arith.SelectOp) -> Callable[[Array, Array, Array], Array]:
    return select


PURE_OPS.update(
    {
        arith.AddiOp: _binary(np.add, _differ),
        arith.SubiOp: _binary(np.subtract, _differ),
        arith.MuliOp: _binary(np.multiply, _mask),
        arith.DivSIOp: _binary(divide_toward_zero, _first),
        arith.DivUIOp: _unsigned(_divide_unsigned, _first),
        arith.CeilDivSIOp: _binary(ceil_divide, _first),
        arith.CeilDivUIOp: _unsigned(lambda a, b: (a + b - a.dtype.type(1)) // b, _first),
        arith.FloorDivSIOp: _binary(np.floor_divide, _first),
        arith.RemSIOp: _binary(remainder_of_dividend, _no_bits),
        arith.RemUIOp: _unsigned(remainder_of_dividend, _no_bits),
        arith.AndIOp: _binary(_mask, _mask),
        arith.OrIOp: _binary(_either, _either),
        arith.XOrIOp: _binary(_differ, _differ),
        arith.ShLIOp: _shift(np.left_shift),
        arith.ShRSIOp: _shift(np.right_shift),
        arith.ShRUIOp: _shift(_shift_right_unsigned),
        arith.MaxSIOp: _binary(np.maximum, _mask),
        arith.MinSIOp: _binary(np.minimum, _either),
        arith.MaxUIOp: _unsigned(np.maximum, _either),
        arith.MinUIOp: _unsigned(np.minimum, _mask),
        arith.MulSIExtendedOp: _multiply_extended(False),
        arith.MulUIExtendedOp: _multiply_extended(True),
        math.CtPopOp: _count(lambda bits, width: bits.bit_count()),
        math.CountLeadingZerosOp: _count(lambda bits, width: width - bits.bit_length()),
        math.CountTrailingZerosOp: _count(lambda bits, width: (bits & -bits).bit_length() - 1 if bits else width),
    }
)

"""What a loop counts with, so that its variable takes the values of Python's `range`.

range(0, n)  n: int32        scf.for %i = %c0 to %n                              i = %i
range(0, n)  n: uint32       scf.for %i = %c0 to (extui %n to i64)               i = trunci %i         loops compare signed numbers
range(0, n)  n: uint64       scf.for %i = (%c0 ^ 2^63) to (%n ^ 2^63)            i = %i ^ 2^63         none is wide enough: the order is the same
range(n, 0, -2)              scf.for %i = %c0 to %n step %c2                     i = %n - %i + 0

Triton 3.6.0 widens all bounds as signed if the variable is, and compares unsigned ones as signed.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.ir import SSAValue

from minitriton.dialects import arith
from minitriton.frontend.builder import IRBuilder, ir_type
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.semantic.arithmetic import add, compare, sub
from minitriton.frontend.semantic.casts import resize_integer
from minitriton.frontend.semantic.program import device_assert
from minitriton.frontend.semantic.values import integer_promotion, to_tensor
from minitriton.language import dtypes as dt
from minitriton.language.dtypes import dtype
from minitriton.language.iterators import range as language_range
from minitriton.language.values import tensor, unwrap

_SIGN_BIT = -(1 << 63)


class Counter(NamedTuple):
    """Bounds and step of a loop in the dtype that it counts in, and the dtype of its variable."""

    low: tensor
    high: tensor
    step: tensor
    counts_down: bool
    dtype: dtype

    @property
    def counting(self) -> dtype:
        """The dtype of the loop's bounds."""
        return self.low.type

    def first(self, b: IRBuilder) -> tensor:
        """The first value of the variable."""
        return self._of_counted(b, self.high if self.counts_down else self.low)

    def variable(self, b: IRBuilder, number: SSAValue) -> tensor:
        """The variable where the loop has counted to `number`."""
        counted = tensor(number, self.counting)
        if self.counts_down:
            counted = add(b, sub(b, self.high, counted, False), self.low, False)
        return self._of_counted(b, counted)

    def _of_counted(self, b: IRBuilder, counted: tensor) -> tensor:
        handle = resize_integer(b, counted.handle, ir_type(self.dtype), False)
        return tensor(_flipped(b, handle) if self.dtype == dt.uint64 else handle, self.dtype)


def counter_of(b: IRBuilder, loop: language_range) -> Counter:
    """How `loop` counts: a negative constant step downwards from its start. With `debug`, a step of the run time is asserted to be positive."""
    low, high, step = (unwrap(x) for x in (loop.start, loop.end, loop.step))
    if isinstance(step, int) and step == 0:
        raise LanguageValueError("the step of a loop must not be zero")
    down = isinstance(step, int) and step < 0
    if down:
        low, high, step = high, low, -step
    bounds = [to_tensor(b, x) for x in (low, high, step)]
    for x, what in zip(bounds, ("lower bound", "upper bound", "step"), strict=True):
        if x.type.is_block():
            raise LanguageTypeError(f"For {what} must be a scalar, got {x.type}")
    if not all(x.dtype.is_int() for x in bounds):
        kinds = ", ".join(str(x.dtype) for x in bounds)
        raise LanguageTypeError(
            f"For loop bounds and step must all be ints, are ({kinds})", "cast them: range(n.to(tl.int32))"
        )
    if isinstance(step, tensor):
        device_assert(b, compare(b, ">", step, 0), "the step of a loop must be positive")
    type = integer_promotion(integer_promotion(bounds[0].dtype, bounds[1].dtype), bounds[2].dtype)
    # A narrow counter would wrap at its largest number, and so never reach a bound next to it.
    counting = dt.int32 if type.int_bitwidth < 32 else type if type.is_int_signed() else dt.int64
    handles = [resize_integer(b, x.handle, ir_type(counting), x.dtype.is_int_signed()) for x in bounds]
    if type == dt.uint64:
        handles[:2] = [_flipped(b, handle) for handle in handles[:2]]
    low, high, step = (tensor(handle, counting) for handle in handles)
    return Counter(low, high, step, down, type)


def _flipped(b: IRBuilder, number: SSAValue) -> SSAValue:
    """An integer of 64 bits with its sign bit changed: unsigned numbers as signed ones of the same order, and back."""
    return b.value(arith.XOrIOp(number, b.constant(dt.int64, _SIGN_BIT)))

"""What a loop's variable is after the loop: its last value, as in Python; after no iteration, what it was before.

k = 7
for k in range(n): ...          %last = scf.for %k = ... iter_args(%k_before = %seven) { ... scf.yield %k }
tl.store(p, k)                  tt.store %p, %last
"""

from __future__ import annotations

import builtins

from xdsl.dialects.builtin import IntegerAttr

from minitriton.frontend.builder import IRBuilder, constant_of
from minitriton.frontend.semantic.casts import cast
from minitriton.frontend.semantic.values import to_tensor
from minitriton.language.iterators import range as language_range
from minitriton.language.values import tensor, unwrap


def known_length(loop: language_range) -> int | None:
    """How many iterations `loop` has, if that is known while compiling."""
    bounds = [_number(unwrap(x)) for x in (loop.start, loop.end, loop.step)]
    start, end, step = bounds
    if start is None or end is None or not step:
        return None
    return len(builtins.range(start, end, step))


def _number(bound: object) -> int | None:
    if isinstance(bound, tensor):
        attribute = constant_of(bound)
        if not isinstance(attribute, IntegerAttr):
            return None
        number = attribute.value.data
        return number % (1 << bound.dtype.int_bitwidth) if bound.dtype.is_int_unsigned() else number
    return bound if isinstance(bound, int) else None


def value_before(b: IRBuilder, loop: language_range, before: object, first: tensor) -> tensor | str:
    """What the variable of `loop` has if no iteration runs, in the dtype of `first` (its first value); or why it has nothing.

    `before`: what the name meant before the loop. Of a loop whose length is not known and whose variable meant nothing before
    it is `first`: Python would raise there.
    """
    count = known_length(loop)
    if count or (count is None and before is None):
        return first
    if before is None:
        return "it is the variable of a loop that never runs"
    before = unwrap(before)
    if isinstance(before, bool) or not isinstance(before, (int, tensor)):
        return _UNFIT.format(before)
    value = to_tensor(b, before)
    if value.type.is_block() or not value.dtype.is_int():
        return _UNFIT.format(value.type)
    return cast(b, value, first.dtype)


_UNFIT = "it is the variable of a loop that may run no iteration, and was {} before, which no loop counts with"

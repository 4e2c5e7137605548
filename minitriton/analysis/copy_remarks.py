"""Remarks on loads that are to run ahead but cannot: `cp.async` moves 4, 8 or 16 bytes, aligned (PTX ISA, "cp.async").

    kernel.py:23: PerformanceRemark: this load does not run ahead: its addresses are known to be contiguous and aligned for 1 element of
    8 bits at a time only, cp.async takes 32 bits at least; a stride of 1 ...

Such a load is synchronous, at every number of stages, while other operands of the same loop run ahead. The remark is a Python warning at
the line of the kernel, given once for each line.
"""

from __future__ import annotations

import warnings

from xdsl.ir import Operation, SSAValue

from minitriton.analysis.axis_info import AxisInfoAnalysis
from minitriton.analysis.locations import user_location

_NEEDED_BITS = 32


class PerformanceRemark(UserWarning):
    """A kernel compiles and is right, but one line of it costs speed that a small change would give back."""


def remark_narrow_load(
    op: Operation, pointer: SSAValue, mask: SSAValue | None, bits: int, facts: AxisInfoAnalysis
) -> None:
    """Says why `op`, which reads elements of `bits` bits, cannot run ahead, and what would let it."""
    contiguous = facts.pointer_contiguity(pointer)
    alike = contiguous if mask is None else min(contiguous, facts.mask_alignment(mask))
    needed = -(-_NEEDED_BITS // bits)
    if alike < needed <= contiguous:
        why = f"its mask may change after {alike} element{'s' * (alike != 1)}"
        help_ = f"compare with a bound that is a multiple of {needed} (tl.multiple_of, or an argument divisible by 16)"
    elif contiguous < needed:
        why = f"no more than {contiguous} neighbouring element{'s' * (contiguous != 1)} of a thread are known to lie together, aligned"
        help_ = (
            "load along the dimension whose stride is 1, and let strides and offsets be multiples of 16 "
            "(arguments divisible by 16, tl.multiple_of, tl.max_contiguous)"
        )
    else:
        why = "its buffer in shared memory has them in another order"
        help_ = "load the tile in the order in which it lies in memory, and transpose it behind the load"
    _warn(
        op,
        f"this load does not run ahead: {why}, and cp.async takes {needed} elements of {bits} bits at least; {help_}",
    )


def _warn(op: Operation, text: str) -> None:
    place = user_location(op.location)
    if place is None:
        warnings.warn(text, PerformanceRemark, stacklevel=2)
    else:
        warnings.warn_explicit(text, PerformanceRemark, place.file, place.line)

"""What a kernel's loops run over: `tl.range` (a loop in the IR, with hints), `tl.static_range` (unrolled here).

for k in tl.range(0, K, BK, num_stages=3): ...   →  scf.for ... {tt.num_stages = 3 : i32}
"""

from __future__ import annotations

from collections.abc import Iterator

from minitriton.language.values import ConstBool, ConstInt, Operand, base_value, constexpr, tensor

__all__ = [
    "condition",
    "range",
    "static_range",
]
"""What `tl` offers of it."""


class static_range(base_value):
    """A range of compile-time values; the loop's body is repeated for each."""

    def __init__(self, arg1: ConstInt, arg2: ConstInt | None = None, step: ConstInt | None = None) -> None:
        for what, value in (("start", arg1), ("end", arg2), ("step", step)):
            if value is not None and not isinstance(value, constexpr):
                raise TypeError(
                    f"{value} used as tl.static_range {what} value is not a constexpr: write range(...), or make it a tl.constexpr parameter"
                )
        self.step = constexpr(1) if step is None else step
        self.start, self.end = (constexpr(0), arg1) if arg2 is None else (arg1, arg2)

    def __iter__(self) -> Iterator[int]:
        raise RuntimeError("static_range can only be used in @triton.jit'd functions")


class range(base_value):
    """A range for a loop in the IR, with hints to the compiler.

    `num_stages`: buffers of the software pipeline; `loop_unroll_factor`; `disallow_acc_multi_buffer`; `flatten`: fuse a loop
    nest into one loop; `warp_specialize`; `disable_licm`: keep loop-invariant code inside.
    """

    def __init__(
        self,
        arg1: Operand,
        arg2: Operand | None = None,
        step: Operand | None = None,
        num_stages: ConstInt | None = None,
        loop_unroll_factor: ConstInt | None = None,
        disallow_acc_multi_buffer: ConstBool = False,
        flatten: ConstBool = False,
        warp_specialize: ConstBool = False,
        disable_licm: ConstBool = False,
    ) -> None:
        self.step = constexpr(1) if step is None else step
        self.start, self.end = (constexpr(0), arg1) if arg2 is None else (arg1, arg2)
        self.num_stages = num_stages
        self.loop_unroll_factor = loop_unroll_factor
        self.disallow_acc_multi_buffer = disallow_acc_multi_buffer
        self.flatten = flatten
        self.warp_specialize = warp_specialize
        self.disable_licm = disable_licm

    def __iter__(self) -> Iterator[tensor]:
        raise RuntimeError("tl.range can only be used in @triton.jit'd functions")


class condition(base_value):
    """The condition of a `while` loop, with hints to the compiler."""

    def __init__(self, arg1: Operand, disable_licm: ConstBool = False) -> None:
        self.condition = arg1
        self.disable_licm = disable_licm

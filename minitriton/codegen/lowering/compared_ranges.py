"""Comparisons of many registers of a range with a bound: an offset of each, which is a constant, with the room between base and bound.

    base | 512 < n, base | 1024 < n, ...     ->     room = n - base;  512 < room, 1024 < room, ...

The difference saturates. An offset is at least 0 and below the largest number, so that it compares with a difference that does not fit as it does
with the nearest number that does; and it has no bit in common with the base, so that base and offset do not overflow.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from minitriton.codegen import registers
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.registers import Constants, Range, Registers
from minitriton.codegen.types import I32
from minitriton.dialects import ttg
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.encodings import Slice

WORTH_ROOM = 16
"""Registers that are compared from which it pays: the saturated difference is five instructions, an offset added to its base one (2026-11-24)."""

_ORDERED = ("slt", "sle", "sgt", "sge")


def offsets_and_room(
    f: FunctionLowering, result: SSAValue, predicate: str, reps: Sequence[Registers]
) -> Sequence[Registers]:
    """The operands of a comparison, a range and its bound by offsets and room where that is less work."""
    left, right = reps
    if predicate not in _ORDERED:
        return reps
    if isinstance(left, Range) and registers.is_splat(right) and _pays(f, result, left):
        return Constants(left.offsets, I32), _room(f, left, right)
    if isinstance(right, Range) and registers.is_splat(left) and _pays(f, result, right):
        return _room(f, right, left), Constants(right.offsets, I32)
    return reps


def _pays(f: FunctionLowering, result: SSAValue, range_: Range) -> bool:
    """Of rows and columns of a tile the registers of the range are needed for addresses anyway, as multiples of a stride: there it is no less
    work (a transpose of 64x64 f32 took 78 registers for 53)."""
    if range_.count < WORTH_ROOM or range_.element_type != I32:
        return False
    if not instance_of(result.type, TensorType) or isinstance(ttg.layout_of(result.type), Slice):
        return False
    if len(result.type.get_shape()) != 1:
        return False
    if any(offset < 0 or offset & ~range_.clear for offset in range_.offsets):
        return False
    same = f.equal_registers(result)
    return same is None or len(same[0]) >= WORTH_ROOM


def _room(f: FunctionLowering, range_: Range, bound: SSAValue) -> SSAValue:
    return f.b.overloaded("llvm.ssub.sat", (bound, range_.base))

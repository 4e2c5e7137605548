"""CDNA4 (gfx950): as CDNA3, with scaled MFMA and copies from global to shared memory. Declarations, see `declare.py`."""

# pyright: reportReturnType=false

from __future__ import annotations

from collections.abc import Sequence

from minitriton.language.declare import builtin, constexpr_function
from minitriton.language.gluon.amd import cdna3
from minitriton.language.gluon.amd._layouts import AMDMFMALayout, scale_layout
from minitriton.language.gluon.amd.cdna3 import buffer_load, buffer_store, mfma
from minitriton.language.gluon.amd.cdna4 import async_copy
from minitriton.language.gluon.layouts import DistributedLayout, DotOperandLayout
from minitriton.language.values import ConstStr, Operand, tensor

__all__ = [
    "async_copy", "buffer_atomic_add", "buffer_atomic_and", "buffer_atomic_max", "buffer_atomic_min", "buffer_atomic_or",
    "buffer_atomic_xchg", "buffer_atomic_xor", "buffer_load", "buffer_store", "get_mfma_scale_layout", "mfma", "mfma_scaled",
]  # fmt: skip

buffer_atomic_max = builtin(cdna3.buffer_atomic_max.fn)
buffer_atomic_min = builtin(cdna3.buffer_atomic_min.fn)
buffer_atomic_add = builtin(cdna3.buffer_atomic_add.fn)
buffer_atomic_and = builtin(cdna3.buffer_atomic_and.fn)
buffer_atomic_or = builtin(cdna3.buffer_atomic_or.fn)
buffer_atomic_xor = builtin(cdna3.buffer_atomic_xor.fn)
buffer_atomic_xchg = builtin(cdna3.buffer_atomic_xchg.fn)
"""As those of CDNA3; `buffer_atomic_add` takes bfloat16 too."""


@builtin
def mfma_scaled(
    a: tensor,
    a_scale: Operand | None,
    a_format: ConstStr,
    b: tensor,
    b_scale: Operand | None,
    b_format: ConstStr,
    acc: tensor,
) -> tensor:
    """`(a * a_scale) @ (b * b_scale) + acc`, a scale (e8m0) for 32 elements along k; a number is the scale of all, None is 1.

    Formats: "e2m1" (two in a byte along k), "e4m3", "e5m2".
    """


@constexpr_function
def get_mfma_scale_layout(dot_operand_layout: DotOperandLayout, shape: Sequence[int]) -> DistributedLayout:
    """The layout of the scales, of `shape`, of an operand with `dot_operand_layout`."""
    return scale_layout(dot_operand_layout, shape, AMDMFMALayout)

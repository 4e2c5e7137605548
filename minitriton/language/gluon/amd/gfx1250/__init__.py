"""gfx1250: WMMA, scaled WMMA, copies of blocks and barriers. Declarations, see `declare.py`."""

# pyright: reportReturnType=false

from __future__ import annotations

from collections.abc import Sequence

from minitriton.language.declare import builtin, constexpr_function
from minitriton.language.gluon.amd._layouts import AMDWMMALayout, scale_layout
from minitriton.language.gluon.amd.cdna3 import buffer_load, buffer_store
from minitriton.language.gluon.amd.gfx1250 import async_copy, mbarrier, tdm
from minitriton.language.gluon.layouts import DistributedLayout, DotOperandLayout
from minitriton.language.values import ConstStr, Operand, tensor

__all__ = [
    "async_copy", "buffer_load", "buffer_store", "get_wmma_scale_layout", "mbarrier", "tdm", "wmma", "wmma_scaled",
]  # fmt: skip


@builtin
def wmma(a: tensor, b: tensor, acc: tensor) -> tensor:
    """`a @ b + acc` by `v_wmma`: `acc` has an `AMDWMMALayout` of version 3, `a` and `b` are dot operands of such."""


@builtin
def wmma_scaled(
    a: tensor,
    a_scale: Operand | None,
    a_format: ConstStr,
    b: tensor,
    b_scale: Operand | None,
    b_format: ConstStr,
    acc: tensor,
) -> tensor:
    """`cdna4.mfma_scaled` by `v_wmma`: `acc` has the instruction's shape [16, 16, 128], operands of e2m1 [16, 16, 64]."""


@constexpr_function
def get_wmma_scale_layout(dot_operand_layout: DotOperandLayout, shape: Sequence[int]) -> DistributedLayout:
    """The layout of the scales, of `shape`, of an operand with `dot_operand_layout`."""
    return scale_layout(dot_operand_layout, shape, AMDWMMALayout)

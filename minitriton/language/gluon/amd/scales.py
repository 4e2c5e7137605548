"""The layout of the scales of an operand."""

from __future__ import annotations

from collections.abc import Sequence

from minitriton.language.gluon.layouts import DistributedLayout, DotOperandLayout, LayoutError, distributed_layout_of
from minitriton.language.values import unwrap
from minitriton.layouts import encodings as enc
from minitriton.layouts.amd import amd_scale


def scale_layout(operand: DotOperandLayout, shape: Sequence[int], parent: type[DistributedLayout]) -> DistributedLayout:
    """Of the scales, of `shape`, of an operand of a dot whose result has a layout of class `parent`. Raises `LayoutError` for another."""
    operand = unwrap(operand)
    if not isinstance(operand, DotOperandLayout) or not isinstance(operand.parent, parent):
        raise LayoutError(f"expected a DotOperandLayout whose parent is an {parent.__name__}, got {operand}")
    encoding = operand.encoding()
    assert isinstance(encoding, enc.DotOperand)
    return distributed_layout_of(amd_scale(encoding, [unwrap(size) for size in unwrap(shape)]))

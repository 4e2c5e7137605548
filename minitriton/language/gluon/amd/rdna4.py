"""RDNA4 (such as gfx1200): WMMA. Declarations, see `declare.py`."""

# pyright: reportReturnType=false

from minitriton.language.declare import builtin
from minitriton.language.values import tensor

__all__ = ["wmma"]


@builtin
def wmma(a: tensor, b: tensor, acc: tensor) -> tensor:
    """`a @ b + acc` by `v_wmma`: `acc` has an `AMDWMMALayout` of version 2, `a` and `b` are dot operands of such."""

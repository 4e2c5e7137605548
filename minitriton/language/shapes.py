"""Operations on shapes: declarations only, see `declare.py`."""

# Declarations have no bodies: what they give is what the frontend emits.
# pyright: reportReturnType=false

from __future__ import annotations

from minitriton.language.declare import builtin
from minitriton.language.values import ConstBool, ConstInt, ConstInts, Operand, member, tensor

__all__ = [
    "broadcast",
    "broadcast_to",
    "cat",
    "expand_dims",
    "item",
    "join",
    "permute",
    "reshape",
    "split",
    "trans",
    "view",
]
"""What `tl` offers of it."""


@builtin
def broadcast(input: Operand, other: Operand) -> tuple[tensor, tensor]:
    """Both arguments, broadcast to one shape."""


@member
@builtin
def broadcast_to(input: Operand, *shape: ConstInts) -> tensor:
    """`input` broadcast to `shape`, given as a list or as arguments."""


@member
@builtin
def trans(input: Operand, *dims: ConstInts) -> tensor:
    """`input` with its dimensions permuted to `dims` (default: the last two swapped)."""


@member
@builtin
def permute(input: Operand, *dims: ConstInts) -> tensor:
    """`input` with its dimensions permuted to `dims`."""


@builtin
def cat(input: tensor, other: tensor, can_reorder: ConstBool = False, dim: ConstInt = 0) -> tensor:
    """Two blocks of one shape in one, `other` after `input` along `dim`; with `can_reorder` two 1-D blocks, in any order."""


@builtin
def join(a: Operand, b: Operand) -> tensor:
    """Two blocks stacked along a new last dimension of size 2."""


@member
@builtin
def split(a: tensor) -> tuple[tensor, tensor]:
    """The two halves of a block along its last dimension, whose size is 2. The inverse of `join`."""


@member
@builtin
def view(input: Operand, *shape: ConstInts) -> tensor:
    """`reshape` that may reorder elements. Deprecated: use `reshape(..., can_reorder=True)`."""


@member
@builtin
def item(input: Operand) -> tensor:
    """The element of a block of one element, as a scalar."""


@member
@builtin
def reshape(input: Operand, *shape: ConstInts, can_reorder: ConstBool = False) -> tensor:
    """The same elements in another shape, given as a list or as arguments."""


@member
@builtin
def expand_dims(input: Operand, axis: ConstInts) -> tensor:
    """`input` with new dimensions of size 1 at `axis` (an integer or several) of the result."""

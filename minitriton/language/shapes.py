"""Operations on shapes: declarations only, see `declare.py`."""

from __future__ import annotations

from typing import Any

from minitriton.language.declare import builtin
from minitriton.language.values import member


@builtin
def broadcast(input: Any, other: Any) -> Any:
    """Both arguments, broadcast to one shape."""


@member
@builtin
def broadcast_to(input: Any, *shape: Any) -> Any:
    """`input` broadcast to `shape`, given as a list or as arguments."""


@member
@builtin
def trans(input: Any, *dims: Any) -> Any:
    """`input` with its dimensions permuted to `dims` (default: the last two swapped)."""


@member
@builtin
def permute(input: Any, *dims: Any) -> Any:
    """`input` with its dimensions permuted to `dims`."""


@builtin
def cat(input: Any, other: Any, can_reorder: Any = False) -> Any:
    """Two 1-D blocks in one, in any order (so `can_reorder` must be true)."""


@builtin
def join(a: Any, b: Any) -> Any:
    """Two blocks stacked along a new last dimension of size 2."""


@member
@builtin
def split(a: Any) -> Any:
    """The two halves of a block along its last dimension, whose size is 2. The inverse of `join`."""


@member
@builtin
def view(input: Any, *shape: Any) -> Any:
    """`reshape` that may reorder elements. Deprecated: use `reshape(..., can_reorder=True)`."""


@member
@builtin
def item(input: Any) -> Any:
    """The element of a block of one element, as a scalar."""


@member
@builtin
def reshape(input: Any, *shape: Any, can_reorder: Any = False) -> Any:
    """The same elements in another shape, given as a list or as arguments."""


@member
@builtin
def expand_dims(input: Any, axis: Any) -> Any:
    """`input` with new dimensions of size 1 at `axis` (an integer or several) of the result."""

"""Operations on memory: declarations only, see `declare.py`."""

# Declarations have no bodies: what they give is what the frontend emits.
# pyright: reportReturnType=false

from __future__ import annotations

from minitriton.language.declare import builtin, must_use_result
from minitriton.language.values import ConstBool, ConstInts, ConstStr, Indices, Operand, member, tensor

__all__ = [
    "advance", "atomic_add", "atomic_and", "atomic_cas", "atomic_load", "atomic_max", "atomic_min", "atomic_or",
    "atomic_poll", "atomic_store", "atomic_xchg", "atomic_xor", "load", "make_block_ptr", "store",
]  # fmt: skip
"""What `tl` offers of it."""


@builtin
def load(
    pointer: tensor,
    mask: Operand | None = None,
    other: Operand | None = None,
    boundary_check: ConstInts = (),
    padding_option: ConstStr = "",
    cache_modifier: ConstStr = "",
    eviction_policy: ConstStr = "",
    volatile: ConstBool = False,
) -> tensor:
    """Loads what `pointer` (a pointer, a block of pointers, or a block pointer) points at.

    Where `mask` is false nothing is read and the result is `other` (undefined without it). For block pointers, `boundary_check`
    names the dimensions to check and `padding_option` ("zero" or "nan") what is outside. `cache_modifier`: ".ca", ".cg",
    ".cs", ".cv"; `eviction_policy`: "evict_first", "evict_last".
    """


@member
@builtin
def store(
    pointer: tensor,
    value: Operand,
    mask: Operand | None = None,
    boundary_check: ConstInts = (),
    cache_modifier: ConstStr = "",
    eviction_policy: ConstStr = "",
) -> None:
    """Stores `value`, cast to the pointed-at type, where `mask` holds. `cache_modifier`: ".wb", ".cg", ".cs", ".wt"."""


@builtin
def make_block_ptr(
    base: tensor, shape: Indices, strides: Indices, offsets: Indices, block_shape: ConstInts, order: ConstInts
) -> tensor:
    """A pointer to a block of `block_shape` at `offsets` of a strided tensor in memory."""


@must_use_result(
    "Note that tl.advance does not have any side effects. To move the block pointer, you need to assign the result of tl.advance to a variable."
)
@member
@builtin
def advance(base: tensor, offsets: Indices) -> tensor:
    """The block pointer `base` moved by `offsets` elements."""


@member
@builtin
def atomic_load(
    pointer: tensor, mask: Operand | None = None, sem: ConstStr | None = None, scope: ConstStr | None = None
) -> tensor:
    """Atomic load, of nothing where `mask` is false. `sem`: "acquire" (default) or "relaxed"; `scope` as for `atomic_cas`.

    What the whole program does after an acquire comes after it.
    """


@member
@builtin
def atomic_store(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: ConstStr | None = None,
    scope: ConstStr | None = None,
) -> None:
    """Atomic store where `mask` holds. `sem`: "release" (default) or "relaxed"; `scope` as for `atomic_cas`.

    What the whole program did before a release comes before it.
    """


@member
@builtin
def atomic_poll(
    pointer: tensor,
    expected_value: Operand,
    sem: ConstStr | None = None,
    scope: ConstStr | None = None,
    timeout_ns: Operand | None = None,
) -> tensor:
    """Waits until memory holds `expected_value`, of 16, 32 or 64 bits, for every element, at most `timeout_ns` nanoseconds (None: for ever).

    Gives for each element whether it was seen. `sem` as for `atomic_load`, `scope` as for `atomic_cas`.
    """


@member
@builtin
def atomic_cas(
    pointer: tensor, cmp: Operand, val: Operand, sem: ConstStr | None = None, scope: ConstStr | None = None
) -> tensor:
    """Atomic compare-and-swap; returns the old value.

    `sem`: "acq_rel" (default), "acquire", "release" or "relaxed"; `scope`: "gpu" (default), "cta" or "sys".
    """


@member
@builtin
def atomic_xchg(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: ConstStr | None = None,
    scope: ConstStr | None = None,
) -> tensor:
    """Atomic exchange; returns the old value. `sem` and `scope` as for `atomic_cas`."""


@member
@builtin
def atomic_add(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: ConstStr | None = None,
    scope: ConstStr | None = None,
) -> tensor:
    """Atomic addition; returns the old value. `sem` and `scope` as for `atomic_cas`."""


@member
@builtin
def atomic_max(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: ConstStr | None = None,
    scope: ConstStr | None = None,
) -> tensor:
    """Atomic maximum; returns the old value. `sem` and `scope` as for `atomic_cas`."""


@member
@builtin
def atomic_min(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: ConstStr | None = None,
    scope: ConstStr | None = None,
) -> tensor:
    """Atomic minimum; returns the old value. `sem` and `scope` as for `atomic_cas`."""


@member
@builtin
def atomic_and(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: ConstStr | None = None,
    scope: ConstStr | None = None,
) -> tensor:
    """Atomic bitwise and; returns the old value. `sem` and `scope` as for `atomic_cas`."""


@member
@builtin
def atomic_or(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: ConstStr | None = None,
    scope: ConstStr | None = None,
) -> tensor:
    """Atomic bitwise or; returns the old value. `sem` and `scope` as for `atomic_cas`."""


@member
@builtin
def atomic_xor(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: ConstStr | None = None,
    scope: ConstStr | None = None,
) -> tensor:
    """Atomic bitwise exclusive or; returns the old value. `sem` and `scope` as for `atomic_cas`."""

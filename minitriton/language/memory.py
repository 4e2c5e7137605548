"""Operations on memory: declarations only, see `declare.py`."""

from __future__ import annotations

from typing import Any

from minitriton.language.declare import builtin, must_use_result
from minitriton.language.values import member


@builtin
def load(
    pointer: Any,
    mask: Any = None,
    other: Any = None,
    boundary_check: Any = (),
    padding_option: Any = "",
    cache_modifier: Any = "",
    eviction_policy: Any = "",
    volatile: Any = False,
) -> Any:
    """Loads what `pointer` (a pointer, a block of pointers, or a block pointer) points at.

    Where `mask` is false nothing is read and the result is `other` (undefined without it). For block pointers, `boundary_check`
    names the dimensions to check and `padding_option` ("zero" or "nan") what lies outside. `cache_modifier`: ".ca", ".cg",
    ".cv"; `eviction_policy`: "evict_first", "evict_last".
    """


@member
@builtin
def store(
    pointer: Any,
    value: Any,
    mask: Any = None,
    boundary_check: Any = (),
    cache_modifier: Any = "",
    eviction_policy: Any = "",
) -> Any:
    """Stores `value`, cast to the pointed-at type, where `mask` holds. `cache_modifier`: ".wb", ".cg", ".cs", ".wt"."""


@builtin
def make_block_ptr(base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any) -> Any:
    """A pointer to a block of `block_shape` at `offsets` of a strided tensor in memory."""


@must_use_result(
    "Note that tl.advance does not have any side effects. To move the block pointer, you need to assign the result of tl.advance to a variable."
)
@member
@builtin
def advance(base: Any, offsets: Any) -> Any:
    """The block pointer `base` moved by `offsets` elements."""


@member
@builtin
def atomic_cas(pointer: Any, cmp: Any, val: Any, sem: Any = None, scope: Any = None) -> Any:
    """Atomic compare-and-swap; returns the old value.

    `sem`: "acq_rel" (default), "acquire", "release" or "relaxed"; `scope`: "gpu" (default), "cta" or "sys".
    """


@member
@builtin
def atomic_xchg(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """Atomic exchange; returns the old value. `sem` and `scope` as for `atomic_cas`."""


@member
@builtin
def atomic_add(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """Atomic addition; returns the old value. `sem` and `scope` as for `atomic_cas`."""


@member
@builtin
def atomic_max(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """Atomic maximum; returns the old value. `sem` and `scope` as for `atomic_cas`."""


@member
@builtin
def atomic_min(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """Atomic minimum; returns the old value. `sem` and `scope` as for `atomic_cas`."""


@member
@builtin
def atomic_and(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """Atomic bitwise and; returns the old value. `sem` and `scope` as for `atomic_cas`."""


@member
@builtin
def atomic_or(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """Atomic bitwise or; returns the old value. `sem` and `scope` as for `atomic_cas`."""


@member
@builtin
def atomic_xor(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """Atomic bitwise exclusive or; returns the old value. `sem` and `scope` as for `atomic_cas`."""

"""Sorting along the last dimension by bitonic networks, and `flip`, written in the language itself.

A block of 2^n elements is seen as an n-cube; comparing along one of its axes is an exclusive or with the other half.
"""

# The annotation `constexpr` speaks to the kernel compiler; to Python it is any value.
# pyright: standard, reportArgumentType=false, reportAssignmentType=false

from __future__ import annotations

from minitriton.language import core
from minitriton.language.core import CONSTEXPR_0, constexpr
from minitriton.language.declare import constexpr_function, library
from minitriton.language.standard import _get_int_dtype, _is_power_of_two, _log2, max, min, xor_sum
from minitriton.language.values import member

__all__ = [
    "bitonic_merge",
    "flip",
    "sort",
    "topk",
]
"""What `tl` offers of it."""


@library
def _indicator(n_dims: constexpr, j: constexpr):
    """0 and 1 along the `j`-th innermost axis of the cube."""
    ar = core.arange(0, 2)
    return core.reshape(ar, [1] * (n_dims - j - 1) + [2] + [1] * j)


@library
def _compare_and_swap(x, flip, i: constexpr):
    """Orders the pairs along the `i`-th innermost axis of the cube."""
    n_dims: constexpr = _log2(x.numel)
    idtype = _get_int_dtype(bitwidth=x.dtype.primitive_bitwidth, signed=True)
    bits = x.to(idtype, bitcast=True)
    partner_bits = bits ^ xor_sum(bits, n_dims - 1 - i, True)
    partner = partner_bits.to(x.dtype, bitcast=True)
    is_right = _indicator(n_dims, i)
    return core.where((x > partner) != (flip ^ is_right), partner, x)


@library
def _bitonic_merge_hypercube(x, stage: constexpr, order: constexpr):
    """`stage` rounds of compare-and-swap. `order`: 0 ascending, 1 descending, 2 alternating."""
    if order == 2:
        flip = _indicator(_log2(x.numel), stage)
    else:
        flip = order
    for i in core.static_range(stage):
        x = _compare_and_swap(x, flip, stage - 1 - i)
    return x


@library
def _bitonic_merge(x, stage: constexpr, order: constexpr, n_dims: constexpr):
    cube = core.reshape(x, [2] * _log2(x.numel))
    return core.reshape(_bitonic_merge_hypercube(cube, stage, order), x.shape)


@library
def sort_impl(x, k: constexpr = None, dim: constexpr = None, descending: constexpr = CONSTEXPR_0):
    """`x` sorted along its last dimension, or the first `k` of that order."""
    core.static_assert(len(x.shape) > 0, "sort and topk take a block: a scalar lacks dimensions")
    _dim: constexpr = len(x.shape) - 1 if dim is None else dim
    core.static_assert(_dim == len(x.shape) - 1, "only minor dimension is currently supported")
    if k is not None:
        core.static_assert(
            _is_power_of_two(k) and k <= x.shape[_dim],
            f"topk takes a power of two of at most {x.shape[_dim]}, the dimension's size, as k, got {k}",
        )
    log_n: constexpr = _log2(x.shape[_dim])
    log_k: constexpr = log_n if k is None else _log2(k)
    n_dims: constexpr = _log2(x.numel)
    h = core.reshape(x, [2] * n_dims if n_dims else [1])
    for i in core.static_range(1, log_k + 1):
        h = _bitonic_merge_hypercube(h, i, 2 if i < log_n else descending)
    # Halve until k are left: of each pair of sorted runs keep the better half, then merge it.
    for i in core.static_range(log_k + 1, log_n + 1):
        h = max(h, axis=(_log2(h.numel) - 1 - log_k)) if descending else min(h, axis=(_log2(h.numel) - 1 - log_k))
        h = _bitonic_merge_hypercube(h, log_k, 2 if i < log_n else descending)
    return core.reshape(h, [*x.shape[:-1], 2**log_k])


@member
@library
def sort(x, dim: constexpr = None, descending: constexpr = CONSTEXPR_0):
    """`x` sorted along its last dimension."""
    return sort_impl(x, dim=dim, descending=descending)


@library
def topk(x, k: constexpr, dim: constexpr = None, descending: constexpr = True):
    """The `k` largest along the last dimension, in descending order; or the `k` smallest, in ascending order."""
    return sort_impl(x, k=k, dim=dim, descending=descending)


@library
def bitonic_merge(x, dim: constexpr = None, descending: constexpr = CONSTEXPR_0):
    """Sorts a bitonic sequence along the last dimension."""
    _dim: constexpr = len(x.shape) - 1 if dim is None else dim
    core.static_assert(_dim == len(x.shape) - 1, "only minor dimension is currently supported")
    n_dims: constexpr = _log2(x.shape[-1])
    return _bitonic_merge(x, n_dims, descending, n_dims)


@constexpr_function
def _get_flip_dim(dim: int | None, shape: tuple[int, ...]) -> int:
    rank = len(shape)
    dim = rank - 1 if dim is None else dim
    if not -rank <= dim < rank:
        raise ValueError(f"cannot flip dimension {dim} of a block of rank {rank}")
    return dim % rank


@member
@library
def flip(x, dim=None):
    """`x` reversed along `dim` (default: the last)."""
    _dim: constexpr = _get_flip_dim(dim, x.shape)
    core.static_assert(_is_power_of_two(x.shape[_dim]))
    steps: constexpr = _log2(x.shape[_dim])
    idtype = _get_int_dtype(bitwidth=x.dtype.primitive_bitwidth, signed=True)
    y = core.reshape(x.to(idtype, bitcast=True), x.shape[:_dim] + [2] * steps + x.shape[_dim + 1 :])
    for i in core.static_range(steps):
        y = y ^ xor_sum(y, _dim + i, True)
    return core.reshape(y, x.shape).to(x.dtype, bitcast=True)

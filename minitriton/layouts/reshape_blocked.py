"""The blocked encoding after a reshape, where one exists.

In: a `Blocked` encoding, the shape before and after. Out: the `Blocked` encoding under which every thread keeps its elements in
the new shape, or None.

    (32, 4) with size_per_thread (4, 4), reshaped to (128,):   size_per_thread (16,)
    (32, 32) with size_per_thread (2, 2), reshaped to (1024,):  None, a thread's elements are in two parts

Counterpart of inferReshapeOpLegacyEncoding in Triton's lib/Dialect/TritonGPU/IR/Dialect.cpp. It is symmetric: reshaping back gives
back the encoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import prod

from minitriton.layouts.builders import default_blocked
from minitriton.layouts.encodings import Blocked

Shape = tuple[int, ...]
Group = tuple[list[int], list[int]]


@lru_cache(maxsize=2048)
def reshape_blocked(src: Blocked, src_shape: Shape, dst_shape: Shape) -> Blocked | None:
    """The encoding of the reshaped tensor, or None if it is not blocked."""
    if src_shape == dst_shape:
        return src
    num_warps, lanes = prod(src.warps_per_cta), prod(src.threads_per_warp)
    if src == default_blocked(src_shape, num_warps, lanes, src.num_ctas):
        return default_blocked(dst_shape, num_warps, lanes, src.num_ctas)
    if src.num_ctas != 1:
        return None
    groups = reshape_decomposition(src_shape, dst_shape)
    position = _inverse(src.order)
    parts = (src.size_per_thread, src.threads_per_warp, src.warps_per_cta)
    if not all(_mergeable(src_dims, position, parts, src_shape) for src_dims, _ in groups):
        return None
    left = list(dst_shape)
    new = [_deal_out(part, groups, left) for part in parts]
    groups.sort(key=lambda group: position[group[0][0]])
    order = [dim for _, dst_dims in groups for dim in reversed(dst_dims)]
    return Blocked(new[0], new[1], new[2], tuple(order))


def reshape_decomposition(src_shape: Sequence[int], dst_shape: Sequence[int]) -> list[Group]:
    """The reshape as independent steps: these source dimensions are merged, then split into these of the result.

    (4, 4, 4) to (2, 2, 8, 2) is `[([0], [0, 1]), ([1, 2], [2, 3])]`.
    """
    groups: list[Group] = [([], [])] if src_shape else []
    s = d = 0
    src_size = dst_size = 1
    while s < len(src_shape) or d < len(dst_shape):
        more_src, more_dst = s < len(src_shape), d < len(dst_shape)
        if src_size < dst_size or (more_src and (src_size == 1 or src_shape[s] == 1)):
            src_size *= src_shape[s]
            groups[-1][0].append(s)
            s += 1
        elif dst_size < src_size or (more_dst and dst_shape[d] == 1):
            dst_size *= dst_shape[d]
            groups[-1][1].append(d)
            d += 1
        else:
            groups.append(([], []))
            src_size = dst_size = 1
    return groups


def _inverse(order: Sequence[int]) -> list[int]:
    position = [0] * len(order)
    for i, dim in enumerate(order):
        position[dim] = i
    return position


def _mergeable(dims: list[int], position: list[int], parts: Sequence[Shape], shape: Shape) -> bool:
    """Whether the elements of `dims`, merged, are still boxes.

    The dimensions must follow each other in the order, the last one fastest, and a faster one must be filled by threads and
    warps before a slower one gets any. Only the slowest may be covered more than once.
    """
    positions = [position[dim] for dim in reversed(dims)]
    if any(b != a + 1 for a, b in pairwise(positions)):
        return False
    left = [shape[dim] for dim in dims]
    for part in parts:
        for i in range(len(dims) - 1, -1, -1):
            size = part[dims[i]]
            if size == 1:
                continue
            if any(rest != 1 for rest in left[i + 1 :]):
                return False
            left[i] = left[i] // size
            if left[i] == 0 and i != 0:
                return False
    return True


def _deal_out(part: Shape, groups: list[Group], left: list[int]) -> Shape:
    """`part` of the merged dimensions dealt out to the new ones, fastest first; what is over goes to the slowest."""
    new = [1] * len(left)
    for src_dims, dst_dims in groups:
        rest = prod(part[dim] for dim in src_dims)
        for dim in reversed(dst_dims):
            new[dim] = min(rest, left[dim])
            rest //= new[dim]
            left[dim] //= new[dim]
        new[dst_dims[0]] *= rest
    return tuple(new)

"""What can be asked of an encoding on a shape: orders, elements a thread, contiguity.

In: an encoding and a shape. Out: small tuples, one entry per dimension, or the dimensions fastest first.
All answers come from the linear layout, never from the encoding's own fields, so that they hold for every encoding.

    Blocked((1, 4), (8, 4), (4, 1), (1, 0)) on (128, 64): order (1, 0), contig_per_thread (1, 4), elems_per_thread (4, 16)

Counterpart of the methods of LinearEncodingAttr in Triton's lib/Dialect/TritonGPU/IR/Dialect.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import TypeVar

from minitriton.errors import IRError
from minitriton.layouts.algebra import unit
from minitriton.layouts.cta_split import shape_per_cta
from minitriton.layouts.encodings import (
    Bases,
    DistributedEncoding,
    Encoding,
    Linear,
    NVMMAShared,
    PaddedShared,
    SharedEncoding,
    SharedLinear,
    SwizzledShared,
    bases_per_dim,
    order_of_bases,
)
from minitriton.layouts.to_linear import (
    matrix_order,
    to_linear_encoding,
    to_linear_layout,
)

Shape = Sequence[int]
Ints = tuple[int, ...]
_R = TypeVar("_R")
_E = TypeVar("_E", bound=Encoding)


def _of_encoding_and_shape(function: Callable[[_E, Ints], _R]) -> Callable[[_E, Shape], _R]:
    """Cache `function`, and let callers pass any sequence as the shape."""
    cached = lru_cache(maxsize=4096)(function)

    def ask(encoding: _E, shape: Shape) -> _R:
        return cached(encoding, tuple(shape))  # pyright: ignore[reportArgumentType]

    ask.__doc__ = function.__doc__
    ask.__name__ = function.__name__
    return ask


def _linear_order(linear: Linear) -> Ints:
    return order_of_bases(linear.register, range(linear.rank - 1, -1, -1))


@_of_encoding_and_shape
def get_order(encoding: Encoding, shape: Ints) -> Ints:
    """Dimensions, fastest first: as the registers of a thread walk them, or as they are in shared memory."""
    if isinstance(encoding, DistributedEncoding):
        return _linear_order(to_linear_encoding(encoding, shape))
    if isinstance(encoding, SwizzledShared | PaddedShared | SharedLinear):
        return encoding.order
    if isinstance(encoding, NVMMAShared):
        return (0,) if len(shape) == 1 else matrix_order(len(shape), row_major=not encoding.transposed)
    raise IRError(f"{type(encoding).__name__} lacks an order")


@_of_encoding_and_shape
def thread_order(encoding: DistributedEncoding, shape: Ints) -> Ints:
    """Dimensions as consecutive lanes walk them."""
    linear = to_linear_encoding(encoding, shape)
    return order_of_bases(linear.lane, _linear_order(linear))


@_of_encoding_and_shape
def warp_order(encoding: DistributedEncoding, shape: Ints) -> Ints:
    """Dimensions as consecutive warps walk them."""
    linear = to_linear_encoding(encoding, shape)
    return order_of_bases(linear.warp, _linear_order(linear))


@_of_encoding_and_shape
def order_for_memory(encoding: DistributedEncoding, shape: Ints) -> Ints:
    """The order for a buffer that the tensor is stored to: the threads' order if registers say nothing about it."""
    order, threads = get_order(encoding, shape), thread_order(encoding, shape)
    if order != threads and elems_per_thread(encoding, shape)[threads[0]] == 1:
        return threads
    return order


@_of_encoding_and_shape
def elems_per_thread(encoding: DistributedEncoding, shape: Ints) -> Ints:
    """Registers of a thread along each dimension, copies included."""
    linear = to_linear_encoding(encoding, shape)
    return bases_per_dim(linear.register, len(shape), skip_broadcast=False)


def total_elems_per_thread(encoding: DistributedEncoding, shape: Shape) -> int:
    """Registers of a thread, copies included."""
    return to_linear_layout(encoding, shape).get_in_dim_size("register")


@_of_encoding_and_shape
def threads_per_warp(encoding: DistributedEncoding, shape: Ints) -> Ints:
    """Lanes with different elements along each dimension."""
    return bases_per_dim(to_linear_encoding(encoding, shape).lane, len(shape))


@_of_encoding_and_shape
def warps_per_cta(encoding: DistributedEncoding, shape: Ints) -> Ints:
    """Warps with different elements along each dimension."""
    return bases_per_dim(to_linear_encoding(encoding, shape).warp, len(shape))


@_of_encoding_and_shape
def size_per_thread(encoding: DistributedEncoding, shape: Ints) -> Ints:
    """Registers of a thread along each dimension within one tile, without the tile's repetitions."""
    linear = to_linear_encoding(encoding, shape)
    cta_shape = [size // parts for size, parts in zip(linear.shape, linear.cta_split, strict=True)]
    registers = list(linear.register)
    seen: list[int] = []
    while registers:
        basis = registers[-1]
        dim = next((d for d, v in enumerate(basis) if v), None)
        if dim is None:
            break
        if dim not in seen:
            seen.append(dim)
        if dim != seen[-1] or 2 * basis[dim] != cta_shape[dim]:
            break
        cta_shape[dim] //= 2
        registers.pop()
    return bases_per_dim(tuple(registers), len(shape))


def _extend_contiguity(bases: Bases, order: Ints, contiguity: Ints) -> Ints:
    result = list(contiguity)
    at = 0
    for dim in order:
        while at < len(bases) and bases[at] == unit(len(order), dim, result[dim]):
            result[dim] *= 2
            at += 1
    return tuple(result)


@_of_encoding_and_shape
def contig_per_thread(encoding: DistributedEncoding, shape: Ints) -> Ints:
    """Neighbours along each dimension that consecutive registers of a thread hold."""
    linear = to_linear_encoding(encoding, shape)
    return _extend_contiguity(linear.register, _linear_order(linear), (1,) * len(shape))


def shared_alignment(encoding: SharedEncoding) -> int:
    """Bytes that the start of a buffer must be aligned to."""
    if isinstance(encoding, NVMMAShared):
        return 128 * encoding.max_phase
    return encoding.alignment if isinstance(encoding, SharedLinear) else 16


def buffer_bytes(encoding: SharedEncoding, shape: Shape, bits: int) -> int:
    """Bytes that a buffer of `shape` and elements of `bits` takes in one CTA. Leading dimensions that the encoding does not have number slots."""
    bits = max(bits, 8)
    if isinstance(encoding, PaddedShared):
        return encoding.padded_size(shape_per_cta(encoding, shape)) * bits // 8
    slots = len(shape) - encoding.rank
    if slots > 0:
        return prod(shape[:slots]) * slot_bytes(encoding, shape[slots:], bits)
    padding = 2 if isinstance(encoding, NVMMAShared) and encoding.fp4_padded else 1
    return prod(shape_per_cta(encoding, shape)) * padding * bits // 8


def slot_bytes(encoding: SharedEncoding, shape: Shape, bits: int) -> int:
    """Bytes from a slot of a ring to the next, `shape` being a slot's: every slot is as aligned as the ring where the copy unit may be given it."""
    size = buffer_bytes(encoding, shape, bits)
    alignment = shared_alignment(encoding) if isinstance(encoding, NVMMAShared) else 1
    return -(-size // alignment) * alignment


def are_layouts_equivalent(shape: Shape, first: Encoding, second: Encoding) -> bool:
    """Whether both put every element in the same register."""
    return first == second or to_linear_layout(first, shape) == to_linear_layout(second, shape)


def is_expensive_view(src: DistributedEncoding, src_shape: Shape, dst: DistributedEncoding, dst_shape: Shape) -> bool:
    """Whether a view that may reorder elements needs data movement: other copies, or another number of registers."""
    a, b = to_linear_layout(src, src_shape), to_linear_layout(dst, dst_shape)
    if a.get_free_variable_masks() != b.get_free_variable_masks():
        return True
    return a.get_in_dim_size("register") != b.get_in_dim_size("register")


def is_expensive_cat(result: DistributedEncoding, target: DistributedEncoding, shape: Shape) -> bool:
    """Whether giving the result of `tt.cat` the encoding `target` needs a conversion anyway: fewer registers."""
    return total_elems_per_thread(target, shape) < total_elems_per_thread(result, shape)

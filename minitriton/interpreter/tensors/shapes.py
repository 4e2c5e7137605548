"""Ops that make, move or repeat elements without computing: views of NumPy arrays wherever NumPy has them.

tt.make_range 0..4 = [0, 1, 2, 3]        tt.join a, b = stacked along a new last axis        tt.split: its inverse
"""

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase

from minitriton.dialects import amdg, gluon, tt, ttg
from minitriton.dialects.attribute_values import integer
from minitriton.dialects.tt.types import shape_of
from minitriton.interpreter.registry import PURE_OPS
from minitriton.interpreter.values import Array, dtype_of, same


@PURE_OPS.add(tt.MakeRangeOp)
def _make_range(op: tt.MakeRangeOp) -> Callable[[], Array]:
    start, end = integer(op.start), integer(op.end)
    numbers = np.arange(start, end, dtype=np.int64).astype(dtype_of(op.results[0].type))
    return lambda: numbers


@PURE_OPS.add(tt.SplatOp, tt.BroadcastOp)
def _splat(op: tt.SplatOp | tt.BroadcastOp) -> Callable[[Array], Array]:
    shape = shape_of(op.results[0].type)
    return lambda scalar: np.broadcast_to(scalar, shape)


@PURE_OPS.add(tt.UnsplatOp)
def _unsplat(op: tt.UnsplatOp) -> Callable[[Array], Array]:
    return lambda tensor: tensor.reshape(-1)[0]


@PURE_OPS.add(tt.ExpandDimsOp)
def _expand_dims(op: tt.ExpandDimsOp) -> Callable[[Array], Array]:
    axis = integer(op.axis)
    return lambda tensor: np.expand_dims(tensor, axis)


@PURE_OPS.add(tt.ReshapeOp)
def _reshape(op: tt.ReshapeOp) -> Callable[[Array], Array]:
    shape = shape_of(op.results[0].type)
    return lambda tensor: tensor.reshape(shape)


@PURE_OPS.add(tt.TransOp)
def _transpose(op: tt.TransOp) -> Callable[[Array], Array]:
    order = op.order
    assert isinstance(order, DenseArrayBase)
    axes = [int(axis) for axis in order.get_values()]
    return lambda tensor: np.transpose(tensor, axes)


@PURE_OPS.add(tt.SplitOp)
def _split(op: tt.SplitOp) -> Callable[[Array], tuple[Array, Array]]:
    return lambda tensor: (tensor[..., 0], tensor[..., 1])


@PURE_OPS.add(tt.GatherOp)
def _gather(op: tt.GatherOp) -> Callable[[Array, Array], Array]:
    axis = integer(op.axis)

    def run(source: Array, indices: Array) -> Array:
        return np.take_along_axis(source, indices.astype(np.int64) % source.shape[axis], axis)

    return run


@PURE_OPS.add(tt.HistogramOp)
def _histogram(op: tt.HistogramOp) -> Callable[..., Array]:
    bins, dtype = shape_of(op.results[0].type)[0], dtype_of(op.results[0].type)

    def run(source: Array, mask: Array | None = None) -> Array:
        counted = source if mask is None else source[mask]
        # As the compiler counts: by the low bits of each number (there are 2**n bins).
        return np.bincount(counted.astype(np.int64) & (bins - 1), minlength=bins).astype(dtype)

    return run


@PURE_OPS.add(tt.CatOp)
def _cat(op: tt.CatOp) -> Callable[[Array, Array], Array]:
    return lambda a, b: np.concatenate([a, b])


@PURE_OPS.add(tt.JoinOp)
def _join(op: tt.JoinOp) -> Callable[[Array, Array], Array]:
    return lambda a, b: np.stack([a, b], axis=-1)


@PURE_OPS.add(ttg.ConvertLayoutOp, amdg.InThreadTransposeOp)
@PURE_OPS.add(gluon.SetAutoLayoutOp)
def _convert_layout(
    op: ttg.ConvertLayoutOp | amdg.InThreadTransposeOp | gluon.SetAutoLayoutOp,
) -> Callable[[Array], Array]:
    return same


@PURE_OPS.add(amdg.ExtractSliceOp)
def _extract_slice(op: amdg.ExtractSliceOp) -> Callable[[Array], Array]:
    part = tuple(slice(at, at + size) for at, size in zip(op.offsets, shape_of(op.result.type), strict=True))
    return lambda source: source[part]


@PURE_OPS.add(amdg.ConcatOp)
def _concat(op: amdg.ConcatOp) -> Callable[..., Array]:
    whole, part = shape_of(op.result.type), shape_of(op.sources[0].type)

    def run(*sources: Array) -> Array:
        result = np.empty(whole, sources[0].dtype)
        for source, tile in zip(sources, np.ndindex(*(a // b for a, b in zip(whole, part, strict=True))), strict=True):
            result[tuple(slice(n * size, (n + 1) * size) for n, size in zip(tile, part, strict=True))] = source
        return result

    return run

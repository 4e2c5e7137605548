"""Reductions and scans: the combine region runs on whole slices, so that NumPy does the other axes at once.

A reduction combines neighbours in a tree, and so keeps their order:

    [a, b, c, d]   ->   [a·b, c·d]   ->   (a·b)·(c·d)

A scan goes from left to right, one element after the other: a, a·b, (a·b)·c, ... A region with control flow in it, which cannot
run on slices, runs once per element.

Ops that make, move or repeat elements without computing: views of NumPy arrays wherever NumPy has them.

tt.make_range 0..4 = [0, 1, 2, 3]        tt.join a, b = stacked along a new last axis        tt.split: its inverse
"""

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, SymbolRefAttr
from xdsl.ir import Region

from minitriton.dialects import amdg, gluon, tt, ttg
from minitriton.dialects.attribute_values import integer
from minitriton.dialects.tt.types import shape_of
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.registry import PURE_OPS, STATEFUL_OPS, Meaning
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


Combine = Callable[[Sequence[Array]], list[Array]]


def region_on_arrays(region: Region, machine: TileMachine) -> Combine:
    """A region of scalar ops as a function of arrays of one shape."""
    first = region.first_block
    assert first is not None
    if _is_straight(region, machine, frozenset()):
        code = machine.code(first)
        return code.run

    def each(arrays: Sequence[Array]) -> list[Array]:
        shape = np.broadcast_shapes(*[np.shape(array) for array in arrays])
        flat = [np.broadcast_to(array, shape).reshape(-1) for array in arrays]
        rows = [machine.run_region(region, list(row)) for row in zip(*flat, strict=True)]
        return [np.array(column).reshape(shape) for column in zip(*rows, strict=True)]

    return each


def _is_straight(region: Region, machine: TileMachine, callers: frozenset[str]) -> bool:
    """Whether `region` and the functions that it calls have no control flow."""
    if region.first_block is not region.last_block or region.first_block is None:
        return False
    for op in region.first_block.ops:
        if op.regions:
            return False
        callee = op.properties.get("callee")
        if isinstance(callee, SymbolRefAttr):
            name = callee.string_value()
            function = machine.functions.get(name)
            if function is None or name in callers or not _is_straight(function.regions[0], machine, callers | {name}):
                return False
    return True


@STATEFUL_OPS.add(tt.ReduceOp)
def _reduce(op: tt.ReduceOp, machine: TileMachine) -> Meaning:
    axis = integer(op.axis)
    region = op.regions[0]
    dtypes = [dtype_of(result.type) for result in op.results]

    def run(*sources: Array) -> Array | tuple[Array, ...]:
        combine = region_on_arrays(region, machine)
        parts: list[Array] = [np.moveaxis(source, axis, 0) for source in sources]
        while (count := parts[0].shape[0]) > 1:
            even = count - count % 2
            shape = (even // 2, *parts[0].shape[1:])
            merged = combine([part[0:even:2] for part in parts] + [part[1:even:2] for part in parts])
            merged = [np.broadcast_to(part, shape) for part in merged]
            if even != count:
                merged = [np.concatenate([new, old[-1:]]) for new, old in zip(merged, parts, strict=True)]
            parts = merged
        results = tuple(part[0].astype(dtype)[()] for part, dtype in zip(parts, dtypes, strict=True))
        return results[0] if len(results) == 1 else results

    return run


@STATEFUL_OPS.add(tt.ScanOp)
def _scan(op: tt.ScanOp, machine: TileMachine) -> Meaning:
    axis = integer(op.axis)
    backwards = bool(integer(op.reverse))
    region = op.regions[0]

    def run(*sources: Array) -> Array | tuple[Array, ...]:
        combine = region_on_arrays(region, machine)
        parts = [np.moveaxis(source, axis, 0) for source in sources]
        if backwards:
            parts = [part[::-1] for part in parts]
        results = [np.array(part) for part in parts]
        carried: list[Array] = [part[0] for part in parts]
        for index in range(1, parts[0].shape[0]):
            carried = combine([*carried, *[part[index] for part in parts]])
            for result, value in zip(results, carried, strict=True):
                result[index] = value
        if backwards:
            results = [result[::-1] for result in results]
        outputs = tuple(np.moveaxis(result, 0, axis) for result in results)
        return outputs[0] if len(outputs) == 1 else outputs

    return run


@STATEFUL_OPS.add(tt.MapElementwiseOp)
def _map_elementwise(op: tt.MapElementwiseOp, machine: TileMachine) -> Meaning:
    """The region takes `pack` neighbours of each operand at a time, and gives as many of each result."""
    pack = integer(op.pack)
    region = op.regions[0]
    shapes = [shape_of(result.type) for result in op.results]
    dtypes = [dtype_of(result.type) for result in op.results]

    def run(*sources: Array) -> Array | tuple[Array, ...]:
        columns = [part for source in sources for part in source.reshape(-1, pack).T]
        values = region_on_arrays(region, machine)(columns)
        count = columns[0].shape[0]
        results = tuple(
            np.stack([np.broadcast_to(v, (count,)) for v in values[i * pack : (i + 1) * pack]], axis=1)
            .reshape(shape)
            .astype(dtype)
            for i, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True))
        )
        return results[0] if len(results) == 1 else results

    return run

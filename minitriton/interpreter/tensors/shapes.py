"""Ops that make, move or repeat elements without computing: views of NumPy arrays wherever NumPy has them.

tt.make_range 0..4 = [0, 1, 2, 3]        tt.join a, b = stacked along a new last axis        tt.split: its inverse
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr
from xdsl.ir import Attribute, Operation

from minitriton.interpreter.values import Array, dtype_of, same, shape_of


def integer(attribute: Attribute | None) -> int:
    """The number in an integer attribute."""
    assert isinstance(attribute, IntegerAttr)
    return attribute.value.data


def _make_range(op: Operation) -> Callable[[], Array]:
    start, end = integer(op.properties["start"]), integer(op.properties["end"])
    numbers = np.arange(start, end, dtype=np.int64).astype(dtype_of(op.results[0].type))
    return lambda: numbers


def _splat(op: Operation) -> Callable[[Array], Array]:
    shape = shape_of(op.results[0].type)
    return lambda scalar: np.broadcast_to(scalar, shape)


def _unsplat(op: Operation) -> Callable[[Array], Array]:
    return lambda tensor: tensor.reshape(-1)[0]


def _expand_dims(op: Operation) -> Callable[[Array], Array]:
    axis = integer(op.properties["axis"])
    return lambda tensor: np.expand_dims(tensor, axis)


def _reshape(op: Operation) -> Callable[[Array], Array]:
    shape = shape_of(op.results[0].type)
    return lambda tensor: tensor.reshape(shape)


def _transpose(op: Operation) -> Callable[[Array], Array]:
    order = op.properties["order"]
    assert isinstance(order, DenseArrayBase)
    axes = [int(axis) for axis in order.get_values()]
    return lambda tensor: np.transpose(tensor, axes)


def _split(tensor: Array) -> tuple[Array, Array]:
    return tensor[..., 0], tensor[..., 1]


def _gather(op: Operation) -> Callable[[Array, Array], Array]:
    axis = integer(op.properties["axis"])

    def run(source: Array, indices: Array) -> Array:
        return np.take_along_axis(source, indices.astype(np.int64) % source.shape[axis], axis)

    return run


def _histogram(op: Operation) -> Callable[..., Array]:
    bins, dtype = shape_of(op.results[0].type)[0], dtype_of(op.results[0].type)

    def run(source: Array, mask: Array | None = None) -> Array:
        counted = source if mask is None else source[mask]
        inside = counted[(counted >= 0) & (counted < bins)]
        return np.bincount(inside.astype(np.int64), minlength=bins).astype(dtype)

    return run


PURE: dict[str, Callable[[Operation], Callable[..., Any]]] = {
    "tt.make_range": _make_range,
    "tt.splat": _splat,
    "tt.unsplat": _unsplat,
    "tt.expand_dims": _expand_dims,
    "tt.broadcast": _splat,
    "tt.reshape": _reshape,
    "tt.trans": _transpose,
    "tt.cat": lambda op: lambda a, b: np.concatenate([a, b]),
    "tt.join": lambda op: lambda a, b: np.stack([a, b], axis=-1),
    "tt.split": lambda op: _split,
    "tt.gather": _gather,
    "tt.histogram": _histogram,
    "ttg.convert_layout": lambda op: same,
    "gluon.set_auto_layout": lambda op: same,
}

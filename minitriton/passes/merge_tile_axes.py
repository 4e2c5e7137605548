"""Vectors that continue along a second axis of a tile: axes that are next to each other in memory are accessed as one.

In: TTIR. Out: loads and stores whose innermost axis is whole, contiguous and shorter than 16 bytes work on a tile in which that axis
and the next are merged, as often as it takes.

    %v = tt.load %p : tensor<16x64x2x!tt.ptr<f16>>            4 bytes at a time: the last axis ends after two elements

    %q = tt.reshape %p : tensor<16x64x2x!tt.ptr<f16>> -> tensor<16x128x!tt.ptr<f16>>
    %w = tt.load %q : tensor<16x128x!tt.ptr<f16>>             16 bytes at a time
    %v = tt.reshape %w : tensor<16x128xf16> -> tensor<16x64x2xf16>

Not a pass of Triton's, whose vectors are along one axis. That the axes are next to each other is found by enumeration
(`analysis.index.evaluation`). Reshapes move nothing at run time. A kernel that sums floats across elements is left alone: its sums
would be added in another order. Left out by `without="minitriton-merge-tile-axes"`.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, TensorType, i32
from xdsl.ir import Block, Operation, SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.lattice import axis_lengths, pointee_bytes
from minitriton.analysis.exchangeable import float_order_matters
from minitriton.dialects import tt
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.host.frozen import frozen
from minitriton.pipeline.pass_registry import Pass, Property, register_pass

if TYPE_CHECKING:
    from minitriton.analysis.index.evaluation import IndexEvaluation

VECTOR_BYTES = 16
"""The widest load or store of one thread."""


@register_pass
class MergeTileAxes(Pass, stage="ttir"):
    """Loads and stores tiles along several axes at once where they are contiguous together."""

    name = "minitriton-merge-tile-axes"
    requires = frozenset({Property.TTIR})

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        """Rewrite the accesses of the module."""
        accesses = [found for found in ops_of(op, tt.LoadOp, tt.StoreOp) if _has_short_axis(found)]
        if not accesses or float_order_matters(op):
            return False
        from minitriton.analysis.index.evaluation import IndexEvaluation

        evaluation = IndexEvaluation(AxisInfoAnalysis(op))
        merges = [(access, _merge(evaluation, access.operands[0])) for access in accesses]
        for access, merge in merges:
            if merge is not None:
                merge.rewrite(access)
        return any(merge is not None for _, merge in merges)


def _has_short_axis(access: Operation) -> bool:
    """Whether the tile has axes to merge: an inner one that is shorter than a vector, and another that is not of length 1."""
    type_ = access.operands[0].type
    if not instance_of(type_, TensorType):
        return False
    unit, shape = pointee_bytes(type_), type_.get_shape()
    longer = [size for size in shape if size > 1]
    return len(longer) > 1 and any(size > 1 and size * unit < VECTOR_BYTES for size in shape)


@frozen
class Merge:
    """The tile's axes in `order`, where the last `count` become one."""

    order: tuple[int, ...]
    count: int

    def shape(self, before: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the merged tile."""
        ordered = [before[axis] for axis in self.order]
        kept = len(ordered) - self.count
        return (*ordered[:kept], prod(ordered[kept:]))

    def apply(self, value: SSAValue, before: Operation) -> SSAValue:
        """`value` as a merged tile, computed before an op."""
        type_ = cast(TensorType, value.type)
        shape = type_.get_shape()
        if self.order != tuple(range(len(shape))):
            value = _transposed(value, self.order, before)
        return _reshaped(value, self.shape(shape), before)

    def undo(self, value: SSAValue, shape: tuple[int, ...], before: Operation) -> SSAValue:
        """A merged tile as one of `shape` again."""
        value = _reshaped(value, tuple(shape[axis] for axis in self.order), before)
        inverse = tuple(self.order.index(axis) for axis in range(len(shape)))
        return value if self.order == inverse == tuple(range(len(shape))) else _transposed(value, inverse, before)

    def rewrite(self, access: Operation) -> None:
        """Let `access` work on merged tiles."""
        block = cast(Block, access.parent)
        results = [self._merged_type(cast(TensorType, result.type)) for result in access.results]
        new = type(access).create(
            operands=[self.apply(operand, access) for operand in access.operands],
            result_types=results,
            properties=access.properties,
            attributes=access.attributes,
            location=access.location,
        )
        block.insert_op_before(new, access)
        for old, made in zip(access.results, new.results, strict=True):
            restored = self.undo(made, axis_lengths(old.type), access)
            restored.name_hint = old.name_hint
            old.replace_all_uses_with(restored)
        block.erase_op(access)

    def _merged_type(self, type_: TensorType) -> TensorType:
        return TensorType(type_.element_type, self.shape(type_.get_shape()))


def _merge(evaluation: IndexEvaluation, pointer: SSAValue) -> Merge | None:
    """The merge that makes vectors of `pointer` longer than along one axis; None if there is none."""
    shape, unit = axis_lengths(pointer.type), pointee_bytes(pointer.type)
    contiguity = evaluation.axis_info.get(pointer).contiguity
    whole = [axis for axis, size in enumerate(shape) if 1 < size <= contiguity[axis]]
    if not whole or max(contiguity) * unit >= VECTOR_BYTES:
        return None
    inner, run = (whole[-1],), shape[whole[-1]]
    while run * unit < VECTOR_BYTES:
        outer = next(
            (
                axis
                for axis in reversed(range(len(shape)))
                if axis not in inner and evaluation.continues(pointer, axis, inner)
            ),
            None,
        )
        if outer is None:
            break
        inner, run = (outer, *inner), run * shape[outer]
    if len(inner) == 1:
        return None
    return Merge((*(axis for axis in range(len(shape)) if axis not in inner), *inner), len(inner))


def _transposed(value: SSAValue, order: tuple[int, ...], before: Operation) -> SSAValue:
    type_ = cast(TensorType, value.type)
    shape = type_.get_shape()
    op = tt.TransOp.create(
        operands=[value],
        result_types=[TensorType(type_.element_type, [shape[axis] for axis in order])],
        properties={"order": DenseArrayBase.from_list(i32, order)},
        location=before.location,
    )
    cast(Block, before.parent).insert_op_before(op, before)
    return op.results[0]


def _reshaped(value: SSAValue, shape: tuple[int, ...], before: Operation) -> SSAValue:
    type_ = cast(TensorType, value.type)
    op = tt.ReshapeOp.create(
        operands=[value], result_types=[TensorType(type_.element_type, shape)], location=before.location
    )
    cast(Block, before.parent).insert_op_before(op, before)
    return op.results[0]

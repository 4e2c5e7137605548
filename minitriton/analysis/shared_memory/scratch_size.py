"""How much scratch in shared memory Triton's own lowering of an op needs.

Passes that place buffers as Triton does ask here; this compiler's lowering has its own table, for it may need less.

    tt.reduce over 128x64 with 4 warps along the axis     4 x 64 elements, one partial result per warp
    ttg.convert_layout within a warp                       nothing, if shuffles do it
"""

from collections.abc import Callable
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Attribute, Operation

from minitriton.dialects import tt, ttg, ttng
from minitriton.dialects.encodings import layout_of
from minitriton.dialects.facts.launch import threads_per_warp
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.op_rules import OpRules
from minitriton.dialects.tt.types import PointerType, element_type, pointee_type
from minitriton.layouts import properties
from minitriton.layouts.cluster_exchange import ClusterExchange, crosses_ctas, plan_between_ctas
from minitriton.layouts.conversion import conversion_scratch_bytes
from minitriton.layouts.encodings import Blocked, DistributedEncoding
from minitriton.layouts.plans import SharedMemoryRoundTrip
from minitriton.layouts.to_linear import shape_per_cta, to_linear_layout
from minitriton.target.architectures import Architecture, architecture_of

TRITON_SCRATCH: OpRules[Callable[[Any], int]] = OpRules()
"""Bytes of scratch that Triton's lowering gives an op; an op without a rule needs none."""


def triton_scratch_bytes(op: Operation, capability: int = 0) -> int:
    """Bytes of scratch that Triton gives `op`: on the target of `capability` (times ten), or with plain accesses only (0)."""
    if isinstance(op, ttg.ConvertLayoutOp):
        return _convert_layout(op, architecture_of(capability))
    rule = TRITON_SCRATCH.of(op)
    return 0 if rule is None else rule(op)


def bit_width(type_: Attribute) -> int:
    """Bits of an element as shared memory holds it; a pointer has 64."""
    return 64 if isinstance(type_, PointerType) else cast(int, getattr(type_, "bitwidth", 64))


def _bytes(type_: Attribute) -> int:
    return (bit_width(type_) + 7) // 8


def _tensor(type_: Attribute) -> tuple[DistributedEncoding | None, tuple[int, ...]]:
    layout = layout_of(type_)
    shape = type_.get_shape() if instance_of(type_, TensorType) else ()
    return (layout if isinstance(layout, DistributedEncoding) else None), shape


def _axis(op: Operation) -> int:
    return cast(IntegerAttr, op.properties["axis"]).value.data


def _element_bytes(op: Operation) -> int:
    return sum(_bytes(element_type(value.type)) for value in op.operands)


def _convert_layout(op: Operation, target: Architecture) -> int:
    src, shape = _tensor(op.operands[0].type)
    dst, _ = _tensor(op.results[0].type)
    if src is None or dst is None:
        return 0
    bits = bit_width(element_type(op.operands[0].type))
    if crosses_ctas(src, dst, shape):
        # As this compiler lowers it: Triton 3.6.0 ends where it asks.
        plan = plan_between_ctas(src, dst, shape, bits, target)
        return plan.scratch_bytes if isinstance(plan, ClusterExchange | SharedMemoryRoundTrip) else 0
    return conversion_scratch_bytes(src, dst, shape, bits, target)


@TRITON_SCRATCH.add(tt.ReduceOp)
def _reduce(op: tt.ReduceOp) -> int:
    layout, shape = _tensor(op.operands[0].type)
    if layout is None:
        return 0
    warps = properties.warps_per_cta(layout, shape)[_axis(op)]
    if warps == 1:
        return 0
    return _element_bytes(op) * prod((*shape[: _axis(op)], warps, *shape[_axis(op) + 1 :]))


@TRITON_SCRATCH.add(tt.ScanOp)
def _scan(op: tt.ScanOp) -> int:
    layout, shape = _tensor(op.operands[0].type)
    if not isinstance(layout, Blocked):
        return 0
    axis = _axis(op)
    contiguous = properties.contig_per_thread(layout, shape)
    threads = properties.threads_per_warp(layout, shape)
    warps = properties.warps_per_cta(layout, shape)
    if warps[axis] == 1:
        return 0
    others = [dim for dim in range(len(shape)) if dim != axis]
    per_warp = prod(threads[dim] * contiguous[dim] for dim in others)
    blocks = prod(-(-shape[dim] // (contiguous[dim] * threads[dim] * warps[dim])) for dim in range(len(shape)))
    return _element_bytes(op) * prod(warps) * per_warp * blocks


@TRITON_SCRATCH.add(tt.GatherOp)
def _gather(op: tt.GatherOp) -> int:
    src_type, index_type = op.operands[0].type, op.operands[1].type
    src, shape = _tensor(src_type)
    indices, index_shape = _tensor(index_type)
    if src is None or indices is None:
        return 0
    if _is_warp_local(src, shape, indices, index_shape, _axis(op)):
        return 0
    return prod(shape) * _bytes(element_type(src_type))


def _is_warp_local(
    src: DistributedEncoding,
    shape: tuple[int, ...],
    indices: DistributedEncoding,
    index_shape: tuple[int, ...],
    axis: int,
) -> bool:
    """Whether every warp holds all elements that its own indices may name, in the same columns of lanes."""
    a, b = to_linear_layout(src, shape), to_linear_layout(indices, index_shape)
    along = f"dim{axis}"
    others = [f"dim{dim}" for dim in range(len(shape)) if dim != axis]
    outer = ["block", "warp"]
    if not a.sublayout_is_zero(outer, [along]) or not b.sublayout_is_zero(outer, [along]):
        return False
    return a.sublayout(outer, others) == b.sublayout(outer, others) and (
        a.sublayout(["lane"], others) == b.sublayout(["lane"], others)
    )


@TRITON_SCRATCH.add(tt.HistogramOp)
def _histogram(op: tt.HistogramOp) -> int:
    result = cast(TensorType, op.results[0].type)
    return max(prod(result.get_shape()), threads_per_warp(op)) * bit_width(result.element_type) // 8


@TRITON_SCRATCH.add(tt.AtomicRMWOp, tt.AtomicCASOp, tt.AtomicLoadOp)
def _atomic(op: tt.AtomicRMWOp | tt.AtomicCASOp | tt.AtomicLoadOp) -> int:
    """Threads that hold copies of an element, and all threads for a scalar, get its old value through shared memory."""
    result = op.results[0]
    if not result.uses:
        return 0
    elements = 1
    if instance_of(result.type, TensorType):
        layout, shape = _tensor(result.type)
        if layout is None or not any(to_linear_layout(layout, shape).get_free_variable_masks().values()):
            return 0
        elements = prod(shape_per_cta(layout, shape))
    return elements * max(8, bit_width(element_type(pointee_type(op.operands[0].type)))) // 8


@TRITON_SCRATCH.add(ttng.TensormapCreateOp)
def _tensormap(op: ttng.TensormapCreateOp) -> int:
    """A TMA descriptor."""
    return 128

"""Only `ttg.convert_layout` and `tt.reduce` reach into other CTAs: what else needs their data gets it by a conversion.

In: TTGIR of a cluster whose ops may need what other CTAs hold. Out: the same, every such op in a layout in which its CTA has all that
it needs, between conversions.

    %s = tt.scan %x along 0 : CTAs along 0      %0 = ttg.convert_layout %x : every CTA holds all
                                         =>     %1 = tt.scan %0 along 0
                                                %s = ttg.convert_layout %1 : CTAs along 0

    scans            CTAs share another dimension, or each scans everything
    gathers, histograms      each CTA looks at everything
    local_load, local_store, local_alloc     the tensor is shared as the buffer is
    async_copy_global_to_local               so are the addresses

Triton 3.6.0 lowers none of these rightly: the results of a scan or a gather are those of each CTA's own part.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.dialects import tt, ttg
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.dialects.op_rules import OpRules
from minitriton.layouts import f2
from minitriton.layouts.builders import blocked_for_cga
from minitriton.layouts.encodings import Bases, Blocked, DistributedEncoding, PaddedShared, SharedEncoding
from minitriton.layouts.memory import stays_in_cta
from minitriton.layouts.properties import order_for_memory
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.passes.tensor_layouts import (
    convert_before,
    layout_of_tensor,
    layout_of_value,
    set_layout,
    shape_of,
    with_layout,
)
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass

_RULES: OpRules[Callable[[Any], None]] = OpRules()


@register_pass
class ExchangeBetweenCTAs(Pass, stage="llir", origin="required"):
    """Puts conversions around ops that need data of other CTAs."""

    name = "exchange-between-ctas"
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.EXCHANGES_LOWERED})
    requires = frozenset({Property.ENCODINGS})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Looks at every op of the module. Does nothing for one CTA."""
        if ttg.num_ctas(op) == 1:
            return
        for inner in ops_in(op):
            rule = _RULES.of(inner)
            if rule is not None:
                rule(inner)


def _shared_dims(value: SSAValue) -> list[int]:
    """The dimensions of a tensor that several CTAs share."""
    blocks = to_linear_layout(layout_of_tensor(value), shape_of(value)).bases["block"]
    return [dim for dim in range(len(shape_of(value))) if any(basis[dim] for basis in blocks)]


def _blocked(value: SSAValue, cga: Bases, op: Operation) -> Blocked:
    """A layout like that of `value`, of these CTAs."""
    layout, shape = layout_of_tensor(value), shape_of(value)
    size, order = (1,) * len(shape), order_for_memory(layout, shape)
    if isinstance(layout, Blocked):
        size, order = layout.size_per_thread, layout.order
    return blocked_for_cga(shape, size, order, ttg.num_warps(op), ttg.threads_per_warp(op), cga)


def _copies(value: SSAValue) -> Bases:
    """CTAs that all hold everything."""
    return ((0,) * len(shape_of(value)),) * len(layout_of_tensor(value).cga)


def _convert_operands(op: Operation, layout: DistributedEncoding) -> None:
    for index, operand in enumerate(tuple(op.operands)):
        if layout_of_value(operand) is not None:
            op.operands[index] = convert_before(op, operand, layout)


def _convert_result(result: SSAValue, layout: DistributedEncoding) -> None:
    """The op makes `result` in `layout`; its users get it as before."""
    old = layout_of_tensor(result)
    set_layout(result, layout)
    op = cast(Operation, result.owner)
    back = ttg.ConvertLayoutOp(result, with_layout(result.type, old))
    back.location = op.location
    assert op.parent is not None
    op.parent.insert_op_after(back, op)
    result.replace_uses_with_if(back.results[0], lambda use: use.operation is not back)


@_RULES.add(tt.ScanOp)
def _scan(op: tt.ScanOp) -> None:
    source = op.operands[0]
    axis_attr = op.axis
    assert isinstance(axis_attr, IntegerAttr)
    axis = axis_attr.value.data
    if axis not in _shared_dims(source):
        return
    layout = _blocked(source, _cga_along(axis, source), op)
    _convert_operands(op, layout)
    for result in op.results:
        _convert_result(result, layout)


def _cga_along(axis: int, value: SSAValue) -> Bases:
    """All CTAs along the longest other dimension if it is long enough, else copies."""
    shape, bits = shape_of(value), len(layout_of_tensor(value).cga)
    other = max((dim for dim in range(len(shape)) if dim != axis), key=lambda dim: shape[dim], default=None)
    if other is None or shape[other] < 1 << bits:
        return _copies(value)
    return tuple(tuple(1 << bit if dim == other else 0 for dim in range(len(shape))) for bit in range(bits))


@_RULES.add(tt.GatherOp)
def _gather(op: tt.GatherOp) -> None:
    source, indices = op.operands
    if not _shared_dims(source) and not _shared_dims(indices):
        return
    for index, operand in enumerate((source, indices)):
        op.operands[index] = convert_before(op, operand, _blocked(operand, _copies(operand), op))
    _convert_result(op.results[0], layout_of_tensor(op.operands[1]))
    op.attributes.pop("efficient_layout", None)
    op.properties.pop("efficient_layout", None)


@_RULES.add(tt.HistogramOp)
def _histogram(op: tt.HistogramOp) -> None:
    source, result = op.operands[0], op.results[0]
    if not _shared_dims(source) and not _shared_dims(result):
        return
    _convert_operands(op, _blocked(source, _copies(source), op))
    _convert_result(result, _blocked(result, _copies(result), op))


# Buffers ----------------------------------------------------------------------------------------------------------------


def _layout_next_to(registers: SSAValue, memory: Attribute, op: Operation) -> Blocked | None:
    """A layout in which the CTAs share a tensor as they share the buffer; None if they do already, or no layout does."""
    type_ = cast(ttg.MemDescType, memory)
    shared, shape = ttg.layout_of(type_), shape_of(registers)
    assert isinstance(shared, SharedEncoding)
    if _meets(layout_of_tensor(registers), shared, shape, type_):
        return None
    rank = len(shape)
    cga = shared.cga or ((0,) * rank,) * f2.log2(ttg.num_ctas(op))
    found = _blocked(registers, tuple(basis[-rank:] for basis in cga), op)
    return found if _meets(found, shared, shape, type_) else None


def _meets(layout: DistributedEncoding, shared: SharedEncoding, shape: Sequence[int], type_: ttg.MemDescType) -> bool:
    """Whether each CTA has in its own memory what its threads hold."""
    allocated = shared.shape if isinstance(shared, PaddedShared) else type_.get_alloc_shape()[-len(shape) :]
    cvt = to_linear_layout(layout, tuple(shape)).invert_and_compose(to_linear_layout(shared, tuple(allocated)))
    return stays_in_cta(cvt)


@_RULES.add(ttg.LocalLoadOp)
def _local_load(op: ttg.LocalLoadOp) -> None:
    result = op.results[0]
    layout = _layout_next_to(result, op.operands[0].type, op)
    if layout is not None:
        _convert_result(result, layout)


@_RULES.add(ttg.LocalStoreOp)
def _local_store(op: ttg.LocalStoreOp) -> None:
    _store(op, op.operands[1].type)


@_RULES.add(ttg.LocalAllocOp)
def _local_alloc(op: ttg.LocalAllocOp) -> None:
    if op.operands:
        _store(op, op.results[0].type)


@_RULES.add(ttg.AsyncCopyGlobalToLocalOp)
def _async_copy(op: ttg.AsyncCopyGlobalToLocalOp) -> None:
    layout = _layout_next_to(op.src, op.destination.type, op)
    if layout is not None:
        _convert_operands(op, layout)


def _store(op: Operation, memory: Attribute) -> None:
    layout = _layout_next_to(op.operands[0], memory, op)
    if layout is not None:
        op.operands[0] = convert_before(op, op.operands[0], layout)

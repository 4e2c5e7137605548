"""TTIR to TTGIR: every tensor type gets a layout, every op that wants another one gets a `ttg.convert_layout`.

In: a module of `tt`, `arith`, `math`, `scf` and `cf` ops whose tensors have no encoding.
Out: the same ops with encodings, and the module's launch attributes.

    %1 = tt.make_range ... : tensor<64xi32>
    %2 = tt.expand_dims %1 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
becomes
    %1 = tt.make_range ... : tensor<64xi32, #blocked>
    %2 = ttg.convert_layout %1 : tensor<64xi32, #blocked> -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
    %3 = tt.expand_dims %2 {axis = 1 : i32} : tensor<64xi32, #ttg.slice<...>> -> tensor<64x1xi32, #blocked1>
    %4 = ttg.convert_layout %3 : tensor<64x1xi32, #blocked1> -> tensor<64x1xi32, #blocked2>

A value's users expect the default layout of its shape (one element a thread, threads along the fastest dimension first).
Where an op's own rule gives its result another layout (slices, joins, transposes, dots), one conversion after the op
brings it back, for all users. One walk changes the types where they stand: a definition is always met before its uses.

Counterpart of lib/Conversion/TritonToTritonGPU/TritonToTritonGPUPass.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, cast

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, IntegerAttr, ModuleOp, NoneAttr, StringAttr, TensorType, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from minitriton.dialects import arith, tt
from minitriton.dialects.fast_paths.op_access import set_type
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.op_rules import OpRules
from minitriton.dialects.verification.verifier import attributes_complaint
from minitriton.errors import PassError
from minitriton.layouts import builders, inference
from minitriton.layouts.encodings import Blocked, DistributedEncoding, DotOperand, Slice
from minitriton.layouts.properties import total_elems_per_thread
from minitriton.passes.tensor_layouts import (
    convert_after,
    convert_before,
    layout_of_tensor,
    layout_of_value,
    retyped_elements,
    set_layout,
    shape_of,
    with_layout,
)
from minitriton.pipeline.pass_registry import KEPT_BY_DEFAULT, Pass, Property, register_pass
from minitriton.target.architectures import WARP_SIZE, architecture_named

_RULES: OpRules[Callable[[Any, Any], None]] = OpRules()


@register_pass
class ConvertTritonToTritonGPU(Pass, stage="ttgir", origin="triton"):
    """Gives every tensor a default blocked layout and inserts the conversions that ops demand."""

    name = "convert-triton-to-tritongpu"
    requires: ClassVar[frozenset[Property]] = frozenset(
        {Property.TTIR, Property.INLINED, Property.BLOCK_POINTERS_REWRITTEN}
    )
    keeps: ClassVar[frozenset[Property]] = KEPT_BY_DEFAULT - {Property.TTIR}
    establishes = frozenset({Property.ENCODINGS})

    target: str = ""
    """Such as `cuda:90`; must be given."""
    num_warps: int = 4
    threads_per_warp: int = WARP_SIZE
    num_ctas: int = 1
    enable_source_remat: bool = False
    """Accepted for compatibility; conversions to types without a layout are never needed here."""

    def established(self) -> frozenset[Property]:
        """Also what follows from one CTA a program, and from a target without asynchronous dots."""
        found = set(self.establishes)
        if self.num_ctas == 1:
            found.add(Property.NO_CLUSTERS)
        if ":" in self.target and not architecture_named(self.target).has_wgmma:
            found.add(Property.NO_ASYNC_DOTS)
        return frozenset(found)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert the whole module."""
        if not self.target:
            raise PassError(
                "'convert-triton-to-tritongpu' requires 'target' option to be set", help="write target=cuda:90"
            )
        launch = ThreadCounts(self.num_warps, self.threads_per_warp, self.num_ctas)
        if max(self.num_warps, self.threads_per_warp, self.num_ctas) > 1024 or len(self.target) > 100:
            raise PassError("no GPU has as many threads", help="write target=cuda:90 num-warps=4")
        op.attributes["ttg.num-ctas"] = IntegerAttr(self.num_ctas, i32)
        op.attributes["ttg.num-warps"] = IntegerAttr(self.num_warps, i32)
        op.attributes["ttg.target"] = StringAttr(self.target)
        op.attributes["ttg.threads-per-warp"] = IntegerAttr(self.threads_per_warp, i32)
        complaint = attributes_complaint(op)
        if complaint is not None:
            raise PassError(complaint, help="correct the options of convert-triton-to-tritongpu")
        _Converter(launch).convert_op(op)


class ThreadCounts(NamedTuple):
    """How many threads share a tensor."""

    num_warps: int
    threads_per_warp: int
    num_ctas: int

    def default_layout(self, shape: tuple[int, ...]) -> Blocked:
        """One element a thread, the last dimension fastest."""
        rank = len(shape)
        return self.blocked(shape, (1,) * rank, tuple(range(rank - 1, -1, -1)))

    def blocked(self, shape: tuple[int, ...], size_per_thread: tuple[int, ...], order: tuple[int, ...]) -> Blocked:
        """All threads spread over `shape` in `order`."""
        return builders.blocked(shape, size_per_thread, order, self.num_warps, self.threads_per_warp, self.num_ctas)


@lru_cache(maxsize=4096)
def default_type(type_: Attribute, launch: ThreadCounts) -> Attribute:
    """`type_` with the default layout, if it is a tensor (or a pointer to one) without a layout."""
    if instance_of(type_, TensorType):
        if not isinstance(type_.encoding, NoneAttr):
            return type_
        return with_layout(type_, launch.default_layout(type_.get_shape()))
    if isinstance(type_, tt.PointerType) and instance_of(type_.pointee_type, TensorType):
        return tt.PointerType(default_type(type_.pointee_type, launch), type_.address_space.data)
    if isinstance(type_, FunctionType):
        return FunctionType.from_lists(
            [default_type(t, launch) for t in type_.inputs], [default_type(t, launch) for t in type_.outputs]
        )
    return type_


class _Converter:
    """One conversion of a module."""

    def __init__(self, launch: ThreadCounts) -> None:
        self.launch = launch
        self.wanted: dict[SSAValue, DistributedEncoding] = {}
        """Values whose layout is not their default one, with the layout that users expect."""
        self.converted: dict[SSAValue, SSAValue] = {}
        """Such values, converted."""

    def convert_op(self, op: Operation) -> None:
        """Convert `op` and all that is in it."""
        launch = self.launch
        if self.wanted:
            for index, operand in enumerate(op.operands):
                if operand in self.wanted:
                    op.operands[index] = self.as_default(operand)
        rule = _RULES.of(op)
        if rule is None:
            for result in op.results:
                set_type(result, default_type(result.type, launch))
        else:
            rule(self, op)
        for region in op.regions:
            for block in region.blocks:
                self.convert_block(block)

    def convert_block(self, block: Block) -> None:
        """Convert the arguments and the ops of `block`."""
        for arg in block.args:
            set_type(arg, default_type(arg.type, self.launch))
        op = block.first_op
        while op is not None:
            following = op.next_op
            self.convert_op(op)
            op = following

    def as_default(self, value: SSAValue) -> SSAValue:
        """`value` in the layout that users expect, converted once after its definition."""
        found = self.converted.get(value)
        if found is None:
            found = self.converted[value] = convert_after(value, self.wanted[value])
        return found

    def set_result_layout(self, result: SSAValue, layout: DistributedEncoding) -> None:
        """Give `result` the layout that its op's rule says; users get the default one by a conversion."""
        expected = cast(TensorType, default_type(result.type, self.launch))
        set_layout(result, layout)
        if layout != layout_of_type(expected):
            self.wanted[result] = layout_of_type(expected)


def layout_of_type(type_: TensorType) -> DistributedEncoding:
    """The layout of a tensor type that has one."""
    return cast(Any, type_.encoding).data


def _source_layout(op: Operation) -> DistributedEncoding:
    layout = layout_of_value(op.operands[0])
    assert layout is not None, f"operand of {op.name} was not converted"
    return layout


def _has_layouts(values: Iterable[SSAValue]) -> bool:
    return all(layout_of_value(v) is not None for v in values if instance_of(v.type, TensorType))


@_RULES.add(arith.ConstantOp)
def _constant(converter: _Converter, op: arith.ConstantOp) -> None:
    result = op.results[0]
    type_ = default_type(result.type, converter.launch)
    if type_ is not result.type:
        set_type(result, type_)
        op.properties["value"] = retyped_elements(op.value, type_)


@_RULES.add(tt.ExpandDimsOp)
def _expand_dims(converter: _Converter, op: tt.ExpandDimsOp) -> None:
    if _has_layouts(op.results):
        return
    axis = op.axis.value.data
    source = _source_layout(op)
    if not isinstance(source, Blocked):
        raise PassError("tt.expand_dims of a tensor that has a layout must be blocked")

    def widened(values: tuple[int, ...], extra: int) -> tuple[int, ...]:
        return (*values[:axis], extra, *values[axis:])

    parent = Blocked(
        widened(source.size_per_thread, 1),
        widened(source.threads_per_warp, 1),
        widened(source.warps_per_cta, 1),
        tuple(range(source.rank + 1)),
        tuple(widened(basis, 0) for basis in source.cga_layout),
    )
    op.operands[0] = convert_before(op, op.operands[0], Slice(axis, parent))
    converter.set_result_layout(op.results[0], parent)


@_RULES.add(tt.DotOp)
def _dot(converter: _Converter, op: tt.DotOp) -> None:
    """The result is blocked, 4x4 elements a thread where there are enough; the operands are its dot operands."""
    a, b = op.operands[0], op.operands[1]
    if isinstance(layout_of_value(a), DotOperand) and isinstance(layout_of_value(b), DotOperand):
        return
    launch = converter.launch
    result = op.results[0]
    shape = shape_of(result)
    rank = len(shape)
    elements = 1
    for extent in shape:
        elements *= extent
    per_thread = elements // (launch.num_warps * launch.threads_per_warp)
    block = 4 if per_thread >= 16 else 2 if per_thread >= 4 else 1
    size = (1,) * (rank - 2) + (min(block, shape[-2]), min(block, shape[-1]))
    layout = launch.blocked(shape, size, tuple(range(rank - 1, -1, -1)))
    for index, operand in ((0, a), (1, b)):
        if not isinstance(layout_of_value(operand), DotOperand):
            op.operands[index] = convert_before(op, operand, DotOperand(index, layout))
    op.operands[2] = convert_before(op, op.operands[2], layout)
    converter.set_result_layout(result, layout)


@_RULES.add(tt.CatOp)
def _cat(converter: _Converter, op: tt.CatOp) -> None:
    """The result needs as many registers a thread as both operands together."""
    if _has_layouts(op.results):
        return
    result = op.results[0]
    expected = default_type(result.type, converter.launch)
    layout = cast(Blocked, layout_of_type(cast(TensorType, expected)))
    needed = sum(total_elems_per_thread(layout_of_tensor(v), shape_of(v)) for v in op.operands)
    needed = 1 << (needed - 1).bit_length()
    fastest = layout.order[0]
    size = list(layout.size_per_thread)
    size[fastest] *= needed // total_elems_per_thread(layout, shape_of(result))
    layout = Blocked(tuple(size), layout.threads_per_warp, layout.warps_per_cta, layout.order, layout.cga_layout)
    converter.set_result_layout(result, layout)


@_RULES.add(tt.ReshapeOp)
def _reshape(converter: _Converter, op: tt.ReshapeOp) -> None:
    """The default layouts of both shapes go together, but where CTAs of a cluster hold copies."""
    result = op.results[0]
    if _has_layouts(op.results):
        return
    if converter.launch.num_ctas == 1 or "allow_reorder" in op.properties:
        set_type(result, default_type(result.type, converter.launch))
        return
    layout = inference.reshape_dst(shape_of(op.operands[0]), _source_layout(op), shape_of(result))
    assert layout is not None, "a reshape keeps the number of elements"
    converter.set_result_layout(result, layout)


@_RULES.add(tt.JoinOp)
def _join(converter: _Converter, op: tt.JoinOp) -> None:
    if not _has_layouts(op.results):
        layout = inference.join_dst(_source_layout(op), shape_of(op.operands[0]))
        converter.set_result_layout(op.results[0], layout)


@_RULES.add(tt.SplitOp)
def _split(converter: _Converter, op: tt.SplitOp) -> None:
    """The source must hold both halves of a pair in one thread, as its fastest dimension."""
    if _has_layouts(op.results):
        return
    source = op.operands[0]
    layout = _source_layout(op)
    rank = layout.rank
    if not isinstance(layout, Blocked) or layout.size_per_thread[-1] != 2 or layout.order[0] != rank - 1:
        half = converter.launch.default_layout(shape_of(op.results[0]))
        layout = Blocked(
            (*half.size_per_thread, 2),
            (*half.threads_per_warp, 1),
            (*half.warps_per_cta, 1),
            (rank - 1, *half.order),
            tuple((*basis, 0) for basis in half.cga_layout),
        )
        op.operands[0] = convert_before(op, source, layout)
    halves = inference.split_dst(layout, shape_of(source))
    assert halves is not None, "the pairs are in one thread"
    for result in op.results:
        converter.set_result_layout(result, halves)


@_RULES.add(tt.TransOp)
def _trans(converter: _Converter, op: tt.TransOp) -> None:
    if not _has_layouts(op.results):
        order = op.order.get_values()
        layout = inference.trans_dst(_source_layout(op), shape_of(op.operands[0]), order)
        converter.set_result_layout(op.results[0], cast(DistributedEncoding, layout))


@_RULES.add(tt.BroadcastOp)
def _broadcast(converter: _Converter, op: tt.BroadcastOp) -> None:
    if not _has_layouts(op.results):
        converter.set_result_layout(op.results[0], _source_layout(op))


@_RULES.add(tt.ReduceOp)
def _reduce(converter: _Converter, op: tt.ReduceOp) -> None:
    axis = op.axis.value.data
    for result in op.results:
        if instance_of(result.type, TensorType) and layout_of_value(result) is None:
            converter.set_result_layout(result, Slice(axis, _source_layout(op)))


@_RULES.add(tt.DescriptorGatherOp, tt.DescriptorScatterOp)
def _row_gather(converter: _Converter, op: tt.DescriptorGatherOp | tt.DescriptorScatterOp) -> None:
    """`descriptor_gather` and `descriptor_scatter`: every thread needs 4 neighbouring row numbers, in every warp."""
    for result in op.results:
        set_type(result, default_type(result.type, converter.launch))
    launch = converter.launch
    layout = Slice(0, Blocked((1, 4), (launch.threads_per_warp, 1), (1, launch.num_warps), (1, 0)))
    rows = 1
    if layout_of_value(op.operands[rows]) != layout:
        op.operands[rows] = convert_before(op, op.operands[rows], layout)


@_RULES.add(tt.FuncOp)
def _func(converter: _Converter, op: tt.FuncOp) -> None:
    op.properties["function_type"] = default_type(op.function_type, converter.launch)

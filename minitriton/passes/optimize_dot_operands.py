"""`tritongpu-optimize-dot-operands`: transposes and reshapes of what goes into a buffer for a dot become views of the buffer.

    %t = tt.trans %x {order = [1, 0]}                       %b = ttg.local_alloc %x
    %b = ttg.local_alloc %t                          =>     %t = ttg.memdesc_trans %b {order = [1, 0]}
    ttng.warp_group_dot %a, %b, %c                          ttng.warp_group_dot %a, %t, %c

On tensor cores without wgmma the operand is read from a buffer swizzled for the transposed read:

    %t = tt.trans %x                                        %b = ttg.local_alloc %x
    %o = ttg.convert_layout %t : -> #ttg.dot_op      =>     %t = ttg.memdesc_trans %b
    tt.dot %o, ...                                          %o = ttg.local_load %t : -> #ttg.dot_op

Counterpart of lib/Dialect/TritonGPU/Transforms/OptimizeDotOperands.cpp (without what it has for Blackwell's scales).

Conversions to dot operands go through an explicit buffer in shared memory.

In: TTGIR with `ttg.convert_layout` from a distributed layout to a dot operand that needs shared memory.
Out: an allocation, swizzled for the operand, and a load from it, which later passes can share and move.

    %2 = ttg.convert_layout %1 : #blocked -> #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
becomes
    %b = ttg.local_alloc %1 : (tensor<..., #blocked>) -> !ttg.memdesc<..., #shared, #smem>
    %2 = ttg.local_load %b : !ttg.memdesc<..., #shared, #smem> -> tensor<..., #ttg.dot_op<...>>

Counterpart of lib/Dialect/TritonGPU/Transforms/ReduceDataDuplication.cpp.
"""

from functools import cache
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, OpResult

from minitriton.dialects import tt, ttg, ttng
from minitriton.dialects.facts.layout import order_of
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.layouts.builders import swizzled_shared_for_dot
from minitriton.layouts.conversion import cvt_needs_shared_memory
from minitriton.layouts.cta_split import shape_of_cta
from minitriton.layouts.encodings import DistributedEncoding, DotOperand, NVMMAShared, SharedEncoding
from minitriton.layouts.inference import memdesc_reshape_dst, trans_dst
from minitriton.layouts.properties import order_for_memory
from minitriton.passes.canonicalize import canonicalization_patterns
from minitriton.passes.remove_layout_conversions.convert_patterns import CONVERT_PATTERNS
from minitriton.passes.tensor_layouts import element_bits, layout_of_value, swizzled_or_not
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter

_TRANSPOSE = (1, 0)


@register_pass
class OptimizeDotOperands(Pass, stage="ttgir", origin="triton"):
    """Makes views of shared memory of transposes and reshapes of dot operands."""

    name: ClassVar[str] = "tritongpu-optimize-dot-operands"
    acts_on = frozenset({tt.DotOp, ttg.LocalAllocOp})
    requires = frozenset({Property.ENCODINGS})
    hoist_layout_conversion: bool = True
    """Accepted, as by Triton, where it does nothing either."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Canonicalise the module, then rewrite operands; a module without dots and buffers is left as it is."""
        if not ops_of(op, tt.DotOp, ttg.LocalAllocOp):
            return
        apply_patterns_greedily(op, canonicalization_patterns(), top_down=True, merge_equal_blocks=False)
        apply_patterns_greedily(op, _patterns())


@cache
def _patterns() -> PatternSet:
    patterns = PatternSet()
    patterns.pattern(ttg.ConvertLayoutOp)(read_through_transposed_view)
    patterns.pattern(ttg.LocalAllocOp)(transpose_buffer)
    patterns.pattern(ttg.LocalAllocOp)(reshape_buffer)
    return PatternSet(patterns, CONVERT_PATTERNS)


def _transpose_of(op: Operation) -> tt.TransOp | None:
    """The transpose of a matrix that gives the first operand of `op`."""
    source = op.operands[0]
    if not isinstance(source, OpResult) or not isinstance(source.op, tt.TransOp) or order_of(source.op) != _TRANSPOSE:
        return None
    return source.op


def read_through_transposed_view(op: ttg.ConvertLayoutOp, rewriter: Rewriter) -> bool:
    """dot(convert(trans(x)))  =>  dot(local_load(memdesc_trans(local_alloc(x))))"""
    user = op.result.get_user_of_unique_use()
    if not isinstance(user, tt.DotOp):
        return False
    trans = _transpose_of(op)
    operand = layout_of_value(op.result)
    if trans is None or not isinstance(operand, DotOperand):
        return False
    source = trans.src
    if isinstance(source, OpResult) and isinstance(source.op, ttg.ConvertLayoutOp):
        source = source.op.src
    type_ = cast(TensorType, source.type)
    shape = type_.get_shape()
    layout = layout_of_value(source)
    assert layout is not None
    # Each CTA has in its buffer what it reads, which in Triton holds only where the source is shared evenly.
    cga = tuple(tuple(reversed(basis)) for basis in operand.cga)
    order = order_for_memory(layout, shape)
    shared = swizzled_shared_for_dot(operand, shape, order, cga, element_bits(type_), need_trans=True)
    memdesc = ttg.MemDescType(shape, type_.element_type, ttg.encoding_attr(shared), ttg.SMEM)
    rewriter.location = trans.location
    alloc = rewriter.insert(ttg.LocalAllocOp(trans.src, memdesc), trans)
    view = rewriter.insert(ttg.MemDescTransOp(alloc.result, order=_TRANSPOSE), trans)
    load = rewriter.insert(ttg.LocalLoadOp(view.result, None, op.result.type), trans)
    rewriter.set_operand(op, 0, load.result)
    return True


def transpose_buffer(op: ttg.LocalAllocOp, rewriter: Rewriter) -> bool:
    """warp_group_dot(local_alloc(trans(x)))  =>  warp_group_dot(memdesc_trans(local_alloc(x)))"""
    user = op.result.get_user_of_unique_use()
    if op.src is None or not isinstance(user, ttng.WarpGroupDotOp):
        return False
    trans = _transpose_of(op)
    type_ = op.result.type
    shared = ttg.layout_of(type_)
    if trans is None or not isinstance(shared, NVMMAShared):
        return False
    source = cast(TensorType, trans.src.type)
    inner = trans_dst(shared, source.get_shape(), _TRANSPOSE)
    if inner is None:
        return False
    memdesc = ttg.MemDescType(source.get_shape(), source.element_type, ttg.encoding_attr(inner), type_.memory_space)
    alloc = rewriter.insert(ttg.LocalAllocOp(trans.src, memdesc))
    rewriter.replace_with(op, ttg.MemDescTransOp(alloc.result, order=_TRANSPOSE))
    return True


def reshape_buffer(op: ttg.LocalAllocOp, rewriter: Rewriter) -> bool:
    """local_alloc(reshape(x))  =>  memdesc_reshape(local_alloc(x)), where the buffer of x has a layout of wgmma too"""
    source = op.src
    if not isinstance(source, OpResult) or not isinstance(source.op, tt.ReshapeOp):
        return False
    before = cast(TensorType, source.op.src.type)
    type_ = op.result.type
    shared = ttg.layout_of(type_)
    assert isinstance(shared, SharedEncoding)
    inner = memdesc_reshape_dst(type_.get_shape(), shared, before.get_shape())
    if not isinstance(inner, NVMMAShared):
        return False
    memdesc = ttg.MemDescType(before.get_shape(), before.element_type, ttg.encoding_attr(inner), type_.memory_space)
    alloc = rewriter.insert(ttg.LocalAllocOp(source.op.src, memdesc))
    rewriter.replace_with(op, ttg.MemDescReshapeOp(alloc.result, type_))
    return True


@register_pass
class ReduceDataDuplication(Pass, stage="ttgir", origin="triton"):
    """Turns conversions to dot operands into a store to and a load from a swizzled buffer."""

    name = "tritongpu-reduce-data-duplication"
    acts_on = frozenset({ttg.ConvertLayoutOp})
    requires = frozenset({Property.ENCODINGS})
    swizzle: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every conversion of the module."""
        for convert in ops_of(op, ttg.ConvertLayoutOp):
            _through_shared_memory(convert, self.swizzle)


def _through_shared_memory(convert: Operation, swizzle: bool) -> None:
    source, result = convert.operands[0], convert.results[0]
    operand = layout_of_value(result)
    if not isinstance(operand, DotOperand):
        return
    type_ = cast(TensorType, source.type)
    shape = type_.get_shape()
    layout = cast(DistributedEncoding, layout_of_value(source))
    if not cvt_needs_shared_memory(layout, operand, shape):
        return
    order = order_for_memory(layout, shape)
    best = swizzled_shared_for_dot(operand, shape, order, layout.cga, element_bits(type_))
    row_bits = shape_of_cta(layout.cga, shape)[order[0]] * element_bits(type_)
    shared = swizzled_or_not(convert, best, row_bits, swizzle, ReduceDataDuplication.name)
    buffer = ttg.LocalAllocOp(source, ttg.MemDescType(shape, type_.element_type, ttg.encoding_attr(shared), ttg.SMEM))
    load = ttg.LocalLoadOp(buffer.results[0], None, result.type)
    buffer.location = load.location = convert.location
    block = cast(Block, convert.parent)
    block.insert_ops_before([buffer, load], convert)
    result.replace_all_uses_with(load.results[0])
    block.erase_op(convert)

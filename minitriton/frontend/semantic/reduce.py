"""Reductions, scans and other ops that see a whole axis; those with a region compile the combining function into it.

tl.reduce(x, 0, combine)     "tt.reduce"(%x) ({ ^bb0(%a, %b): %c = tt.call @combine(%a, %b); tt.reduce.return %c })
"""

from collections.abc import Callable, Sequence
from typing import cast as cast_type

from xdsl.ir import Operation, Region, SSAValue

from minitriton.dialects import tt
from minitriton.frontend.builder import IRBuilder, ir_type
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.semantic.math import widened
from minitriton.frontend.semantic.shapes import expand_dims, range_of, reshape, wrap_axis
from minitriton.frontend.semantic.values import broadcast_all, broadcast_to_shape, several, to_tensor
from minitriton.language import dtypes as dt
from minitriton.language.dtypes import block_of
from minitriton.language.values import Function, Operand, base_value, tensor, type_of
from minitriton.language.values import tuple as language_tuple


def _inputs(given: tensor | Sequence[tensor], what: str) -> list[tensor]:
    inputs: list[tensor] = []
    for x in cast_type("tuple[object, ...]", several(given)):
        if not isinstance(x, tensor) or not x.type.is_block():
            raise LanguageTypeError(f"{what} takes a block, got {x}", "a scalar lacks an axis")
        inputs.append(x)
        if x.type.shape != inputs[0].type.shape:
            raise LanguageValueError(f"all {what} inputs must have the same shape")
    return inputs


def combine_region(
    b: IRBuilder, inputs: Sequence[tensor], combine_fn: Function, terminator: Callable[[Sequence[SSAValue]], Operation]
) -> Region:
    """A region that calls `combine_fn` on two elements of each input."""
    types = [x.dtype for x in inputs] * 2
    region, block = b.region([ir_type(t) for t in types])
    with b.in_block(block):
        args = [tensor(arg, t) for arg, t in zip(block.args, types, strict=True)]
        results = b.call_function(combine_fn, args, {})
        values = _results(results)
        returned = [type_of(v) for v in values]
        if returned != types[: len(inputs)]:
            raise LanguageTypeError(
                f"the combining function returns {[str(t) for t in returned]} for {[str(t) for t in types]}",
                "it must return one value of the same dtype for each input",
            )
        b.insert(terminator([v.handle for v in values if isinstance(v, tensor)]))
    return region


def _results(given: base_value | None) -> Sequence[object]:
    """What a function in the language returned, one or several."""
    if isinstance(given, language_tuple):
        return given.values
    return () if given is None else (given,)


def reduce(
    b: IRBuilder, input: tensor | Sequence[tensor], axis: int | None, combine_fn: Function, keep_dims: bool = False
) -> tensor | tuple[tensor, ...]:
    """Combines all elements along an axis."""
    inputs = _inputs(input, "reduction")
    rank = len(inputs[0].type.shape)
    if axis is None:
        flat = [reshape(b, x, x.type.numel, can_reorder=x.type.layout is None) for x in inputs]
        results = _reduce(b, flat, 0, combine_fn)
        axes = tuple(range(rank))
    else:
        axes = wrap_axis(axis, rank)
        results = _reduce(b, inputs, axes, combine_fn)
    if keep_dims:
        results = [expand_dims(b, x, axes) for x in results]
    return tuple(results) if isinstance(input, (tuple, list)) else results[0]


def _reduce(b: IRBuilder, inputs: list[tensor], axis: int, combine_fn: Function) -> list[tensor]:
    region = combine_region(b, inputs, combine_fn, tt.ReduceReturnOp)
    types = [x.type.reduced(axis) for x in inputs]
    op = tt.ReduceOp([x.handle for x in inputs], region, axis=axis, result_types=[ir_type(t) for t in types])
    return [tensor(value, type) for value, type in zip(b.insert(op).results, types, strict=True)]


def promote_bfloat16_to_float32(b: IRBuilder, t: Operand) -> tensor:
    """bf16 as fp32."""
    return to_tensor(b, widened(b, t))


def reduce_with_indices(
    b: IRBuilder, input: tensor | Sequence[tensor], axis: int | None, combine_fn: Function, keep_dims: bool = False
) -> tensor | tuple[tensor, ...]:
    """`reduce` of a block together with each element's index."""
    (x,) = _inputs(input, "reduction")
    shape = x.type.shape
    if axis is None:
        raise LanguageTypeError("an axis is needed to return indices", "flatten the block first with tl.ravel")
    axis = wrap_axis(axis, len(shape))
    index = range_of(b, 0, shape[axis], x.type.indices(axis))
    if len(shape) > 1:
        index = expand_dims(b, index, [d for d in range(len(shape)) if d != axis])
        index = broadcast_to_shape(b, index, shape)
    return reduce(b, (x, index), axis, combine_fn, keep_dims)


def associative_scan(
    b: IRBuilder, input: tensor | Sequence[tensor], axis: int, combine_fn: Function, reverse: bool = False
) -> tensor | tuple[tensor, ...]:
    """All running results along an axis."""
    inputs = _inputs(input, "scan")
    axis = wrap_axis(axis, len(inputs[0].type.shape))
    region = combine_region(b, inputs, combine_fn, tt.ScanReturnOp)
    op = b.insert(tt.ScanOp([x.handle for x in inputs], region, axis=axis, reverse=bool(reverse)))
    results = tuple(tensor(value, x.type) for value, x in zip(op.results, inputs, strict=True))
    return results if isinstance(input, (tuple, list)) else results[0]


def histogram(b: IRBuilder, input: tensor, num_bins: int, mask: Operand | None = None) -> tensor:
    """How often each small integer occurs."""
    (x,) = _inputs(input, "histogram")
    if len(x.type.shape) != 1:
        raise LanguageValueError("histogram only supports 1D input")
    if not x.dtype.is_int():
        raise LanguageTypeError("histogram only supports integer input")
    if mask is not None:
        mask = broadcast_to_shape(b, to_tensor(b, mask), x.type.shape)
    return histogram_of(b, x, mask, block_of(dt.int32, (num_bins,)))


def histogram_of(b: IRBuilder, x: tensor, mask: tensor | None, result: dt.dtype) -> tensor:
    """How often each index of a block of type `result` occurs in `x`."""
    if mask is not None and not mask.dtype.is_bool():
        raise LanguageValueError("Mask must have boolean scalar type")
    op = tt.HistogramOp(x.handle, None if mask is None else mask.handle, ir_type(result))
    return tensor(b.value(op), result)


def gather(b: IRBuilder, src: tensor, index: tensor, axis: int) -> tensor:
    """The elements that `index` names along an axis."""
    (src,), (index,) = _inputs(src, "gather"), _inputs(index, "gather")
    if not index.dtype.is_int():
        raise LanguageTypeError("index must be an integer tensor")
    have, want = src.type.shape, index.type.shape
    if len(have) != len(want):
        raise LanguageValueError("source and index tensors must have the same rank")
    axis = wrap_axis(axis, len(have))
    for d, (m, n) in enumerate(zip(have, want, strict=True)):
        if d != axis and m != n:
            raise LanguageValueError(f"index dim {d} must match the corresponding source dim")
    result = index.type.with_element_ty(src.dtype)
    op = tt.GatherOp(src.handle, index.handle, axis=axis, result_type=ir_type(result))
    return tensor(b.value(op), result)


def map_elementwise(b: IRBuilder, scalar_fn: Function, *args: Operand, pack: int = 1) -> tensor | language_tuple:
    """Applies a function of scalars to each element, or to `pack` elements at once."""
    inputs = broadcast_all(b, [to_tensor(b, x) for x in args])
    if not inputs or not inputs[0].type.is_block():
        raise LanguageTypeError("map_elementwise must have at least 1 input tensor")
    types = [x.dtype for x in inputs for _ in range(pack)]
    region, block = b.region([ir_type(t) for t in types])
    with b.in_block(block):
        scalars = [tensor(arg, t) for arg, t in zip(block.args, types, strict=True)]
        results = b.call_function(scalar_fn, scalars, {})
        single = isinstance(results, tensor)
        values = [v for v in _results(results) if isinstance(v, tensor)]
        b.insert(tt.MapElementwiseReturnOp([v.handle for v in values]))
    result_types = [inputs[0].type.with_element_ty(v.dtype) for v in values[::pack]]
    for offset in range(1, pack):
        if [v.type for v in values[offset::pack]] != [v.type for v in values[::pack]]:
            raise LanguageTypeError("type mismatch in unpacked results")
    op = tt.MapElementwiseOp([x.handle for x in inputs], [ir_type(t) for t in result_types], region, pack=pack)
    made = [tensor(value, type) for value, type in zip(b.insert(op).results, result_types, strict=True)]
    return made[0] if single and len(made) == 1 else language_tuple(made)

"""A dot whose A is in registers becomes one dot for each step of its instruction along K.

    %d = warp_group_dot %a, %b, %c : 64x64 * 64x128       =>      %a0, .., %a3 = parts of %a along K, by registers only
                                                                  %d0 = warp_group_dot %a0, subslice(%b, 0), %c
                                                                  %d1 = warp_group_dot %a1, subslice(%b, 16), %d0, ...

Waits can then let all but one of them run while the registers of the first are filled again. Answers to splitRSDot in
lib/Dialect/TritonGPU/Transforms/Pipeliner/WGMMAPipeline.cpp.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import SSAValue

from minitriton.dialects import tt, ttg, ttng
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.encodings import NvidiaMma
from minitriton.layouts.inference import reshape_dst
from minitriton.passes.pipelining.operand_slices import OperandSlices, can_be_sliced
from minitriton.passes.tensor_layouts import layout_of_value, shape_of
from minitriton.rewriting.insertion import Inserter

_NEVER_PROMOTES = 1 << 30
"""For `maxNumImpreciseAcc`: a part adds no accumulator of its own."""


def split_along_k(dot: ttng.WarpGroupDotOp, slice_from: int = 0) -> list[ttng.WarpGroupDotOp]:
    """The dots in place of `dot`; itself if A is a buffer or one step is all there is. Each part of A is made where its
    dot stands, if the sum has `slice_from` elements or more (0: never) and A comes from buffers element by element."""
    a, layout = dot.a.type, layout_of_value(dot.result)
    if not instance_of(a, TensorType):
        return [dot]
    assert isinstance(layout, NvidiaMma)
    step = layout.instr_shape[2]
    count = a.get_shape()[-1] // step
    if count <= 1:
        return [dot]
    at = Inserter.before(dot)
    k = len(a.get_shape()) - 1
    if 0 < slice_from <= prod(shape_of(dot.results[0])) and can_be_sliced(dot.a, k, at.block):
        slices = OperandSlices(dot.a, k, step)
        parts_of_a = (slices.part(at, number) for number in range(count))
    else:
        parts_of_a = iter(_split_a(at, dot.a, step, count))
    parts_of_b = _split_b(at, dot.b, step, count)
    imprecise = dot.max_num_imprecise_acc.value.data
    accumulator, use_c = dot.c, dot.use_c
    found: list[ttng.WarpGroupDotOp] = []
    for left, right in zip(parts_of_a, parts_of_b, strict=True):
        taken = min(imprecise, step)
        imprecise -= taken
        part = at.insert(
            ttng.WarpGroupDotOp(
                left,
                right,
                accumulator,
                use_c,
                input_precision=dot.input_precision.data,
                max_num_imprecise_acc=_NEVER_PROMOTES if taken == step else taken,
                is_async=bool(dot.is_async.value.data),
            )
        )
        found.append(part)
        accumulator, use_c = part.results[0], at.integer(i1, 1)
    dot.results[0].replace_all_uses_with(accumulator)
    assert dot.parent is not None
    dot.parent.erase_op(dot)
    return found


def _split_a(at: Inserter, a: SSAValue, step: int, count: int) -> list[SSAValue]:
    """`a` as M x 2 x .. x 2 x step, the twos behind, split one after the other; each part has the registers it had in `a`."""
    type_ = a.type
    assert instance_of(type_, TensorType)
    rows = type_.get_shape()[:-1]
    twos = count.bit_length() - 1
    shape = (*rows, *[2] * twos, step)
    layout = layout_of_value(a)
    spread = None if layout is None else reshape_dst(type_.get_shape(), layout, shape)
    assert spread is not None
    wide = at.value(tt.ReshapeOp(a, TensorType(type_.element_type, shape, ttg.encoding_attr(spread))))
    rank = len(shape)
    order = (*range(len(rows)), rank - 1, *range(rank - 2, len(rows) - 1, -1))
    parts = [at.value(tt.TransOp(wide, order=order))]
    for _ in range(twos):
        parts = [half for part in parts for half in at.insert(tt.SplitOp(part)).results]
    narrow = TensorType(type_.element_type, (*rows, step), type_.encoding)
    return [at.value(ttg.ConvertLayoutOp(part, narrow)) for part in parts]


def _split_b(at: Inserter, b: SSAValue, step: int, count: int) -> list[SSAValue]:
    type_ = b.type
    assert isinstance(type_, ttg.MemDescType)
    shape = list(type_.get_shape())
    k = len(shape) - 2
    shape[k] = step
    view = type_.with_(shape=tuple(shape), mutable=False)
    offsets = [[number * step if dim == k else 0 for dim in range(len(shape))] for number in range(count)]
    return [at.value(ttg.MemDescSubsliceOp(b, view, offsets=offset)) for offset in offsets]

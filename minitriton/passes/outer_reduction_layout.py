"""Column sums in a loop: add up in registers, exchange between threads once, behind the loop.

In: TTGIR whose loads have coalesced layouts. Out: loops whose accumulator keeps what different threads hold of the reduced axis
apart. Not a pass of Triton's, which reduces across warps, with two barriers, in every iteration.

    for i: %r = reduce(%x : 128x64, axis 0) : 64          for i: %v = reshape %x : 128x64 -> 8x16x64
           acc = acc + %r : 64                      =>           acc = acc + reduce(%v, axis 0) : 16x64
                                                          acc = init + reduce(acc, axis 0) : 64

Here 8 is how many of the 128 rows a thread holds: its registers repeat along the rows after lanes and warps, so the rows of one
thread are the high bits of the row's number, and the reshape moves nothing. A thread goes on holding full 16-byte vectors along
the contiguous axis, all its loads are in flight together, and no barrier stands between one iteration's loads and the next's.

Done for one commutative and associative combination (`acc` and the reduction use the same), along an axis that is not the
contiguous one, where the accumulator does nothing else in the loop. Sums of floats are added in another order, as Triton does
for the contiguous axis. `enable=false` switches it off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
    i32,
)
from xdsl.ir import Block, Operation, SSAValue

from minitriton.dialects import arith, tt, ttg
from minitriton.layouts.encodings import Blocked, DistributedEncoding, Slice
from minitriton.layouts.inference import reshape_dst
from minitriton.layouts.properties import get_order
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.pass_registry import Pass, Property, register_pass
from minitriton.passes.layout_rules import axis_of
from minitriton.passes.tensor_layouts import insert_after_value, layout_of_value, set_type, shape_of

_FLOAT_NEUTRAL = {
    "arith.addf": -0.0,
    "arith.maximumf": -math.inf,
    "arith.maxnumf": -math.inf,
    "arith.minimumf": math.inf,
    "arith.minnumf": math.inf,
    "arith.mulf": 1.0,
}
_INTEGER_NEUTRAL = {
    "arith.addi": 0,
    "arith.andi": -1,
    "arith.maxui": 0,
    "arith.minui": -1,
    "arith.muli": 1,
    "arith.ori": 0,
    "arith.xori": 0,
}


@register_pass
@dataclass(frozen=True)
class OuterReductionLayout(Pass):
    """Keeps reductions along an axis that is not contiguous inside threads while a loop runs."""

    name = "minitriton-outer-reduction-layout"
    requires = frozenset({Property.ENCODINGS, Property.STRUCTURED})

    enable: bool = True
    """False: leave everything as it is."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the loops of the module."""
        if not self.enable:
            return
        for reduce in [inner for inner in op.walk() if inner.name == "tt.reduce"]:
            found = match_accumulation(reduce)
            if found is not None:
                found.keep_threads_apart()


def registers_above(layout: DistributedEncoding, shape: Sequence[int], axis: int) -> int:
    """How many positions along `axis` a thread holds by the high bits of the position: a power of two, 1 if none."""
    linear = to_linear_layout(layout, shape)
    registers = {basis[axis] for basis in linear.bases["register"] if sum(1 for v in basis if v) == 1}
    others = {basis[axis] for name in ("lane", "warp", "block") for basis in linear.bases[name]}
    count, position = 1, shape[axis] // 2
    while position and position in registers and position not in others:
        count, position = count * 2, position // 2
    return count


def match_accumulation(reduce: Operation) -> Accumulation | None:
    """The accumulation that `reduce` is part of, if it may be rewritten."""
    source = reduce.operands[0]
    layout, shape, axis = layout_of_value(source), shape_of(source), axis_of(reduce)
    body = reduce.regions[0].block
    combine = cast(Operation, body.first_op)
    if len(reduce.operands) != 1 or combine.next_op is not body.last_op or len(shape) < 2:
        return None
    if not isinstance(layout, Blocked) or get_order(layout, shape)[0] == axis:
        return None
    count = registers_above(layout, shape, axis)
    if count in (1, shape[axis]):  # a thread has one position, or all of them and nothing to exchange
        return None
    update = reduce.results[0].get_user_of_unique_use()
    loop = reduce.parent_op()
    if update is None or update.name != combine.name or loop is None or loop.name != "scf.for":
        return None
    if _neutral(combine.name, cast(TensorType, source.type)) is None:
        return None
    end = update.results[0].get_unique_use()
    if end is None or end.operation.name != "scf.yield" or end.operation.parent is not reduce.parent:
        return None
    argument = loop.regions[0].block.args[end.index + 1]
    if argument not in update.operands or not argument.has_one_use():
        return None
    return Accumulation(reduce, update, loop, end.index, count)


def _neutral(combine: str, type_: TensorType) -> float | int | None:
    """What leaves any element of `type_` as it is when combined with it; None if not known."""
    element = type_.element_type
    if isinstance(element, AnyFloat):
        return _FLOAT_NEUTRAL.get(combine)
    if not isinstance(element, IntegerType) or element.width.data == 1:
        return None
    smallest = -(1 << (element.width.data - 1))
    return {"arith.maxsi": smallest, "arith.minsi": -smallest - 1}.get(combine, _INTEGER_NEUTRAL.get(combine))


@dataclass(frozen=True)
class Accumulation:
    """`argument = update(argument, reduce(x))` in a loop, where a thread holds `count` positions along the reduced axis."""

    reduce: Operation
    update: Operation
    loop: Operation
    index: int
    count: int

    def keep_threads_apart(self) -> None:
        """Accumulate what each thread reduces by itself; reduce across threads behind the loop."""
        loop, index, reduce = self.loop, self.index, self.reduce
        result, argument = loop.results[index], loop.regions[0].block.args[index + 1]
        init, type_ = loop.operands[index + 3], result.type
        partial = self._partial_reduction()
        wide = partial.results[0].type
        for value in (result, argument, self.update.results[0]):
            set_type(value, wide)
        self.update.operands[[*self.update.operands].index(reduce.results[0])] = partial.results[0]
        cast(Block, reduce.parent).erase_op(reduce)
        loop.operands[index + 3] = self._neutral_value(cast(TensorType, wide))
        users = tuple(result.uses)
        final = self._total(result, init, cast(TensorType, type_))
        for use in users:
            use.operation.operands[use.index] = final

    def _partial_reduction(self) -> Operation:
        """The reduction over a thread's own positions, before the old one."""
        source = self.reduce.operands[0]
        shape, axis = shape_of(source), axis_of(self.reduce)
        split = (*shape[:axis], self.count, shape[axis] // self.count, *shape[axis + 1 :])
        layout = reshape_dst(shape, cast(DistributedEncoding, layout_of_value(source)), split)
        assert layout is not None, "a reshape that keeps all elements has a layout"
        element = cast(TensorType, source.type).element_type
        view = tt.ReshapeOp.create(
            operands=(source,),
            result_types=(TensorType(element, split, ttg.encoding_attr(layout)),),
            location=self.reduce.location,
        )
        cast(Block, self.reduce.parent).insert_op_before(view, self.reduce)
        narrow = (*split[:axis], *split[axis + 1 :])
        partial = self._reduction(view.results[0], TensorType(element, narrow, ttg.encoding_attr(Slice(axis, layout))))
        cast(Block, self.reduce.parent).insert_op_before(partial, self.reduce)
        return partial

    def _reduction(self, source: SSAValue, type_: TensorType) -> Operation:
        """The reduction of `source` along the same axis."""
        copy = self.reduce.clone(value_mapper={self.reduce.operands[0]: source})
        copy.location = self.reduce.location
        copy.properties["axis"] = IntegerAttr(axis_of(self.reduce), i32)
        set_type(copy.results[0], type_)
        return copy

    def _neutral_value(self, type_: TensorType) -> SSAValue:
        """The initial value of the accumulator, before the loop."""
        neutral = _neutral(self.update.name, type_)
        value = DenseIntOrFPElementsAttr.from_list(cast("TensorType[AnyFloat]", type_), [cast(float, neutral)])
        constant = arith.ConstantOp.create(result_types=(type_,), properties={"value": value})
        constant.location = self.loop.location
        cast(Block, self.loop.parent).insert_op_before(constant, self.loop)
        return constant.results[0]

    def _total(self, result: SSAValue, init: SSAValue, type_: TensorType) -> SSAValue:
        """What the loop gave before: the initial value combined with all threads' parts."""
        layout = cast(DistributedEncoding, layout_of_value(result))
        across = TensorType(type_.element_type, type_.shape, ttg.encoding_attr(Slice(axis_of(self.reduce), layout)))
        reduced = self._reduction(result, across)
        insert_after_value(reduced, result)
        convert = ttg.ConvertLayoutOp(reduced.results[0], type_)
        convert.location = self.reduce.location
        insert_after_value(convert, reduced.results[0])
        final = type(self.update).create(
            operands=(init, convert.results[0]),
            result_types=(type_,),
            properties=self.update.properties,
            attributes=self.update.attributes,
            location=self.update.location,
        )
        insert_after_value(final, convert.results[0])
        return final.results[0]

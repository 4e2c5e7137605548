"""Reductions in a loop: combine in registers, exchange between threads once, behind the loop.

In: TTGIR whose loads have coalesced layouts. Out: loops whose accumulator keeps apart what different threads hold of the
reduced axis. Not a pass of Triton's, which exchanges in every iteration: shuffles, shared memory and two barriers.

    for i: %r = reduce(%x : 128x64, axis 0) : 64          for i: %v = reshape %x : 128x64 -> 8x16x64
           acc = acc + %r : 64                      =>           acc = acc + reduce(%v, axis 0) : 16x64
                                                          acc = init + reduce(acc, axis 0) : 64

Column sums are what it is for: 8 is how many of the 128 rows a thread holds. Its registers repeat along the rows after lanes
and warps, so the rows of one thread are the high bits of the row's number (along the contiguous axis also the low ones), and the
reshape moves nothing. A thread goes on holding full 16-byte vectors along the contiguous axis, all its loads are in flight
together, and no barrier stands between the loads of one iteration and the next.

Done for one commutative and associative combination (accumulator and reduction use the same), where the accumulator does nothing
else in the loop; whole tensors reduced to a number count too. Sums of floats are added in another order, as Triton does where it
moves a reduction (`tritongpu-optimize-thread-locality`: of a load, along the contiguous axis). `enable=false` switches it off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    ModuleOp,
    TensorType,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.facts import neutral_element
from minitriton.dialects.facts.layout import axis_of
from minitriton.dialects.fast_paths.op_access import set_type
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.encodings import Blocked, DistributedEncoding, Slice
from minitriton.layouts.inference import reshape_dst
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.pass_registry import Pass, Property, register_pass
from minitriton.passes.tensor_layouts import insert_after_value, layout_of_value, shape_of


@register_pass
@dataclass(frozen=True)
class OuterReductionLayout(Pass, stage="ttgir"):
    """Keeps reductions that a loop accumulates inside threads while it runs; threads exchange behind it."""

    name = "minitriton-outer-reduction-layout"
    acts_on = frozenset({tt.ReduceOp})
    requires = frozenset({Property.ENCODINGS, Property.STRUCTURED})

    enable: bool = True
    """False: leave everything as it is."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the loops of the module."""
        if not self.enable:
            return
        for reduce in [inner for inner in ops_in(op) if inner.name == "tt.reduce"]:
            found = match_accumulation(reduce)
            if found is not None:
                found.keep_threads_apart()


def own_positions(layout: DistributedEncoding, shape: Sequence[int], axis: int) -> tuple[int, int]:
    """How many positions along `axis` a thread holds by the high bits of the position, and by the low ones.

    Powers of two, 1 if none. A bit counts if one register bit sets it, and no lane, warp or CTA does.
    """
    linear = to_linear_layout(layout, shape)
    registers = {basis[axis] for basis in linear.bases["register"] if sum(1 for v in basis if v) == 1}
    free = registers - {basis[axis] for name in ("lane", "warp", "block") for basis in linear.bases[name]}
    high, position = 1, shape[axis] // 2
    while position and position in free:
        high, position = high * 2, position // 2
    low = 1
    while low < shape[axis] // high and low in free:
        low *= 2
    return high, low


def match_accumulation(reduce: Operation) -> LoopAccumulation | None:
    """The accumulation that `reduce` is part of, if it may be rewritten."""
    source = reduce.operands[0]
    layout, shape, axis = layout_of_value(source), shape_of(source), axis_of(reduce)
    body = reduce.regions[0].block
    combine = cast(Operation, body.first_op)
    if len(reduce.operands) != 1 or combine.next_op is not body.last_op or not isinstance(layout, Blocked):
        return None
    high, low = own_positions(layout, shape, axis)
    if high * low in (1, shape[axis]):  # a thread has one position, or all of them and nothing to exchange
        return None
    update = reduce.results[0].get_user_of_unique_use()
    loop = reduce.parent_op()
    if update is None or update.name != combine.name or loop is None or loop.name != "scf.for":
        return None
    if neutral_element(combine, cast(TensorType, source.type).element_type) is None:
        return None
    end = update.results[0].get_unique_use()
    if end is None or end.operation.name != "scf.yield" or end.operation.parent is not reduce.parent:
        return None
    argument = loop.regions[0].block.args[end.index + 1]
    if argument not in update.operands or not argument.has_one_use():
        return None
    return LoopAccumulation(reduce, update, loop, end.index, high, low)


@dataclass(frozen=True)
class LoopAccumulation:
    """`argument = update(argument, reduce(x))` in a loop; `high` and `low` as `own_positions` gives them."""

    reduce: Operation
    update: Operation
    loop: Operation
    index: int
    high: int
    low: int

    def keep_threads_apart(self) -> None:
        """Accumulate what each thread reduces by itself; reduce across threads behind the loop."""
        loop, index, reduce = self.loop, self.index, self.reduce
        result, argument = loop.results[index], loop.regions[0].block.args[index + 1]
        init, type_ = loop.operands[index + 3], result.type
        partial = self._partial_reduction()
        for value in (result, argument, self.update.results[0]):
            set_type(value, partial.type)
        self.update.operands[[*self.update.operands].index(reduce.results[0])] = partial
        cast(Block, reduce.parent).erase_op(reduce)
        loop.operands[index + 3] = self._neutral_value(cast(TensorType, partial.type))
        users = tuple(result.uses)
        final = self._total(result, init, type_)
        for use in users:
            use.operation.operands[use.index] = final

    def _partial_reduction(self) -> SSAValue:
        """The reduction over a thread's own positions, before the old one."""
        source = self.reduce.operands[0]
        shape, axis = shape_of(source), axis_of(self.reduce)
        high = (self.high,) if self.high > 1 else ()
        low = (self.low,) if self.low > 1 else ()
        split = (*shape[:axis], *high, shape[axis] // (self.high * self.low), *low, *shape[axis + 1 :])
        layout = reshape_dst(shape, cast(DistributedEncoding, layout_of_value(source)), split)
        assert layout is not None, "a reshape that keeps all elements has a layout"
        element = cast(TensorType, source.type).element_type
        view = tt.ReshapeOp.create(
            operands=(source,),
            result_types=(TensorType(element, split, ttg.encoding_attr(layout)),),
            location=self.reduce.location,
        )
        place = cast(Block, self.reduce.parent)
        place.insert_op_before(view, self.reduce)
        partial = view.results[0]
        for own in (*(axis + len(high) + 1 for _ in low), *(axis for _ in high)):
            reduction = self._reduction(partial, own)
            place.insert_op_before(reduction, self.reduce)
            partial = reduction.results[0]
        return partial

    def _reduction(self, source: SSAValue, axis: int) -> Operation:
        """The reduction of `source` along `axis`, not placed yet."""
        copy = self.reduce.clone(value_mapper={self.reduce.operands[0]: source})
        copy.location = self.reduce.location
        copy.properties["axis"] = IntegerAttr(axis, i32)
        shape = shape_of(source)
        element = cast(TensorType, source.type).element_type
        if len(shape) > 1:
            layout = Slice(axis, cast(DistributedEncoding, layout_of_value(source)))
            narrow = (*shape[:axis], *shape[axis + 1 :])
            set_type(copy.results[0], TensorType(element, narrow, ttg.encoding_attr(layout)))
        else:
            set_type(copy.results[0], element)
        return copy

    def _neutral_value(self, type_: TensorType) -> SSAValue:
        """The initial value of the accumulator, before the loop."""
        neutral = neutral_element(self.update, type_.element_type)
        value = DenseIntOrFPElementsAttr.from_list(cast("TensorType[AnyFloat]", type_), [cast(float, neutral)])
        constant = arith.ConstantOp.create(result_types=(type_,), properties={"value": value})
        constant.location = self.loop.location
        cast(Block, self.loop.parent).insert_op_before(constant, self.loop)
        return constant.results[0]

    def _total(self, result: SSAValue, init: SSAValue, type_: Attribute) -> SSAValue:
        """What the loop gave before: the initial value combined with all threads' parts."""
        reduced = self._reduction(result, axis_of(self.reduce))
        insert_after_value(reduced, result)
        total = reduced.results[0]
        if instance_of(type_, TensorType):
            convert = ttg.ConvertLayoutOp(total, type_)
            convert.location = self.reduce.location
            insert_after_value(convert, total)
            total = convert.results[0]
        final = type(self.update).create(
            operands=(init, total),
            result_types=(type_,),
            properties=self.update.properties,
            attributes=self.update.attributes,
            location=self.update.location,
        )
        insert_after_value(final, total)
        return final.results[0]

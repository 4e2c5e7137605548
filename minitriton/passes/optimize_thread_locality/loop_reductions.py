"""A reduction in a loop accumulates per thread; threads exchange once, after the loop.

    for i: %r = reduce(%x, axis 1) : 32              for i: %v = reshape %x : 32x128 -> 32x32x4     4: a thread's own
           acc = acc + %r                     =>            acc3 = acc3 + reduce(%v, axis 2) : 32x32
                                                     acc = init + reduce(acc3, axis 1)

As in Triton: only floats of something loaded, along the last axis of a blocked layout with several elements a thread, where the result only feeds the
accumulator. With `any_axis` also what Triton leaves, such as column sums, where each iteration would take shuffles, shared memory and two barriers:

    for i: %r = reduce(%x : 128x64, axis 0) : 64     for i: %v = reshape %x : 128x64 -> 8x16x64     8: of the 128 rows a thread holds 8
           acc = acc + %r                     =>            acc3 = acc3 + reduce(%v, axis 0) : 16x64
                                                     acc = init + reduce(acc3, axis 0)

A thread's registers repeat along the rows after lanes and warps, so the rows of one thread are the high bits of the row's number (along the contiguous
axis also the low ones), and the reshape moves nothing. A thread keeps full 16-byte vectors along the contiguous axis, all its loads are in flight
together, and no barrier stands between the loads of one iteration and the next.

Done for one commutative and associative combination, the same in reduction and accumulator; whole tensors reduced to a number count too. Floats are
added in another order either way. The old reduction stays for dead-code elimination.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, IntegerAttr, ModuleOp, TensorType, UnitAttr, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.facts import neutral_element
from minitriton.dialects.facts.layout import axis_of
from minitriton.dialects.fast_paths.op_access import ops_of, set_type
from minitriton.dialects.narrowing import instance_of
from minitriton.host.frozen import frozen
from minitriton.layouts.encodings import Blocked, DistributedEncoding, Slice
from minitriton.layouts.inference import reshape_dst
from minitriton.layouts.properties import elems_per_thread
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.passes.loop_rewriting import append_result
from minitriton.passes.tensor_layouts import insert_after_value, layout_of_value, shape_of
from minitriton.pipeline.choice import Candidate, Choice, note


def reduce_after_loops(module: ModuleOp, any_axis: bool, wanted: bool) -> bool:
    """Moves the reductions of `module` that Triton moves, with `any_axis` then all along which a thread holds several positions; whether it
    moved any: none if they are not `wanted` after loops."""
    moved = False
    for rule in (_of_load, _of_any_axis) if any_axis else (_of_load,):
        for each in [found for reduce in ops_of(module, tt.ReduceOp) if (found := rule(reduce)) is not None]:
            note(each.accumulation.reduce, functools.partial(_move_choice, each.accumulation.reduce, wanted))
            if wanted:
                each.run()
                moved = True
    return moved


def _move_choice(reduce: tt.ReduceOp, wanted: bool) -> Choice:
    layout, axis = layout_of_value(reduce.operands[0]), axis_of(reduce)
    assert isinstance(layout, Blocked)
    shuffles, warps = layout.threads_per_warp[axis].bit_length() - 1, layout.warps_per_cta[axis]
    exchange = f"{shuffles} shuffles" + (f" and two barriers between {warps} warps" if warps > 1 else "")
    found = (
        Candidate("true", 0, f"{exchange} once, after the loop"),
        Candidate("false", shuffles + 2 * (warps > 1), f"{exchange} in each iteration"),
    )
    option = "tritongpu-optimize-thread-locality{after-loops=@}"
    unit = "shuffles and barriers an iteration"
    return Choice.of("tt.reduce after its loop", unit, option, found, str(wanted).lower())


@frozen
class _Accumulation:
    """`argument = update(argument, reduce(x))` in a loop, in the loop's carried value number `index`."""

    reduce: tt.ReduceOp
    update: Operation
    loop: scf.ForOp
    index: int

    @property
    def init(self) -> SSAValue:
        return self.loop.operands[self.index + 3]

    @property
    def result(self) -> SSAValue:
        return self.loop.results[self.index]


def _accumulation(reduce: tt.ReduceOp) -> _Accumulation | None:
    """The accumulation that `reduce` is part of, if nothing else happens to it or the accumulator in the loop."""
    combine, loop = reduce.single_combiner(), reduce.parent_op()
    update = reduce.results[0].get_user_of_unique_use()
    # An update by another op, such as a difference of sums, must stay where it is.
    if len(reduce.operands) != 1 or combine is None or update.__class__ is not combine.__class__:
        return None
    assert update is not None
    end = update.results[0].get_unique_use()
    if end is None or not isinstance(end.operation, scf.YieldOp) or not isinstance(loop, scf.ForOp):
        return None
    if end.operation.parent is not reduce.parent:
        return None
    argument = loop.body.block.args[end.index + 1]
    if argument not in update.operands or not argument.has_one_use():
        return None
    return _Accumulation(reduce, update, loop, end.index)


def _of_load(reduce: tt.ReduceOp) -> _LoopReduction | None:
    """The reduction as Triton moves it, its elements reordered freely: to the order of the threads' elements."""
    source = reduce.operands[0]
    layout, shape, found = layout_of_value(source), shape_of(source), _accumulation(reduce)
    if found is None or not isinstance(layout, Blocked) or len(shape) < 2 or axis_of(reduce) != len(shape) - 1:
        return None
    own = elems_per_thread(layout, shape)[-1]
    neutral = _neutral(found)
    if not isinstance(source.owner, tt.LoadOp) or own == 1 or not isinstance(neutral, float):
        return None
    if not isinstance(found.init.owner, arith.ConstantOp) or not found.result.has_one_use():
        return None
    rank = len(shape)
    view = Blocked(
        (*layout.size_per_thread[:-1], 1, layout.size_per_thread[-1]),
        (*layout.threads_per_warp, 1),
        (*layout.warps_per_cta, 1),
        (rank, *layout.order),
        tuple((*basis, 0) for basis in layout.cga_layout),
    )
    properties = {"allow_reorder": UnitAttr(), "efficient_layout": UnitAttr()}
    return _LoopReduction(found, (*shape[:-1], shape[-1] // own, own), view, (rank,), neutral + 0.0, properties)


def _of_any_axis(reduce: tt.ReduceOp) -> _LoopReduction | None:
    source = reduce.operands[0]
    layout, shape, axis = layout_of_value(source), shape_of(source), axis_of(reduce)
    found = _accumulation(reduce)
    if found is None or not isinstance(layout, Blocked):
        return None
    high, low = own_positions(layout, shape, axis)
    neutral = _neutral(found)
    if (
        high * low in (1, shape[axis]) or neutral is None
    ):  # a thread has one position, or all of them and nothing to exchange
        return None
    highs, lows = (high,) if high > 1 else (), (low,) if low > 1 else ()
    split = (*shape[:axis], *highs, shape[axis] // (high * low), *lows, *shape[axis + 1 :])
    view = reshape_dst(shape, layout, split)
    assert view is not None, "a reshape that keeps all elements has a layout"
    own = (*(axis + len(highs) + 1 for _ in lows), *(axis for _ in highs))
    return _LoopReduction(found, split, view, own, neutral, {})


def _neutral(found: _Accumulation) -> float | int | None:
    return neutral_element(found.update, cast(TensorType, found.reduce.operands[0].type).element_type)


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


class _LoopReduction(NamedTuple):
    """A reduction that leaves its loop: of its operand seen as a tensor of `shape` and `layout`, a thread reduces the axes `own`, one after another."""

    accumulation: _Accumulation
    shape: tuple[int, ...]
    layout: DistributedEncoding
    own: tuple[int, ...]
    neutral: float | int
    properties: Mapping[str, Attribute]

    def run(self) -> None:
        """Rewrites the loop."""
        reduce, init, result = self.accumulation.reduce, self.accumulation.init, self.accumulation.result
        partial = self._partial_reduction()
        total = self._carry(self._neutral_value(cast(TensorType, partial.type)), partial)
        users = tuple(result.uses)
        reduced = self._reduction(total, axis_of(reduce), total)
        if instance_of(result.type, TensorType):
            convert = ttg.ConvertLayoutOp(reduced, result.type)
            convert.location = reduce.location
            insert_after_value(convert, reduced)
            reduced = convert.results[0]
        final = self._updated(init, reduced)
        for use in users:
            use.operation.operands[use.index] = final

    def _partial_reduction(self) -> SSAValue:
        """What a thread holds, reduced, after the old reduction."""
        reduce = self.accumulation.reduce
        source = reduce.operands[0]
        element = cast(TensorType, source.type).element_type
        view = tt.ReshapeOp.create(
            operands=(source,),
            result_types=(TensorType(element, self.shape, ttg.encoding_attr(self.layout)),),
            properties=dict(self.properties),
            location=reduce.location,
        )
        insert_after_value(view, reduce.results[0])
        partial = view.results[0]
        for axis in self.own:
            partial = self._reduction(partial, axis, partial)
        return partial

    def _reduction(self, source: SSAValue, axis: int, after: SSAValue) -> SSAValue:
        """The reduction of `source` along `axis`."""
        reduce = self.accumulation.reduce
        copy = reduce.clone(value_mapper={reduce.operands[0]: source})
        copy.location = reduce.location
        copy.properties["axis"] = IntegerAttr(axis, i32)
        shape, element = shape_of(source), cast(TensorType, source.type).element_type
        type_: Attribute = element
        if len(shape) > 1:
            layout = Slice(axis, cast(DistributedEncoding, layout_of_value(source)))
            type_ = TensorType(element, (*shape[:axis], *shape[axis + 1 :]), ttg.encoding_attr(layout))
        set_type(copy.results[0], type_)
        insert_after_value(copy, after)
        return copy.results[0]

    def _neutral_value(self, type_: TensorType) -> SSAValue:
        """The constant that a thread's accumulator starts from, before the loop."""
        loop, init = self.accumulation.loop, self.accumulation.init
        value = DenseIntOrFPElementsAttr.from_list(cast("TensorType[AnyFloat]", type_), [cast(float, self.neutral)])
        constant = arith.ConstantOp.create(result_types=(type_,), properties={"value": value})
        if isinstance(init.owner, arith.ConstantOp):
            constant.location = init.owner.location
            insert_after_value(constant, init)
        else:
            constant.location = loop.location
            cast(Block, loop.parent).insert_op_before(constant, loop)
        return constant.results[0]

    def _carry(self, init: SSAValue, partial: SSAValue) -> SSAValue:
        """Carries the threads' accumulator through the loop; its last value."""
        loop, index = self.accumulation.loop, self.accumulation.index
        body = loop.body.block
        end = cast(Operation, body.last_op)
        loop.operands = [*loop.operands, init]
        argument = body.insert_arg(init.type, len(body.args))
        result = append_result(loop, init.type)
        updated = self._updated(argument, partial)
        yielded = [*end.operands]
        yielded[index] = body.args[index + 1]
        end.operands = [*yielded, updated]
        return result

    def _updated(self, accumulator: SSAValue, value: SSAValue) -> SSAValue:
        """The accumulator's update with other operands, after what gives `value`."""
        update = self.accumulation.update
        copy = type(update).create(
            operands=(accumulator, value),
            result_types=(accumulator.type,),
            properties=update.properties,
            attributes=update.attributes,
            location=update.location,
        )
        insert_after_value(copy, value)
        return copy.results[0]

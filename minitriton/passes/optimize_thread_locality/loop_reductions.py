"""A reduction in a loop adds up per thread; threads exchange once, behind the loop.

    for i: %r = reduce(load i, axis 1) : 32          acc3 = neutral : 32x32
           acc = acc + %r                      =>    for i: %v = reshape(load i) : 32x128 -> 32x32x4   (4: a thread's own)
                                                            acc3 = acc3 + reduce(%v, axis 2) : 32x32
                                                     acc = init + reduce(acc3, axis 1)

Only for floating-point sums, products, maxima and minima of something loaded, along the last axis of a blocked layout with
several elements a thread, where the result does nothing but feed the accumulator. The old reduction stays for dead-code
elimination.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, IntegerAttr, ModuleOp, TensorType, UnitAttr, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.facts import Neutral
from minitriton.dialects.facts.layout import axis_of
from minitriton.dialects.fast_paths.op_access import set_type
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.layouts.encodings import Blocked, DistributedEncoding, Slice
from minitriton.layouts.properties import elems_per_thread
from minitriton.passes.loop_signature import append_result
from minitriton.passes.tensor_layouts import insert_after_value, layout_of_value, shape_of


def reduce_behind_loops(module: ModuleOp) -> bool:
    """Move all reductions of `module` for which it pays; whether there are any."""
    moved = [op for op in ops_in(module) if op.name == "tt.reduce" and _pays(op)]
    for reduce in moved:
        _Move(reduce).run()
    return bool(moved)


def _combine(reduce: Operation) -> Operation | None:
    """The one op of the reduction's body, if it combines the two elements."""
    return cast(tt.ReduceOp, reduce).single_combiner()


def _first_total(combine: Operation) -> float | None:
    """What Triton lets a total of floats begin with: the neutral element, 0.0 for -0.0."""
    if not isinstance(combine.results[0].type, AnyFloat):
        return None
    neutral = Neutral.of(combine)
    return None if neutral is None or neutral.floats is None else neutral.floats + 0.0


def _pays(reduce: Operation) -> bool:
    source = reduce.operands[0]
    layout, shape = layout_of_value(source), shape_of(source)
    combine = _combine(reduce)
    if combine is None or _first_total(combine) is None or len(reduce.operands) != 1:
        return False
    if not isinstance(layout, Blocked) or len(shape) < 2 or axis_of(reduce) != len(shape) - 1:
        return False
    owner = source.owner
    if not isinstance(owner, Operation) or owner.name != "tt.load" or _registers_along(layout, shape, -1) == 1:
        return False
    return _feeds_accumulator(reduce)


def _feeds_accumulator(reduce: Operation) -> bool:
    """Whether the result is combined with a loop argument that starts as a constant, and nothing else happens to either."""
    update = reduce.results[0].get_user_of_unique_use()
    combine = _combine(reduce)
    # An update by another op, such as a difference of sums, must stay in its place.
    if update is None or combine is None or update.name != combine.name:
        return False
    end = update.results[0].get_unique_use()
    loop = reduce.parent_op()
    if end is None or end.operation.name != "scf.yield" or loop is None or loop.name != "scf.for":
        return False
    if end.operation.parent is not reduce.parent:
        return False
    init = loop.operands[end.index + 3].owner
    argument = loop.regions[0].block.args[end.index + 1]
    carried = argument in update.operands and argument.has_one_use() and loop.results[end.index].has_one_use()
    return carried and isinstance(init, Operation) and init.name == "arith.constant"


def _registers_along(layout: DistributedEncoding, shape: Sequence[int], axis: int) -> int:
    return elems_per_thread(layout, shape)[axis]


class _Move:
    """One reduction that leaves its loop."""

    def __init__(self, reduce: Operation) -> None:
        self.reduce = reduce
        source = reduce.operands[0]
        shape = shape_of(source)
        self.rank = len(shape)
        blocked = cast(Blocked, layout_of_value(source))
        own = _registers_along(blocked, shape, -1)
        self.view_shape = (*shape[:-1], shape[-1] // own, own)
        self.view_layout = Blocked(
            (*blocked.size_per_thread[:-1], 1, blocked.size_per_thread[-1]),
            (*blocked.threads_per_warp, 1),
            (*blocked.warps_per_cta, 1),
            (self.rank, *blocked.order),
            tuple((*basis, 0) for basis in blocked.cga_layout),
        )
        self.element = cast(TensorType, source.type).element_type
        self.loop = cast(Operation, reduce.parent_op())
        self.update = cast(Operation, reduce.results[0].get_user_of_unique_use())
        self.end = cast(Operation, self.loop.regions[0].block.last_op)
        self.index = [*self.end.operands].index(self.update.results[0])

    def tensor(self, shape: Sequence[int], layout: DistributedEncoding) -> TensorType:
        """A tensor type of the reduction's elements."""
        return TensorType(self.element, shape, ttg.encoding_attr(layout))

    def run(self) -> None:
        """Rewrite the loop."""
        per_thread = self.tensor(self.view_shape[:-1], Slice(self.rank, self.view_layout))
        old_init = self.loop.operands[self.index + 3]
        user = self.loop.results[self.index].get_unique_use()
        assert user is not None
        total = self._carry(self._neutral(per_thread, old_init))
        across = Slice(self.rank - 1, Slice(self.rank, self.view_layout))
        reduced = self._reduction(total, self.tensor(self.view_shape[:-2], across), self.rank - 1, self.loop)
        convert = ttg.ConvertLayoutOp(reduced.results[0], self.loop.results[self.index].type)
        convert.location = self.reduce.location
        insert_after_value(convert, reduced.results[0])
        final = self._updated(old_init, convert.results[0])
        user.operation.operands[user.index] = final.results[0]

    def _neutral(self, type_: TensorType, like: SSAValue) -> SSAValue:
        """The constant that a thread's accumulator starts from."""
        combine = cast(Operation, _combine(self.reduce))
        value: Attribute = DenseIntOrFPElementsAttr.from_list(
            cast("TensorType[AnyFloat]", type_), [cast(float, _first_total(combine))]
        )
        constant = arith.ConstantOp.create(result_types=(type_,), properties={"value": value})
        constant.location = cast(Operation, like.owner).location
        insert_after_value(constant, like)
        return constant.results[0]

    def _carry(self, init: SSAValue) -> SSAValue:
        """Carry the threads' accumulator through the loop; its last value."""
        body = self.loop.regions[0].block
        self.loop.operands = [*self.loop.operands, init]
        arg = body.insert_arg(init.type, len(body.args))
        result = append_result(self.loop, init.type)
        updated = self._updated(arg, self._reduction_of_view(cast(TensorType, init.type)))
        yielded = [*self.end.operands]
        yielded[self.index] = body.args[self.index + 1]
        self.end.operands = [*yielded, updated.results[0]]
        return result

    def _reduction_of_view(self, type_: TensorType) -> SSAValue:
        """What a thread holds of the load, reduced."""
        view = tt.ReshapeOp.create(
            operands=(self.reduce.operands[0],),
            result_types=(self.tensor(self.view_shape, self.view_layout),),
            properties={"allow_reorder": UnitAttr(), "efficient_layout": UnitAttr()},
            location=self.reduce.location,
        )
        cast(Block, self.reduce.parent).insert_op_after(view, self.reduce)
        return self._reduction(view.results[0], type_, self.rank, view).results[0]

    def _reduction(self, source: SSAValue, type_: TensorType, axis: int, place: Operation) -> Operation:
        """The reduction of another source, behind `place`."""
        copy = self.reduce.clone(value_mapper={self.reduce.operands[0]: source})
        copy.location = self.reduce.location
        set_type(copy.results[0], type_)
        copy.properties["axis"] = IntegerAttr(axis, i32)
        cast(Block, place.parent).insert_op_after(copy, place)
        return copy

    def _updated(self, accumulator: SSAValue, value: SSAValue) -> Operation:
        """The accumulator's update with other operands, behind what gives `value`."""
        copy = type(self.update).create(
            operands=(accumulator, value),
            result_types=(accumulator.type,),
            properties=self.update.properties,
            attributes=self.update.attributes,
            location=self.update.location,
        )
        insert_after_value(copy, value)
        return copy

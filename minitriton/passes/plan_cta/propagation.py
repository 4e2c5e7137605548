"""Casts between layouts are pushed through ops until each is gone or has become a `ttg.convert_layout`.

A cast is `builtin.unrealized_conversion_cast` of one tensor to the same tensor in another layout. A backward cast asks what
defines its operand to make it in the cast's layout; a forward cast asks the users of its result to take its operand as it is.
A forward cast that meets a backward one is a `ttg.convert_layout`, or nothing if the layouts are equal.

    %a = arith.addf %x, %y : #old           %x' = cast %x : #old -> #new  (backward)
    %b = cast %a : #old -> #new   ->        %y' = cast %y : #old -> #new  (backward)
                                            %b = arith.addf %x', %y' : #new

In: ops surrounded by casts. Out: no casts. Every step keeps values as they are and changes layouts only:

    backward through     loads, elementwise ops, constants, splat, make_range, broadcast, expand_dims, scf.if, scf.for
    forward through      loads, stores, elementwise ops, scf.for, scf.yield
    into convert_layout  the conversion goes; anything else keeps its layouts

A value that several users want in several layouts is computed once for each, if computing it twice does nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import cast as typed

from xdsl.dialects import scf
from xdsl.dialects.builtin import StringAttr, TensorType, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint

from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.facts.memory_access import MemoryAccess
from minitriton.dialects.fast_paths.op_access import set_type
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.encodings import DistributedEncoding, Slice
from minitriton.passes.plan_cta.tiling import with_cga
from minitriton.passes.tensor_layouts import layout_of_tensor, layout_of_value, retyped_elements, shape_of, with_layout
from minitriton.rewriting.effects import is_memory_effect_free, only_reads

Cast = UnrealizedConversionCastOp
_FORWARD, _BACKWARD = StringAttr("forward"), StringAttr("backward")


def is_backward(cast: Cast) -> bool:
    """Whether the cast goes towards what defines its operand."""
    return cast.attributes["direction"] == _BACKWARD


def before(op: Operation) -> InsertPoint:
    """The insertion point directly before an op."""
    return InsertPoint.before(op)


def after(value: SSAValue) -> InsertPoint:
    """The insertion point directly after what defines a value."""
    owner = value.owner
    return InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)


class CastQueue:
    """The casts that are not settled yet, oldest first. `unchanged` counts those passed over since the last change."""

    def __init__(self) -> None:
        self.waiting: deque[Cast] = deque()
        self.unchanged = 0

    def backward(self, value: SSAValue, type_: Attribute, at: InsertPoint, like: Operation) -> SSAValue:
        """A new backward cast of `value`, placed in the source where `like` is."""
        return self._new(value, type_, at, like, _BACKWARD)

    def forward(self, value: SSAValue, type_: Attribute, at: InsertPoint, like: Operation) -> SSAValue:
        """A new forward cast of `value`, placed in the source where `like` is."""
        return self._new(value, type_, at, like, _FORWARD)

    def _new(
        self, value: SSAValue, type_: Attribute, at: InsertPoint, like: Operation, direction: StringAttr
    ) -> SSAValue:
        cast = Cast(operands=[[value]], result_types=[[type_]], attributes={"direction": direction})
        cast.location = like.location
        _insert(cast, at)
        self.waiting.append(cast)
        return cast.results[0]

    def drop(self, *casts: Cast) -> None:
        """Erases casts that nothing uses any more."""
        gone = set(map(id, casts))
        for cast in casts:
            _block(cast).erase_op(cast)
        self.waiting = deque(cast for cast in self.waiting if id(cast) not in gone)

    def surround(
        self,
        op: Operation,
        operands: Sequence[DistributedEncoding | None],
        results: Sequence[DistributedEncoding | None],
    ) -> None:
        """Makes `op` work in these layouts (None: as it is), with casts around it."""
        for index, (operand, layout) in enumerate(zip(tuple(op.operands), operands, strict=True)):
            if instance_of(operand.type, TensorType):
                type_ = operand.type if layout is None else with_layout(operand.type, layout)
                op.operands[index] = self.backward(operand, type_, before(op), op)
        last: Operation = op
        for result, layout in zip(op.results, results, strict=True):
            if instance_of(result.type, TensorType):
                type_ = result.type if layout is None else with_layout(result.type, layout)
                last = self.release(result, type_, InsertPoint.after(last), op)

    def release(self, value: SSAValue, type_: Attribute, at: InsertPoint, like: Operation) -> Operation:
        """Gives `value` another type, and its users the old one by a forward cast, which is returned."""
        old = value.type
        cast = self.forward(value, old, at, like).owner
        assert isinstance(cast, Operation)
        set_type(value, type_)
        value.replace_uses_with_if(cast.results[0], lambda use: use.operation is not cast)
        return cast

    def settle(self, cast: Cast) -> None:
        """Makes a cast that can go no further a `ttg.convert_layout`, or nothing."""
        self.meet(cast, cast)

    def meet(self, first: Cast, second: Cast) -> None:
        """Replaces `second` of `first` by one conversion, or by nothing."""
        source, result = first.operands[0], second.results[0]
        if source.type != result.type:
            convert = ttg.ConvertLayoutOp(source, result.type)
            convert.location = second.location
            _block(second).insert_op_before(convert, second)
            source = convert.results[0]
        result.replace_all_uses_with(source)
        self.drop(*((second,) if first is second else (second, first)))


def _block(op: Operation) -> Block:
    block = op.parent
    assert block is not None
    return block


def _insert(op: Operation, at: InsertPoint) -> None:
    if at.insert_before is None:
        at.block.add_op(op)
    else:
        at.block.insert_op_before(op, at.insert_before)


_MOST_STEPS = 10_000
"""Steps after which the casts that are left become conversions where they are."""


def _is_access(op: Operation) -> bool:
    access = MemoryAccess.of(op)
    return access is not None and not access.asynchronous


def propagate_all(queue: CastQueue) -> None:
    """Settles every cast of the queue and those that come up on the way."""
    for _ in range(_MOST_STEPS):
        if not queue.waiting:
            return
        cast = queue.waiting.popleft()
        if _backward(queue, cast) if is_backward(cast) else _forward(queue, cast):
            queue.unchanged = 0
        else:
            queue.waiting.append(cast)
            queue.unchanged += 1
    while queue.waiting:
        queue.settle(queue.waiting.popleft())


# Towards what defines the operand ---------------------------------------------------------------------------------------


def _backward(queue: CastQueue, cast: Cast) -> bool:
    """Whether the cast went somewhere."""
    source = cast.operands[0]
    if not source.has_one_use():
        return _agree(queue, source, cast)
    if isinstance(source, BlockArgument):
        loop = source.owner.parent_op()
        if isinstance(loop, scf.ForOp) and source.index:
            _through_for(queue, loop, source.index - 1, cast.results[0].type)
        else:
            queue.settle(cast)
        return True
    op = typed(Operation, source.owner)
    if isinstance(op, Cast):
        queue.meet(op, cast)
    elif isinstance(op, scf.IfOp):
        _through_if(queue, op, op.results.index(source), cast.results[0].type)
    elif isinstance(op, scf.ForOp):
        _through_for(queue, op, op.results.index(source), cast.results[0].type)
    elif isinstance(op, ttg.ConvertLayoutOp):
        source.replace_all_uses_with(op.operands[0])
        typed(Block, op.parent).erase_op(op)
        queue.waiting.append(cast)
    else:
        _demand(queue, op, layout_of_tensor(cast.results[0]))
    return True


def is_elementwise(op: Operation) -> bool:
    """Whether all tensors of `op` may have any one layout."""
    return Elementwise.of(op) is not None and is_memory_effect_free(op)


def _demand(queue: CastQueue, op: Operation, layout: DistributedEncoding) -> None:
    """Makes `op` compute its results in `layout`, as far as it can."""
    if _is_access(op):
        _access(queue, op, layout)
    elif isinstance(op, arith.ConstantOp):
        _constant(queue, op, layout)
    elif isinstance(op, tt.ExpandDimsOp):
        queue.surround(op, [Slice(op.axis.value.data, layout)], [layout])
    elif is_elementwise(op) or isinstance(op, (tt.SplatOp, tt.MakeRangeOp, tt.BroadcastOp)):
        _in_one_layout(queue, op, layout)
    else:
        _keep(queue, op)


def _constant(queue: CastQueue, op: Operation, layout: DistributedEncoding) -> None:
    _in_one_layout(queue, op, layout)
    op.properties["value"] = retyped_elements(op.properties["value"], op.results[0].type)


def _in_one_layout(queue: CastQueue, op: Operation, layout: DistributedEncoding) -> None:
    queue.surround(op, [layout] * len(op.operands), [layout] * len(op.results))


def _keep(queue: CastQueue, op: Operation) -> None:
    """Leaves the layouts of an op as they are."""
    queue.surround(op, [None] * len(op.operands), [None] * len(op.results))


def _access(queue: CastQueue, op: Operation, layout: DistributedEncoding) -> None:
    """A memory access keeps its own coalesced layout, with the CTAs of `layout`.

    Data that a slice of CTAs would hold several times is accessed once, and converted.
    """
    if isinstance(layout, Slice) and layout.parent.ctas_per_cga[layout.dim] > 1:
        values = [*op.results, *op.operands]
        layout = next(found for value in values if (found := layout_of_value(value)) is not None)
    num_warps = ttg.num_warps(op)

    def planned(value: SSAValue) -> DistributedEncoding | None:
        own = layout_of_value(value)
        return None if own is None else with_cga(own, shape_of(value), num_warps, layout.cga)

    new = [planned(value) for value in (*op.operands, *op.results)]
    if any(found is None and layout_of_value(v) for found, v in zip(new, (*op.operands, *op.results), strict=True)):
        _keep(queue, op)
        return
    queue.surround(op, new[: len(op.operands)], new[len(op.operands) :])


# Towards the users of the result ----------------------------------------------------------------------------------------


def _forward(queue: CastQueue, cast: Cast) -> bool:
    """Whether the cast went somewhere: always."""
    result = cast.results[0]
    use = result.first_use
    if use is None:
        queue.drop(cast)
        return True
    if not result.has_one_use():
        _one_cast_a_user(queue, cast)
        return True
    op, layout = use.operation, layout_of_tensor(cast.operands[0])
    if isinstance(op, Cast):
        queue.meet(cast, op)
    elif _is_access(op):
        _access(queue, op, layout)
    elif is_elementwise(op):
        _in_one_layout(queue, op, layout)
    elif isinstance(op, ttg.ConvertLayoutOp):
        converted = op.results[0]
        set_type(result, converted.type)
        converted.replace_all_uses_with(result)
        typed(Block, op.parent).erase_op(op)
        queue.waiting.append(cast)
    elif isinstance(op, scf.ForOp):
        _through_for(queue, op, use.index - 3, cast.operands[0].type)
    elif isinstance(op, scf.YieldOp):
        _through_yield(queue, op, use.index, cast)
    else:
        _keep(queue, op)
    return True


def _through_yield(queue: CastQueue, op: Operation, index: int, cast: Cast) -> None:
    parent = op.parent_op()
    if isinstance(parent, scf.ForOp):
        _through_for(queue, parent, index, cast.operands[0].type)
    elif isinstance(parent, scf.IfOp):
        _through_if(queue, parent, index, cast.operands[0].type)
    else:
        queue.settle(cast)


# Control flow -----------------------------------------------------------------------------------------------------------


def _through_if(queue: CastQueue, op: scf.IfOp, index: int, type_: Attribute) -> None:
    """Result `index` of an `scf.if` gets another type."""
    queue.release(op.results[index], type_, InsertPoint.after(op), op)
    for region in op.regions:
        block = region.first_block
        last = None if block is None else block.last_op
        if last is not None:
            last.operands[index] = queue.backward(last.operands[index], type_, before(last), op)


def _through_for(queue: CastQueue, op: scf.ForOp, index: int, type_: Attribute) -> None:
    """What an `scf.for` carries at `index` gets another type."""
    body = op.body.block
    last = typed(Operation, body.last_op)
    carried, start = body.args[index + 1], index + 3
    op.operands[start] = queue.backward(op.operands[start], type_, before(op), op)
    queue.release(carried, type_, InsertPoint.at_start(body), op)
    last.operands[index] = queue.backward(last.operands[index], type_, before(last), op)
    queue.release(op.results[index], type_, InsertPoint.after(op), op)


# Several users ----------------------------------------------------------------------------------------------------------


def _one_cast_a_user(queue: CastQueue, cast: Cast) -> None:
    """A forward cast for each user of the result."""
    result = cast.results[0]
    point = InsertPoint.after(cast)
    while (use := result.first_use) is not None:
        use.operation.operands[use.index] = queue.forward(cast.operands[0], result.type, point, cast)
    queue.drop(cast)


def _agree(queue: CastQueue, value: SSAValue, cast: Cast) -> bool:
    """One backward cast for each layout in which casts want `value`.

    Waits as long as other users may yet become such casts. When nothing else moves the first of them is asked, and the users
    after it wait for another turn.
    """
    wanted: dict[Attribute, list[Cast]] = {}
    for use in tuple(value.uses):
        user = use.operation
        asked = not isinstance(user, Cast)
        if asked and queue.unchanged <= len(queue.waiting):
            return False
        found = _ask_for(queue, value, user, use.index, cast) if not isinstance(user, Cast) else user
        wanted.setdefault(found.results[0].type, []).append(found)
        if asked:
            break
    first: SSAValue | None = None
    for type_, casts in wanted.items():
        made = value if first is None else _again(value)
        if made is None:
            for each in casts:
                _convert(first, each)
            queue.drop(*casts)
            continue
        new = queue.backward(made, type_, after(made), cast)
        first = new if first is None else first
        for each in casts:
            each.results[0].replace_all_uses_with(new)
        queue.drop(*casts)
    return True


def _ask_for(queue: CastQueue, value: SSAValue, user: Operation, index: int, cast: Cast) -> Cast:
    """Lets a user take `value` through a backward cast like the given one, and a forward one back."""
    asked = queue.backward(value, cast.results[0].type, before(user), cast)
    user.operands[index] = queue.forward(asked, value.type, before(user), cast)
    return typed(Cast, asked.owner)


def _convert(source: SSAValue | None, cast: Cast) -> None:
    assert source is not None
    convert = ttg.ConvertLayoutOp(source, cast.results[0].type)
    convert.location = cast.location
    typed(Block, cast.parent).insert_op_before(convert, cast)
    cast.results[0].replace_all_uses_with(convert.results[0])


def _again(value: SSAValue) -> SSAValue | None:
    """`value` computed a second time; None if that would do more than compute it."""
    op = value.owner
    if not isinstance(op, Operation) or op.regions or not only_reads(op):  # a volatile load counts as a write
        return None
    if not isinstance(op, tt.LoadOp) and not is_memory_effect_free(op):
        return None
    copy = op.clone()
    copy.location = op.location
    typed(Block, op.parent).insert_op_after(copy, op)
    return copy.results[list(op.results).index(typed(OpResult, value))]

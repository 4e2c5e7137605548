"""Casts between layouts that wait to be pushed through ops: the work list of `propagation.py`.

A cast is `builtin.unrealized_conversion_cast` of one tensor to the same tensor in another layout. A backward cast asks what
defines its operand to make it in the cast's layout; a forward cast asks the users of its result to take its operand as it is.
A forward cast that meets a backward one is a `ttg.convert_layout`, or nothing if the layouts are equal.

    %a = arith.addf %x, %y : #old           %x' = cast %x : #old -> #new  (backward)
    %b = cast %a : #old -> #new   ->        %y' = cast %y : #old -> #new  (backward)
                                            %b = arith.addf %x', %y' : #new
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, TensorType, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from minitriton.dialects import ttg
from minitriton.dialects.fast_paths.op_access import set_type
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.passes.tensor_layouts import with_layout

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

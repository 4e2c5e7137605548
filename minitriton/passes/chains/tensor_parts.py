"""Parts of a tensor along an axis, made from parts of what it is computed from.

    %x = local_load %buffer        : 128x64xi8           %x1 = local_load (subslice %buffer[0, 16])    : 128x16xi8
    %w = arith.sitofp %x           : 128x64xbf16    =>   %w1 = arith.sitofp %x1                        : 128x16xbf16
                                                         part 1 of 4 of %w along axis 1

A part is what each thread has anyway: the layout of a part is that of the whole without the registers of the other parts (`part_type`),
so that no number moves to another thread and every number is computed as before.

Layouts in which several threads share an axis below the size of a part have none: `part_type` is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import lru_cache
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from minitriton.dialects import tt, ttg
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.fast_paths.op_access import operand_values, set_type
from minitriton.dialects.narrowing import instance_of
from minitriton.host.frozen import record
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.layouts.inference import reshape_dst
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.to_linear import linear_encoding_of, to_linear_layout
from minitriton.passes.tensor_layouts import layout_of_value, shape_of
from minitriton.rewriting.constants import constant_attr, splat_to
from minitriton.rewriting.effects import EffectKind, effect_kind
from minitriton.rewriting.regions import clone_op
from minitriton.rewriting.rewriter import Inserter


@lru_cache(maxsize=1024)
def _part_layout(
    layout: DistributedEncoding, shape: tuple[int, ...], axis: int, count: int
) -> DistributedEncoding | None:
    """The layout of each of `count` parts; None if they are not in registers of their own."""
    whole, size = to_linear_layout(layout, shape), shape[axis] // count
    bases = dict(whole.bases)
    bases["register"] = tuple(basis for basis in bases["register"] if basis[axis] < size)
    if any(basis[axis] >= size for images in bases.values() for basis in images):
        return None
    if 1 << (len(whole.bases["register"]) - len(bases["register"])) != count:
        return None
    sizes = dict(whole.out_dims)
    sizes[list(sizes)[axis]] = size
    wanted = LinearLayout.trusted(bases, sizes)
    part = (*shape[:axis], size, *shape[axis + 1 :])
    return layout if to_linear_layout(layout, part) == wanted else linear_encoding_of(wanted)


def part_type(type_: Attribute, axis: int, count: int) -> TensorType | None:
    """The type of each of `count` parts along `axis` of a tensor of `type_`, a thread's elements of it those that it has of the whole."""
    assert instance_of(type_, TensorType)
    shape = type_.get_shape()
    layout = getattr(type_.encoding, "data", None)
    if layout is None or shape[axis] % count or shape[axis] < count:
        return None
    found = _part_layout(layout, tuple(shape), axis, count)
    if found is None:
        return None
    return TensorType(
        type_.element_type, [*shape[:axis], shape[axis] // count, *shape[axis + 1 :]], ttg.encoding_attr(found)
    )


Source = tuple[SSAValue, int | None]
"""An operand and the axis along which a part of it is needed; None: all of it."""


def sources(value: SSAValue, axis: int, count: int) -> list[Source] | None:
    """Of what a part of `value` along `axis` is made by the op that gives it; None where it cannot be."""
    if not isinstance(value, OpResult) or not instance_of(value.type, TensorType):
        return None
    op = value.op
    if splat_of(value) is not None or isinstance(op, tt.SplatOp | tt.MakeRangeOp | ttg.LocalLoadOp):
        return []
    if isinstance(op, tt.BroadcastOp):
        return [(op.src, None if shape_of(op.src)[axis] == 1 else axis)]
    if isinstance(op, tt.ExpandDimsOp):
        inserted = op.axis.value.data
        return None if inserted == axis else [(op.src, axis - (inserted < axis))]
    if isinstance(op, tt.TransOp):
        return [(op.src, op.order.get_values()[axis])]
    if isinstance(op, tt.ReshapeOp):
        if op.allow_reorder is not None:
            return None
        found = _axis_before_reshape(shape_of(op.src), shape_of(value), axis, count)
        return None if found is None else [(op.src, found)]
    if isinstance(op, tt.JoinOp):
        return None if axis == len(shape_of(value)) - 1 else [(operand, axis) for operand in operand_values(op)]
    if isinstance(op, tt.SplitOp | ttg.ConvertLayoutOp):
        return [(op.src, axis)]
    if isinstance(op, tt.ElementwiseInlineAsmOp) and op.packed_element.value.data != 1:
        return None
    if isinstance(op, tt.LoadOp) or (Elementwise.of(op) is not None and effect_kind(op) is EffectKind.FREE):
        return [(each, axis if instance_of(each.type, TensorType) else None) for each in operand_values(op)]
    return None


def _axis_before_reshape(source: Sequence[int], result: Sequence[int], axis: int, count: int) -> int | None:
    """The axis of the source whose `count` parts are those along `axis` of the result."""
    before = prod(result[:axis])
    for found, size in enumerate(source):
        if prod(source[:found]) == before and size % count == 0:
            return found
    return None


def splat_of(value: SSAValue) -> Attribute | None:
    """The constant that every element of `value` is."""
    constant = constant_attr(value)
    return constant if constant is not None and splat_to(constant, value.type) is not None else None


def registers_apart(at: Inserter, value: SSAValue, axis: int, count: int) -> list[SSAValue]:
    """`count` parts of `value` along `axis`: as M x 2 x .. x 2 x size, the twos last, split one after the other. Each part has the
    registers that it had in `value`."""
    type_, layout, narrow = value.type, layout_of_value(value), part_type(value.type, axis, count)
    assert instance_of(type_, TensorType) and layout is not None and narrow is not None
    shape, twos = type_.get_shape(), count.bit_length() - 1
    wide_shape = (*shape[:axis], *[2] * twos, shape[axis] // count, *shape[axis + 1 :])
    spread = reshape_dst(shape, layout, wide_shape)
    assert spread is not None
    wide = at.value(tt.ReshapeOp(value, TensorType(type_.element_type, wide_shape, ttg.encoding_attr(spread))))
    halved = range(axis, axis + twos)
    order = (*(dim for dim in range(len(wide_shape)) if dim not in halved), *reversed(halved))
    parts = [at.value(tt.TransOp(wide, order=order))]
    for _ in range(twos):
        parts = [half for part in parts for half in at.insert(tt.SplitOp(part)).results]
    return [at.value(ttg.ConvertLayoutOp(part, narrow)) for part in parts]


def joined(at: Inserter, parts: Sequence[SSAValue], axis: int, type_: Attribute) -> SSAValue:
    """The tensor of `type_` with these parts along `axis`: what `registers_apart` undoes."""
    assert instance_of(type_, TensorType)
    twos = len(parts).bit_length() - 1
    left = list(parts)
    while len(left) > 1:
        left = [at.value(tt.JoinOp(left[i], left[i + 1])) for i in range(0, len(left), 2)]
    rank = len(type_.get_shape())
    order = (*range(axis), *reversed(range(rank, rank + twos)), *range(axis, rank))
    wide = at.value(tt.TransOp(left[0], order=order))
    layout = layout_of_value(wide)
    spread = None if layout is None else reshape_dst(shape_of(wide), layout, type_.get_shape())
    assert spread is not None
    flat = at.value(tt.ReshapeOp(wide, TensorType(type_.element_type, type_.get_shape(), ttg.encoding_attr(spread))))
    return at.value(ttg.ConvertLayoutOp(flat, type_))


def make_part(at: Inserter, op: Operation, axis: int, count: int, number: int, made: dict[SSAValue, SSAValue]) -> None:
    """Makes the part with that number of the results of `op` along `axis`, of what `made` has for its operands, and adds them to it."""
    value = op.results[0]
    type_, splat = part_type(value.type, axis, count), splat_of(value)
    assert type_ is not None
    if splat is not None:
        attribute = splat_to(splat, type_)
        assert attribute is not None
        made[value] = at.constant(attribute)
        return
    if isinstance(op, tt.MakeRangeOp):
        size = type_.get_shape()[0]
        first = op.start.value.data + number * size
        made[value] = at.value(tt.MakeRangeOp(start=first, end=first + size, result_type=type_))
        return
    values = made
    if isinstance(op, ttg.LocalLoadOp):
        buffer = op.src.type
        assert isinstance(buffer, ttg.MemDescType)
        offsets = [0] * len(type_.get_shape())
        offsets[axis] = number * type_.get_shape()[axis]
        source = made.get(op.src, op.src)
        view = at.value(ttg.MemDescSubsliceOp(source, buffer.with_(shape=type_.get_shape()), offsets=offsets))
        values = {**made, op.src: view}
    copy = clone_op(op, values)
    for old, result in zip(op.results, copy.results, strict=True):
        narrowed = part_type(old.type, axis, count)
        assert narrowed is not None
        set_type(result, narrowed)
    at.place(copy)
    made.update(zip(op.results, copy.results, strict=True))


@record
class TensorParts:
    """`count` parts along `axis` of `value`. `loads_as_wanted`: conversions between layouts after loads of buffers go, loads give what
    comes out of the conversion."""

    value: SSAValue
    axis: int
    count: int
    chain: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """The ops that are made in parts, and along which axis."""
    taken: list[SSAValue] = field(default_factory=list[SSAValue])
    """The parts of a value that is computed as a whole, once they are there."""

    @classmethod
    def of(cls, value: SSAValue, axis: int, count: int) -> TensorParts | None:
        """None if `value` does not have such parts, or the parts would be computed from more than what only `value` needs."""
        found = cls(value, axis, count)
        return found if found._plan() else None

    @classmethod
    def of_registers(cls, value: SSAValue, axis: int, count: int) -> TensorParts | None:
        """`value` is computed as a whole, and each part is some of its registers. None if it does not have such parts."""
        return None if part_type(value.type, axis, count) is None else cls(value, axis, count)

    def _plan(self) -> bool:
        pending: list[Source] = [(self.value, self.axis)]
        block = self.value.owner.parent if isinstance(self.value.owner, Operation) else None
        while pending:
            value, axis = pending.pop()
            if axis is None:
                continue
            if not isinstance(value, OpResult) or part_type(value.type, axis, self.count) is None:
                return False
            if self.chain.setdefault(value.op, axis) != axis:
                return False
            needed = sources(value, axis, self.count)
            is_repeated = needed == [] and not isinstance(value.op, ttg.LocalLoadOp)
            if needed is None or (value.op.parent is not block and not is_repeated):
                return False
            pending += needed
        return True

    @property
    def type_(self) -> TensorType:
        """The type of a part."""
        found = part_type(self.value.type, self.axis, self.count)
        assert found is not None
        return found

    def part(self, at: Inserter, number: int, made: dict[SSAValue, SSAValue] | None = None) -> SSAValue:
        """Part `number`, made where `at` stands; `made`: that part of what others were made of."""
        return self._part(at, self.value, self.axis, number, {} if made is None else made)

    def _part(
        self, at: Inserter, value: SSAValue, axis: int | None, number: int, made: dict[SSAValue, SSAValue]
    ) -> SSAValue:
        if axis is None:
            return value
        if value is self.value and not self.chain:
            if not self.taken:
                self.taken = registers_apart(at, value, axis, self.count)
            return self.taken[number]
        if value in made:
            return made[value]
        assert isinstance(value, OpResult)
        needed = sources(value, axis, self.count)
        assert needed is not None
        for operand, along in needed:
            made[operand] = self._part(at, operand, along, number, made)
        make_part(at, value.op, axis, self.count, number, made)
        return made[value]

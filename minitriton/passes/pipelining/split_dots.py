"""A dot whose A is in registers becomes one dot for each step of its instruction along K.

    %d = warp_group_dot %a, %b, %c : 64x64 * 64x128       =>      %a0, .., %a3 = parts of %a along K, by registers only
                                                                  %d0 = warp_group_dot %a0, subslice(%b, 0), %c
                                                                  %d1 = warp_group_dot %a1, subslice(%b, 16), %d0, ...

Waits can then let all but one of them run while the registers of the first are filled again. Counterpart of splitRSDot in
lib/Dialect/TritonGPU/Transforms/Pipeliner/WGMMAPipeline.cpp.

An operand in registers is sliced along K: each slice is loaded and converted where its dot begins.

    %x = local_load %buffer                    : 128x64xi8           %x0 = local_load (subslice %buffer[0, 0])      : 128x16xi8
    %w = arith.sitofp %x                       : 128x64xbf16         %w0 = arith.sitofp %x0                         : 128x16xbf16
    %w0, .., %w3 = parts of %w                               =>      %d0 = warp_group_dot %w0, ...
    %d0 = warp_group_dot %w0, ...                                    %x1 = local_load (subslice %buffer[0, 16])
    %d1 = warp_group_dot %w1, ...                                    ...

Where the whole operand is loaded at once, its registers are written while no dot may run that still reads them: tensor cores wait for
loads and conversions. In slices, a slice's registers are free as soon as its own dot of the iteration before has ended, while the
dots of the other slices still run. That pays where an SM holds one CTA; next to another one, whose dots run meanwhile, it costs 3 to
9 % (docs/tensor-cores.md). Triton 3.6.0 loads the whole operand.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from minitriton.dialects import tt, ttg, ttng
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.fast_paths.op_access import operand_values
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import infer_trans
from minitriton.layouts.encodings import NvidiaMma
from minitriton.passes.chains.tensor_parts import registers_apart
from minitriton.passes.tensor_layouts import layout_of_value, shape_of
from minitriton.rewriting.constants import constant_attr, splat_to
from minitriton.rewriting.effects import EffectKind, effect_kind
from minitriton.rewriting.rewriter import Inserter


def can_be_sliced(value: SSAValue, k: int, block: Block) -> bool:
    """Whether `value`, a matrix, comes from loads of buffers in `block` by what looks at each element alone, transposes, or repeats along `k`,
    whatever the layouts: a part is loaded in the layout that its dot wants."""
    loads = 0
    pending, seen = [(value, k)], set[SSAValue]()
    while pending:
        current, along = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        if not isinstance(current, OpResult) or not instance_of(current.type, TensorType):
            return False
        op = current.op
        if len(shape_of(current)) != 2 or len(op.results) != 1:
            return False
        if _splat_of(current) is not None or isinstance(op, tt.SplatOp):
            continue
        if isinstance(op, tt.BroadcastOp) and shape_of(op.src)[along] == 1:
            continue
        if op.parent is not block:
            return False
        if isinstance(op, ttg.LocalLoadOp):
            loads += 1
        elif isinstance(op, tt.TransOp):
            pending.append((op.src, 1 - along))
        elif isinstance(op, ttg.ConvertLayoutOp) or (Elementwise.of(op) is not None and _is_free(op)):
            pending.extend((operand, along) for operand in operand_values(op))
        else:
            return False
    return loads > 0


class OperandSlices:
    """Parts of `value` along dimension `k` (that of the value itself), `step` elements each."""

    def __init__(self, value: SSAValue, k: int, step: int) -> None:
        self.value = value
        self.k = k
        self.step = step

    def part(self, at: Inserter, number: int) -> SSAValue:
        """Part `number`, made where `at` stands."""
        type_ = self.value.type
        assert instance_of(type_, TensorType)
        shape = list(type_.get_shape())
        shape[self.k] = self.step
        made: dict[SSAValue, SSAValue] = {}
        return self._part(at, self.value, TensorType(type_.element_type, shape, type_.encoding), self.k, number, made)

    def _part(
        self, at: Inserter, value: SSAValue, type_: TensorType, k: int, number: int, made: dict[SSAValue, SSAValue]
    ) -> SSAValue:
        """The part of `value`, whose K is dimension `k`, as a `type_`."""
        if value in made:
            return made[value]
        assert isinstance(value, OpResult)
        op = value.op
        splat = _splat_of(value)
        if splat is not None:
            attribute = splat_to(splat, type_)
            assert attribute is not None
            new = at.constant(attribute)
        elif isinstance(op, tt.SplatOp):
            new = at.value(tt.SplatOp.create(operands=(op.operands[0],), result_types=(type_,)))
        elif isinstance(op, ttg.LocalLoadOp):
            new = self._loaded(at, op, type_, k, number)
        elif isinstance(op, tt.BroadcastOp):
            source = TensorType(type_.element_type, shape_of(op.src), type_.encoding)
            narrow = op.src if op.src.type == source else at.value(ttg.ConvertLayoutOp(op.src, source))
            new = at.value(tt.BroadcastOp.create(operands=(narrow,), result_types=(type_,)))
        elif isinstance(op, ttg.ConvertLayoutOp):
            new = self._part(at, op.src, type_, k, number, made)
        elif isinstance(op, tt.TransOp):
            source = self._part(at, op.src, infer_trans(type_, (1, 0)), 1 - k, number, made)
            new = at.value(tt.TransOp(source, order=(1, 0), result_type=type_))
        else:
            operands = [
                self._part(
                    at, operand, TensorType(_element(operand), type_.get_shape(), type_.encoding), k, number, made
                )
                for operand in operand_values(op)
            ]
            copy = op.create(
                operands=operands, result_types=(type_,), properties=dict(op.properties), attributes=dict(op.attributes)
            )
            new = at.value(copy)
        made[value] = new
        return new

    def _loaded(self, at: Inserter, load: ttg.LocalLoadOp, type_: TensorType, k: int, number: int) -> SSAValue:
        buffer = load.src.type
        assert isinstance(buffer, ttg.MemDescType)
        offsets = [0, 0]
        offsets[k] = number * self.step
        view = at.value(ttg.MemDescSubsliceOp(load.src, buffer.with_(shape=type_.get_shape()), offsets=offsets))
        operands = (view, *operand_values(load)[1:])
        return at.value(
            ttg.LocalLoadOp.create(operands=operands, result_types=(type_,), properties=dict(load.properties))
        )


def _splat_of(value: SSAValue) -> Attribute | None:
    constant = constant_attr(value)
    return constant if constant is not None and splat_to(constant, value.type) is not None else None


def _element(value: SSAValue) -> Attribute:
    assert instance_of(value.type, TensorType)
    return value.type.element_type


def _is_free(op: Operation) -> bool:
    return effect_kind(op) is EffectKind.FREE


_NEVER_PROMOTES = 1 << 30
"""For `maxNumImpreciseAcc`: a part adds no accumulator of its own."""


def split_along_k(dot: ttng.WarpGroupDotOp, slice_from: int = 0) -> list[ttng.WarpGroupDotOp]:
    """The dots in place of `dot`; itself if A is a buffer or one step is all there is. Each part of A is made where its
    dot stands, if the accumulator has `slice_from` elements or more (0: never) and A comes from buffers element by element."""
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
        parts_of_a = iter(registers_apart(at, dot.a, k, count))
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


def _split_b(at: Inserter, b: SSAValue, step: int, count: int) -> list[SSAValue]:
    type_ = b.type
    assert isinstance(type_, ttg.MemDescType)
    shape = list(type_.get_shape())
    k = len(shape) - 2
    shape[k] = step
    view = type_.with_(shape=tuple(shape), mutable=False)
    offsets = [[number * step if dim == k else 0 for dim in range(len(shape))] for number in range(count)]
    return [at.value(ttg.MemDescSubsliceOp(b, view, offsets=offset)) for offset in offsets]

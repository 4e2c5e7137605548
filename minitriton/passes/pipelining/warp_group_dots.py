"""Dots on tensor cores (`wgmma`) in loops become asynchronous; waits are inserted where results are needed.

    scf.for ... iter_args(%acc)                        scf.for ... iter_args(%acc)
      %d = warp_group_dot %a, %b, %acc        =>         %d = warp_group_dot %a, %b, %acc {isAsync}
      yield %d                                           %w = warp_group_dot_wait %d, %a, %b {pendings = 1}   the one before is done
                                                         yield %w
                                                       warp_group_dot_wait {pendings = 0}

A dot may stay in flight into the next iteration ("properly asynchronous") if
1. its buffers are multi-buffered, so that no load writes what it reads (A may be in registers: then the wait for the dot of the
   iteration before stands right after the dot);
2. no op of the loop uses its result except in a conditional, after a wait at that block's beginning;
3. the iteration after uses it only as the accumulator of a dot, or after a wait for all.
Every other dot is waited for at once. Values and buffers that are waited for are operands of the wait, which forwards them: they live until then.

Counterpart of lib/Dialect/TritonGPU/Transforms/Pipeliner/WGMMAPipeline.cpp.

A dot whose A is in registers becomes one dot for each step of its instruction along K.

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

from collections.abc import Iterable
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import Float32Type, IntegerAttr, TensorType, i1, i32
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue, Use

from minitriton.analysis.in_flight.rings import is_multi_buffered
from minitriton.dialects import tt, ttg, ttng
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.fast_paths.op_access import operand_values
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import infer_trans
from minitriton.layouts.conversion import minimal_cvt_layout
from minitriton.layouts.encodings import NvidiaMma
from minitriton.passes.chains.tensor_parts import registers_apart
from minitriton.passes.pipelining.schedule import ancestor_in_body
from minitriton.passes.tensor_layouts import layout_of_value, shape_of
from minitriton.rewriting.constants import constant_attr, splat_to
from minitriton.rewriting.effects import EffectKind, effect_kind
from minitriton.rewriting.regions import is_defined_outside
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


_TRUE = IntegerAttr(1, i1)
_ACCUMULATOR = 2


def run_dots_asynchronously(loop: scf.ForOp, slice_from: int = 0, async_integer_dots: bool = False) -> bool:
    """Makes the dots directly in `loop` asynchronous, and waits for each as late as is safe. Whether there are any. Operands in
    registers of dots with `slice_from` elements or more, if that is not 0, are sliced. Accumulators of integers are waited for at
    once unless `async_integer_dots`."""
    carried: dict[ttng.WarpGroupDotOp, int] = {}
    dots = [op for op in loop.regions[0].block.ops if isinstance(op, ttng.WarpGroupDotOp)]
    for dot in dots:
        dot.properties["isAsync"] = _TRUE
        index = _carried_by(dot, loop) if _has_whole_registers(dot, async_integer_dots) else None
        if index is None:
            _wait(Inserter.after(dot), [dot.results[0]], 0)
        else:
            carried[dot] = index
    if carried:
        if _first_full_wait(loop) is None:
            carried = {part: index for dot, index in carried.items() for part in split_along_k(dot, slice_from)}
            _wait_in_loop(loop, list(carried))
        _wait(Inserter.after(loop), [loop.results[index] for index in carried.values()], 0)
    return bool(dots)


# Which dots may stay in flight


def _carried_by(dot: ttng.WarpGroupDotOp, loop: scf.ForOp) -> int | None:
    """The index among the results of `loop` of a dot that may run into the next iteration; None for one that may not."""
    if not all(is_multi_buffered(operand, loop) for operand in (dot.a, dot.b)):
        return None
    index = _only_yield(dot, loop)
    if index is None:
        return None
    before = loop.regions[0].block.args[1 + index]
    if all(_is_accumulator(use) for use in before.uses):
        return index
    wait = _first_full_wait(loop)
    if wait is None or not all(_is_after(use.operation, wait) for use in before.uses):
        return None
    _pass_through(wait, [before])
    return index


def _has_whole_registers(dot: ttng.WarpGroupDotOp, integers: bool) -> bool:
    """Whether each element of the accumulator has a 32-bit register: halves would be unpacked and packed while the dot is in flight."""
    accumulator = dot.c.type
    assert instance_of(accumulator, TensorType)
    return isinstance(accumulator.element_type, Float32Type) or (integers and accumulator.element_type == i32)


def _only_yield(dot: ttng.WarpGroupDotOp, loop: scf.ForOp) -> int | None:
    """Where the loop yields the dot, if nothing else in its body uses it but conditionals."""
    found: int | None = None
    pending = list(dot.results[0].uses)
    while pending:
        use = pending.pop()
        user, around = use.operation, use.operation.parent_op()
        if around is loop:
            if _moves_nothing(user):
                pending.extend(user.results[0].uses)
            elif isinstance(user, scf.YieldOp) and found is None:
                found = use.index
            else:
                return None
        elif not isinstance(around, scf.IfOp):
            return None
        elif isinstance(user, scf.YieldOp):
            pending.extend(around.results[use.index].uses)
    return found


def _moves_nothing(op: Operation) -> bool:
    """Whether registers keep what they hold."""
    if isinstance(op, tt.ReshapeOp | tt.TransOp):
        return True
    if not isinstance(op, ttg.ConvertLayoutOp):
        return False
    source, result = layout_of_value(op.src), layout_of_value(op.result)
    assert source is not None and result is not None
    return not minimal_cvt_layout(source, result, shape_of(op.src)).out_dims


def _is_accumulator(use: Use) -> bool:
    if isinstance(use.operation, ttng.WarpGroupDotOp):
        return use.index == _ACCUMULATOR
    return _moves_nothing(use.operation) and all(map(_is_accumulator, use.operation.results[0].uses))


def _first_full_wait(loop: scf.ForOp) -> ttng.WarpGroupDotWaitOp | None:
    """The first wait directly in `loop` after which no dot runs."""
    waits = (op for op in loop.regions[0].block.ops if isinstance(op, ttng.WarpGroupDotWaitOp))
    return next((wait for wait in waits if wait.pendings.value.data == 0), None)


def _is_after(op: Operation, wait: Operation) -> bool:
    loop = wait.parent_op()
    assert isinstance(loop, scf.ForOp)
    ancestor = ancestor_in_body(loop, op)
    return ancestor is not None and wait.is_before_in_block(ancestor)


# Waits


def _wait(at: Inserter, values: list[SSAValue], pendings: int) -> None:
    """A wait here for `values` while `pendings` dots may still run."""
    wait = at.insert(ttng.WarpGroupDotWaitOp((), pendings=pendings))
    _pass_through(wait, values)


def _wait_in_loop(loop: scf.ForOp, dots: list[ttng.WarpGroupDotOp]) -> None:
    """Waits for the dots of the iteration before, and in conditionals that use a dot.

    The last wait stands right after the last dot: what follows may write to the buffers of the iteration before.
    """
    for dot in dots:
        _wait_in_conditionals(dot, loop)
        if _reads_registers_of_the_loop(dot, loop):
            _wait(Inserter.after(dot), [dot.results[0]], len(dots) - 1)
    if not _reads_registers_of_the_loop(dots[-1], loop):
        _wait(Inserter.after(dots[-1]), [dot.results[0] for dot in dots], len(dots))


def _wait_in_conditionals(dot: ttng.WarpGroupDotOp, loop: scf.ForOp) -> None:
    """Waits for all dots at the beginning of each conditional that uses `dot`. (Triton does not where A is in registers: the epilogue of a
    persistent loop made one with that of its tiles stores sums that are not done.)"""
    users: dict[Block, list[SSAValue]] = {}
    for use in dot.results[0].uses:
        block = use.operation.parent
        assert block is not None
        if block is not loop.regions[0].block and not isinstance(use.operation, scf.YieldOp):
            users.setdefault(block, []).append(dot.results[0])
    for block, values in users.items():
        _wait(Inserter(block, block.first_op, dot.location), values, 0)


def _reads_registers_of_the_loop(dot: ttng.WarpGroupDotOp, loop: scf.ForOp) -> bool:
    """Whether A is in registers that the next iteration fills again; what another dot left there is not."""
    if not instance_of(dot.a.type, TensorType) or is_defined_outside(dot.a, loop):
        return False
    if isinstance(dot.a, OpResult) and isinstance(dot.a.op, ttg.ConvertLayoutOp):
        return not isinstance(layout_of_value(dot.a.op.src), NvidiaMma)
    return True


def _pass_through(wait: ttng.WarpGroupDotWaitOp, values: Iterable[SSAValue]) -> None:
    """Makes a new wait of `wait` that has also `values` and the buffers of the dots they come from; users after it take its results."""
    values = list(values)
    operands = dict.fromkeys((*operand_values(wait), *values))
    for value in values:
        for dot in _dots_before(value, wait):
            operands.update(dict.fromkeys(v for v in operand_values(dot) if isinstance(v.type, ttg.MemDescType)))
    new = Inserter.before(wait).insert(ttng.WarpGroupDotWaitOp(list(operands), pendings=wait.pendings.value.data))
    for old, result in zip(wait.results, new.results, strict=False):
        if not isinstance(old.type, ttg.MemDescType):
            old.replace_all_uses_with(result)
    count = len(wait.results)
    for operand, result in list(zip(operands, new.results, strict=True))[count:]:
        if not isinstance(operand.type, ttg.MemDescType):
            operand.replace_uses_with_if(result, lambda use: _follows(use.operation, new))
    assert wait.parent is not None
    wait.parent.erase_op(wait)


def _follows(op: Operation, wait: Operation) -> bool:
    current: Operation | None = op
    while current is not None and current.parent is not wait.parent:
        current = current.parent_op()
    return current is not None and wait.is_before_in_block(current)


def _dots_before(value: SSAValue, wait: Operation) -> list[ttng.WarpGroupDotOp]:
    """The dots that `value` comes from through ops other than `wait`, the nearest on each way."""
    found: list[ttng.WarpGroupDotOp] = []
    seen: set[Operation] = set()
    pending = [value]
    while pending:
        current = pending.pop()
        if not isinstance(current, OpResult) or current.op in seen:
            continue
        seen.add(current.op)
        if isinstance(current.op, ttng.WarpGroupDotOp):
            found.append(current.op)
        elif current.op.parent is wait.parent:
            pending.extend(reversed(operand_values(current.op)))
    return found

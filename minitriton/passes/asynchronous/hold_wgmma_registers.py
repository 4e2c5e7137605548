"""`hold-wgmma-registers`: an asynchronous dot keeps the registers of its operand A until it has been waited for.

In: TTGIR whose loops leave dots in flight into the next iteration. Out: the same, with a wait before the next iteration writes the
registers of an A that such a dot may still read. What the conversion of the next A starts from goes through the wait, so that
LLVM cannot move the conversion before it.

    scf.for ... iter_args(%c = ...) {                    scf.for ... iter_args(%c = ...) {
      %x = ttg.local_load %a[i]                            %x = ttg.local_load %a[i]
                                                    =>     %c1, %x1 = ttng.warp_group_dot_wait %c, %x {pendings = 0}
      %w = arith.sitofp %x                                 %w = arith.sitofp %x1
      %d = ttng.warp_group_dot %w, %b, %c {isAsync}        %d = ttng.warp_group_dot %w, %b, %c1 {isAsync}
      scf.yield %d                                         scf.yield %d

There may be a wait before the dot that covers the dot of the iteration before, but follows the conversion. Then the conversion's last op
moves after that wait, slice by slice, and the dots stay in flight:

    %w = arith.mulf %x, %s                               %x0, %x1 = tt.split %x    (%s likewise)
    %w0, %w1 = tt.split %w                               %w0 = arith.mulf %x0, %s0
    %d = ttng.warp_group_dot %w0, %b, %c           =>    %d = ttng.warp_group_dot %w0, %b, %c
    %d1 = ttng.warp_group_dot_wait %d {pendings = 1}     %d1, %y1 = ttng.warp_group_dot_wait %d, %x1 {pendings = 1}
                                                         %w1 = arith.mulf %y1, %s1
    %e = ttng.warp_group_dot %w1, %b, %d1                %e = ttng.warp_group_dot %w1, %b, %d1

In TTGIR every iteration has values of its own; in PTX they have the same registers. Writing registers of A while a `wgmma.mma_async`
reads them, without a `wgmma.wait_group` first, is undefined (PTX ISA, "Asynchronous wgmma instructions"). Triton's PTX
has the fault too; there ptxas happens to run such dots one by one (its message C7515).
"""

from collections.abc import Iterable
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType, i1
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from minitriton.analysis.in_flight.outstanding import InFlight
from minitriton.dialects import ttg, ttng
from minitriton.dialects.attribute_values import i32_attr
from minitriton.dialects.facts import ViewOfTensor
from minitriton.dialects.facts.launch import num_threads
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.facts.synchronization import Kind
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.host.frozen import frozen
from minitriton.passes.pipelining.overlap_dots import REGISTERS, words_of
from minitriton.pipeline.pass_registry import KEPT_BY_DEFAULT, Pass, Property, register_pass
from minitriton.rewriting.effects import EffectKind, effect_kind


@register_pass
class HoldWgmmaRegisters(Pass, stage="llir", origin="required"):
    """Waits for dots in flight before the registers of their operand A are written again."""

    name: ClassVar[str] = "hold-wgmma-registers"
    acts_on = frozenset({ttng.WarpGroupDotOp})
    requires = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.DOT_REGISTERS_HELD})
    keeps: ClassVar[frozenset[Property]] = KEPT_BY_DEFAULT | {Property.DOT_OPERANDS_FENCED}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Look at every loop that holds such dots."""
        bodies: dict[Block, None] = {}
        for found in ops_of(op, ttng.WarpGroupDotOp):
            if _reads_registers(found):
                block = cast(Block, found.parent)
                if isinstance(block.parent_op(), scf.ForOp):
                    bodies[block] = None
        if bodies:
            in_flight = InFlight(op)
            for body in bodies:
                _Body(body, in_flight).guard()


def _can_pass_wait(type_: Attribute) -> bool:
    """Whether a wait can take registers of this type: a tensor whose elements are not predicates."""
    return instance_of(type_, TensorType) and type_.element_type != i1


def _is_view(op: Operation) -> bool:
    """Whether `op` gives registers another name."""
    return ViewOfTensor.of(op) is not None or isinstance(op, ttg.ConvertLayoutOp)


def _reads_registers(dot: ttng.WarpGroupDotOp) -> bool:
    return isinstance(dot.a.type, TensorType) and bool(dot.is_async.value.data)


_OTHER_REGISTERS = 88
"""Of a thread, next to accumulators and A: pointers, and what is being converted (mxfp4 by bf16, 128x128 by four warps, 21 pointers: with room
for five A of 8 registers 24 bytes are spilled, for four none)."""


@frozen
class _LateConversion:
    """A of `dot` is the last of `views` (last first) of the result of `convert`, which can follow `wait`."""

    dot: ttng.WarpGroupDotOp
    wait: ttng.WarpGroupDotWaitOp
    views: list[OpResult]
    convert: Operation
    tied: int
    """The number of the operand of `convert` that goes through `wait`."""


def _convert_late(conversions: list[_LateConversion]) -> None:
    """Compute each A right before its dot, from views of the operands of `convert`."""
    copies: dict[tuple[Operation, SSAValue], Operation] = {}
    operands = [[_viewed(v, each, copies) for v in each.convert.operands] for each in conversions]
    through: dict[Operation, list[SSAValue]] = {}
    for each, values in zip(conversions, operands, strict=True):
        through.setdefault(each.wait, []).append(values[each.tied])
    for wait, values in through.items():
        through[wait] = _with_more(cast(ttng.WarpGroupDotWaitOp, wait), values)
    for each, values in zip(conversions, operands, strict=True):
        values[each.tied] = through[each.wait].pop(0)
        made = _like(each.convert, values, [each.dot.a.type])
        cast(Block, each.dot.parent).insert_op_before(made, each.dot)
        each.dot.operands[0] = made.results[0]
    for each in conversions:
        for old in (*(view.op for view in each.views), each.convert):
            if old.parent is not None and not any(result.first_use is not None for result in old.results):
                old.detach()
                old.erase()
        if each.wait.parent is not None:
            each.wait.detach()
            each.wait.erase()


def _viewed(value: SSAValue, of: _LateConversion, copies: dict[tuple[Operation, SSAValue], Operation]) -> SSAValue:
    """`value` through copies of the views, which stand before the wait; dots share them."""
    if not isinstance(value.type, TensorType):
        return value
    for view in reversed(of.views):
        copy = copies.get((view.op, value))
        if copy is None:
            element = cast("TensorType[Attribute]", value.type).element_type
            kinds = [cast("TensorType[Attribute]", result.type) for result in view.op.results]
            copy = _like(view.op, [value], [TensorType(element, t.shape, t.encoding) for t in kinds])
            copies[view.op, value] = copy
            cast(Block, of.wait.parent).insert_op_before(copy, of.wait)
        value = copy.results[view.index]
    return value


def _like(op: Operation, operands: list[SSAValue], types: list[Attribute]) -> Operation:
    """The same operation on other operands."""
    made = type(op).create(
        operands=operands, result_types=types, properties=op.properties.copy(), attributes=op.attributes.copy()
    )
    made.location = op.location
    return made


def _with_more(wait: ttng.WarpGroupDotWaitOp, values: list[SSAValue]) -> list[SSAValue]:
    """Let `values` go through `wait` too: what they are after it."""
    made = ttng.WarpGroupDotWaitOp([*wait.operands, *values], pendings=wait.pendings.value.data)
    made.location = wait.location
    cast(Block, wait.parent).insert_op_before(made, wait)
    for old, new in zip(wait.results, made.results, strict=False):
        old.replace_all_uses_with(new)
    return list(made.results[len(wait.results) :])


class _Body:
    """The body of a loop: its ops in order."""

    def __init__(self, block: Block, in_flight: InFlight) -> None:
        self.block = block
        self.in_flight = in_flight
        self.ops = list(block.ops)
        self.index = {op: i for i, op in enumerate(self.ops)}

    def guard(self) -> None:
        """Convert each A after a wait that covers it, or put in one wait for all dots that need it."""
        positions: list[int] = []
        held: dict[OpResult, None] = {}
        late: list[_LateConversion] = []
        for op in self.ops:
            if isinstance(op, ttng.WarpGroupDotOp) and _reads_registers(op):
                sources = self._sources(op.a)
                position = self._first_write(sources)
                if sources and op in self.in_flight.before[self.ops[position]].ops(Kind.DOT):
                    positions.append(position)
                    held.update(dict.fromkeys(sources))
                    late.extend(self._late_conversion(op))
        if len(late) == len(positions):
            if late:
                self._limit_in_flight(late[0].dot)
            _convert_late(late)
        elif positions:
            position = min(positions)
            self._wait(position, [value for value in held if self.index[value.op] < position])

    def _limit_in_flight(self, dot: ttng.WarpGroupDotOp) -> None:
        """Let no more dots stay in flight than have room for their A next to the accumulator: ptxas holds A until the wait."""
        threads = num_threads(dot)
        room = REGISTERS - _OTHER_REGISTERS - words_of(dot.result) // threads
        most = max(room * threads // words_of(dot.a) - 1, 1)
        for op in self.ops:
            if isinstance(op, ttng.WarpGroupDotWaitOp) and op.pendings.value.data > most:
                op.properties["pendings"] = i32_attr(most)

    def _late_conversion(self, dot: ttng.WarpGroupDotOp) -> list[_LateConversion]:
        """How A can be written after a wait before `dot` that covers the `dot` of the iteration before, if it can."""
        wait = self.in_flight.end_of(dot)
        views: list[OpResult] = []
        value = dot.a
        while isinstance(value, OpResult) and _is_view(value.op) and len(value.op.operands) == 1:
            views.append(value)
            value = value.op.operands[0]
        if not isinstance(wait, ttng.WarpGroupDotWaitOp) or not isinstance(value, OpResult):
            return []
        convert = value.op
        if Elementwise.of(convert) is None or effect_kind(convert) is not EffectKind.FREE or len(convert.results) != 1:
            return []
        starts = [self.index.get(v.op, -1) if isinstance(v, OpResult) else -1 for v in convert.operands]
        tied = [i for i, v in enumerate(convert.operands) if starts[i] >= 0 and _can_pass_wait(v.type)]
        if not tied or max(starts) >= self.index[wait]:
            return []
        return [_LateConversion(dot, wait, views, convert, tied[0])]

    def _first_write(self, sources: dict[OpResult, bool]) -> int:
        """Before which op registers of A cannot be written: after the last source, but before one that is A itself."""
        direct = [self.index[value.op] for value, is_converted in sources.items() if not is_converted]
        return min(direct) if direct else max((self.index[value.op] for value in sources), default=0) + 1

    def _sources(self, value: SSAValue) -> dict[OpResult, bool]:
        """The results of loads, dots and waits of this body that `value` is computed from, and whether by more than views."""
        found: dict[OpResult, bool] = {}
        seen: set[tuple[SSAValue, bool]] = set()
        pending = [(value, False)]
        while pending:
            current, is_converted = pending.pop()
            if (current, is_converted) in seen or not isinstance(current, OpResult) or current.op not in self.index:
                continue
            seen.add((current, is_converted))
            if effect_kind(current.op) is EffectKind.FREE and not current.op.regions:
                is_converted |= not _is_view(current.op)
                pending.extend((operand, is_converted) for operand in current.op.operands)
            elif isinstance(current.type, TensorType):
                found[current] = found.get(current, True) and is_converted
        return found

    def _wait(self, position: int, held: Iterable[OpResult]) -> None:
        """A wait for everything before the op at `position`; accumulators in flight and `held` go through it."""
        following = self.ops[position]
        accumulators = filter(self.in_flight.before[following].accumulates, self.block.args)
        values: list[SSAValue] = [*accumulators, *held]
        wait = ttng.WarpGroupDotWaitOp(values, pendings=0)
        wait.location = following.location
        self.block.insert_op_before(wait, following)
        for old, new in zip(values, wait.results, strict=True):
            for use in list(old.uses):
                user = use.operation
                around = self.block.find_ancestor_op_in_block(user)
                if around is not None and self.index.get(around, -1) >= position:
                    user.operands[use.index] = new

"""`minitriton-tile-loops`: accumulators of a loop, and the tiles that are stored, in independent parts along M or N.

    scf.for iter_args(%c : 128x128) {                         scf.for iter_args(%c0, %c1 : 64x128) {
      %d = tt.dot %a, %b, %c                                    %d0 = tt.dot (local_load (subslice %x[0, 0])), %b, %c0
      yield %d                                         =>       %d1 = tt.dot (local_load (subslice %x[64, 0])), %b', %c1
    }                                                           yield %d0, %d1
    %h = convert_layout (truncf %d) : 128x128                 }
    tt.store %p, %h                                           tt.store %p0, (convert_layout (truncf %d0)) : 64x128
                                                              tt.store %p1, (convert_layout (truncf %d1))

In: TTGIR in the order in which it will be lowered. Out: the same; each part has the elements that a thread holds anyway (`tensor_parts`), so that
nothing is exchanged and every element is computed as before.

A loop is tiled along an axis along which all that it carries is independent: dots, reductions along other axes, what looks at each element, loads. The
parts stand one after the other, each with loads of its own, so that a thread needs the temporaries of one of them at once; it reads
from shared memory what the parts share as often as there are parts. Legal where loads may move down to the last op of the iteration that is
tiled, past nothing that writes what they read, and where nothing else uses what is tiled.

A store is tiled after what it is computed from, up to loads, loops and conversions; stores stay in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from minitriton.analysis.register_demand import packed_registers
from minitriton.dialects import tt, ttg
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.fast_paths.op_access import operand_values, ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.host.frozen import record
from minitriton.passes.chains.next_iteration import copies_to_shared_memory, writes_shared_memory
from minitriton.passes.chains.tensor_parts import (
    Source,
    joined,
    make_part,
    part_type,
    registers_apart,
    sources,
)
from minitriton.passes.pipelining.schedule import body_ops, loops_in, terminator_of
from minitriton.passes.tensor_layouts import shape_of
from minitriton.pipeline.choice import remark
from minitriton.pipeline.pass_registry import KEPT_BY_DEFAULT, POWERS_OF_TWO, Pass, Property, register_pass
from minitriton.rewriting.effects import EffectKind, effect_kind
from minitriton.rewriting.regions import clone_op
from minitriton.rewriting.rewriter import Inserter


def _operands_in_parts(op: Operation, axis: int, count: int) -> list[Source] | None:
    """The operands whose parts, along which axis, a part of the results of `op` along `axis` needs; None where it has no parts."""
    if isinstance(op, tt.DotOp):
        return [(op.a, axis if axis == 0 else None), (op.b, axis if axis == 1 else None), (op.c, axis)]
    if isinstance(op, tt.ReduceOp):
        along = axis + (axis >= op.axis.value.data)
        return [(operand, along) for operand in operand_values(op)]
    return sources(op.results[0], axis, count)


def _axis_of_result(op: Operation, operand: int, axis: int) -> int | None:
    """Along which axis the results of `op` are in parts if its operand of that number is along `axis`; None where they are not."""
    if isinstance(op, tt.DotOp):
        return axis if operand == 2 or operand == axis else None
    if isinstance(op, tt.ReduceOp):
        reduced = op.axis.value.data
        return None if reduced == axis or not op.results else axis - (reduced < axis)
    if isinstance(op, tt.ExpandDimsOp):
        return axis + (op.axis.value.data <= axis)
    if isinstance(op, tt.TransOp):
        return op.order.get_values().index(axis)
    is_free = Elementwise.of(op) is not None and effect_kind(op) is EffectKind.FREE
    return axis if is_free or isinstance(op, ttg.ConvertLayoutOp | tt.BroadcastOp | tt.SplitOp | tt.LoadOp) else None


@record
class _Tiling:
    """What of a loop is made in parts: ops with the axis of their results, and the numbers of the values that it carries."""

    loop: scf.ForOp
    count: int
    ops: dict[Operation, int] = field(default_factory=dict[Operation, int])
    carried: dict[BlockArgument, int] = field(default_factory=dict[BlockArgument, int])
    outside: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Values from before the loop, and along which axis they are taken apart."""
    _seen: set[SSAValue] = field(default_factory=set[SSAValue])
    repeated: dict[Operation, None] = field(default_factory=dict[Operation, None])
    """Loads of what all parts use."""

    @classmethod
    def of(cls, loop: scf.ForOp, first: BlockArgument, axis: int, count: int) -> _Tiling | None:
        """The tiling in which the carried value `first` is tiled along `axis`; None if there is none."""
        found = cls(loop, count)
        return found if found._plan(first, axis) and found._is_legal() else None

    def _plan(self, first: BlockArgument, axis: int) -> bool:
        block, end = self.loop.body.block, terminator_of(self.loop)
        pending: list[Source] = [(first, axis)]
        while pending:
            value, along = pending.pop()
            if not isinstance(value, BlockArgument | OpResult):
                return False
            if along is None:
                if isinstance(value, OpResult) and isinstance(value.op, ttg.LocalLoadOp) and value.op.parent is block:
                    self.repeated[value.op] = None
                continue
            if not instance_of(value.type, TensorType) or part_type(value.type, along, self.count) is None:
                return False
            if isinstance(value, BlockArgument) and value.block is block:
                if self.carried.setdefault(value, along) != along:
                    return False
                yielded = operand_values(end)[value.index - 1]
                if not (isinstance(yielded, OpResult) and self.ops.get(yielded.op) == along):
                    pending.append((yielded, along))
                if value in self._seen:
                    continue
                self._seen.add(value)
                following = self._uses(value, along)
                if following is None:
                    return False
                pending += following
                continue
            op = value.owner
            if isinstance(op, Operation) and op.parent is block:
                needed = _operands_in_parts(op, along, self.count)
                if op in self.ops:
                    if self.ops[op] != along:
                        return False
                    continue
                if needed is None:
                    return False
                self.ops[op] = along
                pending += needed
                for result in () if self._is_cheap(op, along) else op.results:
                    following = self._uses(result, along)
                    if following is None:
                        return False
                    pending += following
            elif self.outside.setdefault(value, along) != along:
                return False
        return True

    def _uses(self, value: SSAValue, axis: int) -> list[Source] | None:
        """What is in parts because `value` is; None where it is needed as a whole."""
        found: list[Source] = []
        end = terminator_of(self.loop)
        for use in value.uses:
            if use.operation is end:
                found.append((self.loop.body.block.args[use.index + 1], axis))
                continue
            along = _axis_of_result(use.operation, use.index, axis)
            if along is None or use.operation.parent is not end.parent:
                return None
            found.append((use.operation.results[0], along))
        return found

    def _is_legal(self) -> bool:
        """Whether nothing but the tiled ops needs what is tiled, and its loads may move down to the last of them."""
        end, order = terminator_of(self.loop), body_ops(self.loop)
        own = {*self.ops, end}
        for op, axis in self.ops.items():
            if self._is_cheap(op, axis):
                continue
            if any(use.operation not in own for result in op.results for use in result.uses):
                return False
        for value in self.carried:
            if any(use.operation not in own for use in value.uses):
                return False
        position = {op: number for number, op in enumerate(order)}
        yielded = operand_values(end)
        if any(
            value.owner in self.ops and self.loop.body.block.args[number + 1] not in self.carried
            for number, value in enumerate(yielded)
        ):
            return False
        last = max(self.ops, key=position.__getitem__)
        loads = [*self.repeated, *(op for op in self.ops if isinstance(op, ttg.LocalLoadOp | tt.LoadOp))]
        if any(effect_kind(op) is not EffectKind.FREE and op not in loads and not op.regions for op in self.ops):
            return False
        start = min((position[load] for load in loads), default=position[last])
        reads_memory = any(isinstance(load, tt.LoadOp) for load in loads)
        for op in order[start : position[last]]:
            if op in self.ops or op in self.repeated or isinstance(op, ttg.AsyncWaitOp):
                continue
            if writes_shared_memory(op) or copies_to_shared_memory(op):
                return False
            if reads_memory and effect_kind(op) is not EffectKind.FREE:
                return False
        return any(isinstance(op, tt.DotOp | tt.LoadOp) for op in self.ops)

    def _is_cheap(self, op: Operation, axis: int) -> bool:
        """Whether `op` may be computed once more: constants, and numbers of elements."""
        return not isinstance(op, ttg.LocalLoadOp) and not _operands_in_parts(op, axis, self.count)

    def apply(self) -> None:
        """Builds the loop anew with the parts."""
        loop, block = self.loop, self.loop.body.block
        at = Inserter.before(loop)
        outside = {value: registers_apart(at, value, axis, self.count) for value, axis in self.outside.items()}
        initial: list[SSAValue] = []
        for argument in block.args[1:]:
            value = operand_values(loop)[2 + argument.index]
            axis = self.carried.get(argument)
            initial += [value] if axis is None else registers_apart(at, value, axis, self.count)
        body = Block(arg_types=[block.args[0].type, *(value.type for value in initial)])
        new = scf.ForOp.create(
            operands=[*operand_values(loop)[:3], *initial],
            result_types=[value.type for value in initial],
            regions=[Region(body)],
            attributes=dict(loop.attributes),
            properties=dict(loop.properties),
        )
        at.insert(new)
        values: dict[SSAValue, SSAValue] = {block.args[0]: body.args[0]}
        parts: list[dict[SSAValue, SSAValue]] = [{} for _ in range(self.count)]
        for value, found in outside.items():
            for number, part in enumerate(found):
                parts[number][value] = part
        index = 1
        for argument in block.args[1:]:
            if argument in self.carried:
                for number in range(self.count):
                    parts[number][argument] = body.args[index + number]
                index += self.count
            else:
                values[argument] = body.args[index]
                index += 1
        self._fill(body, values, parts)
        self._replace(new)

    def _fill(self, body: Block, values: dict[SSAValue, SSAValue], parts: list[dict[SSAValue, SSAValue]]) -> None:
        """The ops of the old body; the parts where the last op that is tiled stood."""
        order = body_ops(self.loop)
        last = max(self.ops, key=order.index)
        at = Inserter(body, None, self.loop.location)
        is_needed = {op for op in self.repeated if any(use.operation not in self.ops for use in op.results[0].uses)}
        for op in order:
            is_cheap = op in self.ops and self._is_cheap(op, self.ops[op])
            if (op not in self.ops and op not in self.repeated) or op in is_needed or is_cheap:
                at.place(clone_op(op, values))
            if op is not last:
                continue
            for number, made in enumerate(parts):
                made.update((value, new) for value, new in values.items() if value not in made)
                for each in order[: order.index(last) + 1]:
                    if each in self.repeated:
                        at.place(clone_op(each, made))
                    elif each in self.ops:
                        at.location = each.location
                        make_part(at, each, self.ops[each], self.count, number, made)
        end = terminator_of(self.loop)
        yielded: list[SSAValue] = []
        for argument, value in zip(self.loop.body.block.args[1:], operand_values(end), strict=True):
            if argument in self.carried:
                yielded += [made[value] for made in parts]
            else:
                yielded.append(values.get(value, value))
        at.location = end.location
        at.insert(scf.YieldOp.create(operands=yielded))

    def _replace(self, new: scf.ForOp) -> None:
        """The results of the new loop in place of the old one's."""
        at, index = Inserter.after(new), 0
        for argument, result in zip(self.loop.body.block.args[1:], self.loop.results, strict=True):
            axis = self.carried.get(argument)
            if axis is None:
                result.replace_all_uses_with(new.results[index])
                index += 1
                continue
            parts = new.results[index : index + self.count]
            index += self.count
            if result.first_use is not None:
                result.replace_all_uses_with(joined(at, parts, axis, result.type))
        assert self.loop.parent is not None
        self.loop.parent.erase_op(self.loop)


def _need(loop: scf.ForOp) -> int:
    """Registers of a thread that the loop carries, and that the results and operands of its largest dot take as a whole."""
    carried = sum(map(packed_registers, loop.body.block.args[1:]))
    dots = [op for op in body_ops(loop) if isinstance(op, tt.DotOp)]
    inner = [dot for dot in dots if dot.c not in loop.body.block.args]
    return (
        carried
        + sum(packed_registers(dot.result) for dot in inner[:1])
        + max((packed_registers(dot.a) + packed_registers(dot.b) for dot in dots), default=0)
    )


def _stored_tiles(module: ModuleOp) -> Iterator[tt.StoreOp]:
    """Stores of tiles outside loops."""
    for store in ops_of(module, tt.StoreOp):
        if instance_of(store.value.type, TensorType) and isinstance(store.parent_op(), tt.FuncOp):
            yield store


def _tile_store(store: tt.StoreOp, count: int, axis: int) -> bool:
    """`store` in `count` parts along `axis`; False where its operands have none."""
    operands = [value for value in operand_values(store) if instance_of(value.type, TensorType)]
    if any(part_type(value.type, axis, count) is None for value in operands):
        return False
    chain: dict[Operation, int] = {}
    leaves: dict[SSAValue, int] = {}
    pending: list[Source] = [(value, axis) for value in operands]
    while pending:
        value, along = pending.pop()
        if along is None:
            continue
        op = value.owner
        needed = None
        if isinstance(op, Operation) and not isinstance(op, tt.LoadOp | ttg.LocalLoadOp):
            needed = sources(value, along, count)
        if needed is not None and any(
            each is not None and part_type(operand.type, each, count) is None for operand, each in needed
        ):
            needed = None
        if needed is None or not isinstance(op, Operation):
            if part_type(value.type, along, count) is None or leaves.setdefault(value, along) != along:
                return False
        elif chain.setdefault(op, along) != along:
            return False
        else:
            pending += needed
    at = Inserter.before(store)
    apart = {value: registers_apart(at, value, along, count) for value, along in leaves.items()}
    order = _in_order(chain)
    for number in range(count):
        made = {value: parts[number] for value, parts in apart.items()}
        for op in order:
            at.location = op.location
            make_part(at, op, chain[op], count, number, made)
        part = clone_op(store, made)
        at.place(part)
    at.block.erase_op(store)
    for op in reversed(order):
        if all(result.first_use is None for result in op.results) and op.parent is not None:
            op.parent.erase_op(op)
    return True


def _in_order(chain: dict[Operation, int]) -> list[Operation]:
    """The ops, operands before what uses them."""
    done: dict[Operation, None] = {}

    def visit(op: Operation) -> None:
        if op in done or op not in chain:
            return
        for value in operand_values(op):
            if isinstance(value.owner, Operation):
                visit(value.owner)
        done[op] = None

    for op in chain:
        visit(op)
    return list(done)


@register_pass
class TileLoops(Pass, stage="ttgir"):
    """Tiles accumulators of loops and stored tiles along M or N into parts with registers of their own."""

    name: ClassVar[str] = "minitriton-tile-loops"
    acts_on = frozenset({scf.ForOp, tt.StoreOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    keeps: ClassVar[frozenset[Property]] = KEPT_BY_DEFAULT | {Property.DOT_OPERANDS_FENCED}
    values: ClassVar = {"loop": POWERS_OF_TWO, "epilogue": POWERS_OF_TWO}
    loop: int = 0
    """Parts of what a loop carries; 0 or 1: loops are left alone."""
    epilogue: int = 0
    """Parts of a tile stored outside loops; 0 or 1: stores are left alone."""
    axis: int = -1
    """0: along M, 1: along N; -1: the first of them along which it can be."""
    least_need: int = 320
    """Only loops that need at least as many registers of a thread."""

    def __post_init__(self) -> None:
        if max(self.loop, self.epilogue) < 2:
            object.__setattr__(self, "acts_on", frozenset())

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        """Tile the loops, then the stores."""
        changed = False
        axes = (self.axis,) if self.axis >= 0 else (0, 1)
        for loop in list(loops_in(op)) if self.loop > 1 else ():
            changed |= self._tile(loop, axes)
        for store in list(_stored_tiles(op)) if self.epilogue > 1 else ():
            changed |= any(
                axis < len(shape_of(store.value)) and _tile_store(store, self.epilogue, axis) for axis in axes
            )
        return changed

    def _tile(self, loop: scf.ForOp, axes: tuple[int, ...]) -> bool:
        if (need := _need(loop)) < self.least_need:
            remark(loop, f"not tiled: what it carries and its dots need {need} registers, fewer than {self.least_need}")
            return False
        carried = [
            argument
            for argument in loop.body.block.args[1:]
            if instance_of(argument.type, TensorType) and len(shape_of(argument)) == 2 and packed_registers(argument)
        ]
        for first in sorted(carried, key=packed_registers, reverse=True)[:1]:
            for axis in axes:
                found = _Tiling.of(loop, first, axis, self.loop)
                if found is not None:
                    remark(loop, f"tiled into {self.loop} parts along axis {axis}: it needs {need} registers")
                    found.apply()
                    return True
        remark(loop, "not tiled: along no axis is all that it carries independent, with loads that may move")
        return False

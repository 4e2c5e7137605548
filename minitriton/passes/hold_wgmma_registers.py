"""`hold-wgmma-registers`: a product that still runs keeps the registers of its operand A until it has been waited for.

In: TTGIR whose loops leave products in flight into the next iteration. Out: the same, with a wait before the next iteration writes the
registers of an A that such a product may still read. What the conversion of the next A starts from goes through the wait, so that
LLVM cannot move the conversion before it.

    scf.for ... iter_args(%c = ...) {                    scf.for ... iter_args(%c = ...) {
      %x = ttg.local_load %a[i]                            %x = ttg.local_load %a[i]
                                                    =>     %c1, %x1 = ttng.warp_group_dot_wait %c, %x {pendings = 0}
      %w = arith.sitofp %x                                 %w = arith.sitofp %x1
      %d = ttng.warp_group_dot %w, %b, %c {isAsync}        %d = ttng.warp_group_dot %w, %b, %c1 {isAsync}
      scf.yield %d                                         scf.yield %d

In TTGIR every iteration has values of its own, in PTX they have the same registers, and "accessing the registers of matrix A of a
wgmma.mma_async without first performing a wgmma.wait_group is undefined" (PTX ISA, "Asynchronous wgmma instructions"). Triton's PTX
has the fault too; there ptxas happens to run such products one by one (its message C7515).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from minitriton.dialects import ttg, ttng
from minitriton.dialects.facts import ViewOfTensor
from minitriton.dialects.fast_paths.operations import ops_of
from minitriton.pass_registry import KEPT_BY_DEFAULT, Pass, Property, register_pass
from minitriton.rewriting.effects import EffectKind, effect_kind


@register_pass
class HoldWgmmaRegisters(Pass, stage="llir", origin="required"):
    """Waits for products in flight before the registers of their operand A are written again."""

    name: ClassVar[str] = "hold-wgmma-registers"
    acts_on = frozenset({ttng.WarpGroupDotOp})
    requires = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.DOT_REGISTERS_HELD})
    keeps: ClassVar[frozenset[Property]] = KEPT_BY_DEFAULT | {Property.DOT_OPERANDS_FENCED}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Look at every loop that holds such products."""
        bodies: dict[Block, None] = {}
        for found in ops_of(op, ttng.WarpGroupDotOp):
            if _reads_registers(found):
                block = cast(Block, found.parent)
                if getattr(block.parent_op(), "name", None) == "scf.for":
                    bodies[block] = None
        for body in bodies:
            _Body(body).guard()


def _is_view(op: Operation) -> bool:
    """Whether `op` gives registers another name."""
    return ViewOfTensor.of(op) is not None or isinstance(op, ttg.ConvertLayoutOp)


def _reads_registers(dot: ttng.WarpGroupDotOp) -> bool:
    return isinstance(dot.a.type, TensorType) and bool(dot.is_async.value.data)


class _Body:
    """The body of a loop: its ops in order."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.ops = list(block.ops)
        self.index = {op: i for i, op in enumerate(self.ops)}

    def guard(self) -> None:
        """Put in one wait for all products that need it."""
        places: list[int] = []
        held: dict[OpResult, None] = {}
        for op in self.ops:
            if isinstance(op, ttng.WarpGroupDotOp) and _reads_registers(op):
                sources = self._sources(op.a)
                place = self._first_write(sources)
                if sources and not self._is_retired(op, place):
                    places.append(place)
                    held.update(dict.fromkeys(sources))
        if places:
            place = min(places)
            self._wait(place, [value for value in held if self.index[value.op] < place])

    def _first_write(self, sources: dict[OpResult, bool]) -> int:
        """Before which op registers of A cannot be written: behind the last source, but before one that is A itself."""
        direct = [self.index[value.op] for value, is_converted in sources.items() if not is_converted]
        return min(direct) if direct else max((self.index[value.op] for value in sources), default=0) + 1

    def _sources(self, value: SSAValue) -> dict[OpResult, bool]:
        """The results of loads, products and waits of this body that `value` is computed from, and whether by more than views."""
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

    def _is_retired(self, dot: Operation, end: int) -> bool:
        """Whether a wait covers `dot` before the op at `end` of the next iteration."""
        started = 0
        for op in (*self.ops[self.index[dot] + 1 :], *self.ops[:end]):
            if isinstance(op, ttng.WarpGroupDotOp):
                started += 1
            elif isinstance(op, ttng.WarpGroupDotWaitOp) and op.pendings.value.data <= started:
                return True
        return False

    def _wait(self, place: int, held: Iterable[OpResult]) -> None:
        """A wait for everything before the op at `place`; accumulators in flight and `held` go through it."""
        values: list[SSAValue] = [*self._in_flight(), *held]
        following = self.ops[place]
        wait = ttng.WarpGroupDotWaitOp(values, pendings=0)
        wait.location = following.location
        self.block.insert_op_before(wait, following)
        for old, new in zip(values, wait.results, strict=True):
            for use in list(old.uses):
                user = use.operation
                around = self.block.find_ancestor_op_in_block(user)
                if around is not None and self.index.get(around, -1) >= place:
                    user.operands[use.index] = new

    def _in_flight(self) -> list[BlockArgument]:
        """Arguments of the body that carry the result of a product from one iteration to the next."""
        end = self.ops[-1]
        found: list[BlockArgument] = []
        for argument, value in zip(self.block.args[1:], end.operands, strict=True):
            while isinstance(value, OpResult) and isinstance(value.op, ttng.WarpGroupDotWaitOp):
                value = value.op.operands[value.index]
            if isinstance(value, OpResult) and isinstance(value.op, ttng.WarpGroupDotOp):
                found.append(argument)
        return found

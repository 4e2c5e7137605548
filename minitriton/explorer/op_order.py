"""Which ops must stay in order although no value goes from one to the other: they reach the same memory, and one of them writes.

    order_of(kept)      [[31, 40, "reads %243 after it was written"], [40, 52, "writes %243 after it was read"], ...]

Ops are named by their numbers. Two meet where both reach a buffer of shared or tensor memory, or an array of one parameter (arrays of different parameters
are taken to be apart); a barrier meets all of shared memory. Ops with regions reach what their bodies do; within a body its own ops are ordered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import MemoryEffectKind, get_effects

from minitriton.analysis.in_flight.rings import ring_slot
from minitriton.dialects.facts.gpu_traits import GLOBAL
from minitriton.dialects.facts.synchronization import Barrier
from minitriton.dialects.ttg.types import MemDescType
from minitriton.explorer.accesses import array_reached
from minitriton.explorer.snapshot import KeptModule

Where = str
"""A buffer or array, as it is called; `ANY` where it is not known."""
ANY = ""
_SHARED = "shared memory"


@dataclass
class _Reached:
    """What an op reads and writes."""

    reads: set[Where] = field(default_factory=set[str])
    writes: set[Where] = field(default_factory=set[str])


class _Order:
    def __init__(self, kept: KeptModule) -> None:
        self.names = {value: name for name, value in kept.values.items()}
        self.numbers = {op: number for number, op in kept.ops.items()}
        self.reached: dict[Operation, _Reached] = {}
        self.pairs: dict[tuple[int, int], str] = {}

    def where(self, value: SSAValue | None, is_global: bool) -> Where:
        if value is None:
            return ANY
        if isinstance(value.type, MemDescType):
            return f"%{self.names.get(ring_slot(value)[0], '?')}"
        return array_reached(value) if is_global else ANY

    def reached_by(self, op: Operation) -> _Reached:
        """With what the ops in its regions reach."""
        if op not in self.reached:
            found = self.reached[op] = _Reached()
            if Barrier.of(op):
                found.writes.add(_SHARED)
            for region in op.regions:
                for inner in region.walk():
                    for where, is_write in self._own(inner):
                        (found.writes if is_write else found.reads).add(where)
            for where, is_write in self._own(op):
                (found.writes if is_write else found.reads).add(where)
        return self.reached[op]

    def _own(self, op: Operation) -> Iterator[tuple[Where, bool]]:
        for effect in get_effects(op) or ():
            value = effect.value if isinstance(effect.value, SSAValue) else None
            if effect.kind in (MemoryEffectKind.READ, MemoryEffectKind.WRITE):
                yield self.where(value, effect.resource == GLOBAL), effect.kind is MemoryEffectKind.WRITE

    def block(self, block: Block) -> None:
        """The pairs of one block, without those that follow from others."""
        ops = [
            op for op in block.ops if op in self.numbers and (self.reached_by(op).reads or self.reached_by(op).writes)
        ]
        before: list[set[int]] = []
        for at, op in enumerate(ops):
            found: set[int] = set()
            for earlier in range(at - 1, -1, -1):
                if earlier not in found and (why := self.why(ops[earlier], op)):
                    self.pairs[self.numbers[ops[earlier]], self.numbers[op]] = why
                    found |= {earlier} | before[earlier]
            before.append(found)

    def why(self, before: Operation, after: Operation) -> str:
        """Why two ops of a block stay in order; "" where they need not."""
        if Barrier.of(after) or Barrier.of(before):
            return "a barrier" if self.meet(before, after) else ""
        return self.meet(before, after)

    def meet(self, before: Operation, after: Operation) -> str:
        """What both reach, and one of them writes."""
        first, second = self.reached_by(before), self.reached_by(after)
        for mine, theirs, how in (
            (first.writes, second.reads, "reads {} after it was written"),
            (first.reads, second.writes, "writes {} after it was read"),
            (first.writes, second.writes, "writes {} after it was written"),
        ):
            for where in sorted(theirs):
                if any(_may_be(where, one) for one in mine):
                    return how.format(where or "memory")
        return ""


def _may_be(one: Where, other: Where) -> bool:
    """Whether two may be the same memory."""
    if one == other or ANY in (one, other):
        return True
    return _SHARED in (one, other) and (one + other).count("%") == 1


def order_of(kept: KeptModule) -> list[list[int | str]]:
    """Number of the op before, number of the op after, and why."""
    order = _Order(kept)
    for op in kept.module.walk():
        for region in op.regions:
            for block in region.blocks:
                order.block(block)
    return [[before, after, why] for (before, after), why in order.pairs.items()]

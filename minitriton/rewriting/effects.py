"""What an op does besides computing its results: may it be deleted, merged, moved?

In: an op. Out: yes or no. The answer comes from xDSL's memory-effect traits; what depends on the op's class alone is
remembered per class, so that asking costs one dictionary look-up for most ops.

    arith.addi            no effect: may be deleted, merged and hoisted
    tt.load               reads: may be deleted when unused, but not moved over a write
    tt.store              writes: stays
    scf.for {...}         has the effects of its body
"""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum, auto
from typing import TypeAlias

from xdsl.dialects import scf
from xdsl.ir import Operation
from xdsl.traits import (
    ConditionallySpeculatable,
    EffectInstance,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    NoMemoryEffect,
    RecursiveMemoryEffect,
    SymbolOpInterface,
    is_speculatable,
)

from minitriton.dialects.facts import Division
from minitriton.dialects.facts.gpu_traits import EffectsOfEach
from minitriton.rewriting.constants import int_constant


class EffectKind(Enum):
    """What an op's class alone says about its effects."""

    FREE = auto()
    """None, ever."""
    RECURSIVE = auto()
    """Those of the ops in its regions."""
    ASK = auto()
    """The single op must be asked."""
    UNKNOWN = auto()
    PINNED = auto()
    """A terminator or a symbol: never deleted, whatever its effects."""


_kinds: dict[type[Operation], EffectKind] = {}


def _kind_of_class(op: Operation) -> EffectKind:
    """The effects that the class of `op` implies."""
    if op.has_trait(IsTerminator, value_if_unregistered=False):
        return EffectKind.PINNED
    if op.get_traits_of_type(SymbolOpInterface):
        return EffectKind.PINNED
    interfaces = op.get_traits_of_type(MemoryEffect)
    if not interfaces:
        return EffectKind.UNKNOWN
    if all(isinstance(it, NoMemoryEffect) for it in interfaces):
        return EffectKind.FREE
    if all(isinstance(it, RecursiveMemoryEffect) for it in interfaces):
        return EffectKind.RECURSIVE
    return EffectKind.ASK


def effect_kind(op: Operation) -> EffectKind:
    """The effects that the class of `op` implies, remembered."""
    cls = op.__class__
    kind = _kinds.get(cls)
    if kind is None:
        kind = _kinds[cls] = _kind_of_class(op)
    return kind


Ask: TypeAlias = "Callable[[Operation], Iterable[EffectInstance] | None]"

_asks: dict[type[Operation], tuple[Ask, ...] | None] = {}


def _asks_of_class(op: Operation) -> tuple[Ask, ...] | None:
    """What is asked for the effects of ops of the class of `op`, those of their regions aside. None: nothing knows them."""
    interfaces = op.get_traits_of_type(MemoryEffect)
    if not interfaces:
        return None
    return tuple(
        it.listed_effects if isinstance(it, EffectsOfEach) else it.get_effects
        for it in interfaces
        if not isinstance(it, RecursiveMemoryEffect)
    )


def own_effects(op: Operation) -> list[EffectInstance] | None:
    """Effects of `op` itself, without those of the ops in its regions. None: unknown."""
    cls = op.__class__
    if cls not in _asks:
        _asks[cls] = _asks_of_class(op)
    asks = _asks[cls]
    if asks is None:
        return None
    found: list[EffectInstance] = []
    for ask in asks:
        effects = ask(op)
        if effects is None:
            return None
        found.extend(effects)
    return found


def nested_ops(op: Operation) -> Iterator[Operation]:
    """The ops directly inside the regions of `op`, not deeper."""
    for region in op.regions:
        block = region.first_block
        while block is not None:
            inner = block.first_op
            while inner is not None:
                yield inner
                inner = inner.next_op
            block = block.next_block


def recursive_effects(op: Operation) -> list[EffectInstance] | None:
    """Effects of `op` and, if it has those of its body, of all ops inside. None: unknown."""
    effects: list[EffectInstance] = []
    pending = [op]
    while pending:
        current = pending.pop()
        own = own_effects(current)
        if own is None:
            return None
        effects.extend(own)
        if current.regions and current.has_trait(RecursiveMemoryEffect):
            pending.extend(nested_ops(current))
    return effects


def is_memory_effect_free(op: Operation) -> bool:
    """True if `op` (and everything in it) neither reads nor writes memory."""
    kind = effect_kind(op)
    if kind is EffectKind.FREE:
        return True
    if kind is EffectKind.UNKNOWN:
        return False
    return not _effects_or_unknown(op)


class EffectFreedom:
    """`is_memory_effect_free` for ops that do not change meanwhile: each body is looked at once, however deep it is."""

    def __init__(self) -> None:
        self._known: dict[Operation, bool] = {}

    def of(self, op: Operation) -> bool:
        """True if `op` (and everything in it) neither reads nor writes memory."""
        if not op.regions or effect_kind(op) is not EffectKind.RECURSIVE:
            return is_memory_effect_free(op)
        known = self._known.get(op)
        if known is None:
            known = self._known[op] = all(self.of(inner) for inner in nested_ops(op))
        return known


def _effects_or_unknown(op: Operation) -> bool:
    """True if `op` has an effect or its effects are unknown."""
    effects = recursive_effects(op)
    return effects is None or bool(effects)


def only_reads(op: Operation) -> bool:
    """True if `op` and everything in it at most reads memory."""
    if effect_kind(op) is EffectKind.FREE:
        return True
    effects = recursive_effects(op)
    return effects is not None and all(e.kind is MemoryEffectKind.READ for e in effects)


def may_write(op: Operation) -> bool:
    """True if `op` or something in it may write or free memory, or wait for others that do: what was read before it may be old after it."""
    if is_memory_effect_free(op):
        return False
    effects = recursive_effects(op)
    return effects is None or any(e.kind in (MemoryEffectKind.WRITE, MemoryEffectKind.FREE) for e in effects)


def reads_same_at(op: Operation, later: Operation) -> bool:
    """True if `op`, which stands before `later` in its block, reads there what it reads here: it only reads, and nothing between writes."""
    if op.parent is None or op.parent is not later.parent or not only_reads(op):
        return False
    current = op.next_op
    while current is not None and current is not later:
        if may_write(current):
            return False
        current = current.next_op
    return current is later


def would_be_trivially_dead(op: Operation) -> bool:
    """True if `op` could be deleted were its results unused: it only reads, or only touches what it allocates itself."""
    kind = effect_kind(op)
    if kind is EffectKind.FREE:
        return True
    if kind is EffectKind.UNKNOWN or kind is EffectKind.PINNED:
        return False
    pending = [op]
    while pending:
        current = pending.pop()
        kind = effect_kind(current)
        if kind is EffectKind.FREE:
            continue
        effects = own_effects(current)
        if effects is None or not _droppable(current, effects):
            return False
        if current.regions and current.has_trait(RecursiveMemoryEffect):
            pending.extend(nested_ops(current))
    return True


def _droppable(op: Operation, effects: list[EffectInstance]) -> bool:
    allocated = {e.value for e in effects if e.kind is MemoryEffectKind.ALLOC and e.value in op.results}
    return all(e.kind is MemoryEffectKind.READ or e.value in allocated for e in effects)


def is_safe_to_speculate(op: Operation) -> bool:
    """True if executing `op` where it would not have been executed is harmless (no trap, no endless loop).

    A division is safe if its divisor is a constant that cannot trap; a loop if it surely ends.
    """
    division = Division.of(op)
    if division is not None:
        divisor = int_constant(op.operands[1])
        return divisor is not None and divisor != 0 and not (divisor == -1 and division.overflows)
    if isinstance(op, scf.ForOp):
        return int_constant(op.step) == 1 and all(is_safe_to_speculate(inner) for inner in nested_ops(op))
    if op.get_trait(ConditionallySpeculatable) is None:
        return False
    if op.regions:
        return all(is_safe_to_speculate(inner) for inner in nested_ops(op))
    return is_speculatable(op)

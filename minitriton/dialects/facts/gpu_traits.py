"""Traits and effects of the GPU dialects: what an op does to shared memory, operand by operand.

`OperandEffects(reads=(("src", SHARED),))` on `ttg.local_load` says that the op reads the buffer of its operand `src`.
Alias analysis and barrier insertion ask for this; the ops themselves know nothing of either.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from xdsl.ir import Operation, SSAValue
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, OpTrait, Resource
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.facts import Fact
from minitriton.dialects.facts.layouts_fit import layout_complaint


class SharedMemoryResource(Resource):
    """On-chip memory of one CTA."""

    def name(self) -> str:
        return "<ttg.SharedMemory>"


class GlobalMemoryResource(Resource):
    """Device memory."""

    def name(self) -> str:
        return "<tt.GlobalMemory>"


class TensorMemory(Resource):
    """Accumulator memory of sm_100."""

    def name(self) -> str:
        return "<ttng.TensorMemory>"


SHARED = SharedMemoryResource()
GLOBAL = GlobalMemoryResource()
TENSOR = TensorMemory()


class EffectsOfEach(MemoryEffect):
    """Effects that depend on the op, and on what the trait was made with: `get_effects` is asked of the trait, not of its class."""

    @abstractmethod
    def get_effects(self, op: Operation) -> AbstractSet[EffectInstance] | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """What `op` does; None if that is not known."""

    def listed_effects(self, op: Operation) -> Sequence[EffectInstance] | None:
        """The same in an order that does not change from run to run, without hashing any; what two operands do alike stands twice."""
        effects = self.get_effects(op)
        return None if effects is None else [*effects]


@dataclass(frozen=True)
class OperandEffects(EffectsOfEach):
    """Effects of an op on the memory of its operands or results, given by field name and resource."""

    reads: tuple[tuple[str, Resource], ...] = ()
    writes: tuple[tuple[str, Resource], ...] = ()
    frees: tuple[tuple[str, Resource], ...] = ()
    allocates: tuple[tuple[str, Resource], ...] = ()

    def get_effects(self, op: Operation) -> set[EffectInstance]:
        return set(self.listed_effects(op))

    def listed_effects(self, op: Operation) -> list[EffectInstance]:
        found: list[EffectInstance] = []
        for kind, field, resource in self._entries:
            value = getattr(op, field)
            if isinstance(value, (tuple, list)):
                values = cast("Sequence[SSAValue]", value)
                found += [EffectInstance(kind, each, resource) for each in values]
            elif value is not None:
                found.append(EffectInstance(kind, value, resource))
        return found

    @cached_property
    def _entries(self) -> tuple[tuple[MemoryEffectKind, str, Resource], ...]:
        by_kind = {
            MemoryEffectKind.READ: self.reads,
            MemoryEffectKind.WRITE: self.writes,
            MemoryEffectKind.FREE: self.frees,
            MemoryEffectKind.ALLOC: self.allocates,
        }
        return tuple((kind, field, resource) for kind, entries in by_kind.items() for field, resource in entries)


class MemDescView(Fact):
    """The result is a view of the buffer of operand 0; no memory is touched."""


class LocalLoad(Fact):
    """Loads a buffer into registers."""


class AsyncRegions(Fact):
    """The op's regions run at the same time, each in warps of its own."""


class VerifyTensorLayouts(OpTrait):
    """Layouts of the op's tensors must fit the module's numbers of warps, threads and CTAs."""

    def verify(self, op: Operation) -> None:
        for index, operand in enumerate(op.operands):
            complaint = layout_complaint(op, operand.type)
            if complaint is not None:
                raise VerifyException(f"Operand {index} ({operand}) has an invalid layout: {complaint}")
        for index, result in enumerate(op.results):
            complaint = layout_complaint(op, result.type)
            if complaint is not None:
                which = "Result" if len(op.results) == 1 else f"Result {index}"
                raise VerifyException(f"{which} has an invalid layout: {complaint}")


def require(op: Operation, complaint: str | None) -> None:
    """Raise `VerifyException` with the op's name before `complaint`, if there is one."""
    if complaint is not None:
        raise VerifyException(f"'{op.name}' op {complaint}")

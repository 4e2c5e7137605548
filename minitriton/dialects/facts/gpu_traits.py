"""Traits of the GPU dialects: what an op does to shared memory, operand by operand, and whether the layouts of its tensors fit where it runs.

`OperandEffects(reads=(("src", SHARED),))` on `ttg.local_load` says that the op reads the buffer of its operand `src`. Alias analysis and barrier insertion ask
for this; the ops themselves know nothing of either. `VerifyTensorLayouts` refuses a tensor with `warpsPerCTA = [4]` where 8 warps run, with Triton's words.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import cast

from xdsl.dialects.builtin import NoneAttr, TensorType, UnregisteredAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, OpTrait, Resource
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.encodings import layout_of
from minitriton.dialects.facts import Fact
from minitriton.dialects.facts.launch import enclosing_module, maybe_num_warps, num_ctas, threads_per_warp
from minitriton.dialects.narrowing import instance_of
from minitriton.host.frozen import frozen
from minitriton.layouts import encodings as enc
from minitriton.layouts.f2 import is_power_of_two
from minitriton.layouts.to_linear import to_linear_layout


def show(values: Iterable[int]) -> str:
    """`4, 8`, as MLIR prints a list."""
    return ", ".join(map(str, values))


def layout_complaint(op: Operation, type_: Attribute) -> str | None:
    """What is wrong with the layout of a tensor type where `op` runs."""
    if not instance_of(type_, TensorType) or isinstance(type_.encoding, NoneAttr):
        return None
    layout = layout_of(type_)
    if layout is None:
        unknown = isinstance(type_.encoding, UnregisteredAttr)
        return (
            f"unknown encoding {type_.encoding} (minitriton/dialects/encodings.py has those of the dialect)"
            if unknown
            else None
        )
    if not isinstance(layout, enc.DistributedEncoding):
        return "Non-distributed layout is not allowed in tensor type."
    shape = type_.get_shape()
    if layout.rank != len(shape):
        return f"Layout has rank {layout.rank}, but the tensor it's attached to has rank {len(shape)}."
    if not all(is_power_of_two(size) for size in shape):
        return f"Layout has shape {show(shape)}, but the tensor it's attached to has shape {show(shape)} " + (
            "which is not a power of two."
        )
    if enclosing_module(op) is None:
        return None
    linear = to_linear_layout(layout, shape)
    have = {name: 1 << len(linear.bases[name]) for name in ("lane", "warp", "block")}
    threads = threads_per_warp(op)
    if have["lane"] != threads:
        return (
            f"{type_.encoding}.\nLayout has {have['lane']} threads per warp, "
            f"but the module specifies {threads} threads per warp."
        )
    warps = maybe_num_warps(op)
    if warps is None:
        return "Could not determine the number of warps per CTA. Operation is not in a context with `ttg.num-warps`."
    if have["warp"] != warps:
        return (
            f"{type_.encoding}.\nLayout has {have['warp']} warps per CTA, "
            f"but the context requires {warps} warps per CTA."
        )
    ctas = num_ctas(op)
    if have["block"] != ctas:
        return (
            f"{type_.encoding}.\nLayout has {have['block']} CTAs per CGA, but the context requires {ctas} CTAs per CGA."
        )
    return None


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


@frozen
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

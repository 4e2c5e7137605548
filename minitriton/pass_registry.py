"""What a pass is, and the registry that turns its name into its class.

A pass is a frozen dataclass with a name and typed options, in a file of its own:

    @register_pass
    @dataclass(frozen=True)
    class Coalesce(Pass):
        "Gives each memory access the layout that coalesces it."
        name = "tritongpu-coalesce"
        requires = frozenset({Property.ENCODINGS})

        def apply(self, ctx: Context, op: ModuleOp) -> None: ...

Field `num_warps: int = 4` is written `num-warps=4` in a textual pipeline: `convert-triton-to-tritongpu{num-warps=8}`.

A `Translation` is the other kind of step: it leaves the IR it was given and returns the next representation, which is
how LLVM's own passes and the emission of PTX take part in the same pipeline.
"""

from __future__ import annotations

import functools
import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto
from typing import Any, ClassVar, Self, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from minitriton.errors import PipelineError


class Property(StrEnum):
    """A fact about the IR that a pass may need, establish or destroy. Contracts are checked before a pipeline runs."""

    TENSOR_IR = "ops on tensors"
    TTIR = "tt ops without layouts"
    ENCODINGS = "tensor encodings present"
    STRUCTURED = "structured control flow"
    INLINED = "calls inlined"
    BLOCK_POINTERS_REWRITTEN = "block pointers rewritten"
    DESCRIPTORS_LOWERED = "descriptors lowered"
    LATENCIES = "latencies assigned"
    SCHEDULED = "loops scheduled"
    PIPELINED = "loops pipelined"
    SINGLE_CTA = "programs of one CTA"
    ONE_CTA = "data of one CTA only"
    UNPLACED = "shared memory not placed for Triton's lowering"
    GLOBAL_SCRATCH = "global scratch placed"
    SHARED_ALLOCATED = "shared memory placed"
    FENCED = "proxy fences placed"
    BARRIERS = "barriers placed"
    LLVM_DIALECT = "llvm dialect"
    LLVM_IR = "LLVM IR"
    PTX = "PTX"


FRAGILE = frozenset(
    {
        Property.SCHEDULED,
        Property.ONE_CTA,
        Property.GLOBAL_SCRATCH,
        Property.SHARED_ALLOCATED,
        Property.FENCED,
        Property.BARRIERS,
    }
)
"""Facts about every single op: a pass that makes, moves or replaces ops destroys them unless it says that it `keeps` them.

Where programs have one CTA (`SINGLE_CTA`), no pass can make it untrue that their data is of one CTA."""


class Contract:
    """What a step needs, makes true, makes untrue, and leaves true of what is `FRAGILE`."""

    requires: ClassVar[frozenset[Property]] = frozenset()
    establishes: ClassVar[frozenset[Property]] = frozenset()
    destroys: ClassVar[frozenset[Property]] = frozenset()
    keeps: ClassVar[frozenset[Property]] = frozenset()

    def gives(self) -> frozenset[Property]:
        """What this step makes true, with its options."""
        return self.establishes

    def after(self, holds: frozenset[Property]) -> frozenset[Property]:
        """What holds after this step if `holds` did before."""
        kept = self.keeps | {Property.ONE_CTA} if Property.SINGLE_CTA in holds else self.keeps
        return (holds - self.destroys - (FRAGILE - kept)) | self.gives()


class Rest(Enum):
    """What a pass that `simplifies` says of a module which it has changed until there was nothing left to do, for itself either."""

    AT_REST = auto()


class Pass(Contract, ModulePass):
    """One transformation of a module. The class docstring is its documentation in `minitriton passes`."""

    looks_at_all: ClassVar[bool] = False
    """Whether this works on every op, so that it is cheaper to find out that the IR is as the pass once left it, unchanged, than to run it. Its
    `apply` says whether anything has changed."""

    acts_on: ClassVar[frozenset[type[Operation]] | None] = None
    """Classes of op without all of which there is nothing for this pass to do, so that it need not be run; None: it may act on any op."""

    simplifies: ClassVar[bool] = False
    """Whether this also erases dead ops, folds, and shares constants everywhere (`rewriting.greedy`): where that has found nothing and
    nothing has changed since, `acts_on` says whether there is more to do."""

    def apply(self, ctx: Context, op: ModuleOp) -> bool | Rest | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Transforms the module. False: nothing has changed; None: it is not known whether; `Rest`: what has changed is simplified."""
        raise NotImplementedError

    def apply_to_simplified(self, ctx: Context, op: ModuleOp) -> bool | Rest | None:
        """`apply`, where nothing is left to erase or to fold, and constants are shared."""
        return self.apply(ctx, op)

    beyond_triton: ClassVar[Mapping[str, object]] = {}
    """For options of a pass of Triton's that Triton does not have: by field, the value with which the pass does what Triton's does."""

    def as_in_triton(self) -> Self:
        """This pass with Triton's choice of everything."""
        return replace(self, **self.beyond_triton) if self.beyond_triton else self


@dataclass(frozen=True)
class Translation(Contract, ABC):
    """One step from a representation to the next (`llvm` dialect → LLVM IR → PTX), with a pass's name and contract."""

    name: ClassVar[str]

    @abstractmethod
    def translate(self, source: Any) -> Any:
        """The next representation of `source`."""


Step = Pass | Translation
StepT = TypeVar("StepT", bound=type[Pass] | type[Translation])

_registry: dict[str, type[Pass] | type[Translation]] = {}

ENTRY_POINT_GROUP = "minitriton.passes"


def register_pass(cls: StepT) -> StepT:
    """Class decorator: makes `cls` known under `cls.name`. Raises `PipelineError` if the name is taken."""
    known = _registry.get(cls.name)
    taken_by = own_passes().get(cls.name, cls.__module__) if known is None else known.__module__
    if taken_by != cls.__module__ or (known is not None and known.__qualname__ != cls.__qualname__):
        raise PipelineError(f"a pass named {cls.name!r} is already registered by {taken_by}")
    _registry[cls.name] = cls
    return cls


def find_pass(name: str) -> type[Pass] | type[Translation] | None:
    """The pass or translation called `name`, its module imported now if it was not; None if there is none."""
    if name not in _registry and name in own_passes():
        importlib.import_module(own_passes()[name])
    if name not in _registry:
        load_entry_points()
    return _registry.get(name)


@functools.cache
def own_passes() -> dict[str, str]:
    """The module of each pass and translation of this package, by its name."""
    tables = (importlib.import_module(f"{package}.names") for package in ("minitriton.passes", "minitriton.codegen"))
    return {name: module for table in tables for name, module in table.PASSES.items()}


def load_entry_points() -> None:
    """Imports the modules that installed packages name in the entry-point group `minitriton.passes`.

    Raises `PipelineError` that names the package whose module fails to import.
    """
    import importlib.metadata  # 30 ms (2026-11-24), for names that nobody here registers

    for entry in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP):
        try:
            entry.load()
        except Exception as error:
            package = entry.dist.name if entry.dist else "unknown"
            raise PipelineError(f"passes of package {package!r} ({entry.value}) failed to load: {error}") from error


def load_own_passes() -> None:
    """Imports every module of this package that registers passes and translations."""
    for module in dict.fromkeys(own_passes().values()):
        importlib.import_module(module)


def known_passes() -> dict[str, type[Pass] | type[Translation]]:
    """All passes and translations by name: this package's, those of entry points, and those registered so far."""
    load_own_passes()
    load_entry_points()
    return registered_passes()


def registered_passes() -> dict[str, type[Pass] | type[Translation]]:
    """All passes and translations registered so far, by name: this package's first, in the order of its tables."""
    registered = _registry.copy()
    return {name: registered[name] for name in (*own_passes(), *registered) if name in registered}

"""What a pass is, and the registry that turns its name into its class.

A pass is a frozen dataclass with a name and typed options, in a file of its own:

    @register_pass
    class Coalesce(Pass, stage="ttgir", origin="triton"):
        "Gives each memory access the layout that coalesces it."
        name = "tritongpu-coalesce"
        requires = frozenset({Property.ENCODINGS})

        def apply(self, ctx: Context, op: ModuleOp) -> None: ...

Field `num_warps: int = 4` is written `num-warps=4` in a textual pipeline: `convert-triton-to-tritongpu{num-warps=8}`.

A `Translation` is the other kind of step: it leaves the IR it was given and returns the next representation, which is
how LLVM's own passes and the emission of PTX take part in the same pipeline.
"""

import functools
import importlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import Field, replace
from enum import Enum, StrEnum, auto
from typing import Any, ClassVar, Literal, Self, TypeAlias, TypeVar, dataclass_transform

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton.errors import PipelineError
from minitriton.host.frozen import frozen
from minitriton.target.backends import BACKENDS

Stage: TypeAlias = str
"""`ttir`, `ttgir`, `llir`, or a stage of a back end's own (`ptx`)."""
Origin: TypeAlias = Literal["triton", "optional", "required"]


class Property(StrEnum):
    """A fact about the IR that a pass may require, establish or keep. Contracts are checked before a pipeline runs."""

    TENSOR_IR = "ops on tensors"
    TTIR = "tt ops without layouts"
    ENCODINGS = "tensor encodings present"
    STRUCTURED = "structured control flow"
    INLINED = "calls inlined"
    BLOCK_POINTERS_REWRITTEN = "block pointers rewritten"
    NO_DESCRIPTORS = "no tensor descriptors"
    DESCRIPTOR_LAYOUTS = "descriptors have layouts"
    DESCRIPTORS_LOWERED = "descriptors lowered"
    LATENCIES = "latencies assigned"
    SCHEDULED = "loops scheduled"
    PIPELINED = "loops pipelined"
    NO_ASYNC_DOTS = "no asynchronous dots"
    DOT_OPERANDS_FENCED = "writes of threads fenced before asynchronous dots"
    DOT_REGISTERS_HELD = "registers of asynchronous dots held"
    NO_PARTITIONS = "no warp-specialized partitions"
    PARTITION_WARPS = "partitions have warps"
    NO_CLUSTERS = "programs of one CTA"
    EXCHANGES_LOWERED = "exchanges between CTAs lowered"
    NO_TRITON_ALLOCATION = "shared memory not allocated for Triton's lowering"
    GLOBAL_SCRATCH = "global scratch placed"
    SHARED_ALLOCATED = "shared memory placed"
    COPIES_FENCED = "proxy fences placed before copies"
    BARRIERS = "barriers placed"
    LLVM_DIALECT = "llvm dialect"
    LLVM_IR = "LLVM IR"
    PTX = "PTX"
    MACHINE_CODE = "machine code"


INVALIDATED_UNLESS_KEPT = frozenset([
    Property.SCHEDULED, Property.DOT_OPERANDS_FENCED, Property.DOT_REGISTERS_HELD, Property.EXCHANGES_LOWERED,
    Property.GLOBAL_SCRATCH, Property.SHARED_ALLOCATED, Property.COPIES_FENCED, Property.BARRIERS,
])  # fmt: skip
"""Facts about every single op: a pass that makes, moves or replaces ops invalidates them unless it says that it keeps them."""

TEXT = frozenset({Property.LLVM_IR, Property.PTX, Property.MACHINE_CODE})
"""What only translations take."""

EVERYTHING = frozenset(Property)
"""Kept by a pass that only writes attributes."""

KEPT_BY_DEFAULT = EVERYTHING - INVALIDATED_UNLESS_KEPT

KEPT_IN_PLACE = KEPT_BY_DEFAULT | {Property.DOT_OPERANDS_FENCED, Property.DOT_REGISTERS_HELD}
"""Kept by a pass that makes no shared-memory op and no asynchronous dot, and moves neither past the other."""

IMPLIED = {
    Property.NO_DESCRIPTORS: frozenset({Property.DESCRIPTOR_LAYOUTS, Property.DESCRIPTORS_LOWERED}),
    Property.NO_ASYNC_DOTS: frozenset({Property.DOT_OPERANDS_FENCED, Property.DOT_REGISTERS_HELD}),
    Property.NO_PARTITIONS: frozenset({Property.PARTITION_WARPS}),
    Property.NO_CLUSTERS: frozenset({Property.EXCHANGES_LOWERED}),
}
"""What holds by itself in kernels without the ops that it is about: a kernel without dots needs no pass that protects dots."""


def with_implied(facts: frozenset[Property]) -> frozenset[Property]:
    """`facts` and what they imply."""
    for fact, implied in IMPLIED.items():
        if fact in facts and not implied <= facts:
            facts |= implied
    return facts


class Contract:
    """What a step requires, what it makes true, and what it leaves true of what was true before. All else is untrue after it."""

    requires: ClassVar[frozenset[Property]] = frozenset()
    establishes: ClassVar[frozenset[Property]] = frozenset()
    keeps: ClassVar[frozenset[Property]] = KEPT_BY_DEFAULT

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    """The options, once the step is registered."""

    stage: ClassVar[Stage | None] = None
    """The stage of a compile that this step belongs to; None: any."""
    origin: ClassVar[Origin] = "optional"
    """`triton`: a step of Triton's; `optional`: one that Triton does not have, without which code is right too; `required`: one without which
    it is not."""

    def __init_subclass__(cls, *, stage: Stage | None = None, origin: Origin | None = None) -> None:
        super().__init_subclass__()
        if "destroys" in vars(cls):
            raise TypeError(
                f"{cls.__name__}: a contract says what it keeps, `keeps = KEPT_BY_DEFAULT - {{...}}`, not what it destroys"
            )
        cls.stage, cls.origin = stage or cls.stage, origin or cls.origin

    def __eq__(self, other: object) -> bool:
        return self.__class__ is other.__class__ and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.__class__, *vars(self).values()))

    def __repr__(self) -> str:
        return f"{self.__class__.__qualname__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def established(self) -> frozenset[Property]:
        """What this step makes true, with its options."""
        return self.establishes

    def after(self, holds: frozenset[Property]) -> frozenset[Property]:
        """What holds after this step if `holds` did before."""
        return with_implied((holds & self.keeps) | self.established())

    def missing(self, holds: frozenset[Property]) -> frozenset[Property]:
        """What this step requires and `holds` lacks."""
        return self.requires - holds

    def can_run(self, holds: frozenset[Property]) -> bool:
        """Whether this step can run where `holds`."""
        return self.requires <= holds


POWERS_OF_TWO = (0, *(1 << bit for bit in range(11)))
"""Values of an option that counts threads or elements; 0: as the pass finds best."""


class PassResult(Enum):
    """What `Pass.apply` may return, other than a bool or None."""

    REACHED_FIXPOINT = auto()
    """A pass that `folds_everything` has changed the module until neither it nor folding finds anything more to do."""


class Pass(Contract):
    """One transformation of a module. The class docstring is its documentation in `minitriton passes`."""

    name: ClassVar[str]

    visits_every_op: ClassVar[bool] = False
    """Whether this works on every op, so that it is cheaper to find out that the IR is as the pass once left it, unchanged, than to run it. Its
    `apply` says whether anything has changed."""

    acts_on: ClassVar[frozenset[type[Operation]] | None] = None
    """Classes of op; without all of them there is nothing for this pass to do, so that it need not be run; None: it may act on any op."""

    folds_everything: ClassVar[bool] = False
    """Whether this also erases dead ops, folds, and shares constants everywhere (`rewriting.greedy`): where that has found nothing and
    nothing has changed since, `acts_on` says whether there is more to do."""

    def apply(self, ctx: Context, op: ModuleOp) -> bool | PassResult | None:
        """Transforms the module. False: nothing has changed; None: it is not known whether."""
        raise NotImplementedError

    def apply_to_folded(self, ctx: Context, op: ModuleOp) -> bool | PassResult | None:
        """`apply`, where nothing is left to erase or to fold, and constants are shared."""
        return self.apply(ctx, op)

    def can_run(self, holds: frozenset[Property]) -> bool:
        """A pass takes a module, not text."""
        return super().can_run(holds) and not holds & TEXT

    values: ClassVar[Mapping[str, Collection[object]]] = {}
    """By field, what an option may be, where its type does not say it. Other values are refused."""

    def __post_init__(self) -> None:
        for name, allowed in self.values.items():
            if getattr(self, name) not in allowed:
                option = f"{self.name}: {name.replace('_', '-')}={getattr(self, name)}"
                raise PipelineError(option, help=f"give {', '.join(str(each) or 'nothing' for each in allowed)}")

    @classmethod
    def details(cls) -> str:
        """What `minitriton passes NAME` prints after options and contract."""
        return ""

    @classmethod
    def prove(cls) -> Iterator[tuple[str, bool]]:
        """Proves what the pass rests on, a line for each claim with whether it holds: `minitriton passes NAME --prove`."""
        return iter(())

    beyond_triton: ClassVar[Mapping[str, object]] = {}
    """For options of a pass of Triton's that Triton does not have: by field, the value with which the pass does what Triton's does."""

    def as_in_triton(self) -> Self:
        """This pass with Triton's choice of everything."""
        return replace(self, **self.beyond_triton) if self.beyond_triton else self


class Translation(Contract, ABC):
    """One step from a representation to the next (`llvm` dialect → LLVM IR → PTX), with a pass's name and contract."""

    name: ClassVar[str]

    @abstractmethod
    def translate(self, source: Any) -> Any:
        """The next representation of `source`."""

    def may_wait(self, source: object) -> bool:
        """Whether the text of this stage may be made when it is first asked for: the compile goes on without it."""
        return False


Step = Pass | Translation
StepT = TypeVar("StepT", bound=type[Pass] | type[Translation])

_registry: dict[str, type[Pass] | type[Translation]] = {}

ENTRY_POINT_GROUP = "minitriton.passes"


@dataclass_transform(frozen_default=True)
def register_pass(cls: StepT) -> StepT:
    """Class decorator: makes `cls` known under `cls.name`, and its annotated names options. Raises `PipelineError` if the name is taken."""
    if "__dataclass_fields__" not in vars(cls):
        cls = frozen(cls)
    known = _registry.get(cls.name)
    taken_by = own_passes().get(cls.name, cls.__module__) if known is None else known.__module__
    if taken_by != cls.__module__ or (known is not None and known.__qualname__ != cls.__qualname__):
        raise PipelineError(f"a pass named {cls.name!r} is already registered by {taken_by}")
    _registry[cls.name] = cls
    return cls


def find_pass(name: str) -> type[Pass] | type[Translation] | None:
    """The pass or translation called `name`, its module imported now if it was not; None if there is none."""
    if name not in _registry and (module := own_passes().get(name) or _passes_of_backends().get(name)):
        importlib.import_module(module)
    if name not in _registry:
        load_entry_points()
    return _registry.get(name)


@functools.cache
def own_passes() -> dict[str, str]:
    """The module of each pass and translation of this package, by its name."""
    return {**importlib.import_module("minitriton.passes.names").PASSES, **BACKENDS["cuda"].passes}


def _passes_of_backends() -> dict[str, str]:
    return {name: module for backend in BACKENDS.values() for name, module in backend.passes.items()}


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

"""A kernel with inputs: what pipelines are tried on.

    TuningTask.of_call(add, [x, y, out, 4000], (4,), BLOCK=1024)
    TuningTask.of_call(add, [x, y, out, 4000], lambda at: (cdiv(4000, at["BLOCK"]),), BLOCK=1024).variant((("BLOCK", 512),))

The frontend runs once; every use of the IR begins with a copy.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.errors import MinitritonError
from minitriton.lab.arguments import Arguments, array_of
from minitriton.lab.execution import Launch
from minitriton.lab.parameters import Source
from minitriton.lab.sweeping.configuration import Settings, Value
from minitriton.pipeline import stages
from minitriton.pipeline.ast_source import ASTSource
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Property
from minitriton.target import CompileOptions, CUDAOptions, GPUTarget, options_for, target_named
from minitriton.target.amd import HIPOptions

if TYPE_CHECKING:
    from minitriton.runtime.jit import JITFunction

Grid = tuple[int, ...] | Callable[[Mapping[str, object]], tuple[int, ...]]

OPTIONS = frozenset(f.name for kind in (CUDAOptions, HIPOptions) for f in fields(kind)) - {
    "pipeline",
    "without",
    "arch",
}
"""Compile options that a setting may name."""


@dataclass(frozen=True)
class LargeLaunch:
    """`arguments()` makes the big launch's arguments; `grid_of` gives its grid by the kernel's constants."""

    arguments: Callable[[], Arguments]
    grid_of: Callable[[Mapping[str, object]], tuple[int, ...]]
    bytes: int
    """Of all its arrays."""


@dataclass(frozen=True)
class Given:
    """Arguments that are there already."""

    arguments: Arguments

    def __call__(self) -> Arguments:
        return self.arguments


@dataclass
class TuningTask:
    """One kernel, one launch, one target. It pickles where its kernel is one of a file and its functions are of a module."""

    name: str
    source: Source
    """An `ASTSource`, or an `IRSource` of TTIR or TTGIR."""
    arguments: Callable[[], Arguments]
    """Makes the launch's arguments; called once, when numbers are first wanted."""
    grid: tuple[int, ...]
    target: GPUTarget
    options: CompileOptions
    grid_of: Callable[[Mapping[str, object]], tuple[int, ...]] | None = None
    """The grid by the kernel's constants, where it follows from them."""
    choices: Mapping[str, Sequence[Value]] = field(default_factory=dict[str, Sequence[Value]])
    """Values worth trying of constants and compile options, by name."""
    tolerance: float = 0.0
    """How far numbers may be from those of the kernel's own meaning, relatively, where the element type's tolerance is less: for
    products in tf32, and sums of what was rounded to halves."""
    large: LargeLaunch | None = None
    """A launch big enough to be timed, of the same work a program; None where the launch itself is timed."""
    _context: Context | None = field(default=None, repr=False)
    _module: ModuleOp | None = field(default=None, repr=False)
    _facts: frozenset[Property] | None = field(default=None, repr=False)

    @classmethod
    def of_call(
        cls,
        kernel: JITFunction,
        args: Sequence[object],
        grid: Grid,
        *,
        name: str = "",
        arch: int | str = 90,
        options: dict[str, object] | None = None,
        choices: Mapping[str, Sequence[Value]] | None = None,
        **constexprs: object,
    ) -> TuningTask:
        """The launch `kernel[grid](*args, **constexprs)`; types and hints are taken from `args` as a launch does.

        `grid` may be a function of the constants by name, as in a launch: a space that varies constants needs that.
        `choices`: values of constants and compile options that a `Space` with `constants` tries.
        """
        from minitriton.lab.call import source_of_call

        target = target_named(arch)
        source, arguments = source_of_call(kernel, args, constexprs)
        compile_options = options_for(target, **(options or {}))
        found = cls(name or source.fn.__name__, source, Given(arguments), (), target, compile_options)
        found.choices = dict(choices or {})
        found.grid_of = grid if callable(grid) else None
        found.grid = tuple(grid(found.constants)) if callable(grid) else grid
        return found

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_context": None}

    @property
    def constants(self) -> dict[str, object]:
        """The kernel's constants by name."""
        if not isinstance(self.source, ASTSource):
            return {}
        names = self.source.fn.arg_names
        return {names[path[0]]: value for path, value in self.source.constants.items() if len(path) == 1}

    def default_of(self, settings: Settings) -> Pipeline:
        """The default pipeline under other settings."""
        return (self.variant(settings) if settings else self).pipeline()

    def variant(self, settings: Settings) -> TuningTask:
        """The same launch with other constants, options or target.

        Raises `MinitritonError` for a name that is none of them, for options that exclude each other, and for constants where the
        grid does not follow from them.
        """
        given = dict(settings)
        target = target_named(str(given.pop("arch"))) if "arch" in given else self.target
        options = {name: given.pop(name) for name in list(given) if name in OPTIONS}
        kept = {f.name: getattr(self.options, f.name) for f in fields(self.options) if f.name in _KEPT}
        found = copy.copy(self)
        found.target, found.options = target, options_for(target, **{**kept, **options})
        found._context = found._module = found._facts = None
        constants = self.constants
        for name in given:
            if name not in constants:
                raise MinitritonError(
                    f"kernel {self.name!r} lacks a constant {name!r}, and no compile option is called so",
                    help="its constants: " + (", ".join(sorted(constants)) or "none"),
                )
        if given:
            found.source = _with_constants(self.source, given)
            if self.grid_of is not None:
                found.grid = tuple(self.grid_of(found.constants))
            elif any(constants[name] != value for name, value in given.items()):
                raise MinitritonError(
                    f"kernel {self.name!r} has one grid, whatever its constants are",
                    help="give the grid as a function of the constants: grid=lambda at: (cdiv(n, at['BLOCK']),) of a TuningTask, "
                    "grid=lambda n, BLOCK: ... of a case in a file for --corpus",
                )
        return found

    @property
    def context(self) -> Context:
        """The context that the IR belongs to."""
        from minitriton.dialects.context import make_context

        if self._context is None:
            self._context = make_context()
        return self._context

    @property
    def facts(self) -> frozenset[Property]:
        """What holds of the first IR."""
        if self._facts is None:
            self._facts = stages.properties_of(self.make_ir(), self.source.ext, self.target)
        return self._facts

    def make_ir(self) -> ModuleOp:
        """The first IR, a copy of its own for each caller."""
        if self._module is None:
            made = self.source.make_ir(self.target, self.options, self.context)
            if not isinstance(made, ModuleOp):
                raise MinitritonError(
                    f"kernel {self.name!r} is given as {self.source.ext}: no pass over modules is left to vary",
                    help="give the kernel, or its .ttir or .ttgir",
                )
            self._module = made.clone()
        return self._module.clone()

    def with_ir(self, module: ModuleOp) -> TuningTask:
        """The same launch of another program: `module`, of this task's context, in place of the frontend's."""
        found = copy.copy(self)
        found._context, found._module, found._facts = self.context, module.clone(), None
        return found

    @property
    def timed_grid(self) -> tuple[int, ...]:
        """The grid of the launch that is timed."""
        return self.grid if self.large is None else tuple(self.large.grid_of(self.constants))

    @property
    def scale(self) -> float:
        """Programs of the launch that is timed for each one of the launch that is evaluated."""
        return math.prod(self.timed_grid) / math.prod(self.grid)

    @property
    def footprint(self) -> float:
        """Bytes of the arrays of the launch that is timed."""
        if self.large is not None:
            return float(self.large.bytes)
        return float(sum(a.nbytes for v in self.arguments().values if (a := array_of(v)) is not None))

    def timed_launch(self) -> Launch:
        """The launch that is timed."""
        if self.large is None:
            return self.launch()
        return Launch.of(self.source, self.large.arguments(), self.timed_grid, self.target, self.options)

    def launch(self) -> Launch:
        """The launch, at every level."""
        return self.launch_with(self.arguments())

    def launch_with(self, arguments: Arguments) -> Launch:
        """The launch with other arguments."""
        return Launch.of(self.source, arguments, self.grid, self.target, self.options)

    def pipeline(self) -> Pipeline:
        """The target's default pipeline, from where the source stands."""
        return stages.default_pipeline(self.target, self.options, self.source.ext)


_KEPT = OPTIONS - {"backend_name", "supported_fp8_dtypes", "deprecated_fp8_dot_operand_dtypes", "max_num_imprecise_acc_default"}  # fmt: skip
"""Options that a variant takes over: not those that the target says."""


def _with_constants(source: Source, given: Mapping[str, object]) -> ASTSource:
    """`source` with other values of its constants."""
    assert isinstance(source, ASTSource)
    found = copy.copy(source)
    names = source.fn.arg_names
    found.constants = {**source.constants, **{(names.index(name),): value for name, value in given.items()}}
    return found

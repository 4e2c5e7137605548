"""A kernel with the arguments of one launch, and the roles of its constants: what a search for tile sizes is about.

    problem_of(kernel, (a, b, c, 4096, 4096, 4096), {}, grid=None)     roles: BM is M of a dot, ...; sizes: {"m": 4096, ...}

Roles are read once for each kind of arguments (types, alignment, given constants): the kernel is compiled to TTIR with all free constants
equal, and once more for each with twice that value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from minitriton.analysis.tile_roles import TileRoles, tile_roles
from minitriton.dialects.context import make_context
from minitriton.dialects.facts.pass_attributes import DESCRIBED_TILES
from minitriton.errors import MinitritonError, SourceLocation
from minitriton.passes.describe_tiles import DescribeTiles
from minitriton.pipeline.pass_manager import PassManager, Pipeline
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.runtime.autotuner import Autotuner, Heuristics
from minitriton.runtime.default_target import default_target
from minitriton.runtime.errors import AutotunerError
from minitriton.runtime.kernel_interface import KernelInterface
from minitriton.target import GPUTarget, options_for
from minitriton.target.architectures import H100_MULTIPROCESSORS, speeds_named

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from minitriton.pipeline.ast_source import ASTSource
    from minitriton.runtime.jit import JITFunction

Values = Mapping[str, Any]
SourceOf = Callable[[Values], "ASTSource"]
"""The source of a kernel by the values of its free constants."""
Grid = tuple[int, ...] | Callable[[dict[str, Any]], tuple[int, ...]] | None

DESCRIBED_PROBE = 64
"""Rows of the smallest tile of a dot that is described."""
PROBES = (32, 64, 16, 128)
"""Values of constants with which roles are read: the first with which the kernel can be compiled. A dot of 8 bits needs a K of 32."""


class NoTiles(AutotunerError):
    """A kernel without constants that are tile sizes."""


@dataclass(frozen=True)
class Problem:
    """One kernel, one kind of arguments, one size."""

    name: str
    location: SourceLocation | None
    roles: TileRoles
    given: Values
    """Constants with a value: those that the caller gave, and defaults of those that are no tile sizes, or are fixed."""
    sizes: Mapping[str, int]
    """Integer arguments by name."""
    target: GPUTarget
    kind: str
    """Names the kernel, its types, alignments, given constants and the target: of one kind, the same configurations fit."""
    source_of: SourceOf
    grid: Grid = None
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])
    """All arguments by name: what a grid may ask for."""
    multiprocessors: int = H100_MULTIPROCESSORS
    fixed: Mapping[str, int] = field(default_factory=dict[str, int])
    """Constants that are how long an axis is in memory: they stay as they are."""

    @property
    def of_fixed(self) -> dict[str, str]:
        """What to say of these."""
        return {n: f"how long an axis is in memory: stays {value}" for n, value in self.fixed.items()}


def problem_of(
    kernel: KernelInterface,
    args: Sequence[object],
    keywords: Mapping[str, Any],
    grid: Grid = None,
    target: GPUTarget | None = None,
) -> Problem:
    """The problem of a launch `kernel[grid](*args, **keywords)`. Raises `MinitritonError`s at the kernel's line."""
    function, heuristics = undecorated(kernel)
    bound = dict(zip(function.arg_names, args, strict=False)) | {
        k: v for k, v in keywords.items() if k in function.arg_names
    }
    free = _free_constants(function, bound, heuristics)

    def source_of(values: Values) -> ASTSource:
        named = {**bound, **values}
        for heuristic in heuristics:
            for name, compute in heuristic.values.items():
                named[name] = compute(dict(named))
        missing = [p.name for p in function.params if p.name not in named and not p.has_default]
        if missing:
            raise _error(function, f"the value of parameter {missing[0]!r} is missing", "pass it as in a launch")
        return function.source_of_call((), named)[0]

    return problem_of_source(function, source_of, free, bound, grid, target)


def problem_of_source(
    function: JITFunction,
    source_of: SourceOf,
    free: Sequence[str],
    bound: Mapping[str, Any],
    grid: Grid = None,
    target: GPUTarget | None = None,
    constants: Values | None = None,
) -> Problem:
    """The problem of `source_of`, whose free constants are `free`; `bound`: arguments by name, the integers among them are sizes.

    `constants`: values of those that are no tile sizes, or that memory fixes, before their defaults.
    """
    target = target or default_target()
    location = SourceLocation(function.file_name, function.begin_line)
    roles, digest = _roles(function, source_of, tuple(free), target)
    defaults = {p.name: p.default for p in function.params if p.has_default} | dict(constants or {})
    fixed = {name: _value_of_fixed(function, name, defaults) for name in roles.fixed}
    if fixed:
        source_of = _with(source_of, fixed)
        roles, digest = _roles(function, source_of, tuple(name for name in free if name not in fixed), target)
    unknown = [name for name in roles.other if name not in defaults]
    if unknown:
        raise _error(
            function,
            f"constant {unknown[0]!r} is not a tile size, and its value is missing",
            f"pass {unknown[0]}=..., or give it a default; a search chooses "
            + (", ".join(roles.free) or "nothing here"),
        )
    if not roles.free:
        help = "give its tile sizes as tl.constexpr parameters without values"
        lengths = f" ({', '.join(fixed)}: how long axes are in memory)" if fixed else ""
        raise NoTiles(f"kernel {function.__name__!r}: no constant is a tile size{lengths}", location, help=help)
    sizes = {name: int(v) for name, v in bound.items() if isinstance(v, int) and not isinstance(v, bool)}
    given = {n: defaults[n] for n in roles.other} | {
        p.name: bound[p.name] for p in function.params if p.is_constexpr and p.name in bound
    }
    return Problem(
        function.__name__,
        location,
        roles,
        given,
        sizes,
        target,
        digest,
        source_of,
        grid,
        dict(bound),
        multiprocessors(target),
        fixed,
    )


def _value_of_fixed(function: JITFunction, name: str, values: Values) -> int:
    """Of a constant that is how long an axis is in memory."""
    if type(values.get(name)) is not int:
        message = (
            f"constant {name!r} is how long an axis is in memory, which no search can choose, and its value is missing"
        )
        raise _error(function, message, f"pass {name}=...")
    return values[name]


def _with(source_of: SourceOf, fixed: Values) -> SourceOf:
    return lambda values: source_of({**fixed, **values})


def require_free_blocks(function: JITFunction, types: Mapping[str, object]) -> None:
    """Raises `MinitritonError` where parameters have types of tensor descriptors: their blocks are part of the type, whatever constants are."""
    described = [name for name, kind in types.items() if str(kind).startswith("tensordesc")]
    if described:
        raise _error(
            function,
            f"its tiles come with the tensor descriptors {', '.join(described)}, whose blocks are fixed by their types",
            "change the descriptors' blocks with the constants; of kernels that take pointers, or make descriptors themselves, constants are searched",
        )


def undecorated(kernel: Any) -> tuple[JITFunction, list[Heuristics]]:
    """The kernel below its decorators, and its heuristics from the outermost on."""
    heuristics: list[Heuristics] = []
    while isinstance(kernel, Autotuner | Heuristics):
        if isinstance(kernel, Heuristics):
            heuristics.append(kernel)
        kernel = kernel.fn
    if not hasattr(kernel, "source_of_call"):
        raise AutotunerError(f"{kernel!r} is not a kernel whose tile sizes can be searched: decorate it by @triton.jit")
    return kernel, heuristics


def multiprocessors(target: GPUTarget) -> int:
    """Of the current device if it is one of `target`, else those of an H100."""
    from minitriton.runtime.cuda_driver import get_driver, has_gpu

    if target.backend != "cuda":
        return speeds_named(target.ttg_target).multiprocessors
    if not has_gpu():
        return H100_MULTIPROCESSORS
    driver = get_driver()
    device = driver.current_device()
    return driver.multiprocessors(device) if driver.target(device).arch == target.arch else H100_MULTIPROCESSORS


def _free_constants(function: JITFunction, bound: Values, heuristics: list[Heuristics]) -> list[str]:
    """Constants without a value, and those whose default is a number: both may be tile sizes."""
    computed = {name for heuristic in heuristics for name in heuristic.values}
    return [
        p.name
        for p in function.params
        if p.is_constexpr
        and p.name not in bound
        and p.name not in computed
        and (not p.has_default or (isinstance(p.default, int) and not isinstance(p.default, bool)))
    ]


_known: dict[str, TileRoles] = {}
"""Roles by the digest of a kind."""


def _roles(
    function: JITFunction, source_of: SourceOf, free: tuple[str, ...], target: GPUTarget
) -> tuple[TileRoles, str]:
    """The roles, and a digest of what they depend on."""
    failure: MinitritonError | None = None
    for value in PROBES:
        probe = dict.fromkeys(free, value)
        try:
            source = source_of(probe)
            digest = hashlib.sha256(f"{source.hash()} {target} {free}".encode()).hexdigest()
            if digest not in _known:
                _known[digest] = _read(source_of, probe, target)
            return _known[digest], digest
        except MinitritonError as error:
            failure = failure or error
    assert failure is not None
    failure.add_note(f"while reading the roles of {', '.join(free) or 'no constants'} in {function.__name__}")
    raise failure


def _read(source_of: SourceOf, probe: dict[str, int], target: GPUTarget) -> TileRoles:
    base = source_of(probe)
    changed: dict[str, ModuleOp] = {}
    for name, value in probe.items():
        try:
            changed[name] = _first_ir(source_of({**probe, name: 2 * value}), target)
        except MinitritonError:
            continue
    parameters = [name for name, kind in base.signature.items() if kind != "constexpr"]
    roles = tile_roles(_first_ir(base, target), changed, probe, parameters)
    return replace(roles, is_described=bool(roles.dots) and _is_described(source_of, probe, target))


def _is_described(source_of: SourceOf, probe: dict[str, int], target: GPUTarget) -> bool:
    """Whether a launch with tiles of 64 loads the operands of dots through descriptors that it makes."""
    try:
        source = source_of(dict.fromkeys(probe, DESCRIBED_PROBE))
        steps = pipeline_for(target, options_for(target, describe_tiles=True)).steps
        last = next((n for n, step in enumerate(steps) if step.name == DescribeTiles.name), None)
        if last is None:
            return False
        context = make_context()
        module = source.make_ir(target, options_for(target), context)
        module = PassManager(Pipeline(steps[: last + 1])).run(context, module)
    except MinitritonError:
        return False
    return DESCRIBED_TILES in module.attributes


def _first_ir(source: ASTSource, target: GPUTarget) -> ModuleOp:
    """TTIR as the frontend makes it, without calls."""
    context = make_context()
    module = source.make_ir(target, options_for(target), context)
    return PassManager(Pipeline.parse("inline")).run(context, module)


def _error(function: JITFunction, message: str, help: str) -> MinitritonError:
    location = SourceLocation(function.file_name, function.begin_line)
    return AutotunerError(f"kernel {function.__name__!r}: {message}", location, help=help)

"""From a source (a Python kernel, or IR text of any stage) to a `CompiledKernel`.

In: `ASTSource(fn, signature, constexprs, attrs)` or a path to a `.ttir`, `.ttgir`, `.llir` or `.ptx` file. Out: the text
of every stage, the cubin where an assembler is at hand, and the metadata that a launch needs. Names and shapes are
Triton's (`triton.compiler`).
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import importlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from minitriton import knobs
from minitriton.analysis.locations import source_location
from minitriton.analysis.shared_memory.advice import shared_memory_advice
from minitriton.analysis.tensor_descriptors import descriptor_metadata
from minitriton.compilation.compiled_parts import AsmDict, make_metadata
from minitriton.compilation.dumps import dump_stages, environment_hooks, reproducer_path
from minitriton.compilation.overrides import Overrides, overrides_for
from minitriton.compilation.sources import ASTSource, IRSource, entry_of_text
from minitriton.compilation.stages import FIRST_FACTS, STAGES, split
from minitriton.errors import MinitritonError, OutOfResources, SourceLocation
from minitriton.host.damaged_files import parse_json
from minitriton.host.deep_stack import on_deep_stack
from minitriton.host.file_names import stem_of
from minitriton.pass_manager import Hook, PassManager, Pipeline, representation_text, write_reproducer
from minitriton.pass_registry import Property, Step
from minitriton.pipelines import Switches, pipeline_for
from minitriton.target import CUDAOptions, GPUTarget

if TYPE_CHECKING:
    from minitriton.emulator import Report


@dataclass
class _LoweringFacts(Hook):
    """Notes what the lowering finds out for the metadata. Raises `OutOfResources` where `target` has too little."""

    target: GPUTarget
    num_stages: int = 3
    metadata: dict[str, Any] = field(default_factory=dict)

    def before(self, step: Step, value: Any) -> None:
        if Property.LLVM_DIALECT in step.establishes:
            self.metadata["tensordesc_meta"] = descriptor_metadata(value)
        if Property.LLVM_IR in step.establishes:
            self.metadata.update(_module_metadata(value))

    def after(self, step: Step, value: Any) -> None:
        if step.establishes & _KNOWS_SHARED_MEMORY:
            _check_shared_memory(value, self.target, self.num_stages)


_KNOWS_SHARED_MEMORY = frozenset({Property.SHARED_ALLOCATED, Property.LLVM_DIALECT})
"""What a step establishes behind which a module says how much shared memory it takes."""


def _check_shared_memory(module: ModuleOp, target: GPUTarget, num_stages: int) -> None:
    """Raises `OutOfResources` if a block of `target` has less shared memory than `module` takes, at its kernel."""
    required = _module_metadata(module)["shared"]
    limit = target.max_shared_memory
    if required <= limit:
        return
    functions = [op for op in module.ops if op.name in ("tt.func", "llvm.func") and op.regions[0].blocks]
    places = (source_location(op.location) for op in functions)
    error = OutOfResources(required, limit, "shared memory", next((place for place in places if place), None))
    if any(op.name == "tt.func" for op in functions):
        error.help = f"{error.help}\n{shared_memory_advice(module, required, limit, num_stages)}"
    raise error


def _module_metadata(module: ModuleOp) -> dict[str, Any]:
    def number(name: str) -> int:
        value = module.attributes.get(name)
        return value.value.data if isinstance(value, IntegerAttr) else 0

    return {
        "shared": number("ttg.shared"),
        "global_scratch_size": number("ttg.global_scratch_memory_size"),
        "global_scratch_align": number("ttg.global_scratch_memory_alignment") or 1,
        "profile_scratch_size": 0,
        "profile_scratch_align": 1,
        "tmem_size": 0,
    }


def compile(
    src: ASTSource | IRSource | str | Path,
    target: GPUTarget | None = None,
    options: dict[str, Any] | CUDAOptions | None = None,
    *,
    hooks: list[Hook] | None = None,
    assemble: bool = True,
    until: str | None = None,
) -> CompiledKernel:
    """Compiles `src` for `target` (default: the current device, else Hopper) and returns the kernel.

    `assemble` has the cubin made too where an assembler is at hand; else it is made when it is first asked for. `until` names a stage
    (`ttir`, `ttgir`, `llir`, `ptx`) behind which nothing is run: such a kernel has `asm` up to there, and is not kept in the cache. A cached result is used unless `hooks` are given or `TRITON_ALWAYS_COMPILE` is set. Raises `MinitritonError`s that name the kernel's line.
    """
    place = SourceLocation(src.fn.file_name, src.fn.begin_line) if isinstance(src, ASTSource) else None
    what = f"kernel {src.name!r}" if isinstance(src, (ASTSource, IRSource)) else str(src)
    if until is not None and until not in STAGES:
        raise MinitritonError(f"there is no stage {until!r} to stop at", help="its stages: " + ", ".join(STAGES))
    return on_deep_stack(lambda: _compile_or_load(src, target, options, hooks, assemble, until), what, place)


def _compile_or_load(
    src: ASTSource | IRSource | str | Path,
    target: GPUTarget | None,
    options: dict[str, Any] | CUDAOptions | None,
    hooks: list[Hook] | None,
    assemble: bool,
    until: str | None,
) -> CompiledKernel:
    from minitriton.dialects.context import make_context

    target = target or default_target()
    context = make_context()
    if not isinstance(src, (str, Path, ASTSource, IRSource)):
        raise MinitritonError(
            f"cannot compile an object of type {type(src).__name__}",
            help="give ASTSource(kernel, signature, constexprs) or the path of IR text, or call kernel.warmup(...)",
        )
    source = IRSource(src, context) if isinstance(src, (str, Path)) else src
    if not isinstance(options, CUDAOptions):
        options = CUDAOptions.for_target(target, **{**(options or {}), **source.parse_options()})
    target = target.with_arch(options.arch)
    start = time.perf_counter()
    request = _Request(source, target, options, _environment_switches(), overrides_for_source(source, options))
    key = _cache_key(request)
    hooks = [*(hooks or []), *environment_hooks(source.entry)]
    has_own_stages = knobs.runtime.add_stages_inspection_hook is not None
    kernel = None if hooks or has_own_stages or knobs.compilation.always_compile else _load(source, key)
    lookup = time.perf_counter() - start
    is_hit = kernel is not None
    if kernel is None:
        with _no_garbage_collection():
            kernel = _compile(request, context, key, hooks, until)
        is_whole = until in (None, STAGES[-1])
        if assemble and is_whole:
            kernel.assemble_if_possible()
        start = time.perf_counter()
        if not has_own_stages and is_whole:
            kernel.store()
        kernel.stage_seconds["store"] = time.perf_counter() - start
    elif assemble:
        kernel.complete_stored()
    if knobs.compilation.listener is not None:
        _tell_listener(knobs.compilation.listener, kernel, is_hit, lookup)
    if knobs.compilation.dump_ir:
        dump_stages(kernel.name, source.hash(), kernel.asm)
    return kernel


@dataclass(frozen=True)
class _Request:
    """All that a result depends on beside the compiler itself."""

    source: Any
    target: GPUTarget
    options: CUDAOptions
    switches: Switches
    overrides: Overrides


def overrides_for_source(source: Any, options: CUDAOptions) -> Overrides:
    """Nothing is overridden where nothing can be: the hash of a source is made only if files are looked for."""
    wanted = knobs.compilation.override or options.ir_override is not None
    return overrides_for(source.entry, source.hash(), options) if wanted else Overrides({})


def _tell_listener(listener: Callable[..., None], kernel: CompiledKernel, is_hit: bool, lookup: float) -> None:
    """`lookup`: the seconds that the key and the cache took; of a hit there is nothing else."""
    seconds = dict(kernel.stage_seconds)
    first, last = lookup + seconds.pop("frontend", 0.0), seconds.pop("store", 0.0)
    stages = [(stage, _microseconds(taken)) for stage, taken in seconds.items()]
    listener(
        src=kernel.src,
        metadata=kernel.metadata._asdict(),
        metadata_group=kernel.stored_files(),
        times=knobs.CompileTimes(_microseconds(first), stages, _microseconds(last)),
        cache_hit=is_hit,
    )


def _microseconds(seconds: float) -> int:
    return int(seconds * 1e6)


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Puts the cyclic garbage collector off until a compile is over: one full collection in the midst of it costs as much
    as the compile of a small kernel (24 ms of 27 for an argmax, 2026-11-21)."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def default_target() -> GPUTarget:
    """The current device's architecture; without a GPU, Hopper (or `TRITON_OVERRIDE_ARCH=smXY`)."""
    override = knobs.runtime.override_arch
    if override:
        arch = re.fullmatch(r"(?:sm)?(\d+)a?", override)
        if arch is None:
            raise MinitritonError(
                f"TRITON_OVERRIDE_ARCH is {override!r}, which names no architecture", help="write it as in sm90"
            )
        return GPUTarget("cuda", int(arch[1]), 32)
    from minitriton.runtime.driver import get_driver, has_gpu

    if not has_gpu():
        return GPUTarget("cuda", 90, 32)
    driver = get_driver()
    return driver.target(driver.current_device())


def _environment_switches() -> Switches:
    return Switches(
        line_info=not knobs.compilation.disable_line_info,
        optimize_llvm=not knobs.compilation.disable_llvm_opt,
        local_variables=knobs.compilation.dump_ir_extract_di_local_variables,
    )


def _compile(request: _Request, context: Context, key: str, hooks: list[Hook], until: str | None) -> CompiledKernel:
    source, target, options, overrides = request.source, request.target, request.options, request.overrides
    since = time.perf_counter()
    value = source.make_ir(target, options, context)
    seconds = {"frontend": time.perf_counter() - since}
    texts: dict[str, Any] = {} if source.ext == "source" else {source.ext: representation_text(value)}
    facts = _LoweringFacts(target, options.num_stages)
    if source.ext != "ptx":
        parts, facts.metadata["pipeline"] = _checked_parts(target, options, request.switches, source.ext)
        wanted = STAGES[: STAGES.index(until) + 1 if until else None]
        stages = {
            stage: functools.partial(_run_stage, stage, part, context, [facts, *hooks])
            for stage, part in parts
            if stage in wanted
        }
        if knobs.runtime.add_stages_inspection_hook is not None:
            _let_inspect(knobs.runtime.add_stages_inspection_hook, stages, target, options)
        for stage, run in stages.items():
            since = time.perf_counter()
            value = overrides.replace(stage, run(value, facts.metadata), options)
            texts[stage] = representation_text(value)
            if knobs.compilation.use_ir_loc == stage and isinstance(value, ModuleOp):
                value = _with_places_in_text(value, source.entry, stage, texts[stage], key)
            seconds[stage] = time.perf_counter() - since
    if "cubin" in overrides.files:
        texts["cubin"] = overrides.replace("cubin", None, options)
    ptx = texts.get("ptx")
    metadata = {**asdict(options), **facts.metadata, "hash": key, "target": target, "triton_version": "3.6.0"}
    metadata["name"] = source.entry if ptx is None else entry_of_text(ptx, "ptx")[0]
    metadata.setdefault("tensordesc_meta", [])
    if "shared" not in metadata and isinstance(value, ModuleOp):
        metadata["shared"] = None  # Only the lowering knows.
    elif "shared" not in metadata:
        metadata.update({"shared": shared_of_text(str(value)), **source.known_metadata()})
    return CompiledKernel(source, texts, metadata, key, seconds)


@functools.lru_cache(maxsize=64)
def _checked_parts(
    target: GPUTarget, options: CUDAOptions, switches: Switches, ext: str
) -> tuple[list[tuple[str, Pipeline]], str]:
    """The stages after `ext`, each with its passes, and all of these as text. Raises `PipelineError` for a broken contract."""
    parts = split(pipeline_for(target, options, switches), ext)
    remaining = Pipeline(tuple(step for _, part in parts for step in part.steps))
    remaining.check(FIRST_FACTS[ext])
    return parts, str(remaining)


def _run_stage(
    stage: str, part: Pipeline, context: Context, hooks: list[Hook], value: Any, metadata: dict[str, Any]
) -> Any:
    """What `stage` makes of `value`; `metadata` is there for stages of a program's own."""
    reproducer = reproducer_path(stage)
    if reproducer is not None:
        write_reproducer(reproducer, part, representation_text(value))
    return PassManager(part, hooks, reproducer).run(context, value)


def _let_inspect(hook: Callable[..., Any], stages: dict[str, Any], target: GPUTarget, options: CUDAOptions) -> None:
    """Shows `stages` (name → function of the value and the metadata) to a program, which may replace or add some."""
    from minitriton.backends.compiler import Language, make_backend

    backend = make_backend(target)
    backend.stages = dict(stages)
    hook(backend, stages, options, Language.TRITON, target.arch)


def _with_places_in_text(module: ModuleOp, name: str, stage: str, text: str, key: str) -> ModuleOp:
    """`USE_IR_LOC=ttgir`: `module` with the places of its ops in the text of that stage, as the cache keeps it."""
    from minitriton.dialects.text import parse_module
    from minitriton.runtime.cache import KernelCache

    path = KernelCache().path(key) / f"{stem_of(name)}.{stage}"
    return parse_module(text, str(path), ignore_locations=True)


_UNKNOWN_DYNAMIC_SHARED = 48 * 1024


def shared_of_text(text: str) -> int:
    """Bytes of dynamic shared memory for PTX or LLVM IR from elsewhere, which does not say: the most that needs no opt-in."""
    return _UNKNOWN_DYNAMIC_SHARED if "global_smem" in text else 0


def _cache_key(request: _Request) -> str:
    from minitriton.codegen.cubin import assembler_settings, chosen_assembler
    from minitriton.codegen.device_library import library_digest
    from minitriton.runtime.cache import compiler_fingerprint

    source, target, options, switches = request.source, request.target, request.options, request.switches
    parts = [compiler_fingerprint(), source.hash(), source.ext, target, options, switches, chosen_assembler()]
    parts += [assembler_settings(), knobs.compilation.use_ir_loc, request.overrides.digest()]
    if options.pipeline is not None:
        parts.append(_foreign_passes(pipeline_for(target, options, switches)))
    if options.extern_libs:
        parts += [library_digest(Path(path)) for _, path in options.extern_libs]
    return hashlib.sha256("-".join(map(str, parts)).encode()).hexdigest()


def _foreign_passes(pipeline: Pipeline) -> str:
    """The source of every module outside of minitriton whose passes `pipeline` runs: another source, another result."""
    names = {type(step).__module__ for step in pipeline.steps}
    files = [getattr(sys.modules.get(n), "__file__", None) for n in sorted(names) if not n.startswith("minitriton.")]
    return "-".join(hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files if file)


class CompiledKernel:
    """A compiled kernel: `.asm[stage]`, `.metadata`, and launching it: `kernel[grid](*args)`.

    `n_regs`, `n_spills` and `n_max_threads` are known once it is loaded on a device; without one, the first two by its cubin.
    """

    def __init__(
        self, src: Any, texts: dict[str, str], metadata: dict[str, Any], key: str, seconds: dict[str, float]
    ) -> None:
        self.src = src
        self.hash = key
        self.stage_seconds = seconds
        self.metadata = make_metadata(metadata)
        self.name: str = metadata["name"]
        self.asm = AsmDict(texts, self.metadata, seconds)
        self.module: int | None = None
        self.function: int | None = None
        self.n_regs: int | None = None
        self.n_spills: int | None = None
        self.n_max_threads: int | None = None
        self.last_report: Report | None = None
        """What the emulator found and counted in the last launch on host arrays; None if it did not check that launch."""
        self.checked_on_emulator = False
        """Whether any launch on host arrays was checked."""
        self._launcher: Any = None

    @property
    def packed_metadata(self) -> tuple[int, int, int]:
        return (self.metadata.num_warps, self.metadata.num_ctas, self.metadata.shared)

    @property
    def kernel(self) -> bytes:
        """The cubin."""
        return self.asm["cubin"]

    def __getstate__(self) -> dict[str, Any]:
        """All but the handles of this process: a copy in another process loads the kernel there."""
        return {**self.__dict__, "module": None, "function": None, "_launcher": None}

    def assemble_if_possible(self) -> None:
        """Makes the cubin where an assembler is at hand; elsewhere the driver compiles the PTX when the kernel is loaded."""
        from minitriton.codegen.cubin import assembler_available

        if "ptx" in self.asm and assembler_available(self.metadata.arch):
            self.asm["cubin"]

    def complete_stored(self) -> None:
        """Adds the cubin to a cached kernel that was compiled without it, for a launch on host arrays."""
        from minitriton.codegen.cubin import assembler_available
        from minitriton.runtime.cache import KernelCache

        if "cubin" not in self.asm and "ptx" in self.asm and assembler_available(self.metadata.arch):
            self.asm["cubin"]
            KernelCache().remove(self.hash)
            self.store()

    def store(self) -> None:
        """Puts the kernel into the on-disk cache."""
        from minitriton.runtime.cache import KernelCache

        only_binary = knobs.compilation.store_binary_only and "cubin" in self.asm
        stored = ("cubin",) if only_binary else tuple(self.asm)
        files = {f"{stem_of(self.name)}.{stage}": _as_bytes(self.asm[stage]) for stage in stored}
        files["metadata.json"] = json.dumps(self.metadata._asdict(), default=vars).encode()
        KernelCache().store(self.hash, files)

    def stored_files(self) -> dict[str, str]:
        """Name → path of what `store` wrote."""
        from minitriton.runtime.cache import KernelCache

        folder = KernelCache().path(self.hash)
        return {path.name: str(path) for path in sorted(folder.iterdir())} if folder.exists() else {}

    def _init_handles(self) -> None:
        """Loads the kernel on the current device. Raises `OutOfResources` where it does not fit.

        Where there is no GPU it notes what the cubin says that the kernel takes.
        """
        if self.module is not None:
            return
        from minitriton.runtime.launching.loading import load

        load(self)

    @property
    def run(self) -> Any:
        """The launcher of the current device. Raises `MinitritonError` where there is none."""
        self._init_handles()
        if self._launcher is None:
            from minitriton.runtime.driver import get_driver

            get_driver()
        return self._launcher

    def launch_metadata(self, grid: tuple[int, ...], stream: int, *args: Any) -> Any:
        """What launch hooks are told of a launch with these arguments (of all parameters), a `LazyDict`; None if there is no hook."""
        if not knobs.runtime.launch_enter_hook:
            return None
        from minitriton.runtime.launching.launch_hooks import LazyDict

        self._init_handles()
        metadata = LazyDict({"name": self.name, "function": self.function, "stream": stream})
        extra = getattr(self.src.fn, "launch_metadata", None) if hasattr(self.src, "fn") else None
        if extra is not None:
            metadata.add(extra, (grid, self.metadata, dict(zip(self.src.fn.arg_names, args, strict=False))))
        return metadata

    def __getitem__(self, grid: tuple[int, ...]) -> Any:
        """`kernel[grid](*args, stream=None)`: launches with all arguments, with those not declared constexpr, or with those not compiled in."""
        from minitriton.runtime.launching.loading import direct_launcher

        return direct_launcher(self, grid)


def _as_bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


def _load(source: Any, key: str) -> CompiledKernel | None:
    """The cached kernel of `key`; an entry that cannot be understood is removed and counts as absent."""
    from minitriton.runtime.cache import KernelCache

    files = KernelCache().load(key)
    if files is None:
        return None
    try:
        metadata: dict[str, Any] = parse_json(files.pop("metadata.json"))
        metadata["target"] = GPUTarget(**metadata["target"])
        texts: dict[str, Any] = {
            name.rsplit(".", 1)[1]: data if name.endswith(".cubin") else data.decode() for name, data in files.items()
        }
        return CompiledKernel(source, texts, metadata, key, {})
    except (LookupError, ValueError, TypeError, AttributeError, MinitritonError):
        KernelCache().remove(key)
        return None


_OF_TRITON = {
    "CompilationError": ("minitriton.frontend.errors", "CompilationError"),
    "LazyDict": ("minitriton.runtime.launching.launch_hooks", "LazyDict"),
    "compiler": ("minitriton.compiler", None),
    "code_generator": ("minitriton.frontend.code_generator", None),
    "errors": ("minitriton.frontend.errors", None),
    "get_cache_key": ("minitriton.runtime.cache", "get_cache_key"),
    "make_backend": ("minitriton.backends.compiler", "make_backend"),
    "triton_key": ("minitriton.runtime.cache", "triton_key"),
}
"""What else Triton has in its module of this name: where it is here."""


def __getattr__(name: str) -> Any:
    if name not in _OF_TRITON:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _OF_TRITON[name]
    found = importlib.import_module(module)
    return found if attribute is None else getattr(found, attribute)

"""`compile`: from a source to a `CompiledKernel`, by way of the cache.

In: `ASTSource(fn, signature, constexprs, attrs)` or a path to a `.ttir`, `.ttgir`, `.llir` or `.ptx` file. Out: the text
of every stage, the cubin where an assembler is at hand, and the metadata that a launch needs.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

from xdsl.context import Context

from minitriton import knobs
from minitriton.backends.compiler import Language, make_backend
from minitriton.codegen.cubin import assembler_settings, chosen_assembler
from minitriton.codegen.device_library import library_digest
from minitriton.compilation.ast_source import ASTSource
from minitriton.compilation.compile_source import (
    Request,
    Stage,
    compile_request,
    environment_switches,
    overrides_for_source,
)
from minitriton.compilation.dumps import dump_stages, environment_hooks
from minitriton.compilation.ir_source import IRSource
from minitriton.compilation.stages import STAGES
from minitriton.dialects.context import make_context
from minitriton.errors import MinitritonError, SourceLocation
from minitriton.host.deep_stack import on_deep_stack
from minitriton.pass_manager import Hook, Pipeline
from minitriton.pipelines import pipeline_for
from minitriton.runtime.cache import KernelCache, compiler_fingerprint
from minitriton.runtime.compiled_kernel import CompiledKernel, load_stored
from minitriton.runtime.default_target import default_target
from minitriton.target import CUDAOptions, GPUTarget


def compile(
    src: ASTSource | IRSource | str | Path,
    target: GPUTarget | None = None,
    options: dict[str, object] | CUDAOptions | None = None,
    *,
    hooks: list[Hook] | None = None,
    assemble: bool = True,
    until: str | None = None,
) -> CompiledKernel:
    """Compiles `src` for `target` (default: the current device, else Hopper) and returns the kernel.

    `assemble` has the cubin made too where an assembler is at hand; else it is made when it is first asked for. `until` names a stage
    (`ttir`, `ttgir`, `llir`, `ptx`) behind which nothing is run: such a kernel has `asm` up to there, and is not kept in the cache. A cached result is used unless `hooks` are given or `TRITON_ALWAYS_COMPILE` is set. Raises `MinitritonError`s that name the kernel's line.
    """
    place = SourceLocation(src.function.file_name, src.function.begin_line) if isinstance(src, ASTSource) else None
    what = f"kernel {src.name!r}" if isinstance(src, (ASTSource, IRSource)) else str(src)
    if until is not None and until not in STAGES:
        raise MinitritonError(f"there is no stage {until!r} to stop at", help="its stages: " + ", ".join(STAGES))
    return on_deep_stack(lambda: _compile_or_load(src, target, options, hooks, assemble, until), what, place)


def _compile_or_load(
    src: object,
    target: GPUTarget | None,
    options: dict[str, object] | CUDAOptions | None,
    hooks: list[Hook] | None,
    assemble: bool,
    until: str | None,
) -> CompiledKernel:
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
    request = Request(source, target, options, environment_switches(), overrides_for_source(source, options))
    key = _cache_key(request)
    hooks = [*(hooks or []), *environment_hooks(source.entry)]
    has_own_stages = knobs.runtime.add_stages_inspection_hook is not None
    kernel = None if hooks or has_own_stages or knobs.compilation.always_compile else load_stored(source, key)
    lookup = time.perf_counter() - start
    is_hit = kernel is not None
    if kernel is None:
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


def _compile(request: Request, context: Context, key: str, hooks: list[Hook], until: str | None) -> CompiledKernel:
    hook = knobs.runtime.add_stages_inspection_hook
    inspect = None if hook is None else functools.partial(_let_inspect, hook, request.target, request.options)
    folder = KernelCache().path(key)
    made = compile_request(request, context, hooks, folder, until=until, inspect=inspect)
    return CompiledKernel(request.source, made.texts, {**made.metadata, "hash": key}, key, made.seconds)


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


def _cache_key(request: Request) -> str:
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


def _let_inspect(
    hook: Callable[..., object], target: GPUTarget, options: CUDAOptions, stages: dict[str, Stage]
) -> None:
    """Shows `stages` (name → function of the value and the metadata) to a program, which may replace or add some."""
    backend = make_backend(target)
    backend.stages = dict(stages)
    hook(backend, stages, options, Language.TRITON, target.arch)

"""`compile`: from a source to a `CompiledKernel`, by way of the cache.

In: `ASTSource(fn, signature, constexprs, attrs)` or a path to a `.ttir`, `.ttgir`, `.gluon`, `.llir` or `.ptx` file. Out: the text
of every stage (of AMD's assembly when it is asked for), the cubin where an assembler is at hand, and the metadata that a launch needs.

The compiler is imported where the cache has no such kernel (`runtime.fresh_compile`): a program that is run again starts without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from minitriton import knobs
from minitriton.codegen.assemblers import chosen_assembler
from minitriton.errors import MinitritonError, SourceLocation
from minitriton.host.deep_stack import on_deep_stack
from minitriton.host.garbage import no_garbage_collection
from minitriton.host.locks import finished_before_forks
from minitriton.pipeline.ast_source import ASTSource
from minitriton.pipeline.request import Request, environment_switches, overrides_for_source
from minitriton.runtime.cache import compiler_fingerprint
from minitriton.runtime.compiled_kernel import CompiledKernel, load_stored
from minitriton.runtime.default_target import default_target
from minitriton.runtime.launching.described_tiles import compile_by
from minitriton.runtime.stored_kernel import MissingStage
from minitriton.target import CompileOptions, GPUTarget, options_for
from minitriton.target.backends import backend, stages_of

if TYPE_CHECKING:
    from minitriton.pipeline.ir_source import IRSource
    from minitriton.pipeline.pass_manager import Hook


def compile(
    src: ASTSource | IRSource | str | Path,
    target: GPUTarget | None = None,
    options: dict[str, object] | CompileOptions | None = None,
    *,
    hooks: list[Hook] | None = None,
    assemble: bool = True,
    until: str | None = None,
) -> CompiledKernel:
    """Compiles `src` for `target` (default: the current device, else Hopper) and returns the kernel.

    `assemble` has the cubin made too where an assembler is at hand; else it is made when it is first asked for. `until` names a stage
    (`ttir`, `ttgir`, `llir`, `ptx`) after which nothing is run: such a kernel has `asm` up to there, and is not stored in the cache. A cached
    result is used unless `hooks` are given, `TRITON_ALWAYS_COMPILE` is set, or dumps, times or remarks are wanted, which a cached kernel would hide.
    Raises `MinitritonError`s that name the kernel's line.
    """
    location = SourceLocation(src.function.file_name, src.function.begin_line) if isinstance(src, ASTSource) else None
    what = str(src) if isinstance(src, (str, Path)) else f"kernel {getattr(src, 'name', src)!r}"
    with finished_before_forks():
        return on_deep_stack(lambda: _compile_or_load(src, target, options, hooks, assemble, until), what, location)


compile_by(compile)


def _compile_or_load(
    src: object,
    target: GPUTarget | None,
    options: dict[str, object] | CompileOptions | None,
    hooks: list[Hook] | None,
    assemble: bool,
    until: str | None,
) -> CompiledKernel:
    target = target or default_target()
    source = src if isinstance(src, ASTSource) else _ir_source(src)
    if not isinstance(options, CompileOptions):
        options = options_for(target, **{**(options or {}), **source.parse_options()})
    target = target.with_arch(options.arch)
    stages = stages_of(target.backend)
    if until is not None and until not in stages:
        raise MinitritonError(f"unknown stage {until!r} to stop at", help="its stages: " + ", ".join(stages))
    start = time.perf_counter()
    has_own_stages = knobs.runtime.add_stages_inspection_hook is not None
    with no_garbage_collection():
        request = Request(source, target, options, environment_switches(target), overrides_for_source(source, options))
        key = _cache_key(request)
        hooks = [*(hooks or []), *_environment_hooks(source.name.removeprefix("@"))]
        has_to_run = hooks or has_own_stages or knobs.compilation.always_compile or knobs.compilation.shows_passes
        kernel = None if has_to_run else load_stored(source, key)
        lookup = time.perf_counter() - start
        is_hit = kernel is not None
        if kernel is None:
            from minitriton.runtime.fresh_compile import fresh_kernel

            kernel = fresh_kernel(request, key, hooks, until)
    if not is_hit:
        is_whole = until in (None, stages[-1])
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
        from minitriton.pipeline.stages import dump_stages

        with contextlib.suppress(MissingStage):
            kernel.asm[backend(target.backend).text_stage]
        dump_stages(kernel.name, source.hash(), kernel.asm)
    return kernel


def _ir_source(src: object) -> IRSource:
    """`src`, or the source that the path of a text names."""
    from minitriton.pipeline.ir_source import IRSource

    if isinstance(src, IRSource):
        return src
    if not isinstance(src, (str, Path)):
        raise MinitritonError(
            f"cannot compile an object of type {type(src).__name__}",
            help="give ASTSource(kernel, signature, constexprs) or the path of IR text, or call kernel.warmup(...)",
        )
    from minitriton.dialects.context import make_context

    return IRSource(src, make_context())


def _environment_hooks(name: str) -> list[Hook]:
    """What the environment asks to be shown of the passes of kernel `name`."""
    if knobs.compilation.dump_passes in ("", "0") and not knobs.compilation.time_passes:
        return []
    from minitriton.pipeline.stages import environment_hooks

    return environment_hooks(name)


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
    parts += [knobs.compilation.use_ir_loc, request.overrides.digest()]
    if options.pipeline is not None:
        parts.append(_foreign_passes(request))
    if options.extern_libs:
        from minitriton.codegen.bitcode_library import library_digest

        parts += (library_digest(Path(path)) for _, path in options.extern_libs)
    return hashlib.sha256("-".join(map(str, parts)).encode()).hexdigest()


def _foreign_passes(request: Request) -> str:
    """The source of every module outside of minitriton whose passes the pipeline runs: another source, another result."""
    from minitriton.pipeline.pipelines import pipeline_for

    steps = pipeline_for(request.target, request.options, request.switches).steps
    names = {type(step).__module__ for step in steps}
    files = [getattr(sys.modules.get(n), "__file__", None) for n in sorted(names) if not n.startswith("minitriton.")]
    return "-".join(hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files if file)

"""A compile that the cache does not answer: the compiler, run, and its result as a kernel. Importing this imports the compiler."""

import functools
from collections.abc import Callable

from minitriton import knobs
from minitriton.backends.compiler import Language, make_backend
from minitriton.dialects.context import make_context
from minitriton.pipeline.compile_source import Stage, compile_request
from minitriton.pipeline.pass_manager import Hook
from minitriton.pipeline.request import Request
from minitriton.runtime.cache import KernelCache
from minitriton.runtime.compiled_kernel import CompiledKernel
from minitriton.target import CompileOptions, GPUTarget


def fresh_kernel(request: Request, key: str, hooks: list[Hook], until: str | None) -> CompiledKernel:
    """Compiles `request`. Raises `MinitritonError`s that name the kernel's line."""
    hook = knobs.runtime.add_stages_inspection_hook
    inspect = None if hook is None else functools.partial(_let_inspect, hook, request.target, request.options)
    folder = KernelCache().path(key)
    made = compile_request(request, make_context(), hooks, folder, until=until, inspect=inspect)
    return CompiledKernel(request.source, made.texts, {**made.metadata, "hash": key}, key, made.seconds)


def _let_inspect(
    hook: Callable[..., object], target: GPUTarget, options: CompileOptions, stages: dict[str, Stage]
) -> None:
    """Shows `stages` (name → function of the value and the metadata) to a program, which may replace or add some."""
    backend = make_backend(target)
    backend.stages = dict(stages)
    hook(backend, stages, options, Language.TRITON, target.arch)

"""`CompiledKernel`: what a compile gives to programs; it loads itself where it is launched."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from minitriton import knobs
from minitriton.codegen.assembled_code import Cubin
from minitriton.errors import MinitritonError
from minitriton.host.damaged_files import parse_json
from minitriton.pipeline.ast_source import ASTSource
from minitriton.runtime.cache import KernelCache
from minitriton.runtime.cuda_driver import get_driver, has_gpu
from minitriton.runtime.launching.arguments import is_on_host
from minitriton.runtime.launching.descriptor_arguments import expanded_arguments
from minitriton.runtime.launching.host_values import Grid
from minitriton.runtime.launching.launch_hooks import LazyDict, launch_with_hooks
from minitriton.runtime.launching.launcher import Launcher
from minitriton.runtime.launching.loading import (
    current_raw_stream,
    current_stream,
    full_grid,
    given_arguments,
    passed_values,
)
from minitriton.runtime.stored_kernel import ATTEMPTS, StoredKernel
from minitriton.target import GPUTarget
from minitriton.target.backends import backend

if TYPE_CHECKING:
    from minitriton.pipeline.ir_source import IRSource
    from minitriton.runtime.on_cpu.emulated_device import HostLauncher


class CompiledKernel(StoredKernel):
    """A compiled kernel: `.asm[stage]`, `.metadata`, and launching it: `kernel[grid](*args)`."""

    def _init_handles(self) -> None:
        """Loads the kernel on the current device. Raises `OutOfResources` where it does not fit.

        Where there is no GPU it notes what the cubin says that the kernel takes.
        """
        if self.module is not None:
            return
        backend(self.metadata.target.backend).load("driver").load_kernel(self)

    def _repr_html_(self) -> str:
        """In a notebook: the stages, each to be opened."""

        from minitriton.host.tables import folded

        stages = [(name, text) for name, text in self.asm.items() if isinstance(text, str)]
        from html import escape

        return f"<b>{escape(self.name)}</b>" + "".join(
            folded(f"{name}, {len(text.splitlines())} lines", text) for name, text in stages
        )

    @property
    def run(self) -> Launcher | HostLauncher:
        """The launcher of the current device; where there is no GPU, of the emulator."""
        if not has_gpu():
            from minitriton.runtime.on_cpu.emulated_device import HostLauncher

            return HostLauncher(self)
        return self.loaded()

    def loaded(self) -> Launcher:
        """The launcher of the current device, loaded if it was not. Raises `MinitritonError` where there is none."""
        self._init_handles()
        if self.launcher is None:
            get_driver()
            raise MinitritonError(f"kernel {self.name!r} is not loaded")
        return self.launcher

    def launch_metadata(self, grid: tuple[int, ...], stream: int, *args: object) -> LazyDict | None:
        """What launch hooks are given of a launch with these arguments (of all parameters), a `LazyDict`; None if there is no hook."""
        if not knobs.runtime.launch_enter_hook:
            return None
        if has_gpu():
            self._init_handles()
        metadata = LazyDict({"name": self.name, "function": self.function, "stream": stream})
        fn = self.src.fn if isinstance(self.src, ASTSource) else None
        extra = getattr(fn, "launch_metadata", None)
        if fn is not None and extra is not None:
            metadata.add(extra, (grid, self.metadata, dict(zip(fn.arg_names, args, strict=False))))
        return metadata

    def __getitem__(self, grid: Grid) -> Callable[..., None]:
        """`kernel[grid](*args, stream=None)`: launches with all arguments, with those not declared constexpr, or with those not compiled in."""
        return direct_launcher(self, grid)


def direct_launcher(kernel: CompiledKernel, grid: Grid) -> Callable[..., None]:
    """`kernel[grid]` of an already compiled kernel. It takes the arguments in order: all of them, or those of the parameters
    that are not declared constexpr (whether or not a value was compiled in), or only those that a launch passes."""

    def run(*args: object, stream: int | None = None) -> None:
        if not (runtime.launch_enter_hook or runtime.launch_exit_hook):
            return launch(args, stream)
        at = stream if stream is not None else current_stream()[1] if has_gpu() else 0
        metadata = kernel.launch_metadata(full_grid(grid), at, *args)
        launch_with_hooks(lambda: launch(args, stream), metadata)

    runtime = knobs.runtime

    def launch(args: tuple[object, ...], stream: int | None) -> None:
        launcher, given = kernel.launcher, cast(Any, grid)
        if launcher is not None:
            x, y, z = given if given.__class__ is tuple and len(given) == 3 else full_grid(grid)
            if launcher.launch_plain(x, y, z, current_raw_stream() if stream is None else stream, args):
                return
        arguments = expanded_arguments(given_arguments(kernel, args), kernel.metadata.tensordesc_meta)
        size = full_grid(grid)
        if any(is_on_host(a) for a in args):
            from minitriton.runtime.on_cpu.emulation import run_on_emulator

            run_on_emulator(kernel, size, arguments)
            return
        launcher = kernel.loaded()
        if stream is None:
            stream = current_stream()[1]
        launcher.launch(*size, stream, passed_values(arguments))

    return run


def load_stored(source: ASTSource | IRSource, key: str) -> CompiledKernel | None:
    """The cached kernel of `key`; an entry that cannot be understood is removed and counts as absent."""
    files = KernelCache().load(key)
    if files is None:
        return None
    try:
        metadata: dict[str, Any] = parse_json(files.pop("metadata.json"))
        metadata["target"] = GPUTarget(**metadata["target"])
        binaries = ("unlimited_cubin", backend(metadata["target"].backend).binary)
        stages = {name.rsplit(".", 1)[1]: data for name, data in files.items()}
        attempts = stages.pop(ATTEMPTS, None)
        texts: dict[str, str | bytes] = {
            stage: data if stage in binaries else data.decode() for stage, data in stages.items()
        }
        if attempts is not None and "cubin" in stages:
            texts["cubin"] = Cubin.of_stored(stages["cubin"], attempts)
        return CompiledKernel(source, texts, metadata, key, {})
    except (LookupError, ValueError, TypeError, AttributeError, MinitritonError):
        KernelCache().remove(key)
        return None

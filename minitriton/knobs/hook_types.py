"""The types of the functions that programs hang into `knobs`, for their annotations.

def listen(*, key: str, repr: str, **others) -> bool | None: ...
hook: JITHook = listen
knobs.runtime.jit_cache_hook = hook
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypedDict

KernelAttr = list[str | int]
"""An attribute of a parameter: its name and value."""


class BuildImpl(Protocol):
    """`knobs.build.impl`: compiles a C source to a library and returns its path."""

    def __call__(
        self,
        name: str,
        src: str,
        srcdir: str,
        library_dirs: list[str],
        include_dirs: list[str],
        libraries: list[str],
        /,
    ) -> str: ...


class CompilationListener(Protocol):
    """`knobs.compilation.listener`: called for every compile, `times` a `knobs.CompileTimes`."""

    def __call__(
        self,
        *,
        src: object,
        metadata: dict[str, object],
        metadata_group: dict[str, str],
        times: object,
        cache_hit: bool,
    ) -> None: ...


class AutotuneListener(Protocol):
    """`knobs.autotuning.listener`: called for every choice of a configuration, `duration` in seconds of measuring (None: from the disk)."""

    def __call__(
        self,
        *,
        fn: object,
        key: tuple[object, ...],
        best_config: object,
        configs_timings: Mapping[Any, float | Sequence[float]],
        duration: float | None,
        cache_hit: bool,
    ) -> None: ...


class LaunchMetadata(Protocol):
    """Facts about a launch, worked out when they are asked for."""

    @property
    def data(self) -> dict[str, object]:
        """What is known without working anything out: name, function, stream."""
        ...

    def get(self) -> dict[str, object]: ...


class LaunchHook(Protocol):
    """`knobs.runtime.launch_enter_hook` and `launch_exit_hook`: given a launch's name, function and stream."""

    def __call__(self, metadata: LaunchMetadata) -> None: ...


class LaunchArgumentsHook(Protocol):
    """`knobs.runtime.launch_arguments_hook`: given what a launch is given: the arguments of all parameters, in order."""

    def __call__(
        self, kernel: Any, grid: tuple[int, int, int], args: tuple[object, ...], options: dict[str, object], /
    ) -> None: ...


class InitHandleHook(Protocol):
    """`knobs.runtime.kernel_load_start_hook` and `kernel_load_end_hook`; there is no module and function at the start."""

    def __call__(
        self,
        module: object | None,
        function: Callable[..., object] | None,
        name: str,
        metadata_group: dict[str, str],
        hash: str,
    ) -> None: ...


class JITHookCompileInfo(TypedDict):
    """What a `JITHook` is given of a compile, as `compile`."""

    key: str
    signature: dict[str, str]
    device: int
    constants: dict[tuple[int, ...], object]
    num_warps: int
    num_ctas: int
    num_stages: int
    enable_fp_fusion: bool
    launch_cooperative_grid: bool
    extern_libs: tuple[tuple[str, str], ...]
    configs: list[dict[tuple[int, ...], list[KernelAttr]]]
    specialization_data: str
    is_warmup: bool


class JITHook(Protocol):
    """`knobs.runtime.jit_cache_hook`, which may ask not to compile, and `jit_post_compile_hook`."""

    def __call__(
        self,
        *,
        key: str,
        repr: str,
        fn: object,
        compile: JITHookCompileInfo,
        is_manual_warmup: bool,
        already_compiled: bool,
    ) -> bool | None: ...


class PipelineStagesHook(Protocol):
    """`knobs.runtime.add_stages_inspection_hook`: shown the stages of a compile, which it may change."""

    def __call__(
        self,
        backend: object,
        stages: dict[str, Callable[[object, dict[str, object]], object]],
        options: object,
        language: object,
        capability: int,
    ) -> None: ...

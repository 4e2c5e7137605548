"""What autotuned, heuristic and plain kernels have in common: `kernel[grid](...)`, `kernel.warmup(...)` and `kernel.run(...)`."""

import enum
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from minitriton.runtime.launching.host_values import Grid

if TYPE_CHECKING:
    from minitriton.runtime.compiled_kernel import CompiledKernel

Path: TypeAlias = "Callable[..., CompiledKernel | None]"
"""What makes launches of a kernel: `path(grid, *args, **options)`; it gives None where hooks keep it from being compiled."""


class Purpose(enum.Enum):
    """What a path is for."""

    __hash__ = object.__hash__  # that of enums is a function of Python, and a launch asks for it

    LAUNCH = "a launch"
    LAUNCH_WITH_HOOKS = "a launch, given to the launch hooks"
    WARMUP = "a compile, in which dtypes may stand for tensors"


class KernelInterface:
    """A kernel that is launched through `run(*args, grid=..., warmup=..., **kwargs)`; decorators wrap one in another by `fn`."""

    arg_names: list[str]

    def run(self, *args: object, grid: Grid, warmup: bool, **kwargs: object) -> Any:
        raise NotImplementedError

    def warmup(self, *args: object, grid: Grid, **kwargs: object) -> object:
        """Compiles for these arguments without launching."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def __getitem__(self, grid: Grid) -> Callable[..., object]:
        return functools.partial(self.run, grid=grid, warmup=False)


_NOTHING: dict[str, Any] = {}


def launch(kernel: Any, args: tuple[object, ...], kwargs: dict[str, Any], more: dict[str, Any] = _NOTHING) -> Any:
    """`kernel.run(*args, **kwargs, **more)`, where `kwargs` are those of a `run`: `grid`, `warmup` and the rest."""
    warmup = kwargs.pop("warmup", False)
    if warmup or not isinstance(kernel, KernelInterface):
        return kernel.run(*args, warmup=warmup, **kwargs, **more)
    return kernel[kwargs.pop("grid", None)](*args, **kwargs, **more)


def innermost_function(kernel: Any) -> Callable[..., object]:
    """The Python function below all decorators of `kernel`."""
    while hasattr(kernel, "fn"):
        kernel = kernel.fn
    return kernel

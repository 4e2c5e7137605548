"""What autotuned, heuristic and plain kernels have in common: `kernel[grid](...)`, `kernel.warmup(...)` and `kernel.run(...)`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitriton.runtime.launching.host_values import Grid


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


def innermost_function(kernel: Any) -> Callable[..., object]:
    """The Python function below all decorators of `kernel`."""
    while hasattr(kernel, "fn"):
        kernel = kernel.fn
    return kernel

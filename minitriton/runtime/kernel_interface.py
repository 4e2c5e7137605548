"""What autotuned, heuristic and plain kernels have in common: `kernel[grid](...)`, `kernel.warmup(...)` and `kernel.run(...)`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class KernelInterface:
    """A kernel that is launched through `run(*args, grid=..., warmup=..., **kwargs)`; decorators wrap one in another by `fn`."""

    def run(self, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        raise NotImplementedError

    def warmup(self, *args: Any, grid: Any, **kwargs: Any) -> Any:
        """Compiles for these arguments without launching."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return functools.partial(self.run, grid=grid, warmup=False)


def innermost_function(kernel: Any) -> Callable[..., Any]:
    """The Python function below all decorators of `kernel`."""
    while hasattr(kernel, "fn"):
        kernel = kernel.fn
    return kernel

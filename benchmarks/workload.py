"""What a workload of the speed benchmark is.

In: an array library (torch on a GPU, or a stand-in that makes NumPy arrays). Out: tensors by name, launches of example kernels on
them, and torch's own way to the same results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Tensors = dict[str, Any]


@dataclass(frozen=True)
class Workload:
    """`launch(kernels, tensors)` starts one run, `kernels` being the kernels of `file` from one compiler.

    `library(tensors)` is torch's way: the results in the order of `results`, which name tensors by key. Tensors whose key begins with
    an underscore are scratch. `check`, where torch cannot give the same numbers, measures how far the results are from right.
    """

    name: str
    file: str
    make: Callable[[Any], Tensors]
    launch: Callable[[Any, Tensors], Any]
    library: Callable[[Tensors], Any]
    results: tuple[str, ...] = ("out",)
    check: Callable[[Tensors], float] | None = None

    def bytes_moved(self, tensors: Tensors) -> int:
        """Each input read once, each output written once."""
        return sum(t.numel() * t.element_size() for key, t in tensors.items() if not key.startswith("_"))


@dataclass(frozen=True)
class WithOptions:
    """The kernels of a module, launched with compile options of their own: `WithOptions(module, {"num_stages": 2})`."""

    module: Any
    options: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        kernel, options = getattr(self.module, name), self.options
        return _Launchable(lambda grid, args, kwargs: kernel[grid](*args, **kwargs, **options))


@dataclass(frozen=True)
class _Launchable:
    start: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return lambda *args, **kwargs: self.start(grid, args, kwargs)


@dataclass(frozen=True)
class Recorder:
    """Stands for the kernels of a module and notes what is launched: `(kernel's name, grid, arguments, keywords)`."""

    launches: list[tuple[str, tuple[int, ...], tuple[Any, ...], dict[str, Any]]]

    def __getattr__(self, name: str) -> Any:
        return _Launchable(lambda grid, args, kwargs: self.launches.append((name, grid, args, kwargs)))


def cdiv(a: int, b: int) -> int:
    """`a / b`, rounded up."""
    return -(-a // b)


def power_of_two(n: int) -> int:
    """The least power of two that is at least `n`."""
    return 1 << (n - 1).bit_length()

"""`@heuristics`: parameters computed from the other arguments at each launch.

@heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@jit
def kernel(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr): ...

kernel[grid](x, 1024, BLOCK=128)    →    the inner kernel gets EVEN=True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitriton.runtime.kernel_interface import KernelInterface, launch

Heuristic = Callable[[dict[str, Any]], object]


class Heuristics(KernelInterface):
    """A kernel some of whose parameters are functions of the others; each sees what the ones before it computed."""

    def __init__(self, fn: KernelInterface, arg_names: list[str], values: dict[str, Heuristic]) -> None:
        self.fn = fn
        self.arg_names = arg_names
        self.values = values

    def run(self, *args: object, **kwargs: Any) -> Any:
        named = dict(zip(self.arg_names, args))  # noqa: B905 (a launch)
        named.update(kwargs)
        for name, heuristic in self.values.items():
            kwargs[name] = named[name] = heuristic(named if len(self.values) == 1 else dict(named))
        return launch(self.fn, args, kwargs)


def heuristics(values: dict[str, Heuristic]) -> Callable[[KernelInterface], Heuristics]:
    """Decorator: `values` maps parameter names to functions from the arguments by name to the parameter's value."""
    return lambda fn: Heuristics(fn, fn.arg_names, values)

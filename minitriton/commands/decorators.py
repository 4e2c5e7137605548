"""What `@triton.heuristics` and `@triton.autotune` around a kernel say of parameters for which a command line has no value.

@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
    n=1024, BLOCK=256     EVEN is True
    n=i32, BLOCK=256      "EVEN is computed by @triton.heuristics, from arguments that have no value here"
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from minitriton.frontend.function import JITCallable
from minitriton.runtime.autotuner import Autotuner, Heuristics
from minitriton.runtime.jit import JITFunction
from minitriton.runtime.kernel_interface import KernelInterface

_decorated: WeakKeyDictionary[JITCallable, KernelInterface] = WeakKeyDictionary()


def remember_decorators(kernel: JITCallable, decorated: KernelInterface) -> None:
    """Notes that a program knows `kernel` as `decorated`."""
    _decorated[kernel] = decorated


def _decorators(kernel: JITCallable) -> list[KernelInterface]:
    """From the outermost to the innermost; none for a kernel without known decorators."""
    found: list[KernelInterface] = []
    around = _decorated.get(kernel)
    while isinstance(around, KernelInterface) and not isinstance(around, JITFunction):
        found.append(around)
        around = getattr(around, "fn", None)
    return found


def computed_values(kernel: JITCallable, known: dict[str, object]) -> dict[str, object]:
    """What heuristics compute from the `known` values of other parameters, without those for which these do not suffice."""
    found: dict[str, object] = {}
    for decorator in _decorators(kernel):
        for name, heuristic in decorator.values.items() if isinstance(decorator, Heuristics) else ():
            if name not in known:
                try:
                    found[name] = heuristic({**known, **found})
                except Exception:  # the user's function, of arguments that are missing
                    continue
    return found


def advice_on(kernel: JITCallable, name: str) -> str | None:
    """What to say of parameter `name`, if decorators give it; None if none does."""
    for decorator in _decorators(kernel):
        if isinstance(decorator, Heuristics) and name in decorator.values:
            return f"{name} is computed by @triton.heuristics, from arguments that are unknown here: say {name}=..."
        if isinstance(decorator, Autotuner) and name in (kwargs := decorator.configs[0].kwargs):
            config = decorator.configs[0]
            values = ",".join(f"{key}={value}" for key, value in kwargs.items())
            options = f"--option num_warps={config.num_warps} --option num_stages={config.num_stages}"
            count = len(decorator.configs)
            return (
                f"{name} is chosen by @triton.autotune; the first of {count} configurations is {values} with {options}"
            )
    return None

"""What `knobs.runtime.launch_enter_hook` and `launch_exit_hook` are given: facts about a launch, worked out when asked for.

def enter(metadata):
    metadata.get()    →    {"name": "add", "function": 94..., "stream": 0, ...what the kernel's launch_metadata adds}
"""

from __future__ import annotations

from collections.abc import Callable

from minitriton import knobs


class LazyDict:
    """A dictionary that is completed when it is read."""

    __slots__ = ("data", "extras")

    def __init__(self, data: dict[str, object]) -> None:
        self.data = data
        self.extras: list[tuple[Callable[..., dict[str, object]], tuple[object, ...]]] = []

    def add(self, func: Callable[..., dict[str, object]], args: tuple[object, ...]) -> None:
        """Has `get` add what `func(*args)` returns."""
        self.extras.append((func, args))

    def get(self) -> dict[str, object]:
        for func, args in self.extras:
            self.data = {**self.data, **func(*args)}
        self.extras.clear()
        return self.data


def launch_with_hooks(launch: Callable[[], None], metadata: LazyDict) -> None:
    """Calls the enter hooks, `launch` and the exit hooks."""
    runtime = knobs.runtime
    if runtime.launch_enter_hook:
        runtime.launch_enter_hook(metadata)
    launch()
    if runtime.launch_exit_hook:
        runtime.launch_exit_hook(metadata)

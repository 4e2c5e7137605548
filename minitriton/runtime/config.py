"""`Config`: one choice of tuned parameters and compile options for `@autotune`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_OPTIONS = ("num_warps", "num_ctas", "num_stages", "maxnreg", "ir_override")


class Config:
    """`kwargs` are values of the kernel's parameters; the rest are compile options of Triton's names.

    `pre_hook(args)` is called with all arguments by name before each launch with this configuration; `ir_override` is the
    path of a `.ttir`, `.ttgir`, `.llir` or `.ptx` file that takes the place of that stage. Equal if all of these are.
    """

    def __init__(
        self,
        kwargs: dict[str, Any],
        num_warps: int = 4,
        num_stages: int = 3,
        num_ctas: int = 1,
        maxnreg: int | None = None,
        pre_hook: Callable[[dict[str, Any]], object] | None = None,
        ir_override: str | None = None,
    ) -> None:
        self.kwargs = kwargs
        self.num_warps = num_warps
        self.num_stages = num_stages
        self.num_ctas = num_ctas
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override

    def __setstate__(self, state: dict[str, Any]) -> None:
        given: dict[str, Any] = {"kwargs": {}, **state}
        self.__init__(**given)

    def all_kwargs(self) -> dict[str, Any]:
        """What a launch with this configuration is given beside the caller's arguments."""
        given = {**self.kwargs, "num_warps": self.num_warps, "num_ctas": self.num_ctas, "num_stages": self.num_stages}
        if self.maxnreg is not None:
            given["maxnreg"] = self.maxnreg
        if self.ir_override is not None:
            given["ir_override"] = self.ir_override
        return given

    def __str__(self) -> str:
        shown = {**self.kwargs, **{name: getattr(self, name) for name in _OPTIONS[:-1]}}
        return ", ".join(f"{name}: {value}" for name, value in shown.items())

    def _identity(self) -> tuple[object, ...]:
        return (*self.all_kwargs().items(), self.pre_hook)

    def __hash__(self) -> int:
        return hash(self._identity())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._identity() == other._identity()

"""`@autotune(configs="model", key=[...])`: configurations from facts; the best few by the model are compiled together and measured.

    @triton.autotune(configs="model", key=["M", "N", "K"])       the best 4 are measured for each key
    @triton.autotune(configs="model", key=["M", "N", "K"], k=0)  nothing is measured: the first by the model

`kernel.ranking` is the last one; `print(kernel.ranking.explain())` says why. What was measured is kept for other sizes (`measured`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from minitriton.errors import SourceLocation, did_you_mean
from minitriton.runtime._async_compile import AsyncCompileMode, active_mode
from minitriton.runtime.autotuner import Autotuner, Config, Timings
from minitriton.runtime.benchmarking import Times
from minitriton.runtime.cuda_driver import DriverError
from minitriton.runtime.errors import AutotunerError
from minitriton.runtime.kernel_interface import KernelInterface
from minitriton.runtime.launching.arguments import is_on_host
from minitriton.runtime.tuning.measured import Measured, Timing
from minitriton.runtime.tuning.problem import NoTiles, Problem, problem_of, undecorated
from minitriton.runtime.tuning.ranking import Ranking, rank


class ModelTuner(Autotuner):
    """A kernel whose configurations are found by the model: `k` are measured. `is_optional`: a kernel without tiles is one too."""

    def __init__(
        self,
        fn: KernelInterface,
        arg_names: list[str],
        key: list[str],
        *,
        k: int = 4,
        is_optional: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(fn, arg_names, [], list(key), **options)
        self.configs = []
        self.k, self.is_optional = k, is_optional
        self.ranking: Ranking | None = None
        self._keys_are_whole = False
        unknown = [name for name in key if name not in arg_names]
        if unknown:
            function, _ = undecorated(fn)
            raise AutotunerError(
                f"key {unknown[0]!r} is not a parameter of kernel {function.__name__!r}",
                SourceLocation(function.file_name, function.begin_line),
                help=f"{did_you_mean(unknown[0], arg_names)} parameters: {', '.join(arg_names)}".lstrip(),
            )

    def prune_configs(self, kwargs: dict[str, object]) -> list[Config]:
        """The configurations worth measuring for the arguments of this launch."""
        try:
            problem = self._problem(kwargs)
        except NoTiles:
            if self.is_optional:
                return [Config({})]
            raise
        self.ranking = rank(problem)
        return [candidate.config for candidate in self.ranking.best(max(self.k, 1))]

    def _problem(self, kwargs: dict[str, object]) -> Problem:
        grid: Any = kwargs.get("grid")
        named = {name: value for name, value in kwargs.items() if name in self._names}
        return problem_of(self.fn, (), {**self.nargs, **named}, grid)

    def _choose(self, args: tuple[object, ...], kwargs: dict[str, object]) -> Config:
        if not self._keys_are_whole:
            self._complete_keys(kwargs)
        return super()._choose(args, kwargs)

    def _complete_keys(self, kwargs: dict[str, object]) -> None:
        """Adds the lengths of axes that `key` lacks: another length may want other tiles."""
        self._keys_are_whole = True
        try:
            roles = self._problem(kwargs).roles
        except NoTiles:
            return
        extents = dict.fromkeys(tile.extent for tile in roles.tiles.values() if tile.extent is not None)
        missing = [name for name in extents if name not in self.keys and name in self._names]
        if missing:
            warnings.warn(
                f"key of {self.base_fn.__name__} lacks {', '.join(missing)}, which tiles are chosen for: added",
                stacklevel=4,
            )
            self.keys = [*self.keys, *missing]

    def _measure(self, configs: list[Config], args: tuple[object, ...], kwargs: dict[str, object]) -> Timings:
        """The timings of `configs`; of the next ones where none of them runs; the model's order where the GPU is gone."""
        assert self.ranking is not None
        expected = {candidate.config: candidate.estimate.microseconds for candidate in self.ranking}
        on_host = any(is_on_host(value) for value in (*args, *kwargs.values()))
        left = [candidate.config for candidate in self.ranking if candidate.config not in configs]
        try:
            while True:
                if not on_host:
                    self._compile_together(configs, args, kwargs)
                timings = super()._measure(configs, args, kwargs)
                if any(math.isfinite(_median(times)) for times in timings.values()) or not left:
                    break
                configs, left = left[: len(configs)], left[len(configs) :]
        except DriverError as error:
            warnings.warn(
                f"{self.base_fn.__name__} was not measured: {error.message}; the model chooses {configs[0]}",
                stacklevel=5,
            )
            return {config: [float(number)] for number, config in enumerate(configs)}
        if not any(math.isfinite(_median(times)) for times in timings.values()):
            raise AutotunerError(
                f"kernel {self.base_fn.__name__!r}: none of {len(self.ranking)} configurations could be run",
                self.ranking.problem.location,
                help="kernel.ranking.explain() says what each takes; TRITON_PRINT_AUTOTUNING=1 prints why each failed",
            )
        if not on_host:
            taken: list[Timing] = [
                (str(config), expected[config], 1000 * _median(times))
                for config, times in timings.items()
                if math.isfinite(_median(times))
            ]
            Measured(self.ranking.problem.kind).add(taken)
        return timings

    def _compile_together(self, configs: Sequence[Config], args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Compiles all at the same time; what fails is reported when it is measured."""
        if len(configs) < 2 or active_mode.get() is not None:
            return
        given = {name: value for name, value in kwargs.items() if name != "warmup"}
        with ThreadPoolExecutor(len(configs)) as pool, AsyncCompileMode(pool, ignore_errors=True):
            for config in configs:
                self.fn.warmup(*args, **{**given, **config.all_kwargs()})  # pyright: ignore[reportArgumentType]


def _median(times: Times) -> float:
    """The first of several quantiles, in milliseconds."""
    return times[0] if isinstance(times, list) else times

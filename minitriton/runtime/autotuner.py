"""`@autotune`: measures a kernel's configurations once for each key of its arguments and launches the fastest from then on.

    @autotune([Config({"BLOCK": 128}), Config({"BLOCK": 1024}, num_warps=8)], key=["n"])
    @jit
    def kernel(x, n, BLOCK: tl.constexpr): ...

    kernel[grid](x, 4096)    →    measures both; `kernel.best_config` is the faster one
    kernel[grid](x, 4096)    →    launches it
    kernel[grid](x, 8192)    →    another key: measures again

On host arrays every configuration runs once, on the emulator, and the fewest instructions issued win (the first, on the interpreter).
With TRITON_PRINT_AUTOTUNING=1 it says what it tries and chooses; with `cache_results=True` or TRITON_CACHE_AUTOTUNING=1 other
processes find the timings in the kernel cache.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import json
import math
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypedDict

from minitriton import knobs
from minitriton.frontend.errors import CompileTimeAssertionFailure
from minitriton.host.damaged_files import parse_json
from minitriton.host.identity import loose_key_of
from minitriton.host.whole_file import stem_of
from minitriton.runtime import driver
from minitriton.runtime.benchmarking import Times, time_graph, time_launches
from minitriton.runtime.cache import KernelCache, compiler_fingerprint
from minitriton.runtime.default_target import default_target
from minitriton.runtime.errors import AutotunerError, OutOfResources, PTXASError
from minitriton.runtime.kernel_interface import KernelInterface, innermost_function, launch
from minitriton.runtime.launching.arguments import is_on_host
from minitriton.runtime.launching.dispatch import untraced
from minitriton.runtime.on_cpu.emulation_cost import instructions_issued

__all__ = [
    "Autotuner", "AutotunerError", "Config", "Heuristics", "OutOfResources", "PTXASError", "autotune", "heuristics",
]  # fmt: skip

_QUANTILES = (0.5, 0.2, 0.8)
"""What a configuration's timing consists of: median, and the range without outliers. The first one decides."""

_FAILURES = (OutOfResources, CompileTimeAssertionFailure, PTXASError)
"""Errors that rule out one configuration, not the kernel."""


class Pruning(TypedDict, total=False):
    """Which configurations to measure."""

    early_config_prune: Callable[..., list[Config]] | None
    """`(configs, arguments by name, **keywords)` to those that are left."""
    perf_model: Callable[..., float] | None
    """Of all arguments: a time, to compare."""
    top_k: float
    """How many of the fastest by the model are left: a number, or a fraction of at most 1.0."""


class Autotuner(KernelInterface):
    """A kernel with configurations to choose from. `cache` maps keys to the chosen one, `configs_timings` holds the last measurement."""

    def __init__(
        self,
        fn: KernelInterface,
        arg_names: list[str],
        configs: list[Config],
        key: list[str],
        reset_to_zero: list[str] | None = None,
        restore_value: list[str] | None = None,
        pre_hook: Callable[..., object] | None = None,
        post_hook: Callable[..., object] | None = None,
        prune_configs_by: Pruning | None = None,
        warmup: int | None = None,
        rep: int | None = None,
        use_cuda_graph: bool = False,
        do_bench: Callable[..., Times] | None = None,
        cache_results: bool = False,
    ) -> None:
        self.fn = fn
        self.base_fn = innermost_function(fn)
        self.arg_names = arg_names
        self._names = frozenset(arg_names)
        self.configs = configs or [Config({})]
        self.keys = key
        self.cache: dict[tuple[object, ...], Config] = {}
        self._quick_text = ""
        self._quick_key: Callable[..., tuple[object, ...]] = _nothing
        self._choices: dict[object, tuple[tuple[object, ...], Config]] = {}
        """What was chosen, by `_quick_key(*arguments)`, with the key that `cache` has it by."""
        self.cache_results = (cache_results or knobs.autotuning.cache) and not knobs.runtime.interpret
        self.reset_to_zero = list(reset_to_zero or ())
        self.restore_value = list(restore_value or ())
        self.pre_hook = pre_hook or self._reset_and_keep
        self.post_hook = post_hook or self._restore
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        prune = prune_configs_by or Pruning()
        self.early_config_prune = prune.get("early_config_prune")
        self.perf_model = prune.get("perf_model")
        self.configs_top_k = prune.get("top_k", 1.0)
        self.nargs: dict[str, object] = {}
        self.restore_copies: dict[str, object] = {}
        self.best_config: Config | None = None
        self.configs_timings: Timings = {}
        self.bench_time = 0.0
        self.num_warmups, self.num_reps, self.use_cuda_graph = warmup, rep, use_cuda_graph
        self._given_bench = do_bench
        if warmup is not None or rep is not None or use_cuda_graph:
            self._given_bench = _deprecated_bench(warmup, rep, use_cuda_graph)

    @functools.cached_property
    def do_bench(self) -> Callable[..., Times]:
        """`do_bench(call, quantiles=...)`: the one given, else the device's."""
        if self._given_bench is not None:
            return self._given_bench
        return driver.active.get_benchmarker()

    def _reset_and_keep(self, args: dict[str, object], reset_only: bool = False) -> None:
        for name in self.reset_to_zero:
            if args[name] is not None:
                _zero(args[name])
        if not reset_only:
            self.restore_copies = {n: _copy(args[n]) for n in self.restore_value if args[n] is not None}

    def _restore(self, args: dict[str, object], exception: Exception | None) -> None:
        for name, kept in self.restore_copies.items():
            _assign(args[name], kept)
        self.restore_copies = {}

    def run(self, *args: object, **kwargs: Any) -> Any:
        """Chooses a configuration, measuring if this key is new, and launches with it. Returns the compiled kernel."""
        if self._choices and len(kwargs) == 2 and "grid" in kwargs and kwargs.get("warmup") is False:
            fn: Any = self.fn
            config = self._known(args)
            if config is not None and config.pre_hook is None and isinstance(fn, KernelInterface):
                self.best_config = config
                return fn[kwargs["grid"]](*args, **config.all_kwargs())
        self.nargs = dict(zip(self.arg_names, args))  # noqa: B905 (a launch)
        config = self.best_config = self.configs[0] if len(self.configs) == 1 else self._choose(args, kwargs)
        if config.pre_hook is not None:
            config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
        result = launch(self.fn, args, kwargs, config.all_kwargs())
        self.nargs = {}
        return result

    def warmup(self, *args: object, **kwargs: Any) -> list[object]:
        """Compiles every configuration that pruning leaves."""
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        compiled = [self.fn.warmup(*args, **kwargs, **c.all_kwargs()) for c in self.prune_configs(kwargs)]
        self.nargs = {}
        return compiled

    def prune_configs(self, kwargs: dict[str, object]) -> list[Config]:
        """The configurations worth measuring. Raises `AutotunerError` if none is left."""
        configs = self.configs
        if self.early_config_prune:
            configs = self.early_config_prune(configs, self.nargs, **kwargs)
            if not configs:
                raise AutotunerError(
                    "No valid autotuner configs after pruning. `early_config_prune` should return at least one config."
                )
        if self.perf_model is None:
            return configs
        top_k = self.configs_top_k
        if isinstance(top_k, float) and top_k <= 1.0:
            top_k = max(1, int(len(configs) * top_k))
        elif not isinstance(top_k, int):
            raise TypeError(f"top_k must be a fraction of at most 1.0 or an integer, not {top_k!r}")
        if len(configs) <= top_k:
            return configs
        model = self.perf_model
        return sorted(configs, key=lambda c: model(**self.nargs, **kwargs, **c.all_kwargs()))[:top_k]

    def _known(self, args: tuple[object, ...]) -> Config | None:
        """The configuration chosen before for such arguments, all given by position; None if that is not plain to see."""
        try:
            key, config = self._choices[self._quick_key(*args)]
        except (LookupError, TypeError, AttributeError):
            return None
        return config if self.cache.get(key) is config else None

    def _remember(self, args: tuple[object, ...], key: tuple[object, ...], config: Config) -> None:
        """Makes `_known` find `config`: by the arguments of the key, the element types of arrays, and the classes of what has none."""
        names = self.arg_names[: len(args)]
        parts = [*(n for n in self.keys if n in names)]
        parts += [f"{n}.dtype" if hasattr(a, "dtype") else f"{n}.__class__" for n, a in zip(names, args, strict=False)]
        text = f"lambda {', '.join(names)}: ({', '.join(parts)},)"
        if text != self._quick_text:
            self._quick_text, self._quick_key, self._choices = text, eval(text), {}
        with contextlib.suppress(TypeError):
            self._choices[self._quick_key(*args)] = key, config

    def _choose(self, args: tuple[object, ...], kwargs: dict[str, object]) -> Config:
        key = self._key(kwargs)
        known = self.cache.get(key)
        if known is not None:
            if self._names.isdisjoint(kwargs):
                self._remember(args, key, known)
            return known
        configs = self.prune_configs(kwargs)
        if len(configs) == 1:
            self.cache[key] = configs[0]
            return configs[0]
        measured = True
        if self.cache_results and key and not any(c.pre_hook for c in configs):
            timings_file = TimingsFile(self.fn, key, configs)
            found = timings_file.load()
            measured = found is None
            self.configs_timings = untraced(self._measure)(configs, args, kwargs) if found is None else found
            if measured:
                timings_file.store(self.configs_timings)
        else:
            self.configs_timings = untraced(self._measure)(configs, args, kwargs)
        best = self.cache[key] = min(self.configs_timings, key=self.configs_timings.__getitem__)
        if measured:
            self.pre_hook({**self.nargs, **kwargs, **best.all_kwargs()}, reset_only=True)
            if knobs.autotuning.print:
                print(
                    f"Triton autotuning for function {self.base_fn.__name__},\nwith key as {key},\n"
                    f"finished after {self.bench_time:.2f}s,\nbest config selected: {best};"
                )
        if knobs.autotuning.listener is not None:
            kernel: object = self.fn
            while hasattr(inner := getattr(kernel, "fn", None), "fn"):
                kernel = inner
            knobs.autotuning.listener(
                fn=kernel,
                key=key,
                best_config=best,
                configs_timings=self.configs_timings,
                duration=self.bench_time if measured else None,
                cache_hit=not measured,
            )
        return best

    def _key(self, kwargs: dict[str, object]) -> tuple[object, ...]:
        """The key arguments' values, then the element types of all arrays."""
        given: dict[str, Any] = self.nargs
        if not self._names.isdisjoint(kwargs):
            given = {**given, **{name: value for name, value in kwargs.items() if name in self._names}}
        try:
            parts: list[object] = [*map(given.__getitem__, self.keys)]
        except KeyError:
            parts = [given[name] for name in self.keys if name in given]
        for value in given.values():
            dtype = getattr(value, "dtype", None)
            if dtype is not None:
                parts.append(_text_of_dtype(dtype))
        return tuple(parts)

    def _measure(self, configs: list[Config], args: tuple[object, ...], kwargs: dict[str, object]) -> Timings:
        start = time.perf_counter()
        timings = {config: self._bench(*args, config=config, **kwargs) for config in configs}
        self.bench_time = time.perf_counter() - start
        return timings

    def _bench(self, *args: object, config: Config, **kwargs: Any) -> Times:
        """The timing of one configuration; infinite if it does not compile or fit."""
        verbose = knobs.autotuning.print
        if verbose:
            print(f"Autotuning kernel {self.base_fn.__name__} with config {config}")
        conflicts = kwargs.keys() & config.kwargs.keys()
        if conflicts:
            raise ValueError(
                f"Conflicting meta-parameters: {', '.join(sorted(conflicts))}. "
                "Make sure that you don't re-define auto-tuned symbols."
            )
        launch_args: dict[str, Any] = {**kwargs, **config.all_kwargs()}
        named = {**self.nargs, **launch_args}

        def call() -> object:
            if config.pre_hook is not None:
                config.pre_hook(named)
            self.pre_hook(named)
            try:
                kernel = self.fn.run(*args, **launch_args)
            except Exception as error:
                self.post_hook(named, exception=error)
                raise
            self.post_hook(named, exception=None)
            return kernel

        on_host = self._given_bench is None and any(is_on_host(value) for value in named.values())
        try:
            return (instructions_issued if on_host else self.do_bench)(call, quantiles=_QUANTILES)
        except _FAILURES as error:
            if verbose:
                print(f"Autotuning failed with {error}")
            return [math.inf] * len(_QUANTILES)


_text_of_dtype: Callable[[Any], str] = functools.lru_cache(maxsize=256)(str)


def _nothing(*args: object) -> tuple[object, ...]:
    """The key of arguments that nothing was chosen for yet."""
    return ()


def _zero(array: Any) -> None:
    """Zeros in place, of a tensor or a NumPy array."""
    array.zero_() if hasattr(array, "zero_") else array.fill(0)


def _copy(array: Any) -> Any:
    return array.clone() if hasattr(array, "clone") else array.copy()


def _assign(array: Any, contents: Any) -> None:
    if hasattr(array, "copy_"):
        array.copy_(contents)
    else:
        array[...] = contents


def _deprecated_bench(warmup: int | None, rep: int | None, use_cuda_graph: bool) -> Callable[..., Times]:
    """`autotune`'s measuring by its old parameters."""
    warnings.warn(
        "warmup, rep and use_cuda_graph of autotune are deprecated: pass do_bench instead",
        DeprecationWarning,
        stacklevel=4,
    )

    def bench(call: Callable[[], object], quantiles: Sequence[float]) -> Times:
        if use_cuda_graph:
            return time_graph(driver.active, call, rep=100 if rep is None else rep, quantiles=quantiles)
        return time_launches(
            driver.active,
            call,
            warmup=25 if warmup is None else warmup,
            rep=100 if rep is None else rep,
            quantiles=quantiles,
        )

    return bench


def autotune(
    configs: list[Config] | str,
    key: list[str],
    prune_configs_by: Pruning | None = None,
    reset_to_zero: list[str] | None = None,
    restore_value: list[str] | None = None,
    pre_hook: Callable[..., object] | None = None,
    post_hook: Callable[..., object] | None = None,
    warmup: int | None = None,
    rep: int | None = None,
    use_cuda_graph: bool = False,
    do_bench: Callable[..., Times] | None = None,
    cache_results: bool = False,
    k: int = 4,
) -> Callable[[KernelInterface], Autotuner]:
    """Decorator. A change of the arguments named in `key`, or of any array's element type, measures `configs` anew.

    `configs="model"`, or none: what the kernel's facts allow. The best `k` by a model of time are measured
    (`runtime.tuning`; 0: none, the first is taken).

    `reset_to_zero`, arguments to zero before each run; `restore_value`, arguments to put back after
    each; `prune_configs_by`, a dict of `early_config_prune(configs, named_args, **kwargs) -> configs`,
    `perf_model(**all_args) -> time` and `top_k`; `pre_hook(args, reset_only=False)` and `post_hook(args, exception)`, in
    place of resetting and restoring; `do_bench(call, quantiles)`; `cache_results`. A kernel runs many times while it is
    measured: what it adds up needs `reset_to_zero` or `restore_value`.
    """
    options: dict[str, Any] = {
        "reset_to_zero": reset_to_zero, "restore_value": restore_value, "pre_hook": pre_hook, "post_hook": post_hook,
        "prune_configs_by": prune_configs_by, "warmup": warmup, "rep": rep, "use_cuda_graph": use_cuda_graph, "do_bench": do_bench,
        "cache_results": cache_results,
    }  # fmt: skip
    if configs and not isinstance(configs, str):
        return lambda fn: Autotuner(fn, fn.arg_names, configs, key, **options)
    if configs not in ("model", [], ()):
        raise AutotunerError(f"configs is {configs!r}", help='give a list of triton.Config, or configs="model"')

    return lambda fn: _tuning("tuner").ModelTuner(fn, fn.arg_names, key, k=k, is_optional=configs != "model", **options)


def _tuning(module: str) -> Any:
    """A module of `runtime.tuning`, which is built on this one, imported when it is used."""
    return importlib.import_module(f"minitriton.runtime.tuning.{module}")


def _candidates(*args: Any, **keywords: Any) -> Any:
    """`runtime.tuning.candidates`."""
    return _tuning("ranking").candidates(*args, **keywords)


setattr(autotune, "candidates", _candidates)  # noqa: B010 (a function's own attribute)


# Timings of an autotuned kernel, stored in the kernel cache for other processes.
#
# In: the kernel, the key of its arguments and the configurations. Out: a file `<kernel>.autotune.json`, found again for as long
# as the compiler, the device's architecture, the kernel's source, the key and the configurations are the same.

Timings: TypeAlias = "dict[Config, Times]"


class TimingsFile:
    """The entry for one kernel (`fn`, possibly decorated), `key` and `configs`."""

    def __init__(self, fn: Any, key: tuple[object, ...], configs: list[Config]) -> None:
        while not hasattr(fn, "cache_key"):
            fn = fn.fn
        self.key = key
        self.name = f"{stem_of(fn.__name__)}.autotune.json"
        parts = [compiler_fingerprint(), default_target(), fn.cache_key, loose_key_of(key), *configs]
        self.digest = hashlib.sha256("-".join(map(str, parts)).encode()).hexdigest()

    def load(self) -> Timings | None:
        """The stored timings, or None where there are none that can be read."""
        files = KernelCache().load(self.digest)
        if files is None or self.name not in files:
            return None
        try:
            return {Config(**config): timing for config, timing in parse_json(files[self.name])["configs_timings"]}
        except (KeyError, ValueError, TypeError):
            return None

    def store(self, timings: Timings) -> None:
        """Keeps `timings`, unless the key or a configuration holds what JSON cannot."""
        pairs = [(config.__dict__, timing) for config, timing in timings.items()]
        try:
            text = json.dumps({"key": self.key, "configs_timings": pairs})
        except TypeError:
            return
        KernelCache().store(self.digest, {self.name: text.encode()})


# `Config`: one choice of tuned parameters and compile options for `@autotune`.

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
        """What a launch with this configuration is given in addition to the caller's arguments."""
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


# `@heuristics`: parameters computed from the other arguments at each launch.
#
# @heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
# @jit
# def kernel(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr): ...
#
# kernel[grid](x, 1024, BLOCK=128)    →    the inner kernel gets EVEN=True

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

"""`@minitriton.jit`: a Python function becomes a kernel that compiles itself for the arguments it is launched with.

In: a function in Triton's language. Out: a `JITFunction`: `kernel[grid](*args)` launches it on device arrays, or runs its PTX
on the emulator for host arrays; `kernel.warmup(*args, grid=grid)` compiles without launching.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, TypedDict, Unpack, cast, overload

from minitriton import knobs
from minitriton.errors import MinitritonError, location_of_caller
from minitriton.frontend.function import HashedConstexprFunction as ConstexprFunction
from minitriton.frontend.function import JITCallable, KernelParam, constexpr_function
from minitriton.frontend.function import full_name as get_full_name
from minitriton.host.identity import is_same, key_of
from minitriton.host.locks import finished_before_forks
from minitriton.language.declare import BoundConstexprFunction
from minitriton.pipeline.ast_source import ASTSource, Attributes, TypeName
from minitriton.runtime._async_compile import FutureKernel, active_mode
from minitriton.runtime.caches.device import DeviceCaches
from minitriton.runtime.cuda_driver import get_driver, has_gpu
from minitriton.runtime.default_target import default_target
from minitriton.runtime.kernel_interface import KernelInterface, Path, Purpose
from minitriton.runtime.launching.arguments import (
    Argument,
    Specialization,
    collect_arguments,
    dtype_name,
    is_dtype,
    native_specialize_impl,
    plain_argument,
    refuse_without_memory,
)
from minitriton.runtime.launching.arguments import specialize as specialization_of
from minitriton.runtime.launching.descriptor_arguments import expanded_arguments
from minitriton.runtime.launching.host_values import Grid
from minitriton.runtime.launching.launch_hooks import (
    JitFunctionInfo,
    LazyDict,
    call_hook,
    deserialize,
    launch_with_hooks,
)
from minitriton.runtime.launching.loading import current_stream, passed_parts, resolve_grid
from minitriton.runtime.tensor_wrapper import TensorWrapper, reinterpret
from minitriton.target import CompileOptions, CUDAOptions, GPUTarget, options_for
from minitriton.target.backends import backend

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from minitriton.runtime.compiled_kernel import CompiledKernel
    from minitriton.runtime.launching.dispatch import Entry

__all__ = [
    "BoundConstexprFunction", "ConstexprFunction", "JITCallable", "JITFunction", "JitFunctionInfo", "KernelInterface", "KernelParam", "MockTensor",
    "TensorWrapper", "constexpr_function", "get_full_name", "get_jit_fn_file_line", "jit", "mangle_type",
    "native_specialize_impl", "reinterpret", "type_canonicalisation_dict",
]  # fmt: skip


class MockTensor:
    """Stands for a tensor of `dtype` in `warmup`: any aligned address."""

    def __init__(self, dtype: object, shape: list[int] | None = None) -> None:
        self.dtype = dtype
        self.shape = shape or [1]

    @staticmethod
    def wrap_dtype(arg: object) -> object:
        """`arg`, or a `MockTensor` if it is a torch, NumPy or Triton dtype."""
        return MockTensor(arg) if is_dtype(arg) else arg

    @staticmethod
    def data_ptr() -> int:
        return 0

    @staticmethod
    def ptr_range() -> int:
        return 0

    def stride(self) -> tuple[int, ...]:
        """The strides of a contiguous tensor of this shape, in elements."""
        return tuple(math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))


OF_FILE = "__minitriton_kernel_of_file__"
"""What a module has that was made of a file, so that other processes do not find it by its name: a function that gives, for a kernel's name,
a function and its arguments that find it there."""


def kernel_named(module: str, name: str) -> JITFunction:
    """The kernel of that name in a module, below what tunes or completes it. Raises `ImportError` or `AttributeError`."""
    found = kernel_in(functools.reduce(getattr, name.split("."), importlib.import_module(module)))
    if found is None:
        raise AttributeError(f"{module}.{name} is not a kernel")
    return found


def kernel_in(value: object) -> JITFunction | None:
    """`value`, or what it decorates (an autotuned kernel), if that is a kernel."""
    while isinstance(value, KernelInterface) and not isinstance(value, JITFunction):
        value = getattr(value, "fn", None)
    return value if isinstance(value, JITFunction) else None


def _stand_in(parameter: KernelParam, value: object) -> object:
    """What is compiled for the arguments of a `*args`: a tensor for each dtype."""
    if parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
        return value
    return tuple(map(MockTensor.wrap_dtype, cast("tuple[object, ...]", value)))


class JITFunction(JITCallable, KernelInterface):
    """A kernel. Attributes are Triton's: `fn`, `params`, `arg_names`, `src`, `cache_key`, `used_global_vals`."""

    ASTSource = ASTSource

    def __init__(
        self,
        fn: Callable[..., object],
        *,
        version: object = None,
        do_not_specialize: Iterable[int | str] | None = None,
        do_not_specialize_on_alignment: Iterable[int | str] | None = None,
        debug: bool | None = None,
        noinline: bool | None = None,
        repr: Callable[[Any], str] | None = None,
        launch_metadata: Callable[..., dict[str, object]] | None = None,
    ) -> None:
        super().__init__(
            fn,
            do_not_specialize=do_not_specialize,
            do_not_specialize_on_alignment=do_not_specialize_on_alignment,
            noinline=noinline,
        )
        self.version = version
        self.do_not_specialize = do_not_specialize
        self.do_not_specialize_on_alignment = do_not_specialize_on_alignment
        self.module = fn.__module__
        self.constexprs = [p.num for p in self.params if p.is_constexpr]
        self.debug = debug
        self.launch_metadata = launch_metadata
        self.pre_run_hooks: list[Callable[..., object]] = []
        self._repr = repr
        self._parameters_that_are_options = [
            p.name for p in self.params if p.is_constexpr and p.name in CUDAOptions.__dataclass_fields__
        ]
        self._paths: dict[Purpose, Path] = {}
        """What makes a launch or a warmup now."""
        self._last_launcher: tuple[Grid | None, Path] = _NO_LAUNCHER[:2]
        self._last_hooked: tuple[Grid | None, Path, int] = _NO_LAUNCHER
        """The grid and the launcher, while the knobs are as they were set so many times."""
        self.device_caches = DeviceCaches(self._forget_paths, self._parts_for)
        self._interpreted: dict[str, ModuleOp] = {}

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        """By its name, as functions are pickled: another process imports it. What has had its function taken away, as torch's
        Inductor does with kernels that it sends to other processes, is pickled with all that it has.
        """
        import pickle

        if vars(self)["fn"] is None:
            return super().__reduce_ex__(protocol)
        module, name = self.fn.__module__, self.fn.__qualname__
        names = self.fn.__globals__
        if OF_FILE in names and kernel_in(names.get(name)) is self:
            return names[OF_FILE](name)
        try:
            is_there = kernel_named(module, name) is self
        except (ImportError, AttributeError):
            is_there = False
        if not is_there:
            raise pickle.PicklingError(f"kernel {name!r} cannot be pickled: it is not what {module}.{name} is")
        return kernel_named, (module, name)

    def __copy__(self) -> JITFunction:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __deepcopy__(self, memo: dict[int, object]) -> JITFunction:
        """Itself, as of a function."""
        return self

    def is_gluon(self) -> bool:
        """Whether it is written in Gluon."""
        return False

    def is_interpreted(self) -> bool:
        """Whether launches run the TTIR on the interpreter."""
        return interpreting()

    def repr(self, specialization: object) -> str:
        return self._fn_name if self._repr is None else self._repr(specialization)

    def __getitem__(self, grid: Grid) -> Path:
        """The launcher for `grid`: a tuple of 1 to 3 integers, or a function from the arguments to one."""
        watched = _changes.watched
        if watched is None:
            watched = knobs.launches_are_watched()
        if watched or self.pre_run_hooks:
            known = self._last_hooked
            if known[0] == grid and known[2] == _changes.count and not self.pre_run_hooks and grid.__class__ is tuple:
                return known[1]
            return self._watched_launcher(grid)
        known = self._last_launcher
        if grid.__class__ is tuple and known[0] == grid:
            return known[1]
        launcher = functools.partial(self._path(Purpose.LAUNCH), grid)
        if grid.__class__ is tuple:
            self._last_launcher = (grid, launcher)
        return launcher

    def _watched_launcher(self, grid: Grid) -> Path:
        """The launcher while hooks or the debug knob are set."""
        count, runtime = _changes.count, knobs.runtime
        if self.pre_run_hooks or runtime.launch_arguments_hook or runtime.debug:
            return functools.partial(self._launch_watched, grid)
        launcher = functools.partial(self._path(Purpose.LAUNCH_WITH_HOOKS), grid)
        if grid.__class__ is tuple:
            self._last_hooked = (grid, launcher, count)
        return launcher

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise RuntimeError(
            f"Cannot call @triton.jit'd outside of the scope of a kernel: launch it with {self.__name__}[grid](...)"
        )

    def add_pre_run_hook(self, hook: Callable[..., object]) -> None:
        """Calls `hook(*args, **kwargs)` before every launch."""
        self.pre_run_hooks.append(hook)

    def _forget_paths(self) -> None:
        """The next launch looks for its kernel anew."""
        self._paths = {}
        self._last_launcher, self._last_hooked = _NO_LAUNCHER[:2], _NO_LAUNCHER

    def create_binder(self) -> tuple[object, ...]:
        """What Triton keeps for a device: no kernels, no keys, target, backend, and `binder(*args, **kwargs)`."""
        return ({}, *self._parts_for(_device_at_hand()))

    def _parts_for(self, device: object) -> tuple[object, ...]:
        """For a device's number; programs also ask with a device of torch, for which Triton answers of the current one."""
        target = _target_of(device if isinstance(device, int) else _device_at_hand())
        return {}, target, importlib.import_module("minitriton.backends.compiler").make_backend(target), self.binder

    def binder(
        self, *args: object, **kwargs: object
    ) -> tuple[dict[str, object], list[Specialization], dict[str, object]]:
        """The arguments by name, what a launch with them is specialised on, and the compile options among the keywords."""
        bound, options = self._bind(args, kwargs)
        return dict(zip(self.arg_names, bound, strict=True)), self._specialize(bound), options

    @property
    def compile(self) -> Callable[..., CompiledKernel]:
        """`triton.compile`, as programs ask it of a kernel."""
        return importlib.import_module("minitriton.runtime.compiling").compile

    def run(self, *args: object, grid: Grid, warmup: bool = False, **options: object) -> Any:
        """Triton's launch method: `warmup` compiles only. Returns the compiled kernel."""
        return self.warmup(*args, grid=grid, **options) if warmup else self[grid](*args, **options)

    def preload(self, specialization_data: str) -> Any:
        """Compiles, as a warmup does, what a hook was given in another process. Raises `RuntimeError` for data of another kernel."""
        source, options, key = deserialize(self, specialization_data)
        return self._compile_now(key, source, options, default_target(), _device_at_hand(), is_warmup=True)

    def warmup(self, *args: object, grid: Grid = (1,), **options: object) -> CompiledKernel:
        """Compiles for these arguments (dtypes may stand for tensors) without launching. Needs no GPU.

        In an `AsyncCompileMode` it returns a `FutureKernel` at once.
        """
        try:
            made: Any = self._path(Purpose.WARMUP)(grid, *args, **options)
            return made
        except TypeError:
            self._bind(args, dict(options))  # says what does not fit the parameters
            raise

    def _path(self, purpose: Purpose) -> Path:
        """What makes a launch, or a warmup, of any arguments."""
        return self._paths.get(purpose) or self._first_path(purpose)

    def _first_path(self, purpose: Purpose) -> Path:
        with finished_before_forks():
            from minitriton.runtime.launching.dispatch import Dispatcher

        paths = self._paths
        bound_first = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.KEYWORD_ONLY)
        is_by_position = all(p.kind not in bound_first for p in self.params)
        by_position: list[Path] = []

        def settled(path: Path) -> None:
            if by_position:
                by_position[0] = path
                return
            paths[purpose] = path
            self._last_launcher, self._last_hooked = _NO_LAUNCHER[:2], _NO_LAUNCHER

        dispatcher = Dispatcher(
            purpose=purpose,
            names=self.arg_names,
            constexprs=frozenset(p.name for p in self.params if p.is_constexpr),
            defaults={p.name: p.default for p in self.params if p.has_default and is_by_position},
            prepare=self._warm_up if purpose is Purpose.WARMUP else self._prepare,
            on_host=self._launch_on_host,
            specialize=self._specialize if purpose is not Purpose.WARMUP else _anything,
            metadata=None if self.launch_metadata is None else self._launch_metadata,
            check_globals=self._check_globals,
            settled=settled,
            always_on_host=self.is_interpreted(),
            kernel=self.__name__,
        )
        if is_by_position:
            return paths.setdefault(purpose, dispatcher.first())

        def bound(grid: Grid, *args: object, **options: object) -> Any:
            """For `*args` and parameters that come by name only: what the paths take by position."""
            values, others = self._bind(args, options)
            if purpose is Purpose.WARMUP:
                values = tuple(map(_stand_in, self.params, values))
            return by_position[0](grid, *values, **others)

        by_position.append(dispatcher.first())
        return paths.setdefault(purpose, bound)

    def _bind(
        self, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        """All parameters in order, and the compile options that were among the keywords. Raises `TypeError` as a call would."""
        options = {k: kwargs.pop(k) for k in list(kwargs) if k not in self.arg_names}
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.__name__}() {error}") from None
        bound.apply_defaults()
        values = zip(self.params, bound.arguments.values(), strict=True)
        return tuple(v if p.is_constexpr else plain_argument(v) for p, v in values), options

    def _specialize(self, args: tuple[object, ...]) -> list[Specialization]:
        found: list[Specialization] = []
        for parameter, arg in zip(self.params, args, strict=True):
            if parameter.is_constexpr:
                found.append(("constexpr", arg))
                continue
            annotated = parameter.annotation_type
            try:
                kind, key = specialization_of(
                    arg,
                    parameter.is_const,
                    not parameter.do_not_specialize,
                    not parameter.do_not_specialize_on_alignment,
                )
            except MinitritonError as error:
                error.message = f"parameter {parameter.name!r} of kernel {self.__name__!r}: {error.message}"
                raise
            if annotated and (kind != "constexpr" or type(key) is int):
                is_integer = annotated != "u1" and annotated[:2] not in ("fp", "bf")
                kind, key = annotated, (key if key != 1 else "") if is_integer else None
            found.append((kind, key))
        return found

    def _source(self, specialization: list[Specialization]) -> ASTSource:
        signature = {p.name: s[0] for p, s in zip(self.params, specialization, strict=True)}
        constexprs: dict[tuple[int, ...], object] = {}
        attrs: Attributes = {}
        for index, (kind, key) in enumerate(specialization):
            _collect((index,), kind, key, constexprs, attrs)
        return self.ASTSource(self, signature, constexprs, attrs)

    def source_of_call(
        self, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[ASTSource, list[Argument], dict[str, object]]:
        """What a launch with these arguments compiles, what it passes (tuples taken apart), and the compile options among them."""
        bound, options = self._bind(args, kwargs)
        specialization = self._specialize(bound)
        found: list[Argument] = []
        for name, (kind, _), arg in zip(self.arg_names, specialization, bound, strict=True):
            collect_arguments(name, kind, arg, found)
        return self._source(specialization), found, options

    def _compile(
        self,
        specialization: list[Specialization],
        args: tuple[object, ...],
        options: dict[str, object],
        device: int,
        is_warmup: bool = False,
        assemble: bool = True,
    ) -> Any:
        """The kernel for `device`, compiled at most once, to PTX at least; None if `knobs.runtime.jit_cache_hook` asks not to
        compile, a `FutureKernel` of a warmup in an `AsyncCompileMode`."""
        if self._parameters_that_are_options:
            named = dict(zip(self.arg_names, args, strict=True))
            options = {**{name: named[name] for name in self._parameters_that_are_options}, **options}
        options = self._with_debug(options)
        target = _target_of(device)
        key = f"{self._key(specialization)} {key_of(sorted(options.items(), key=_name))} {target}{knobs.compiled_in()}"
        kernel = self.device_caches[device][0].get(key)
        if kernel is None:
            full = self._full_options(target, options)
            kernel = self._compile_now(key, self._source(specialization), full, target, device, is_warmup, assemble)
            if isinstance(kernel, FutureKernel) and not is_warmup:
                kernel = kernel.result()
        self._check_globals()
        return kernel

    def _key(self, specialization: list[Specialization]) -> str:
        """Names what a launch is specialised on. Raises `UnknownIdentity`, with the parameter, for what cannot be named."""
        try:
            return key_of(specialization)
        except MinitritonError:
            for name, found in zip(self.arg_names, specialization, strict=True):
                try:
                    key_of(found)
                except MinitritonError as error:
                    error.message = f"parameter {name!r} of kernel {self.__name__!r}: {error.message}"
                    error.location = location_of_caller()
                    raise error from None
            raise

    def _compile_now(
        self,
        key: str,
        source: ASTSource,
        options: CompileOptions,
        target: GPUTarget,
        device: int,
        is_warmup: bool,
        assemble: bool = True,
    ) -> Any:
        if call_hook(knobs.runtime.jit_cache_hook, source, options, key, device, is_warmup):
            return None

        def compiled() -> CompiledKernel:
            return _compile(source, target, options, assemble=assemble)

        def finish(kernel: CompiledKernel) -> None:
            self.device_caches[device][0][key] = kernel
            call_hook(knobs.runtime.jit_post_compile_hook, source, options, key, device, is_warmup, kernel)

        mode = active_mode.get()
        if mode is not None:
            return mode.submit((self.cache_key, device, key), compiled, finish)
        kernel = compiled()
        finish(kernel)
        return kernel

    def _full_options(self, target: GPUTarget, options: dict[str, object]) -> CompileOptions:
        """All options. Raises, with the line of the launch, for what is none."""
        try:
            return options_for(target, **{**backend(target.backend).load("options").LAUNCHED, **options})
        except MinitritonError as error:
            error.location = error.location or location_of_caller()
            error.message = f"kernel {self.__name__!r}: {error.message}"
            raise

    def _check_globals(self) -> None:
        """A kernel must not outlive the global values that were compiled into it."""
        for (name, _), (value, scope) in self.used_global_vals.items():
            found = scope.get(name, _MISSING)
            if found is not value and not is_same(found, value):
                raise RuntimeError(
                    f"Global variable {name} has changed since we compiled this kernel, from {value} to {scope.get(name)}"
                )

    def _warm_up(self, args: tuple[object, ...], options: dict[str, object], device: int) -> Any:
        """The kernel for arguments among which dtypes stand for tensors."""
        stand_ins = (v if p.is_constexpr else MockTensor.wrap_dtype(v) for p, v in zip(self.params, args, strict=True))
        args = tuple(stand_ins)
        return self._compile(self._specialize(args), args, dict(options), device, is_warmup=True)

    def _prepare(self, args: tuple[object, ...], options: dict[str, object], device: int) -> Entry | None:
        self._refuse_without_memory(args)
        specialization = self._specialize(args)
        kernel = self._compile(specialization, args, dict(options), device)
        if kernel is None:
            return None
        kinds = [(p.name, s[0]) for p, s in zip(self.params, specialization, strict=True) if not p.is_constexpr]
        compiled_in, descriptors = passed_parts(kinds, kernel.metadata.tensordesc_meta)
        launcher = kernel.loaded()
        launch = launcher.positional(compiled_in)
        return self._watching_globals(launch) if self.used_global_vals else launch, kernel, launcher.check, descriptors

    def _watching_globals(self, launch: Callable[..., int]) -> Callable[..., int]:
        def checked(*values: object) -> int:
            self._check_globals()
            return launch(*values)

        return checked

    def _launch_on_host(
        self, grid: Grid, args: tuple[object, ...], options: dict[str, object]
    ) -> CompiledKernel | None:
        """Runs over arrays in host memory: the kernel's PTX, or its TTIR where the environment asks for that."""
        return (self._interpret if self.is_interpreted() else self._emulate)(grid, args, options)

    def _emulate(self, grid: Grid, args: tuple[object, ...], options: dict[str, object]) -> CompiledKernel | None:
        with finished_before_forks():
            from minitriton.runtime.on_cpu.emulation import run_on_emulator
            from minitriton.runtime.on_cpu.host_arrays import refuse_forgotten_tensors

        refuse_forgotten_tensors(self.__name__, self.arg_names, args)
        self._refuse_without_memory(args)
        specialization = self._specialize(args)
        kernel = self._compile(specialization, args, dict(options), _device_at_hand(), assemble=False)
        if kernel is None:
            return None
        size = resolve_grid(grid, self.arg_names, args)
        arguments = self._runtime_arguments(kernel, specialization, args)
        metadata = self._launch_metadata(kernel, 0, size, args)
        launch_with_hooks(lambda: run_on_emulator(kernel, size, arguments), metadata)
        return kernel

    def _refuse_without_memory(self, args: tuple[object, ...]) -> None:
        for parameter, arg in zip(self.params, args, strict=True):
            if not parameter.is_constexpr:
                refuse_without_memory(parameter.name, arg)

    def _runtime_arguments(
        self, kernel: CompiledKernel, specialization: list[Specialization], args: tuple[object, ...]
    ) -> list[Argument]:
        """What is passed to the compiled kernel, tuples and descriptors taken apart and what is compiled in left out."""
        found: list[Argument] = []
        for name, (kind, _), arg in zip(self.arg_names, specialization, args, strict=True):
            collect_arguments(name, kind, arg, found)
        return expanded_arguments(found, kernel.metadata.tensordesc_meta)

    def _launch_metadata(
        self, kernel: CompiledKernel, stream: int, size: tuple[int, int, int], args: tuple[object, ...]
    ) -> LazyDict:
        metadata = LazyDict({"name": kernel.name, "function": kernel.function, "stream": stream})
        if self.launch_metadata is not None:
            metadata.add(self.launch_metadata, (size, kernel.metadata, dict(zip(self.arg_names, args, strict=True))))
        return metadata

    def _launch_watched(self, grid: Grid, *args: object, **kwargs: Any) -> CompiledKernel | None:
        """A launch while hooks or the debug knob are set."""
        for hook in self.pre_run_hooks:
            hook(*args, **kwargs)
        runtime = knobs.runtime
        if runtime.debug:
            kwargs = self._with_debug(kwargs)
        if runtime.launch_arguments_hook:
            bound, options = self._bind(args, dict(kwargs))
            grid = resolve_grid(grid, self.arg_names, bound)
            runtime.launch_arguments_hook(self, grid, bound, options)
        if runtime.launch_enter_hook or runtime.launch_exit_hook:
            return self._path(Purpose.LAUNCH_WITH_HOOKS)(grid, *args, **kwargs)
        return (self._paths.get(Purpose.LAUNCH) or self._first_path(Purpose.LAUNCH))(grid, *args, **kwargs)

    def _with_debug(self, options: dict[str, object]) -> dict[str, object]:
        """`options` with what TRITON_DEBUG and the decorator say of debug mode."""
        debug = options.get("debug", self.debug)
        if debug is None or debug is False:
            debug = knobs.runtime.debug
        return {**options, "debug": debug} if debug is not False else options

    def _interpret(self, grid: Grid, args: tuple[object, ...], options: dict[str, object]) -> CompiledKernel:
        with finished_before_forks():
            from minitriton.runtime.on_cpu.interpretation import (
                InterpretedKernel,
                interpretable_module,
                on_host,
                run_on_interpreter,
            )

        target = default_target()
        options = self._with_debug(options)
        self._refuse_without_memory(args)
        specialization = self._specialize(args)
        source = self._source(specialization)
        key = f"{self._key(specialization)} {key_of(sorted(options.items(), key=_name))}{knobs.compiled_in()}"
        module = self._interpreted.get(key)
        if module is None:
            with finished_before_forks():
                module = interpretable_module(source, target, self._full_options(target, options))
            self._interpreted[key] = module
        self._check_globals()
        size = resolve_grid(grid, self.arg_names, args)
        with on_host(args) as copied:
            run_on_interpreter(module, source, copied, size, target)
        compile_options = self._full_options(target, options)
        return InterpretedKernel(lambda: _compile(source, target, compile_options, assemble=False))


def _anything(args: tuple[object, ...]) -> None:
    """Stands for `_specialize` where dtypes stand for tensors."""


def _nothing_launched() -> None:
    """Stands for the last launcher before there is one."""


_changes = knobs.changes
_NO_LAUNCHER: tuple[None, Path, int] = (None, _nothing_launched, -1)
_MISSING = object()
_name = operator.itemgetter(0)


def _compile(source: ASTSource, target: GPUTarget, options: CompileOptions, *, assemble: bool = True) -> CompiledKernel:
    """`compile`. The compiler is imported with the first kernel that is compiled: programs that only define some start fast."""
    with finished_before_forks():
        from minitriton.runtime.compiling import compile

        return compile(source, target, options, assemble=assemble)


def _device_at_hand() -> int:
    """The calling thread's device; 0 on a machine without any."""
    return current_stream()[0] if has_gpu() else 0


def _target_of(device: int) -> GPUTarget:
    """What kernels for `device` are compiled for."""
    return get_driver().target(device) if has_gpu() and knobs.runtime.override_arch is None else default_target()


def _collect(
    path: tuple[int, ...],
    kind: TypeName,
    key: Any,
    constexprs: dict[tuple[int, ...], object],
    attrs: Attributes,
) -> None:
    if isinstance(kind, tuple):
        for index, (k, s) in enumerate(zip(kind, key, strict=True)):
            _collect((*path, index), k, s, constexprs, attrs)
    elif kind == "constexpr":
        constexprs[path] = key
    elif key == "D":
        attrs[path] = [["tt.divisibility", 16]]


class JITOptions(TypedDict, total=False):
    """Triton's options of `@jit`."""

    version: object
    repr: Callable[[Any], str] | None
    launch_metadata: Callable[..., dict[str, object]] | None
    do_not_specialize: Iterable[int | str] | None
    do_not_specialize_on_alignment: Iterable[int | str] | None
    debug: bool | None
    noinline: bool | None


@overload
def jit(fn: Callable[..., object]) -> JITFunction: ...


@overload
def jit(**options: Unpack[JITOptions]) -> Callable[[Callable[..., object]], JITFunction]: ...


def jit(
    fn: Callable[..., object] | None = None,
    *,
    version: object = None,
    repr: Callable[[Any], str] | None = None,
    launch_metadata: Callable[..., dict[str, object]] | None = None,
    do_not_specialize: Iterable[int | str] | None = None,
    do_not_specialize_on_alignment: Iterable[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
) -> JITFunction | Callable[[Callable[..., object]], JITFunction]:
    """Decorator: makes `fn` a kernel, or a function that kernels can call. Options are Triton's.

    With `TRITON_INTERPRET=1` or `MINITRITON_INTERPRET=1`, launches run the TTIR on the interpreter, wherever their arrays are.
    """

    def decorate(fn: Callable[..., object]) -> JITFunction:
        if not callable(fn):
            raise TypeError(f"@jit decorates functions, not {type(fn).__name__}")
        return JITFunction(
            fn,
            version=version,
            do_not_specialize=do_not_specialize,
            do_not_specialize_on_alignment=do_not_specialize_on_alignment,
            debug=debug,
            noinline=noinline,
            repr=repr,
            launch_metadata=launch_metadata,
        )

    return decorate if fn is None else decorate(fn)


def interpreting() -> bool:
    """Whether the environment asks for the interpreter."""
    return knobs.emulator.interpret or knobs.runtime.interpret


def mangle_type(arg: object, specialize: bool = False) -> TypeName:
    """The type name that `arg` has in a kernel's signature; `constexpr` for a 1, if values are to be specialised on."""
    return specialization_of(arg, False, specialize, True)[0]


def get_jit_fn_file_line(fn: Any) -> tuple[str, int]:
    """The file and the line of the `def` of a kernel, below its decorators."""
    while not isinstance(fn, JITCallable):
        fn = fn.fn
    return fn.file_name, fn.begin_line


_ELEMENT_TYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "float8_e4m3fn", "float8e4nv", "float8_e4m3fnuz", "float8e4b8", "float8_e5m2", "float8e5",
    "float8_e5m2fnuz", "float8e4b15",
)  # fmt: skip

type_canonicalisation_dict = {
    name: short for long in _ELEMENT_TYPES for short in [dtype_name(long)] for name in (long, short)
}
"""Triton's short names of element types, by their long and short names."""

"""From `kernel[grid](x, y, n, BLOCK=128)` to the driver in about a microsecond of Python.

Each kernel has a *path* for each combination of kinds of its arguments (`path_code.kind_of`): a function generated for them (`path_code`), which
leaves where it is called with other kinds. A launch is made by one of three functions, which has the kernel's parameters:

    before the first launch        `general`: makes the path of these kinds
    of one combination of kinds    its path
    of several                     a function that looks the path up by the classes of the arguments

Everything slow happens in `prepare`, once for each key of a path. A key that cannot be hashed (an option that is a dict, as `extern_libs`, or a list)
is looked up by its text. Compile-time values that are no plain numbers or strings stand in the key by what they are (`identity.key_of`).

A launch with hooks, and a warmup, are made by paths of their own `Purpose`, of the same code but for its end.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

from minitriton import knobs
from minitriton.errors import MinitritonError
from minitriton.host.identity import key_of
from minitriton.runtime._async_compile import FutureKernel
from minitriton.runtime.cuda_driver import NO_CONTEXT, has_gpu, number_of_devices, torch_module
from minitriton.runtime.kernel_interface import Path, Purpose
from minitriton.runtime.launching.arguments import (
    data_address,
    foreign_array,
    integer_type,
    is_array,
    is_host_array,
    is_on_host,
    plain_argument,
    refuse_without_memory,
    runtime_value,
    specialize,
)
from minitriton.runtime.launching.constants import PLAIN_CONSTANTS, in_process_key
from minitriton.runtime.launching.host_values import Grid
from minitriton.runtime.launching.launch_hooks import LazyDict
from minitriton.runtime.launching.loading import full_grid, make_current, stream_functions
from minitriton.runtime.launching.path_code import Kind, PathCode, kind_of, value_in

if TYPE_CHECKING:
    from minitriton.runtime.compiled_kernel import CompiledKernel

_P = ParamSpec("_P")
_R = TypeVar("_R")


def untraced(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """`function`, which `torch.compile` is to run without looking at it.

    It knows the kernels of `triton`, in a program that imports minitriton by that name; a kernel of `import minitriton as triton` is a
    Python object to it like any other, and it would trace the compiler and the emulator.
    """
    dynamo = sys.modules.get("torch._dynamo")
    return function if dynamo is None else dynamo.disable(function)


Entry: TypeAlias = "tuple[Callable[..., int], CompiledKernel, Callable[[int, tuple[int, int, int]], None], tuple[Callable[..., tuple[object, ...]], ...]]"
"""`(launch, kernel, check, descriptors)`: `launch(x, y, z, stream, *values)` takes the values of all leaves of the run-time parameters and
returns a CUresult, which `check(code, grid)` turns into an error; of each descriptor it takes what `descriptors[i](descriptor, address)` returns."""

Launch: TypeAlias = "Callable[[Grid, tuple[object, ...], dict[str, object]], CompiledKernel | None]"
"""A launch of a grid with arguments and options; None where hooks keep it from being compiled."""


@dataclass
class Dispatcher:
    """Generates the paths of one kernel for one purpose.

    `names` and `constexprs` describe its parameters; `prepare(args, options, device)` compiles and, but for a warmup, loads on a miss;
    `specialize(args)` raises for arguments that no kernel takes; `metadata(kernel, stream, grid, args)` is what launch hooks are given, None if that is no more than name, function and stream;
    `on_host(grid, args, options)` runs on host arrays; `check_globals()` raises where a global that was compiled in has changed. `always_on_host` takes no launch to a device; `settled(path)` is given what makes a launch from now on;
    `kernel` is the name in Python's errors about calls.
    """

    purpose: Purpose
    names: list[str]
    constexprs: frozenset[str]
    defaults: dict[str, object]
    prepare: Callable[[tuple[object, ...], dict[str, object], int], Any]
    on_host: Launch
    specialize: Callable[[tuple[object, ...]], object]
    metadata: Callable[..., object] | None
    check_globals: Callable[[], None]
    settled: Callable[[Path], None]
    always_on_host: bool = False
    kernel: str = "kernel"
    paths: dict[tuple[Kind, ...], Path] = field(default_factory=dict[tuple["Kind", ...], Path])
    by_classes: dict[tuple[type, ...], Path] = field(default_factory=dict[tuple[type, ...], Path])
    """The path of the last kinds, for each combination of classes."""

    def general(self, grid: Grid, args: tuple[object, ...], options: dict[str, object]) -> CompiledKernel | None:
        """Takes the path of the kinds of these arguments, which is made at first."""
        given = [arg for name, arg in zip(self.names, args, strict=True) if name not in self.constexprs]
        kinds = tuple(map(kind_of, given))
        path = self.paths.get(kinds)
        if path is None:
            plain = self._plain(args)
            if self._has_no_device and (self.always_on_host or belongs_on_host(plain)):
                return self.on_host(grid, plain, options)
            self._refuse(plain)
            path = self.paths[kinds] = self._generate(args)
            if len(self.paths) <= 2:
                self.settled(path if len(self.paths) == 1 else self._by_classes())
        self.by_classes[tuple(map(_class_of, given))] = path
        return path(grid, *args, **options)

    def _plain(self, args: tuple[object, ...]) -> tuple[Any, ...]:
        """The arguments, those of run-time parameters as launches take them."""
        return tuple(a if n in self.constexprs else plain_argument(a) for n, a in zip(self.names, args, strict=True))

    @functools.cached_property
    def _has_no_device(self) -> bool:
        """Whether arrays in host memory are all that a launch can be made with."""
        if self.always_on_host or self.purpose is Purpose.WARMUP:
            return self.purpose is not Purpose.WARMUP
        torch = torch_module()
        return not (has_gpu() or (torch is not None and torch.cuda.is_available()))

    def launch_on_host(self, grid: Grid, args: tuple[object, ...], options: dict[str, object]) -> CompiledKernel | None:
        """Runs on the CPU."""
        return self.on_host(grid, self._plain(args), options)

    def prepared(self, args: tuple[object, ...], options: dict[str, object], device: int) -> Any:
        """The entry of these arguments, which is made."""
        return self.prepare(self._plain(args), options, device)

    def refusal(self, error: Exception, args: tuple[object, ...]) -> Exception:
        """The error for arguments where one has no address or no type, or `error` itself if that is not the reason."""
        try:
            self._refuse(self._plain(args))
        except MinitritonError as refused:
            return refused
        return error

    def _refuse(self, args: tuple[object, ...]) -> None:
        """Raises, with the parameter, for an argument that no kernel takes."""
        for name, arg in zip(self.names, args, strict=True):
            if name not in self.constexprs:
                refuse_without_memory(name, arg)
        self.specialize(args)

    def first(self) -> Path:
        """`dispatch(grid, *args, **options)` before any arguments have been seen."""
        return self._define("dispatch", f"    return {self._general()}", {})

    def _by_classes(self) -> Path:
        """`dispatch(grid, *args, **options)` for arguments of several kinds."""
        classes = "".join(f"{name}.__class__, " for name in self.names if name not in self.constexprs)
        body = f"""
    _mt_path = _mt_by_classes.get(({classes}))
    if _mt_path is None:
        return {self._general()}
    return _mt_path(_mt_grid, {self._listed} **_mt_options)
"""
        return self._define("dispatch", body, {"_mt_by_classes": self.by_classes})

    @property
    def _listed(self) -> str:
        return "".join(f"{n}, " for n in self.names)

    def _general(self) -> str:
        return f"_mt_untraced(_mt_dispatcher.general)(_mt_grid, ({self._listed}), _mt_options)"

    def _define(self, name: str, body: str, scope: dict[str, Any]) -> Path:
        """A function with the kernel's parameters and defaults after the grid, and options. Its own names begin with
        `_mt_`, so that no parameter of a kernel can be one of them."""
        header = "".join(f"{n}=_mt_default_{n}, " if n in self.defaults else f"{n}, " for n in self.names)
        scope.update({f"_mt_default_{n}": v for n, v in self.defaults.items()})
        scope.update(_mt_dispatcher=self, _mt_untraced=untraced)
        exec(f"def {name}(_mt_grid, {header}**_mt_options):\n{body}", scope)
        # What Python names when a call does not fit the parameters.
        scope[name].__qualname__ = f"{self.kernel}[grid]"
        return scope[name]

    def _generate(self, args: tuple[object, ...]) -> Path:
        scope: dict[str, Any] = {
            "_mt_entries": {},
            "_mt_full_grid": full_grid,
            "_mt_make_current": make_current,
            "_mt_plain": PLAIN_CONSTANTS,
            "_mt_constant": in_process_key,
            "_mt_key_of": key_of,
            "_mt_plain_argument": plain_argument,
            "_mt_address": data_address,
            "_mt_element": _element,
            "_mt_is_on_device": _is_on_device,
            "_mt_width": integer_type,
            "_mt_specialize": specialize,
            "_mt_value": runtime_value,
            "_mt_no_context": NO_CONTEXT,
            "_mt_future": FutureKernel,
            "_mt_refusals": (RuntimeError, MinitritonError),
            "_mt_runtime": knobs.runtime,
            "_mt_changes": knobs.changes,
            "_mt_compiled_in": knobs.compiled_in,
            "_mt_chain": knobs.HookChain,
            "_mt_facts": LazyDict,
        }
        scope["_mt_only_device"], scope["_mt_get_device"] = None, self._first_device(scope)
        code = PathCode(scope, self.purpose is Purpose.WARMUP)
        numbers = count()
        values = [value_in(n, a, numbers) for n, a in zip(self.names, args, strict=True) if n not in self.constexprs]
        code.check_kinds(values, f"return {self._general()}")
        by_name = {value.variable: value for value in values}
        for name in self.names:
            if name in by_name:
                code.add(by_name[name])
            else:
                code.add_constant(name)
        return self._define("path", self._body(code), scope)

    def _first_device(self, scope: dict[str, Any]) -> Callable[[], int]:
        """What a path asks for the device at first: a launch that stays on the host does not start the driver."""

        def first_device() -> int:
            if self.purpose is Purpose.WARMUP and not has_gpu():
                scope["_mt_only_device"] = 0
                return 0
            scope["_mt_get_device"], scope["_mt_get_stream"] = stream_functions()
            if number_of_devices() == 1:
                scope["_mt_only_device"] = 0
            return scope["_mt_get_device"]()

        return first_device

    def _body(self, code: PathCode) -> str:
        checks = "\n    ".join(code.lines) or "pass"
        on_device = " and ".join(code.on_device) or "True"
        setup = "\n        ".join(code.setup) or "pass"
        expanded = "\n    ".join(code.expanded) or "pass"
        end = _RETURN if self.purpose is Purpose.WARMUP else _LAUNCH
        hooked = self.purpose is Purpose.LAUNCH_WITH_HOOKS
        metadata = _PLAIN_METADATA if self.metadata is None else _METADATA
        by_name = "".join(f"{name!r}: {name}, " for name in self.names)
        return f"""
    {checks}
    try:
        if not ({on_device}):
            return _mt_untraced(_mt_dispatcher.launch_on_host)(_mt_grid, ({self._listed}), _mt_options)
        {setup}
        _mt_device = _mt_get_device() if _mt_only_device is None else _mt_only_device
        _mt_settings = _mt_changes.settings
        if _mt_settings is None:
            _mt_settings = _mt_compiled_in()
        _mt_key = ({code.key_source()}_mt_device, _mt_settings)
    except _mt_refusals as error:
        raise _mt_dispatcher.refusal(error, ({self._listed})) from None
    if _mt_options:
        _mt_key = (_mt_key, *_mt_options, *_mt_options.values())
    try:
        _mt_entry = _mt_entries.get(_mt_key)
    except TypeError:
        _mt_key = _mt_key_of(_mt_key)
        _mt_entry = _mt_entries.get(_mt_key)
""" + end.format(
            by_name=by_name, expanded=expanded, listed=self._listed, passed=", ".join(code.passed),
            announce=_ANNOUNCE.format(metadata=metadata.format(listed=self._listed)) if hooked else "",
            conclude=_CONCLUDE if hooked else "",
        )  # fmt: skip


_LAUNCH = """
    if _mt_grid.__class__ is not tuple:
        if callable(_mt_grid):
            _mt_grid = _mt_grid({{{by_name}}})
        if _mt_grid.__class__ is not tuple:
            _mt_grid = _mt_full_grid(_mt_grid)
    if _mt_entry is None:
        _mt_full_grid(_mt_grid)
        _mt_entry = _mt_dispatcher.prepared(({listed}), _mt_options, _mt_device)
        if _mt_entry is None:
            return None
        _mt_entries[_mt_key] = _mt_entry
    _mt_size = len(_mt_grid)
    if _mt_size == 1:
        _mt_x, = _mt_grid
        _mt_y = _mt_z = 1
    elif _mt_size == 2:
        _mt_x, _mt_y = _mt_grid
        _mt_z = 1
    elif _mt_size == 3:
        _mt_x, _mt_y, _mt_z = _mt_grid
    else:
        _mt_x, _mt_y, _mt_z = _mt_full_grid(_mt_grid)
    {expanded}
    _mt_stream = _mt_get_stream(_mt_device)
{announce}
    _mt_code = _mt_entry[0](_mt_x, _mt_y, _mt_z, _mt_stream, {passed})
    if _mt_code:
        if _mt_code == _mt_no_context:
            _mt_make_current(_mt_device)
            _mt_code = _mt_entry[0](_mt_x, _mt_y, _mt_z, _mt_stream, {passed})
        _mt_entry[2](_mt_code, (_mt_x, _mt_y, _mt_z))
{conclude}
    return _mt_entry[1]
"""

_METADATA = "_mt_dispatcher.metadata(_mt_entry[1], _mt_stream, (_mt_x, _mt_y, _mt_z), ({listed}))"
_PLAIN_METADATA = '_mt_facts({{"name": _mt_entry[1].name, "function": _mt_entry[1].function, "stream": _mt_stream}})'
_ANNOUNCE = """
    _mt_metadata = {metadata}
    _mt_hook = _mt_runtime.launch_enter_hook
    if _mt_hook:
        (_mt_hook[0] if _mt_hook.__class__ is _mt_chain and len(_mt_hook) == 1 else _mt_hook)(_mt_metadata)
"""
_CONCLUDE = """
    _mt_hook = _mt_runtime.launch_exit_hook
    if _mt_hook:
        (_mt_hook[0] if _mt_hook.__class__ is _mt_chain and len(_mt_hook) == 1 else _mt_hook)(_mt_metadata)
"""

_RETURN = """
    if _mt_entry is None:
        _mt_entry = _mt_dispatcher.prepared(({listed}), _mt_options, _mt_device)
        if _mt_entry is not None and _mt_entry.__class__ is not _mt_future:
            _mt_entries[_mt_key] = _mt_entry
    else:
        _mt_dispatcher.check_globals()
    return _mt_entry
"""


def _class_of(value: object) -> type:
    return value.__class__


def _element(array: object) -> str:
    """The element type of an array that has no dtype."""
    return foreign_array(array).element


def _is_on_device(array: object) -> bool:
    return not is_host_array(array)


def belongs_on_host(args: tuple[object, ...]) -> bool:
    """Whether a launch with these arguments runs on the CPU: one is an array in host memory, or no GPU is there and none is
    an array of a device."""
    return any(map(is_on_host, args)) or not (has_gpu() or any(map(is_array, args)))

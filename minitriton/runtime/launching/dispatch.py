"""The path of a launch: from `kernel[grid](x, y, n, BLOCK=128)` to the driver in about a microsecond of Python.

A kernel's *path* is a function generated for its parameters and for the kinds of arguments first seen. For
`add(x, y, n, BLOCK: tl.constexpr)` called with two tensors and an int:

    def path(grid, x, y, n, BLOCK, **options):
        if options or n.__class__ is not int: return general(...)
        if not (x.is_cuda and y.is_cuda): return on_host(...)
        x_address = x.data_ptr(); y_address = y.data_ptr()
        key = (device, x.dtype, y.dtype, alignment of both, class of n, BLOCK, BLOCK.__class__)
        launch, kernel, check = entries.get(key) or prepare(...)
        launch(grid_x, grid_y, grid_z, stream, x_address, y_address, n)

The key holds exactly what a compile depends on; everything slow happens in `prepare`, once for each key. A key that cannot be
hashed (an option that is a dict, as `extern_libs`, or a list) is looked up by its text, at no cost to other keys. Compile-time values that
are no plain numbers or strings stand in the key by what they are (`identity.key_of`). Other kinds of
arguments (a float where an int was, arrays of another library) get a path of their own, found by `general`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import field
from inspect import Parameter
from typing import TYPE_CHECKING, Any, TypeAlias

from minitriton.errors import MinitritonError
from minitriton.host.records import dataclass
from minitriton.identity import PLAIN, key_of
from minitriton.language.dtypes import dtype
from minitriton.runtime.cuda_driver import NO_CONTEXT, has_gpu
from minitriton.runtime.launching.arguments import (
    data_address,
    has_hooks,
    is_array,
    lies_on_host,
    plain_argument,
    refuse_without_memory,
)
from minitriton.runtime.launching.host_values import Grid
from minitriton.runtime.launching.loading import full_grid, make_current, stream_functions
from minitriton.runtime.launching.untraced import untraced

if TYPE_CHECKING:
    from minitriton.runtime.compiled_kernel import CompiledKernel

_INT_CLASS = (
    "((1 if {n} == 1 else 0 if {n} & 15 else 16) "
    "+ (0 if -2147483648 <= {n} <= 2147483647 else 32 if {n} <= 9223372036854775807 else 64))"
)
"""What an integer is specialised on: equal to 1, divisible by 16, and which of i32, i64, u64 holds it."""

_PLAIN = PLAIN | {dtype}
"""Classes of compile-time values that are told apart by `==` and the class."""

Entry: TypeAlias = "tuple[Callable[..., int], CompiledKernel, Callable[[int, tuple[int, int, int]], None]]"
"""`(launch, kernel, check)`: `launch(x, y, z, stream, *values)` takes the values of all non-constexpr parameters and
returns a CUresult, which `check(code, grid)` turns into an error."""


Launch: TypeAlias = "Callable[[Grid, tuple[object, ...], dict[str, object]], CompiledKernel | None]"
"""A launch of a grid with arguments and options; None where hooks keep it from being compiled."""
Path: TypeAlias = "Callable[..., CompiledKernel | None]"
"""A generated launch: `path(grid, *args, **options)`."""


@dataclass
class Dispatcher:
    """Generates the launch paths of one kernel.

    `names` and `constexprs` describe its parameters; `prepare(args, options, device)` compiles and loads on a miss;
    `on_host(grid, args, options)` runs on host arrays; `slow(grid, args, options)` takes argument types that have no
    generated path (tuples, descriptors); `again(grid, args, options)` makes such a launch that `slow` has made before, else it gives None.
    `always_on_host` takes no launch to a device; `kinds` says which parameters take the rest of the arguments (`*args`), or come by name only;
    `kernel` is the name in Python's errors about calls.
    """

    names: list[str]
    constexprs: frozenset[str]
    defaults: dict[str, object]
    prepare: Callable[[tuple[object, ...], dict[str, object], int], Entry]
    on_host: Launch
    slow: Launch
    again: Launch
    always_on_host: bool = False
    kernel: str = "kernel"
    kinds: dict[str, object] = field(default_factory=dict[str, object])
    paths: dict[tuple[type, ...], Path] = field(default_factory=dict[tuple[type, ...], Path])

    def general(self, grid: Grid, args: tuple[object, ...], options: dict[str, object]) -> CompiledKernel | None:
        """Takes the path of these argument types, generating it at first."""
        args = self.plain(args)
        types = tuple(map(type, args))
        path = self.paths.get(types)
        if path is None:
            self._refuse_without_memory(args)
            path = self.paths[types] = self._generate(types)
        return path(grid, *args, **options)

    def plain(self, args: tuple[object, ...]) -> tuple[Any, ...]:
        """The arguments, those of run-time parameters as launches take them."""
        return tuple(
            a if n in self.constexprs or a.__class__ in _PLAIN else plain_argument(a)
            for n, a in zip(self.names, args, strict=True)
        )

    def refusal(self, error: RuntimeError, args: tuple[object, ...]) -> Exception:
        """The error for arguments of which one had no address, or `error` itself if that is not the reason."""
        try:
            self._refuse_without_memory(args)
        except MinitritonError as refused:
            return refused
        return error

    def _refuse_without_memory(self, args: tuple[object, ...]) -> None:
        for name, arg in zip(self.names, args, strict=True):
            if name not in self.constexprs:
                refuse_without_memory(name, arg)

    def first(self) -> Path:
        """`dispatch(grid, *args, **options)` before any arguments have been seen; where `kinds` has any, of every launch."""
        body = f"    return _mt_dispatcher.general(_mt_grid, ({self._listed}), _mt_options)"
        return self._define("dispatch", body, {"_mt_dispatcher": self}, self._declared())

    def _declared(self) -> str:
        """The parameters as the kernel declares them."""
        parts: list[str] = []
        for name in self.names:
            kind = self.kinds.get(name)
            if kind is Parameter.KEYWORD_ONLY and not any(part.startswith("*") for part in parts):
                parts.append("*")
            star = "*" if kind is Parameter.VAR_POSITIONAL else ""
            parts.append(f"{star}{name}=_mt_default_{name}" if name in self.defaults else f"{star}{name}")
        return "".join(f"{part}, " for part in parts)

    @property
    def _listed(self) -> str:
        return "".join(f"{n}, " for n in self.names)

    def _define(self, name: str, body: str, scope: dict[str, Any], header: str | None = None) -> Path:
        """A function with the kernel's parameters and defaults after the grid (without those where `kinds` has any), and options. Its own
        names begin with `_mt_`, so that no parameter of a kernel can be one of them."""
        header = header or (self._listed if self.kinds else self._declared())
        scope.update({f"_mt_default_{n}": v for n, v in self.defaults.items()})
        exec(f"def {name}(_mt_grid, {header}**_mt_options):\n{body}", scope)
        # What Python names when a call does not fit the parameters.
        scope[name].__qualname__ = f"{self.kernel}[grid]"
        return scope[name]

    def _generate(self, types: tuple[type, ...]) -> Path:
        tensor_type = getattr(sys.modules.get("torch"), "Tensor", ())
        code = _Code()
        for name, kind in zip(self.names, types, strict=True):
            if self.always_on_host or not code.add(name, kind, name in self.constexprs, tensor_type):
                return self._by_place()
        if code.tensors and not sys.modules["torch"].cuda.is_available():
            return self._by_place()
        if not code.addresses and not has_gpu():
            return self._by_place()
        get_device, get_stream = stream_functions()
        scope: dict[str, Any] = {
            "_mt_get_device": get_device,
            "_mt_get_stream": get_stream,
            "_mt_entries": {},
            "_mt_dispatcher": self,
            "_mt_resolve_grid": resolve_grid,
            "_mt_address": data_address,
            "_mt_names": self.names,
            "_mt_make_current": make_current,
            "_mt_key_of": key_of,
            "_mt_plain": _PLAIN,
            **code.classes,
        }
        return self._define("path", self._body(code), scope)

    def _body(self, code: _Code) -> str:
        mismatch = " or ".join(code.checks) or "False"
        on_device = " and ".join(f"{n}.is_cuda" for n in code.tensors) or "True"
        together = " | ".join(code.addresses)
        if code.addresses:
            each = "".join(f"{a} & 15, " for a in code.addresses)
            code.key.append(f"0 if not ({together}) & 15 else ({each})")
        setup = "; ".join(code.setup) or "pass"
        launch = f"_mt_entry[0](_mt_x, _mt_y, _mt_z, _mt_get_stream(_mt_device), {', '.join(code.passed)})"
        return f"""
    try:
        if {mismatch}:
            return _mt_dispatcher.general(_mt_grid, ({self._listed}), _mt_options)
        if not ({on_device}):
            return _mt_dispatcher.on_host(_mt_grid, ({self._listed}), _mt_options)
        {setup}
        _mt_device = _mt_get_device()
        _mt_key = ({"".join(k + ", " for k in code.key)}_mt_device)
    except AttributeError:
        return _mt_dispatcher.general(_mt_grid, ({self._listed}), _mt_options)
    except RuntimeError as error:
        raise _mt_dispatcher.refusal(error, ({self._listed})) from None
    if _mt_options:
        _mt_key = (_mt_key, *_mt_options.items())
    try:
        _mt_entry = _mt_entries.get(_mt_key)
    except TypeError:
        _mt_key = _mt_key_of(_mt_key)
        _mt_entry = _mt_entries.get(_mt_key)
    if _mt_entry is None:
        _mt_resolve_grid(_mt_grid, _mt_names, ({self._listed}))
        _mt_entry = _mt_entries[_mt_key] = _mt_dispatcher.prepare(({self._listed}), _mt_options, _mt_device)
    if _mt_grid.__class__ is not tuple:
        _mt_grid = _mt_resolve_grid(_mt_grid, _mt_names, ({self._listed}))
    _mt_size = len(_mt_grid)
    _mt_x = _mt_grid[0]
    _mt_y = _mt_grid[1] if _mt_size > 1 else 1
    _mt_z = _mt_grid[2] if _mt_size > 2 else 1
    _mt_code = {launch}
    if _mt_code:
        if _mt_code == {NO_CONTEXT}:
            _mt_make_current(_mt_device)
            _mt_code = {launch}
        _mt_entry[2](_mt_code, _mt_grid)
    return _mt_entry[1]
"""

    def _by_place(self) -> Path:
        """Decides per call: host arrays stay on the CPU, everything else takes the slow launch."""
        body = f"    return _mt_untraced(_mt_by_place)(_mt_grid, ({self._listed}), _mt_options)"
        return self._define("path", body, {"_mt_by_place": self._launch_by_place, "_mt_untraced": untraced})

    def _launch_by_place(
        self, grid: Grid, args: tuple[object, ...], options: dict[str, object]
    ) -> CompiledKernel | None:
        if not self.always_on_host and (kernel := self.again(grid, args, options)) is not None:
            return kernel
        args = self.plain(args)
        on_host = self.always_on_host or belongs_on_host(args)
        return (self.on_host if on_host else self.slow)(grid, args, options)


@dataclass
class _Code:
    """The parts of a path's source that depend on the kinds of arguments."""

    checks: list[str] = field(default_factory=list[str])
    classes: dict[str, type] = field(default_factory=dict[str, type])
    setup: list[str] = field(default_factory=list[str])
    key: list[str] = field(default_factory=list[str])
    tensors: list[str] = field(default_factory=list[str])
    addresses: list[str] = field(default_factory=list[str])
    passed: list[str] = field(default_factory=list[str])

    def add(self, name: str, kind: type, is_constexpr: bool, tensor_type: type | tuple[()]) -> bool:
        """Adds one parameter; False where its type has no fast form."""
        if is_constexpr:
            self.key.extend([f"{name} if {name}.__class__ in _mt_plain else _mt_key_of({name})", f"{name}.__class__"])
        elif issubclass(kind, tensor_type) and not has_hooks(kind):
            self._add_address(name, f"{name}.data_ptr()", f"{name}.dtype")
            self.tensors.append(name)
        elif kind in (int, float, bool, type(None)):
            self.checks.append(
                f"{name} is not None" if kind is type(None) else f"{name}.__class__ is not {kind.__name__}"
            )
            if kind is int:
                self.key.append(_INT_CLASS.format(n=name))
            self.passed.append(name)
        elif hasattr(kind, "__cuda_array_interface__") and not issubclass(kind, tensor_type):
            self.checks.append(f"{name}.__class__ is not _mt_class_{name}")
            self.classes[f"_mt_class_{name}"] = kind
            self._add_address(name, f"_mt_address({name})", f"str({name}.dtype)")
        else:
            return False
        return True

    def _add_address(self, name: str, address: str, dtype: str) -> None:
        variable = f"_mt_at_{name}"
        self.setup.append(f"{variable} = {address}")
        self.key.append(dtype)
        self.addresses.append(variable)
        self.passed.append(variable)


def belongs_on_host(args: tuple[object, ...]) -> bool:
    """Whether a launch with these arguments runs on the CPU: one is an array in host memory, or no GPU is there and none is
    an array of a device."""
    return any(map(lies_on_host, args)) or not (has_gpu() or any(map(is_array, args)))


def resolve_grid(grid: Grid, names: list[str], args: tuple[object, ...]) -> tuple[int, int, int]:
    """`grid` as three integers; a callable is given the arguments by name, as Triton does."""
    if callable(grid):
        grid = grid(dict(zip(names, args, strict=True)))
    return full_grid(grid)

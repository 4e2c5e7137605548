"""The path of a launch: from `kernel[grid](x, y, n, BLOCK=128)` to the driver in a few microseconds of Python.

A kernel has one *dispatcher*, generated for its parameter list, and one *path* for every combination of argument types
seen, generated for those types. For `add(x, y, n, BLOCK: tl.constexpr)` called with two tensors and an int:

    def path(grid, x, y, n, BLOCK, options):
        x_address = x.data_ptr(); y_address = y.data_ptr()
        if not (x.is_cuda and y.is_cuda): return interpret(...)
        device = get_device()
        key = (device, options, x.dtype, x_address & 15, y.dtype, y_address & 15, class_of(n), BLOCK)
        entry = entries.get(key) or prepare(...)
        entry.launch(grid_x, grid_y, grid_z, get_stream(device), (x_address, y_address, n))

The key holds exactly what a compile depends on; everything slow happens in `prepare`, once for each key.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from minitriton.runtime.arguments import data_address, is_host_array
from minitriton.runtime.loading import full_grid, stream_functions

_INT_CLASS = (
    "((1 if {n} == 1 else 0 if {n} & 15 else 16) "
    "+ (0 if -2147483648 <= {n} <= 2147483647 else 32 if {n} <= 9223372036854775807 else 64))"
)
"""What an integer is specialised on: equal to 1, divisible by 16, and which of i32, i64, u64 holds it."""


@dataclass(frozen=True)
class Entry:
    """One compiled kernel, loaded: `launch(x, y, z, stream, values)` takes the values of all non-constexpr parameters."""

    launch: Callable[..., None]
    kernel: Any


@dataclass
class Dispatcher:
    """Generates the launch paths of one kernel.

    `names` and `constexprs` describe its parameters; `prepare(args, options, device)` compiles and loads on a miss;
    `interpret(grid, args, options)` runs on host arrays; `slow(grid, args, options)` takes argument types that have no
    generated path (tuples, descriptors).
    """

    names: list[str]
    constexprs: frozenset[str]
    defaults: dict[str, Any]
    prepare: Callable[[tuple[Any, ...], dict[str, Any], int], Entry]
    interpret: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    slow: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    paths: dict[tuple[type, ...], Callable[..., Any]] = field(default_factory=dict)

    def build(self) -> Callable[..., Any]:
        """`dispatch(grid, *args, **options)`: binds arguments as Python would, then takes the path of their types."""
        header = ", ".join(f"{n}=default_{n}" if n in self.defaults else n for n in self.names)
        types = "".join(f"type({n}), " for n in self.names)
        source = f"""
def dispatch(grid, {header}{", " if header else ""}**options):
    path = paths.get(({types}))
    if path is None:
        path = make_path(({types}))
    return path(grid, {"".join(f"{n}, " for n in self.names)}options)
"""
        scope: dict[str, Any] = {f"default_{n}": v for n, v in self.defaults.items()}
        scope.update(paths=self.paths, make_path=self._make_path)
        exec(source, scope)
        return scope["dispatch"]

    def _make_path(self, types: tuple[type, ...]) -> Callable[..., Any]:
        path = _generate(self, types)
        self.paths[types] = path
        return path


@dataclass
class _Code:
    """The parts of a path's source that depend on the argument types."""

    setup: list[str] = field(default_factory=list)
    key: list[str] = field(default_factory=list)
    tensors: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)

    def add(self, name: str, kind: type, is_constexpr: bool, tensor_type: Any) -> bool:
        """Adds one parameter; False where its type has no fast form."""
        if is_constexpr:
            self.key.append(f"repr({name})" if issubclass(kind, (float, list, dict, set)) else name)
        elif issubclass(kind, tensor_type):
            self.setup.append(f"{name}_address = {name}.data_ptr()")
            self.key.extend([f"{name}.dtype", f"{name}_address & 15"])
            self.tensors.append(name)
            self.passed.append(f"{name}_address")
        elif kind is int:
            self.key.append(_INT_CLASS.format(n=name))
            self.passed.append(name)
        elif kind in (float, bool, type(None)):
            self.passed.append(name)
        elif hasattr(kind, "__cuda_array_interface__"):
            self.setup.append(f"{name}_address = data_address({name})")
            self.key.extend([f"str({name}.dtype)", f"{name}_address & 15"])
            self.passed.append(f"{name}_address")
        else:
            return False
        return True


def _generate(dispatcher: Dispatcher, types: tuple[type, ...]) -> Callable[..., Any]:
    tensor_type = getattr(sys.modules.get("torch"), "Tensor", ())
    names, code = dispatcher.names, _Code()
    for name, kind in zip(names, types, strict=True):
        if not code.add(name, kind, name in dispatcher.constexprs, tensor_type):
            return _general_path(dispatcher)
    torch = sys.modules.get("torch")
    if code.tensors and torch is not None and not torch.cuda.is_available():
        return _general_path(dispatcher)
    on_device = " and ".join(f"{n}.is_cuda" for n in code.tensors) or "True"
    listed = "".join(f"{n}, " for n in names)
    source = f"""
def path(grid, {listed}options):
    if not ({on_device}):
        return interpret(grid, ({listed}), options)
    {"; ".join(code.setup) or "pass"}
    device = get_device()
    key = (device, tuple(options.items()) if options else None, {"".join(k + ", " for k in code.key)})
    entry = entries.get(key)
    if entry is None:
        entry = entries[key] = prepare(({listed}), options, device)
    if grid.__class__ is not tuple:
        grid = resolve_grid(grid, names, ({listed}))
    size = len(grid)
    entry.launch(grid[0], grid[1] if size > 1 else 1, grid[2] if size > 2 else 1,
                 get_stream(device), ({"".join(p + ", " for p in code.passed)}))
    return entry.kernel
"""
    get_device, get_stream = stream_functions()
    scope: dict[str, Any] = {
        "get_device": get_device,
        "get_stream": get_stream,
        "entries": {},
        "prepare": dispatcher.prepare,
        "interpret": dispatcher.interpret,
        "resolve_grid": resolve_grid,
        "data_address": data_address,
        "names": names,
    }
    exec(source, scope)
    return scope["path"]


def _general_path(dispatcher: Dispatcher) -> Callable[..., Any]:
    """Decides per call: host arrays are interpreted, everything else takes the slow launch."""

    def path(grid: Any, *args_and_options: Any) -> Any:
        *args, options = args_and_options
        on_host = any(is_host_array(a) for a in args)
        return (dispatcher.interpret if on_host else dispatcher.slow)(grid, tuple(args), options)

    return path


def resolve_grid(grid: Any, names: list[str], args: tuple[Any, ...]) -> tuple[int, int, int]:
    """`grid` as three integers; a callable is given the arguments by name, as Triton does."""
    if callable(grid):
        grid = grid(dict(zip(names, args, strict=True)))
    return full_grid(grid)

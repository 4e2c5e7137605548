"""What hooks are given: `knobs.runtime.launch_enter_hook` and `launch_exit_hook` facts about a launch, worked out when asked for,

def enter(metadata):
    metadata.get()    →    {"name": "add", "function": 94..., "stream": 0, ...what the kernel's launch_metadata adds}

and `jit_cache_hook` and `jit_post_compile_hook` what is compiled, from which `JITFunction.preload` makes the kernel in another process:

    hook(key=..., repr="add[num_warps=4, ...](x: *fp32, n: i32)", fn=JitFunctionInfo(...), compile={"specialization_data": JSON, ...}, ...)
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any, cast

from minitriton import knobs
from minitriton.frontend.function import JITCallable
from minitriton.host.frozen import frozen
from minitriton.host.json_values import is_list, is_object
from minitriton.language.dtypes import dtype
from minitriton.language.values import constexpr
from minitriton.pipeline.ast_source import ASTSource
from minitriton.target import CompileOptions
from minitriton.target.backends import backend

_SHOWN = ("num_warps", "num_ctas", "num_stages", "enable_fp_fusion", "launch_cooperative_grid")


@frozen
class JitFunctionInfo:
    """The kernel a hook is called for."""

    module: str
    name: str
    jit_function: JITCallable


def call_hook(
    hook: Callable[..., object] | None,
    source: ASTSource,
    options: CompileOptions,
    key: str,
    device: int,
    is_warmup: bool,
    made: Any = None,
) -> bool:
    """Whether `hook` asks not to compile. `made`: the kernel after its compile, which may have chosen the number of warps."""
    if hook is None:
        return False
    fn = source.function
    known = {name: getattr(options, name) for name in _SHOWN}
    if (
        getattr(options, "choose_warps", False)
        and made is not None
        and not getattr(made.metadata, "choose_warps", True)
    ):
        known["num_warps"] = made.metadata.num_warps
    shown = ", ".join(f"{name}={value}" for name, value in known.items())
    parameters = ", ".join(f"{name}: {kind}" for name, kind in source.signature.items())
    description = {
        "key": key,
        "signature": source.signature,
        "device": device,
        "constants": source.constants,
        **known,
        "extern_libs": options.extern_libs,
        "configs": [source.attrs],
        "specialization_data": serialize(source, options, key),
        "is_warmup": is_warmup,
    }
    name = fn.fn.__qualname__
    result = hook(
        key=key,
        repr=f"{name}[{shown}]({parameters})",
        fn=JitFunctionInfo(fn.fn.__module__, name, fn),
        compile=description,
        is_manual_warmup=is_warmup,
        already_compiled=False,
    )
    return bool(result)


def serialize(source: ASTSource, options: CompileOptions, key: str) -> str:
    """Everything that a compile of the same function needs, as JSON."""
    data = {
        "name": source.function.full_name,
        "signature": source.signature,
        "constants": [[list(path), _encoded(value)] for path, value in source.constants.items()],
        "attrs": [[list(path), value] for path, value in source.attrs.items()],
        "options": asdict(options),
        "key": key,
    }
    return json.dumps(data, default=lambda value: {"untold": repr(value)})


def deserialize(fn: JITCallable, text: str) -> tuple[ASTSource, CompileOptions, str]:
    """`(source, options, key)` of `fn`. Raises `RuntimeError` if `text` is about another function."""
    data = json.loads(text)
    if data["name"] != fn.full_name:
        raise RuntimeError(f"Specialization data is for {data['name']} but trying to preload for {fn.full_name}")
    signature = {name: _tuples(kind) for name, kind in data["signature"].items()}
    constants = {tuple(path): _decoded(value) for path, value in data["constants"]}
    attrs = {tuple(path): value for path, value in data["attrs"]}
    kind = backend(data["options"]["backend_name"]).load("options")
    options = kind(**{name: _tuples(value) for name, value in data["options"].items()})
    return ASTSource.of(fn, signature, constants, attrs), options, data["key"]


_PLAIN = (type(None), bool, int, float, str)


def _encoded(value: object) -> object:
    if isinstance(value, dtype):
        return {"dtype": value.name}
    if isinstance(value, constexpr):
        return {"constexpr": _encoded(value.value)}
    if type(value) in _PLAIN:
        return value
    if isinstance(value, (tuple, list)):
        return [_encoded(item) for item in cast("Iterable[object]", value)]
    # Not for kernels of `tl`: it brings the layouts of the compiler.
    from minitriton.language.gluon.layouts import Layout

    return {"layout": repr(value)} if isinstance(value, Layout) else value


def _decoded(value: Any) -> object:
    if is_list(value):
        return tuple(map(_decoded, value))
    if not is_object(value):
        return value
    if "untold" in value:
        raise RuntimeError(f"the compile-time argument {value['untold']} cannot be made again in another process")
    if "layout" in value:
        from minitriton.language.gluon.layouts import read_layout

        return read_layout(str(value["layout"]))
    return dtype(str(value["dtype"])) if "dtype" in value else constexpr(_decoded(value["constexpr"]))


def _tuples(value: Any) -> Any:
    """JSON knows lists only, and signatures and options hold tuples only."""
    return tuple(map(_tuples, value)) if is_list(value) else value


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


def launch_with_hooks(launch: Callable[[], None], metadata: LazyDict | None) -> None:
    """Calls the enter hooks, `launch` and the exit hooks."""
    runtime = knobs.runtime
    if runtime.launch_enter_hook:
        runtime.launch_enter_hook(metadata)
    launch()
    if runtime.launch_exit_hook:
        runtime.launch_exit_hook(metadata)

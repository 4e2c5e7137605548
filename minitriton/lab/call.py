"""Checks a kernel as it is called: arrays and numbers in, types and hints taken from them as a launch does.

check_call(add, [x, y, out, 4000], (4,), BLOCK=1024)      compiles for (*fp32:16, *fp32:16, *fp32:16, i32:16, BLOCK=1024)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minitriton.compiler import ASTSource
from minitriton.errors import MinitritonError
from minitriton.lab.arguments import Arguments
from minitriton.lab.checker import check
from minitriton.lab.report import CheckReport
from minitriton.pass_manager import Pipeline
from minitriton.runtime.arguments import is_array, specialize
from minitriton.runtime.host_arrays import host_view
from minitriton.target import CUDAOptions, GPUTarget


def check_call(
    kernel: Any,
    args: Sequence[Any],
    grid: tuple[int, ...],
    *,
    arch: int = 90,
    options: dict[str, Any] | None = None,
    pipeline: Pipeline | str | None = None,
    reproducers: Path | None = None,
    **constexprs: Any,
) -> CheckReport:
    """Checks every pass on one call of `kernel` (a `@jit` function).

    `args` are the positional arguments (NumPy arrays or CPU tensors, and numbers), `constexprs` the ones named; the arrays are
    overwritten. `options` are compile options (`num_warps`); `pipeline` replaces the target's own.
    """
    import minitriton.codegen.all_passes
    import minitriton.passes.all_passes  # noqa: F401

    source, arguments = source_of_call(kernel, args, constexprs)
    target = GPUTarget("cuda", arch, 32)
    return check(
        source,
        arguments,
        grid,
        target=target,
        options=CUDAOptions.for_target(target, **(options or {})),
        pipeline=Pipeline.parse(pipeline) if isinstance(pipeline, str) else pipeline,
        reproducers=reproducers,
    )


def source_of_call(kernel: Any, args: Sequence[Any], constexprs: dict[str, Any]) -> tuple[ASTSource, Arguments]:
    """What a call compiles, and what it passes."""
    names: list[str] = list(kernel.arg_names)
    given: dict[str, Any] = {**dict(zip(names, args, strict=False)), **constexprs}
    signature: dict[str, Any] = {}
    constants: dict[str, Any] = {}
    attrs: dict[tuple[int, ...], Any] = {}
    values: list[Any] = []
    elements: list[str] = []
    for index, parameter in enumerate(kernel.params):
        name = parameter.name
        if name not in given and not parameter.has_default:
            raise MinitritonError(f"no value given for parameter {name!r}", help="name all of: " + ", ".join(names))
        value = given.get(name, parameter.default)
        kind, key = ("constexpr", value) if parameter.is_constexpr else specialize(value, False, True, True)
        if isinstance(kind, tuple):
            raise MinitritonError(f"parameter {name!r} is a tuple, which a check does not take")
        signature[name] = kind
        if kind == "constexpr":
            constants[name] = value
            continue
        if key == "D":
            attrs[(index,)] = [["tt.divisibility", 16]]
        values.append(host_view(value, "check") if is_array(value) else value)
        elements.append(kind.lstrip("*") if is_array(value) else "")
    return ASTSource(kernel, signature, constants, attrs), Arguments(values, elements)

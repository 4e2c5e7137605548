"""Checks a kernel as it is called: arrays and numbers in, types and hints taken from them as a launch does.

check_call(add, [x, y, out, 4000], (4,), BLOCK=1024)      compiles for (*fp32:16, *fp32:16, *fp32:16, i32:16, BLOCK=1024)

with_passes({"cse": "my-pass"})      the default pipeline with a pass put in: ..., cse, my-pass, symbol-dce, ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from minitriton.as_triton.compiler import ASTSource
from minitriton.errors import MinitritonError, PipelineError
from minitriton.lab.arguments import Arguments, array_of
from minitriton.lab.checker import check
from minitriton.lab.report import CheckReport
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Step, load_own_passes
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.runtime.launching.arguments import Argument, dtype_name, is_array
from minitriton.runtime.launching.descriptor_arguments import is_descriptor_type
from minitriton.runtime.on_cpu.host_arrays import host_view
from minitriton.target import options_for, target_named

if TYPE_CHECKING:
    from minitriton.runtime.jit import JITFunction


def check_call(
    kernel: JITFunction,
    args: Sequence[object],
    grid: tuple[int, ...],
    *,
    arch: int | str = 90,
    options: dict[str, object] | None = None,
    pipeline: Pipeline | str | None = None,
    reproducers: Path | None = None,
    device: str = "cpu",
    poison: bool = True,
    unwritten: Sequence[str] = (),
    races: str = "warn",
    **constexprs: object,
) -> CheckReport:
    """Checks every pass on one call of `kernel` (a `@jit` function).

    `args` are the positional arguments (NumPy arrays or CPU tensors, and numbers), `constexprs` the ones named; the arrays are
    overwritten. `options` are compile options (`num_warps`); `pipeline` replaces the target's own. With `device="gpu"` the
    PTX runs on the GPU too, where there is one. `unwritten` are the names of arrays that nothing has written, as `np.empty` gives them: what
    depends on them, and on lanes that a mask turns off, is a finding, unless `poison` is false.
    `races="error"`: a race between programs fails the check, whatever the numbers.
    """
    load_own_passes()
    source, arguments = source_of_call(kernel, args, constexprs)
    arguments.unwritten = tuple(unwritten)
    target = target_named(arch)
    return check(
        source,
        arguments,
        grid,
        target=target,
        options=options_for(target, **(options or {})),
        pipeline=Pipeline.parse(pipeline) if isinstance(pipeline, str) else pipeline,
        reproducers=reproducers,
        device=device,
        poison=poison,
        races=races,
    )


def source_of_call(
    kernel: JITFunction, args: Sequence[object], constexprs: dict[str, object]
) -> tuple[ASTSource, Arguments]:
    """What a call compiles, and what it passes, tuples taken apart."""
    source, passed, options = _own_kernel(kernel).source_of_call(tuple(args), dict(constexprs))
    if options:
        raise MinitritonError(
            f"kernel {kernel.__name__!r} lacks a parameter {next(iter(options))!r}",
            help="its parameters: " + ", ".join(kernel.arg_names) + "; compile options go into options={...}",
        )
    passed = [replace(p, value=_on_host(p)) for p in passed]
    elements = ["" if (array := array_of(p.value)) is None else _element(p.type_name, array) for p in passed]
    return source, Arguments([p.value for p in passed], elements, passed)


def _own_kernel(kernel: object) -> JITFunction:
    """`kernel` without what autotuning and heuristics put around it. Raises `MinitritonError` for a function that is no kernel of minitriton's."""
    from minitriton.runtime.jit import kernel_in

    found = kernel_in(kernel)
    if found is None:
        kind = type(kernel)
        raise MinitritonError(
            f"not a kernel of minitriton's, but a {kind.__module__}.{kind.__qualname__}",
            help="import minitriton as triton, or run the script by python -m minitriton.run_as_triton",
        )
    return found


def _on_host(argument: Argument) -> object:
    """A view of an array, or a descriptor of a view; any other value as it is."""
    value = argument.value
    if is_descriptor_type(argument.type_name):
        return replace(value, base=host_view(value.base, "check"))
    return host_view(value, "check") if is_array(value) else value


def _element(type_name: str, array: np.ndarray) -> str:
    return dtype_name(array.dtype) if is_descriptor_type(type_name) else type_name.removeprefix("*").removeprefix("k")


def with_passes(
    after: Mapping[str, str],
    *,
    arch: int | str = 90,
    options: Mapping[str, object] | None = None,
    kernel: JITFunction | None = None,
) -> Pipeline:
    """The pipeline for `arch` (of `kernel`, which matters where that is in Gluon) with the textual pipeline `after[name]` after the
    first step called `name`.

    Raises `PipelineError` for a name that is not in it.
    """
    target = target_named(arch)
    ext = "source" if kernel is None else _own_kernel(kernel).ASTSource.ext
    remaining = dict(after)
    steps: list[Step] = []
    for step in pipeline_for(target, options_for(target, **(options or {})), ext=ext).steps:
        steps.append(step)
        if step.name in remaining:
            steps += Pipeline.parse(remaining.pop(step.name)).steps
    if remaining:
        raise PipelineError(
            f"the pipeline lacks pass {next(iter(remaining))!r}", help="it has: " + ", ".join(s.name for s in steps)
        )
    return Pipeline(tuple(steps))

"""Launching a loaded kernel with all arguments of its function, in the way of Triton's `CompiledKernel.run`.

    k(x, n, BLOCK: constexpr) compiled for n = 1    →    call(x, y, z, stream, tensor, 1, 128): n and BLOCK are passed over

Where all parameters are pointers and numbers, a call does no more than read the tensors' addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minitriton.errors import MinitritonError
from minitriton.pipeline.ast_source import TypeName
from minitriton.runtime.cuda_driver import NO_CONTEXT
from minitriton.runtime.launching.arguments import Argument, collect_arguments
from minitriton.runtime.launching.descriptor_arguments import expanded_arguments, is_descriptor_type
from minitriton.runtime.launching.launcher import Launcher
from minitriton.target.tensor_map import DescriptorCopy

PassedValues = Callable[[Sequence[Argument]], tuple[object, ...]]
"""From arguments to what `Launcher.launch` takes."""


def generic_call(
    launcher: Launcher,
    signature: Mapping[str, TypeName] | Mapping[int, str],
    descriptors: list[DescriptorCopy] | None,
    passed_values: PassedValues,
) -> Callable[..., None]:
    """`call(x, y, z, stream, *arguments)`. `signature` is the kernel's, parameter → type, `descriptors` its `tensordesc_meta`."""
    types = [t for t in signature.values() if not isinstance(t, tuple)]
    if len(types) < len(signature) or any(map(is_descriptor_type, types)):
        return _call_by_parts(launcher, signature, descriptors, passed_values)
    pointers = tuple(t.startswith("*") for t in types)
    launch = launcher.positional(tuple(i for i, t in enumerate(types) if t == "constexpr"))

    def call(x: int, y: int, z: int, stream: int, *arguments: object) -> None:
        if len(arguments) != len(pointers):
            raise _wrong_number(launcher, signature, len(arguments))
        values = [_address(a) if p else a for a, p in zip(arguments, pointers, strict=True)]
        code = launch(x, y, z, stream, *values)
        if code == NO_CONTEXT:
            launcher.driver.set_current_device(launcher.device)
            code = launch(x, y, z, stream, *values)
        if code:
            launcher.check(code, (x, y, z))

    return call


def _address(value: Any) -> int:
    """The address of an array of the GPU, or the number that stands for one."""
    return value.data_ptr() if hasattr(value, "data_ptr") else value or 0


def _call_by_parts(
    launcher: Launcher,
    signature: Mapping[str, TypeName] | Mapping[int, str],
    descriptors: list[DescriptorCopy] | None,
    passed_values: PassedValues,
) -> Callable[..., None]:
    def call(x: int, y: int, z: int, stream: int, *arguments: object) -> None:
        if len(arguments) != len(signature):
            raise _wrong_number(launcher, signature, len(arguments))
        parts: list[Argument] = []
        for (name, type_name), value in zip(signature.items(), arguments, strict=True):
            collect_arguments(str(name), type_name, value, parts)
        launcher.launch(x, y, z, stream, passed_values(expanded_arguments(parts, descriptors)))

    return call


def _wrong_number(
    launcher: Launcher, signature: Mapping[str, TypeName] | Mapping[int, str], given: int
) -> MinitritonError:
    return MinitritonError(
        f"kernel {launcher.name!r} has {len(signature)} parameters ({', '.join(map(str, signature))}), got {given} arguments",
        help="pass all of them in order, those that are compiled in too",
    )

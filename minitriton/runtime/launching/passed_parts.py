"""Which of the values that a launch path has are passed to a compiled kernel, and what is passed of tensor descriptors.

In: the types of a kernel's run-time parameters, as `("*fp32", ("i32", "constexpr"), "tensordesc<fp16[64, 64]>")`. Out: the positions of values that
are compiled in, and for each descriptor a function from it to what stands for it. Programs launch with the same descriptors again and again, and
encoding a tensor map takes as long as a launch: what a descriptor is passed as is remembered by all that it depends on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from minitriton.pipeline.ast_source import TypeName
from minitriton.runtime.launching.arguments import Argument
from minitriton.runtime.launching.descriptor_arguments import expanded_arguments, expanded_types, is_descriptor_type
from minitriton.runtime.launching.host_values import HostDescriptor
from minitriton.runtime.launching.loading import passed_values
from minitriton.target.tensor_map import DescriptorCopy

_MOST_REMEMBERED = 1024
"""Descriptors of a parameter of a compiled kernel that are remembered; then all are forgotten."""


class PassedDescriptor:
    """`passed(descriptor, address of its base)`: the values of the parameters that PTX has for one descriptor."""

    def __init__(self, name: str, type_name: str, copy: DescriptorCopy | None) -> None:
        self._name, self._type_name = name, type_name
        self._copies = None if copy is None else [copy]
        self._known: dict[tuple[object, ...], tuple[object, ...]] = {}

    def __call__(self, descriptor: HostDescriptor, address: int) -> tuple[object, ...]:
        shape, strides, padding = descriptor.shape, descriptor.strides, descriptor.padding
        if getattr(descriptor, "round_f32_to_tf32", False):
            padding += " rounded"
        key = (address, *shape, *strides, padding)
        found = self._known.get(key)
        return self._passed(key, descriptor) if found is None else found

    def _passed(self, key: tuple[object, ...], descriptor: HostDescriptor) -> tuple[object, ...]:
        argument = Argument(self._name, self._type_name, descriptor)
        values = passed_values(expanded_arguments([argument], self._copies))
        if all(type(part) in (int, str) for part in key):
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[key] = values
        return values


def passed_parts(
    kinds: Iterable[tuple[str, TypeName]], copies: Sequence[DescriptorCopy] | None
) -> tuple[tuple[int, ...], tuple[PassedDescriptor, ...]]:
    """The positions of values that are compiled in, and what passes the descriptors, of parameters of these names and types.
    `copies` is the kernel's `tensordesc_meta`."""
    compiled_in: list[int] = []
    descriptors: list[PassedDescriptor] = []
    remaining, position = iter(copies or ()), 0
    for name, kind in (leaf for parameter in kinds for leaf in _leaves(*parameter)):
        if is_descriptor_type(kind):
            copy = next(remaining, None)
            descriptors.append(PassedDescriptor(name, kind, copy))
            position += len(expanded_types([kind], None if copy is None else [copy]))
            continue
        if kind == "constexpr":
            compiled_in.append(position)
        position += 1
    return tuple(compiled_in), tuple(descriptors)


def _leaves(name: str, kind: TypeName) -> Iterator[tuple[str, str]]:
    """The leaves of a parameter's type, each with its name."""
    if isinstance(kind, tuple):
        for index, part in enumerate(kind):
            yield from _leaves(f"{name}[{index}]", part)
    else:
        yield name, kind

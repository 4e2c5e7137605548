"""Tensor descriptors as launch arguments: what a kernel takes for one.

In: arguments of type `tensordesc<fp16[64, 64]>` and the kernel's metadata about them. Out: the arguments that PTX names.

    with tensor copies      the tensor map (128 bytes by value), sizes (i32), strides (i64)
    without                 base, sizes (i64), strides (i64), whether NaNs are outside (i1), sizes (i32), strides (i64)

The sizes come twice where the compiler has taken the descriptor apart itself: once for it, once for the kernel's `desc.shape`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from minitriton.errors import MinitritonError
from minitriton.host.frozen import frozen
from minitriton.runtime.launching.arguments import Argument, data_address
from minitriton.target.tensor_map import ELEMENT_BYTES, DescriptorCopy, TensorMap

TENSOR_MAP_TYPE = "nvTmaDesc"
"""The type name of a tensor map passed by value."""

_DESCRIPTOR = re.compile(r"tensordesc<([^\[>]*)\[([^\]]*)\]")
L2_128_BYTES = 2


def is_descriptor_type(type_name: str) -> bool:
    """Whether a parameter of this type name takes a descriptor."""
    return type_name.startswith("tensordesc")


@frozen
class HostTensorMap:
    """A tensor map to be: `map` describes all but the address of `base`, an array."""

    base: object
    map: TensorMap

    def placed(self) -> TensorMap:
        """The map of the array where the host sees it."""
        return replace(self.map, address=data_address(self.base))


def expanded_types(types: Iterable[str], metadata: Sequence[DescriptorCopy] | None) -> list[str]:
    """The type names of the parameters that PTX has for parameters of `types`."""
    found: list[str] = []
    descriptors = iter(metadata or ())
    for type_name in types:
        if is_descriptor_type(type_name):
            element, rank = _element_and_rank(type_name)
            found += _part_types(element, rank, next(descriptors, None))
        else:
            found.append(type_name)
    return found


def expanded_arguments(arguments: Iterable[Argument], metadata: Sequence[DescriptorCopy] | None) -> list[Argument]:
    """The arguments that PTX has parameters for."""
    found: list[Argument] = []
    descriptors = iter(metadata or ())
    for argument in arguments:
        if is_descriptor_type(argument.type_name):
            found += _parts(argument, next(descriptors, None))
        else:
            found.append(argument)
    return found


def _element_and_rank(type_name: str) -> tuple[str, int]:
    match = _DESCRIPTOR.match(type_name)
    assert match is not None
    return match[1], match[2].count(",") + 1


def _part_types(element: str, rank: int, metadata: DescriptorCopy | None) -> list[str]:
    first = [TENSOR_MAP_TYPE] if metadata is not None else ["*" + element, *["i64"] * (2 * rank), "i1"]
    return [*first, *["i32"] * rank, *["i64"] * rank]


def _parts(argument: Argument, metadata: DescriptorCopy | None) -> list[Argument]:
    name, desc = argument.name, argument.value
    element, rank = _element_and_rank(argument.type_name)
    sizes, strides = [int(size) for size in desc.shape], [int(stride) for stride in desc.strides]
    if metadata is None:
        if rounds_to_tf32(desc):
            raise MinitritonError(
                f"parameter {name!r}: round_f32_to_tf32 needs the copies of sm_90",
                help="leave it out, and round what the kernel loads",
            )
        first: list[object] = [desc.base, *sizes, *strides, desc.padding == "nan"]
        names = [name, *_numbered(name, "shape", rank), *_numbered(name, "strides", rank), f"{name}.padding"]
    else:
        first = [_tensor_map(argument, metadata)]
        names = [name]
    names += [*_numbered(name, "shape", rank), *_numbered(name, "strides", rank)]
    types = _part_types(element, rank, metadata)
    return [Argument(*part) for part in zip(names, types, [*first, *sizes, *strides], strict=True)]


def rounds_to_tf32(descriptor: object) -> bool:
    """Whether loads through a host descriptor round."""
    return bool(getattr(descriptor, "round_f32_to_tf32", False))


def _numbered(name: str, what: str, rank: int) -> list[str]:
    return [f"{name}.{what}[{dim}]" for dim in range(rank)]


def _tensor_map(argument: Argument, metadata: DescriptorCopy) -> HostTensorMap:
    desc = argument.value
    if metadata["elem_type"] >= len(ELEMENTS):
        raise MinitritonError(f"parameter {argument.name!r}: this target's copies cannot unpack fp4")
    width = metadata["elem_size"]
    map, why = _map_and_refusal(
        "tf32" if rounds_to_tf32(desc) else ELEMENTS[metadata["elem_type"]],
        tuple(int(size) for size in reversed(desc.shape)),
        tuple(int(stride) * width for stride in reversed(desc.strides[:-1])),
        tuple(reversed(metadata["block_size"])),
        metadata["swizzle"],
        desc.padding == "nan",
    )
    if why is not None:
        raise MinitritonError(
            f"parameter {argument.name!r}: no tensor map describes a tensor of shape {list(desc.shape)} and strides "
            f"{list(desc.strides)} in blocks of {list(desc.block_shape)}: {why}"
        )
    return HostTensorMap(desc.base, map)


ELEMENTS = tuple(ELEMENT_BYTES)


@lru_cache(maxsize=1024)
def _map_and_refusal(
    element: str,
    dims: tuple[int, ...],
    strides: tuple[int, ...],
    box: tuple[int, ...],
    swizzle: int,
    nan_fill: bool,
) -> tuple[TensorMap, str | None]:
    """The map of an array at address 0, and why there is none."""
    map = TensorMap(0, element, dims, strides, box, swizzle=swizzle, l2_promotion=L2_128_BYTES, nan_fill=nan_fill)
    return map, map.refusal()

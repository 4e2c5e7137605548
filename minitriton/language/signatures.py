"""Types by the names that launches use.

str_to_ty("*kfp16")                     const pointer to float16
str_to_ty("tensordesc<fp16[128, 64]>")  descriptor with blocks of 128 x 64
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from minitriton.errors import MinitritonError, did_you_mean
from minitriton.language import dtypes as dt
from minitriton.language.descriptors import tensor_descriptor_type
from minitriton.language.dtypes import base_type, block_of, constexpr_type, dtype, pointer_type, tuple_type

_SCALARS = {
    **{t.name: t for t in (dt.float8e4nv, dt.float8e4b8, dt.float8e5, dt.float8e5b16, dt.float8e4b15)},
    "fp16": dt.float16, "bf16": dt.bfloat16, "fp32": dt.float32, "fp64": dt.float64,
    "i1": dt.int1, "i8": dt.int8, "i16": dt.int16, "i32": dt.int32, "i64": dt.int64,
    "u1": dt.int1, "u8": dt.uint8, "u16": dt.uint16, "u32": dt.uint32, "u64": dt.uint64, "B": dt.int1,
}  # fmt: skip

_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[([\d\s,]+)\],?(.*)>")


TypeName = str | Sequence["TypeName"]
"""`*fp32`, `i32`, `constexpr`, ..., or the names of a tuple's elements."""


WithLayout = Callable[[tensor_descriptor_type, str], base_type]
"""Makes the type of descriptors whose blocks have the layout that a text says."""


def str_to_ty(name: TypeName, value: object = None, with_layout: WithLayout | None = None) -> base_type:
    """The type that a launch signature names, a tuple of types for a tuple. `value` is that of a `constexpr`; layouts of descriptors are
    for `with_layout`."""
    if not isinstance(name, str):
        return tuple_type([str_to_ty(n, value, with_layout) for n in name], getattr(type(name), "_fields", None))
    if name.startswith("constexpr"):
        return constexpr_type(value)
    descriptor = _DESCRIPTOR.fullmatch(name)
    if descriptor is not None:
        shape = tuple(int(size) for size in descriptor[2].split(","))
        rank = len(shape)
        plain = tensor_descriptor_type(
            block_of(_dtype(descriptor[1]), shape), tuple_type([dt.int32] * rank), tuple_type([dt.int64] * rank)
        )
        return with_layout(plain, descriptor[3]) if with_layout is not None and descriptor[3] else plain
    return _dtype(name)


def _dtype(name: str) -> dtype:
    """The scalar or pointer that `name` means."""
    if name.startswith("*"):
        const = name.startswith("*k")
        return pointer_type(_dtype(name[2:] if const else name[1:]), const=const)
    found = _SCALARS.get(name)
    if found is None:
        raise MinitritonError(
            f"{name!r} is not the name of an argument type",
            help=f"{did_you_mean(name, _SCALARS)} write one of {', '.join(_SCALARS)}, or a pointer to one: *fp32".lstrip(),
        )
    return found

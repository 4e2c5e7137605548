"""How many neighbours one atomic instruction changes (PTX ISA, "atom", "red").

most_at_once("fadd", f32, sm_90)    4: `atom.add.v4.f32`
most_at_once("fadd", f16, sm_80)    2: `atom.add.noftz.f16x2`
most_at_once("add", i32, sm_90)     1
"""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type
from xdsl.ir import Attribute

from minitriton.target.architectures import Architecture


def most_at_once(kind: str, element: Attribute, architecture: Architecture) -> int:
    """Elements of type `element` that an atomic `kind` ("fadd", "max", ...) takes in one instruction."""
    if kind != "fadd" or (isinstance(element, BFloat16Type) and not architecture.has_bf16_atomics):
        return 1
    if architecture.has_vector_atomics and isinstance(element, (Float16Type, BFloat16Type, Float32Type)):
        return architecture.widest_access_bits // element.bitwidth
    return 2 if isinstance(element, Float16Type) else 1

"""What an argument is specialised on, asked as Triton's extension is asked.

native_specialize_impl(CUDABackend, 48, False, True, True)    →    ("i32", "D")
"""

from __future__ import annotations

from typing import Protocol

from minitriton.errors import MinitritonError
from minitriton.runtime.launching.arguments import Specialization, is_array, specialize


class TensorSpecializing(Protocol):
    """A backend that says itself what kernels are specialised on of a tensor."""

    def get_tensor_specialization(self, arg: object, *, align: bool) -> object: ...


def native_specialize_impl(
    backend: TensorSpecializing, arg: object, is_const: bool, specialize_value: bool, align: bool
) -> Specialization:
    """`(type name, specialisation key)` of one argument; a backend that specialises otherwise is asked for the key.

    Raises `TypeError` for what no kernel takes.
    """
    try:
        kind, key = specialize(arg, is_const, specialize_value, align)
    except MinitritonError as error:
        raise TypeError(str(error)) from None
    if key is None or getattr(backend, "supports_native_tensor_specialization", True) or not is_array(arg):
        return kind, key
    return kind, backend.get_tensor_specialization(arg, align=align)

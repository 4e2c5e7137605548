"""What programs import from Triton's C++ extension and that has a meaning without one.

native_specialize_impl(CUDABackend, 48, False, True, True)    →    ("i32", "D")
ir.context()                                                  →    a context for IRSource and make_ir
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from minitriton.dialects.context import make_context
from minitriton.errors import MinitritonError
from minitriton.runtime.arguments import is_array, specialize


def native_specialize_impl(
    backend: Any, arg: Any, is_const: bool, specialize_value: bool, align: bool
) -> tuple[Any, Any]:
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


def _load_dialects(context: Any) -> None:
    """A context has every dialect from the start."""


ir = SimpleNamespace(context=make_context, load_dialects=_load_dialects)

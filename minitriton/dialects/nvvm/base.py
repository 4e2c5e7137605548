"""What the `nvvm` ops share: pointer types, and checks of their properties."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, StringAttr, VectorType
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

GLOBAL = LLVMPointerType(IntAttr(1))
SHARED = LLVMPointerType(IntAttr(3))


def lanes(type_: Attribute) -> int:
    """Registers of a value: the lanes of a vector, 1 for a scalar."""
    return type_.get_shape()[0] if isinstance(type_, VectorType) else 1


def one_of(op: Operation, name: str, allowed: Sequence[str]) -> None:
    """Raises `VerifyException` if a property is not one of the allowed words."""
    attr = op.properties[name]
    if not isinstance(attr, StringAttr) or attr.data not in allowed:
        raise VerifyException(f"{op.name}: {name} must be one of {', '.join(allowed)}, got {attr}")

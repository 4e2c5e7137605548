"""What types the operands of `tt` ops may have, and types that follow from others.

    ptr    = operand_def(var("P", PTR_LIKE))                  # tensor<64x!tt.ptr<f32>>
    result = result_def(follows("P", pointee_type))           # then this is tensor<64xf32>, in text and in verification

`TypeKind` says in words what it accepts, as Triton's messages do. `Follows` both infers a type that the text leaves out and
checks one that is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, InferenceContext, VarConstraint, VerificationContext
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import PointerType, TensorDescType, is_tensor_pointer
from minitriton.host.frozen import frozen

FLOAT_TYPES = (
    Float8E4M3FNType, Float8E4M3FNUZType, Float8E5M2Type, Float8E5M2FNUZType, Float16Type, BFloat16Type,
    Float32Type, Float64Type,
)  # fmt: skip
INTEGER_WIDTHS = frozenset({1, 4, 8, 16, 32, 64})


@frozen
class TypeKind(AttrConstraint[Attribute]):
    """Types for which `accepts` holds, in words `description`."""

    description: str
    accepts: Callable[[Attribute], bool]

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not self.accepts(attr):
            raise VerifyException(f"must be {self.description}, but got '{attr}'")

    def mapping_type_vars(self, type_var_mapping: Mapping[Any, Any]) -> TypeKind:
        return self


@frozen
class Follows(AttrConstraint[Attribute]):
    """The type that `function` makes of the type bound to `variable`."""

    variable: str
    function: Callable[[Attribute], Attribute]
    complaint: str

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        source = constraint_context.get_variable(self.variable)
        if source is not None and (expected := self.function(source)) != attr:
            raise VerifyException(f"failed to verify that {self.complaint}: expected '{expected}', found '{attr}'")

    def can_infer(self, var_constraint_names: AbstractSet[str]) -> bool:
        return self.variable in var_constraint_names

    def infer(self, context: InferenceContext) -> Attribute:
        source = context.get_variable(self.variable)
        assert source is not None
        return self.function(source)

    def mapping_type_vars(self, type_var_mapping: Mapping[Any, Any]) -> Follows:
        return self


def var(name: str, kind: AttrConstraint[Attribute]) -> VarConstraint[Attribute]:
    """A type of `kind` that is the same wherever `name` is used in the op, and that others may follow."""
    return VarConstraint(name, kind)


def follows(variable: str, function: Callable[[Attribute], Attribute], complaint: str) -> Follows:
    """The type `function(type of variable)`; `complaint` ends "failed to verify that ..."."""
    return Follows(variable, function, complaint)


def is_float(type_: Attribute) -> bool:
    """A floating-point type of Triton."""
    return isinstance(type_, FLOAT_TYPES)


def is_integer(type_: Attribute) -> bool:
    """A signless integer type of Triton."""
    return (
        instance_of(type_, IntegerType)
        and type_.width.data in INTEGER_WIDTHS
        and type_.signedness.data is Signedness.SIGNLESS
    )


def _integer(width: int) -> Callable[[Attribute], bool]:
    return lambda type_: instance_of(type_, IntegerType) and is_integer(type_) and type_.width.data == width


def _is_pointer(type_: Attribute) -> bool:
    return isinstance(type_, PointerType)


def _is_scalar(type_: Attribute) -> bool:
    return is_float(type_) or is_integer(type_) or isinstance(type_, PointerType)


def _tensor_of(accepts: Callable[[Attribute], bool]) -> Callable[[Attribute], bool]:
    return lambda type_: instance_of(type_, TensorType) and accepts(type_.element_type)


def _like(accepts: Callable[[Attribute], bool]) -> Callable[[Attribute], bool]:
    return lambda type_: accepts(type_.element_type if instance_of(type_, TensorType) else type_)


BOOL_LIKE = TypeKind("1-bit signless integer or ranked tensor of 1-bit signless integer values", _like(_integer(1)))
I64_LIKE = TypeKind("64-bit signless integer or tensor of 64-bit signless integer values", _like(_integer(64)))
I32_TENSOR = TypeKind("ranked tensor of 32-bit signless integer values", _tensor_of(_integer(32)))
FLOAT_LIKE = TypeKind("floating-point or ranked tensor of floating-point values", _like(is_float))
FLOAT_TENSOR = TypeKind("ranked tensor of floating-point values", _tensor_of(is_float))
INT_LIKE = TypeKind("integer or ranked tensor of integer values", _like(is_integer))
INT_TENSOR = TypeKind("ranked tensor of integer values", _tensor_of(is_integer))
PTR = TypeKind("ptr", _is_pointer)
PTR_LIKE = TypeKind("ptr or ranked tensor of ptr values", _like(_is_pointer))
TENSOR_PTR = TypeKind("ptr", is_tensor_pointer)
TENSOR = TypeKind("ranked tensor of floating-point or integer or ptr values", _tensor_of(_is_scalar))
FP_INT_TENSOR = TypeKind(
    "ranked tensor of floating-point or integer values", _tensor_of(lambda t: is_float(t) or is_integer(t))
)
SCALED_TENSOR = TypeKind(
    "ranked tensor of floating-point or 8-bit signless integer values",
    _tensor_of(lambda t: is_float(t) or _integer(8)(t)),
)
ANY_TT = TypeKind(
    "floating-point or ranked tensor of floating-point values or integer or ranked tensor of integer values "
    "or ptr or ranked tensor of ptr values or ptr",
    _like(_is_scalar),
)
TENSOR_DESC = TypeKind("TensorDesc type", lambda t: isinstance(t, TensorDescType))

"""Traits and effects of `tt` ops, and what their verifiers share: questions about types, complaints that many ops have in common.

Sizes, element types, shapes and encodings of an op's operands and results are compared here, with Triton's words for what differs. What is special to an
op is in its class (`Op.complaint`).

What types the operands of `tt` ops may have, and types that follow from others.

    ptr    = operand_def(var("P", PTR_LIKE))                  # tensor<64x!tt.ptr<f32>>
    result = result_def(follows("P", pointee_type))           # then this is tensor<64xf32>, in text and in verification

`TypeKind` says in words what it accepts, as Triton's messages do. `Follows` both infers a type that the text leaves out and
checks one that is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AttrConstraint, InferenceContext, VarConstraint, VerificationContext
from xdsl.traits import ConditionallySpeculatable, EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.encodings import layout_of
from minitriton.dialects.facts import layout as layout_facts
from minitriton.dialects.facts.gpu_traits import GLOBAL, VerifyTensorLayouts
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import PointerType, TensorDescType, element_type, is_tensor_pointer, shape_of
from minitriton.errors import IRError
from minitriton.host.frozen import frozen
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.layouts.properties import are_layouts_equivalent

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


MAX_ELEMENTS = 2**20


def tensor(value: SSAValue) -> TensorType:
    """The type of a value that the op's declaration says is a tensor."""
    return cast(TensorType, value.type)


def has_encoding(type_: Attribute) -> bool:
    return instance_of(type_, TensorType) and not isinstance(type_.encoding, NoneAttr)


def types_of(op: Operation) -> list[Attribute]:
    return [*op.operand_types, *op.result_types]


def width_of(type_: Attribute) -> int:
    return getattr(element_type(type_), "bitwidth", 64)


def encoding_complaint(op: Operation) -> str | None:
    encodings = [type_.encoding for type_ in types_of(op) if instance_of(type_, TensorType)]
    expected, *others = dict.fromkeys(each for each in encodings if not isinstance(each, NoneAttr)) or [None]
    if not others:
        return None
    return f"'{op.name}' op requires the same encoding for all operands and results: expected {expected}, found {others[0]}"


def shape_complaint(op: Operation) -> str | None:
    expected, *others = dict.fromkeys(map(shape_of, types_of(op)))
    if not others:
        return None
    return (
        f"'{op.name}' op requires the same shape for all operands and results: "
        f"expected {list(expected)}, found {list(others[0])}"
    )


def same_element_complaint(op: Operation) -> str | None:
    expected, *others = dict.fromkeys(map(element_type, types_of(op)))
    if not others:
        return None
    return (
        f"'{op.name}' op requires the same element type for all operands and results: "
        f"expected {expected}, found {others[0]}"
    )


def are_equivalent(a: Attribute, b: Attribute) -> bool:
    """Whether tensors of the two types hold the same elements in the same registers."""
    if a == b or not instance_of(a, TensorType) or not instance_of(b, TensorType):
        return a == b
    if a.element_type != b.element_type or a.get_shape() != b.get_shape():
        return False
    one, other = layout_of(a), layout_of(b)
    if not isinstance(one, DistributedEncoding) or not isinstance(other, DistributedEncoding):
        return False
    return are_layouts_equivalent(a.get_shape(), one, other)


def inferred_complaint(op: Operation, infer: Callable[[], Sequence[Attribute]]) -> str | None:
    """Results have the types that the op infers, up to equivalent layouts."""
    try:
        inferred = infer()
    except IRError as error:
        return f"{error.message}; '{op.name}' op failed to infer returned types"
    if len(inferred) == len(op.results) and all(map(are_equivalent, inferred, op.result_types)):
        return None
    wanted, found = (", ".join(f"'{type_}'" for type_ in types) for types in (inferred, op.result_types))
    return (
        f"'{op.name}' op inferred type(s) {wanted} are incompatible with return type(s) of operation {found}; "
        f"'{op.name}' op failed to infer returned types"
    )


def size_complaint(op: Operation) -> str | None:
    """Tensors have a power of two of elements, at most `MAX_ELEMENTS`."""
    for type_ in types_of(op):
        if instance_of(type_, TensorType):
            count = prod(type_.get_shape())
            if count > MAX_ELEMENTS:
                return f"Maximum allowed number of elements is {MAX_ELEMENTS}, but {op.name} has more than that"
            if count & (count - 1):
                return (
                    f"Number of elements must be power-of-two, but {op.name} doesn't follow the rule ({count}) elements"
                )
    return None


def elementwise_complaint(op: Operation) -> str | None:
    """Tensors among operands and results have one shape and one encoding."""
    tensors = [type_ for type_ in types_of(op) if instance_of(type_, TensorType)]
    if not tensors:
        return None
    if not all(instance_of(type_, TensorType) for type_ in op.result_types):
        return f"'{op.name}' op if an operand is non-scalar, then all results must be non-scalar"
    expected, *others = dict.fromkeys(type_.get_shape() for type_ in tensors)
    if others:
        return (
            f"'{op.name}' op all non-scalar operands/results must have the same shape and base type: "
            f"expected {list(expected)}, found {list(others[0])}"
        )
    return encoding_complaint(op)


class TensorLayouts(VerifyTensorLayouts):
    """Tensors have allowed sizes and layouts."""

    def verify(self, op: Operation) -> None:
        complaint = size_complaint(op)
        if complaint is not None:
            raise VerifyException(complaint)
        super().verify(op)


class VerifiedElementwise(layout_facts.Elementwise):
    """Each element of the results depends only on the elements of the operands at the same index."""

    def verify(self, op: Operation) -> None:
        complaint = elementwise_complaint(op)
        if complaint is not None:
            raise VerifyException(complaint)


class LoadEffects(MemoryEffect):
    """Reads global memory; a volatile load also counts as a write, so that it is neither removed nor moved."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        pointer = op.operands[0]
        effects = {EffectInstance(MemoryEffectKind.READ, pointer, GLOBAL)}
        volatile = op.properties.get("isVolatile")
        if isinstance(volatile, IntegerAttr) and volatile.value.data:
            effects.add(EffectInstance(MemoryEffectKind.WRITE, pointer, GLOBAL))
        return effects


class PureIfDeclared(MemoryEffect, ConditionallySpeculatable):
    """No effects when the op's property `pure` is true, else it may read and write anything."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        pure = op.properties.get("pure")
        if isinstance(pure, IntegerAttr) and pure.value.data:
            return set()
        return {EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE)}

    @classmethod
    def is_speculatable(cls, op: Operation) -> bool:
        return not cls.get_effects(op)


class WritesGlobal(MemoryEffect):
    """Writes global memory (the buffer of a print or an assert)."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.WRITE, resource=GLOBAL)}

"""Traits and effects of `tt` ops, and what their verifiers share: questions about types, complaints that many ops have in common.

Sizes, element types, shapes and encodings of an op's operands and results are compared here, with Triton's words for what differs. What is special to an
op is in its class (`Op.complaint`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, NoneAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import ConditionallySpeculatable, EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.encodings import layout_of
from minitriton.dialects.facts import layout as layout_facts
from minitriton.dialects.facts.gpu_traits import GLOBAL, VerifyTensorLayouts
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import element_type, shape_of
from minitriton.errors import IRError
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.layouts.properties import are_layouts_equivalent

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

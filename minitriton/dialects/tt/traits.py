"""Traits and effects of `tt` ops."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation
from xdsl.traits import ConditionallySpeculatable, EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.facts import layout as layout_facts
from minitriton.dialects.facts.gpu_traits import GLOBAL, VerifyTensorLayouts
from minitriton.dialects.tt.complaints import elementwise_complaint, size_complaint


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

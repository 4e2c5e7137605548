"""Ops of `tt` on tensor descriptors.

%1 = tt.descriptor_load %desc[%x, %y] : !tt.tensordesc<tensor<128x64xf16>> -> tensor<128x64xf16>
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    SameVariadicOperandSize,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from minitriton.dialects.facts.gpu_traits import GLOBAL, OperandEffects
from minitriton.dialects.facts.layout import LayoutAnchor
from minitriton.dialects.facts.memory_access import DescriptorAccess
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.tt.constraints import I32_TENSOR, PTR, TENSOR, TENSOR_DESC
from minitriton.dialects.tt.enums import (
    CacheModifier,
    CacheModifierAttr,
    DescriptorReduceKind,
    DescriptorReduceKindAttr,
    EvictionPolicy,
    EvictionPolicyAttr,
    PaddingOption,
    PaddingOptionAttr,
)
from minitriton.dialects.tt.format import CacheClauses, Descriptor, Pointer
from minitriton.dialects.tt.memory import NO_MODIFIER, NORMAL
from minitriton.dialects.tt.traits import TensorLayouts

TENSOR_IN_MEMORY = ("desc", GLOBAL)


class MakeTensorDescOp(Op):
    """A descriptor of the tensor at `base` of `shape` and `strides`, split into blocks."""

    name = "tt.make_tensor_descriptor"
    base = operand_def(PTR)
    shape = var_operand_def(i32)
    strides = var_operand_def(i64)
    padding = prop_def(PaddingOptionAttr, default_value=PaddingOptionAttr.of(PaddingOption.PAD_ZERO))
    result = result_def(TENSOR_DESC)
    irdl_options = (SameVariadicOperandSize(), ParsePropInAttrDict())
    custom_directives = (Pointer, Descriptor)
    assembly_format = (
        "$base `,` `[` $shape `]` `,` `[` $strides `]` attr-dict "
        "`:` custom<Pointer>(type($base)) `,` custom<Descriptor>(type($result))"
    )
    traits = traits_def(Pure(), TensorLayouts())

    @from_fields
    def __init__(
        self,
        base: SSAValue,
        shape: Sequence[SSAValue],
        strides: Sequence[SSAValue],
        result_type: Attribute,
        *,
        padding: PaddingOption | str = PaddingOption.PAD_ZERO,
    ) -> None: ...


class DescriptorLoadOp(Op):
    """Loads the block at `indices`."""

    name = "tt.descriptor_load"
    desc = operand_def(TENSOR_DESC)
    indices = var_operand_def(i32)
    cache = prop_def(CacheModifierAttr, default_value=NO_MODIFIER)
    evict = prop_def(EvictionPolicyAttr, default_value=NORMAL)
    result = result_def(TENSOR)
    custom_directives = (CacheClauses,)
    assembly_format = (
        "$desc `[` $indices `]` custom<CacheClauses>($cache, $evict) attr-dict `:` type($desc) `->` type($result)"
    )
    traits = traits_def(OperandEffects(reads=(TENSOR_IN_MEMORY,)), TensorLayouts(), LayoutAnchor(), DescriptorAccess())

    @from_fields
    def __init__(
        self,
        desc: SSAValue,
        indices: Sequence[SSAValue],
        result_type: Attribute,
        *,
        cache: CacheModifier | str = CacheModifier.NONE,
        evict: EvictionPolicy | str = EvictionPolicy.NORMAL,
    ) -> None: ...


class _StoreLikeOp(Op):
    """Base of ops that write a block through a descriptor."""

    traits = traits_def(
        OperandEffects(reads=(TENSOR_IN_MEMORY,), writes=(TENSOR_IN_MEMORY,)), TensorLayouts(), LayoutAnchor()
    )


class DescriptorStoreOp(_StoreLikeOp):
    """Stores the block at `indices`."""

    name = "tt.descriptor_store"
    traits = traits_def(DescriptorAccess(value="src"))
    desc = operand_def(TENSOR_DESC)
    src = operand_def(TENSOR)
    indices = var_operand_def(i32)
    assembly_format = "$desc `[` $indices `]` `,` $src attr-dict `:` type($desc) `,` type($src)"

    @from_fields
    def __init__(self, desc: SSAValue, src: SSAValue, indices: Sequence[SSAValue]) -> None: ...


class DescriptorReduceOp(_StoreLikeOp):
    """Combines `src` into the block at `indices`, atomically element by element."""

    name = "tt.descriptor_reduce"
    traits = traits_def(DescriptorAccess(value="src"))
    kind = prop_def(DescriptorReduceKindAttr)
    desc = operand_def(TENSOR_DESC)
    src = operand_def(TENSOR)
    indices = var_operand_def(i32)
    assembly_format = "$kind `,` $desc `[` $indices `]` `,` $src attr-dict `:` type($desc) `,` type($src)"

    @from_fields
    def __init__(
        self, desc: SSAValue, src: SSAValue, indices: Sequence[SSAValue], *, kind: DescriptorReduceKind | str
    ) -> None: ...


class DescriptorGatherOp(Op):
    """Loads the rows `x_offsets` from column `y_offset` on. The descriptor's block has one row."""

    name = "tt.descriptor_gather"
    desc = operand_def(TENSOR_DESC)
    x_offsets = operand_def(I32_TENSOR)
    y_offset = operand_def(i32)
    result = result_def(TENSOR)
    assembly_format = "$desc `[` $x_offsets `,` $y_offset `]` attr-dict `:` functional-type(operands, results)"
    traits = traits_def(
        OperandEffects(reads=(TENSOR_IN_MEMORY,)), TensorLayouts(), LayoutAnchor(), DescriptorAccess(rows="x_offsets")
    )

    @from_fields
    def __init__(self, desc: SSAValue, x_offsets: SSAValue, y_offset: SSAValue, result_type: Attribute) -> None: ...


class DescriptorScatterOp(_StoreLikeOp):
    """Stores `src` to the rows `x_offsets` from column `y_offset` on. The descriptor's block has one row."""

    name = "tt.descriptor_scatter"
    traits = traits_def(DescriptorAccess(value="src", rows="x_offsets"))
    desc = operand_def(TENSOR_DESC)
    x_offsets = operand_def(I32_TENSOR)
    y_offset = operand_def(i32)
    src = operand_def(TENSOR)
    assembly_format = (
        "$desc `[` $x_offsets `,` $y_offset `]` `,` $src attr-dict "
        "`:` type($desc) `,` type($x_offsets) `,` type($y_offset) `,` type($src)"
    )

    @from_fields
    def __init__(self, desc: SSAValue, x_offsets: SSAValue, y_offset: SSAValue, src: SSAValue) -> None: ...

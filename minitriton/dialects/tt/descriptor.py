"""Ops of `tt` on tensor descriptors.

%1 = tt.descriptor_load %desc[%x, %y] : !tt.tensordesc<tensor<128x64xf16>> -> tensor<128x64xf16>
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
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
from minitriton.dialects.narrowing import instance_of
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
from minitriton.dialects.tt.traits import I32_TENSOR, PTR, TENSOR, TENSOR_DESC, TensorLayouts, tensor, width_of
from minitriton.dialects.tt.types import TensorDescType

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

    def complaint(self) -> str | None:
        return _block_complaint(self, self.desc.type, self.result.type)


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

    def complaint(self) -> str | None:
        return _block_complaint(self, self.desc.type, self.src.type)


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

    def complaint(self) -> str | None:
        return _block_complaint(self, self.desc.type, self.src.type)


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

    def complaint(self) -> str | None:
        return _rows_complaint(self, self.desc, self.result, self.x_offsets)


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

    def complaint(self) -> str | None:
        return _rows_complaint(self, self.desc, self.src, self.x_offsets)


def _block_complaint(op: Operation, descriptor: Attribute, tensor: Attribute) -> str | None:
    """Of loads and stores of a descriptor's block, leading dimensions of 1 aside."""
    assert isinstance(descriptor, TensorDescType) and instance_of(tensor, TensorType)
    block = descriptor.signless_block_type
    extra = max(block.get_num_dims() - tensor.get_num_dims(), 0)
    if any(size != 1 for size in block.get_shape()[:extra]):
        return f"'{op.name}' op ranked reduce load only allowed for unit dimension leading dim."
    if block.get_shape()[extra:] != tensor.get_shape() or block.element_type != tensor.element_type:
        return (
            f"'{op.name}' op tensor descriptor block and tensor types must match: expected '{block}', found '{tensor}'"
        )
    return None


def gather_scatter_complaint(op: Operation, block: TensorType, tensor: TensorType, offsets: TensorType) -> str | None:
    """Of gathering rows into `tensor`, or scattering them from it: what TMA can do."""
    shape, wanted = tensor.get_shape(), block.get_shape()
    width = width_of(tensor)
    found = None
    if len(wanted) != 2:
        found = f"block must be a 2D tensor, but got '{block}'"
    elif wanted[0] != 1:
        found = f"block must have exactly 1 row, but got '{block}'"
    elif offsets.get_num_dims() != 1:
        found = f"x offsets must be a 1D tensor, but got '{offsets}'"
    elif len(shape) != 2:
        found = f"result must be a 2D tensor, but got '{tensor}'"
    elif shape[0] < 8:
        found = f"gather must have at least 8 rows, but got {shape[0]}"
    elif width > 32:
        found = "TMA dtype cannot be greater than 32 bits"
    elif shape[1] < 32 // width * 8:
        found = f"gather of '{tensor.element_type}' must have at least {32 // width * 8} columns, but got {shape[1]}"
    elif shape[0] != offsets.get_shape()[0]:
        found = f"result tensor must have as many rows as indices ({offsets.get_shape()[0]}), but got '{tensor}'"
    elif shape[1] != wanted[1]:
        found = f"result tensor number of columns must match block ({wanted[1]}), but got '{tensor}'"
    elif tensor.element_type != block.element_type:
        found = f"result tensor element type must match block ('{block.element_type}'), but got '{tensor}'"
    return None if found is None else f"'{op.name}' op {found}"


def _rows_complaint(op: Operation, descriptor: SSAValue, value: SSAValue, offsets: SSAValue) -> str | None:
    assert isinstance(descriptor.type, TensorDescType)
    return gather_scatter_complaint(op, descriptor.type.signless_block_type, tensor(value), tensor(offsets))

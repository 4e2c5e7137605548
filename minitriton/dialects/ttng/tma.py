"""Ops of `ttng` for TMA: copies between device and shared memory by descriptor, and descriptors made on the device.

ttng.async_tma_copy_global_to_local %desc[%x, %y] %buf, %bar, %true
    : !tt.tensordesc<tensor<128x64xf16, #shared>>, !ttg.memdesc<1xi64, ...> -> !ttg.memdesc<128x64xf16, ...>
ttng.async_tma_copy_local_to_global %desc[%x, %y] %buf : !tt.tensordesc<...>, !ttg.memdesc<128x64xf16, ...>
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, TensorType, i1, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    ParsePropInAttrDict,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.attribute_values import FALSE
from minitriton.dialects.encodings import layout_of
from minitriton.dialects.facts.gpu_traits import GLOBAL, SHARED, OperandEffects, VerifyTensorLayouts
from minitriton.dialects.facts.synchronization import (
    CopyInto,
    EndsBeforeItsWait,
    Kind,
    LoweringBarrier,
    OfAsyncProxy,
    Starts,
    UsesMbarrier,
    Waits,
    WaitsForCopies,
)
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.tt.enums import (
    CacheModifier,
    CacheModifierAttr,
    DescriptorReduceKind,
    DescriptorReduceKindAttr,
    EvictionPolicy,
    EvictionPolicyAttr,
)
from minitriton.dialects.tt.format import CacheClauses
from minitriton.dialects.tt.memory import NO_MODIFIER, NORMAL
from minitriton.dialects.tt.types import PointerType, TensorDescType
from minitriton.dialects.ttg.format import Signature
from minitriton.dialects.ttg.types import MemDescType
from minitriton.dialects.ttng.barriers import verify_barrier_type
from minitriton.layouts.encodings import NVMMAShared


class AsyncTMACopyGlobalToLocalOp(Op):
    """Starts copying the block of `desc` at `coord` into `destination`; `barrier` gets the bytes, where `pred` holds."""

    name = "ttng.async_tma_copy_global_to_local"

    desc = operand_def(TensorDescType)
    coord = var_operand_def(i32)
    barrier = operand_def(MemDescType)
    destination = operand_def(MemDescType)
    pred = operand_def(i1)
    cache = prop_def(CacheModifierAttr, default_value=NO_MODIFIER)
    evict = prop_def(EvictionPolicyAttr, default_value=NORMAL)
    is_volatile = prop_def(IntegerAttr.constr(i1), default_value=FALSE, prop_name="isVolatile")

    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (CacheClauses,)
    assembly_format = (
        "$desc `[` $coord `]` $destination `,` $barrier `,` $pred custom<CacheClauses>($cache, $evict) attr-dict "
        "`:` type($desc) `,` type($barrier) `->` type($destination)"
    )
    traits = traits_def(
        OperandEffects(reads=(("desc", GLOBAL),), writes=(("barrier", SHARED), ("destination", SHARED))),
        VerifyTensorLayouts(),
        UsesMbarrier(),
        EndsBeforeItsWait(),
        CopyInto(buffer="destination"),
        Starts(Kind.TENSOR_COPY, writes=("destination",), barrier="barrier"),
    )

    @from_fields
    def __init__(
        self,
        desc: SSAValue,
        coord: Sequence[SSAValue],
        barrier: SSAValue,
        destination: SSAValue,
        pred: SSAValue,
        *,
        cache: CacheModifier = CacheModifier.NONE,
        evict: EvictionPolicy = EvictionPolicy.NORMAL,
        is_volatile: bool = False,
    ) -> None: ...

    def verify_(self) -> None:
        verify_barrier_type(self, self.barrier.type)
        if not 1 <= len(self.coord) <= 5:
            raise VerifyException(f"'{self.name}' op TMA copies must have between 1 and 5 coordinates")
        destination = self.destination.type
        if not isinstance(destination, MemDescType) or not destination.mutable:
            raise VerifyException(f"'{self.name}' op Cannot store into immutable memory")
        if not isinstance(layout_of(destination), NVMMAShared):
            raise VerifyException(f"'{self.name}' op TMA result must have NVMMA shared layout")


class _FromSharedOp(Op):
    """Base of copies from the buffer `src` to the tensor of `desc`."""

    traits = traits_def(
        OperandEffects(reads=(("desc", GLOBAL), ("src", SHARED)), writes=(("desc", GLOBAL),)),
        VerifyTensorLayouts(),
        Starts(Kind.TENSOR_STORE, reads=("src",)),
    )


class AsyncTMACopyLocalToGlobalOp(_FromSharedOp):
    """Starts copying the buffer `src` to the block of `desc` at `coord`."""

    name = "ttng.async_tma_copy_local_to_global"

    desc = operand_def(TensorDescType)
    coord = var_operand_def(i32)
    src = operand_def(MemDescType)
    assembly_format = "$desc `[` $coord `]` $src attr-dict `:` type($desc) `,` type($src)"

    @from_fields
    def __init__(self, desc: SSAValue, coord: Sequence[SSAValue], src: SSAValue) -> None: ...


class AsyncTMAReduceOp(_FromSharedOp):
    """Starts combining the buffer `src` into the block of `desc` at `coord`, atomically, element by element."""

    name = "ttng.async_tma_reduce"
    traits = traits_def(OfAsyncProxy())

    kind = prop_def(DescriptorReduceKindAttr)
    desc = operand_def(TensorDescType)
    coord = var_operand_def(i32)
    src = operand_def(MemDescType)
    assembly_format = "$kind `,` $desc `[` $coord `]` $src attr-dict `:` type($desc) `,` type($src)"

    @from_fields
    def __init__(
        self, desc: SSAValue, coord: Sequence[SSAValue], src: SSAValue, *, kind: DescriptorReduceKind
    ) -> None: ...


class AsyncTMAGatherOp(Op):
    """Starts copying the rows `x_offsets` of `desc`, from column `y_offset` on, into `destination`."""

    name = "ttng.async_tma_gather"

    desc = operand_def(TensorDescType)
    x_offsets = operand_def(TensorType)
    y_offset = operand_def(i32)
    barrier = operand_def(MemDescType)
    destination = operand_def(MemDescType)
    pred = operand_def(i1)
    traits = traits_def(
        OperandEffects(reads=(("desc", GLOBAL),), writes=(("barrier", SHARED), ("destination", SHARED))),
        VerifyTensorLayouts(),
        UsesMbarrier(),
        EndsBeforeItsWait(),
        CopyInto(buffer="destination"),
        Starts(Kind.TENSOR_COPY, writes=("destination",), barrier="barrier"),
    )
    assembly_format = (
        "$desc `[` $x_offsets `,` $y_offset `]` $destination `,` $barrier `,` $pred attr-dict `:` type(operands)"
    )

    @from_fields
    def __init__(
        self,
        desc: SSAValue,
        x_offsets: SSAValue,
        y_offset: SSAValue,
        barrier: SSAValue,
        destination: SSAValue,
        pred: SSAValue,
    ) -> None: ...

    def verify_(self) -> None:
        verify_barrier_type(self, self.barrier.type)
        destination = self.destination.type
        if not isinstance(destination, MemDescType) or not destination.mutable:
            raise VerifyException(f"'{self.name}' op cannot store into immutable memory")


class AsyncTMAScatterOp(_FromSharedOp):
    """Starts copying the buffer `src` to the rows `x_offsets` of `desc`, from column `y_offset` on."""

    name = "ttng.async_tma_scatter"
    traits = traits_def(OfAsyncProxy())

    desc = operand_def(TensorDescType)
    x_offsets = operand_def(TensorType)
    y_offset = operand_def(i32)
    src = operand_def(MemDescType)
    assembly_format = "$desc `[` $x_offsets `,` $y_offset `]` $src attr-dict `:` type(operands)"

    @from_fields
    def __init__(self, desc: SSAValue, x_offsets: SSAValue, y_offset: SSAValue, src: SSAValue) -> None: ...


class TMAStoreWaitOp(Op):
    """Waits until at most `pendings` TMA stores still read their buffers."""

    name = "ttng.async_tma_store_wait"

    pendings = prop_def(IntegerAttr.constr(i32))
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(VerifyTensorLayouts(), WaitsForCopies(), Waits(Kind.TENSOR_STORE, left="pendings"))
    assembly_format = "attr-dict"

    @from_fields
    def __init__(self, *, pendings: int) -> None: ...


class ReinterpretTensorDescOp(Op):
    """A pointer to a descriptor's bytes, seen as a descriptor."""

    name = "ttng.reinterpret_tensor_descriptor"

    raw_desc = operand_def(PointerType)
    result = result_def(TensorDescType)
    traits = traits_def(Pure(), VerifyTensorLayouts())
    assembly_format = "$raw_desc attr-dict `:` type($raw_desc) `to` type($result)"

    @from_fields
    def __init__(self, raw_desc: SSAValue, result_type: Attribute) -> None: ...


class TensormapCreateOp(Op):
    """Writes a TMA descriptor at `desc_ptr`. Sizes and strides run fastest dimension first, strides in bytes."""

    name = "ttng.tensormap_create"

    desc_ptr = operand_def(PointerType)
    global_address = operand_def(PointerType)
    box_dim = var_operand_def(i32)
    global_dim = var_operand_def(i32)
    global_stride = var_operand_def(i64)
    element_stride = var_operand_def(i32)
    elem_type = prop_def(IntegerAttr.constr(i32))
    interleave_layout = prop_def(IntegerAttr.constr(i32))
    swizzle_mode = prop_def(IntegerAttr.constr(i32))
    fill_mode = prop_def(IntegerAttr.constr(i32))

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    custom_directives = (Signature,)
    assembly_format = (
        "$desc_ptr `,` $global_address `,` `[` $box_dim `]` `,` `[` $global_dim `]` `,` `[` $global_stride `]` "
        "`,` `[` $element_stride `]` attr-dict `:` custom<Signature>(type($desc_ptr), type($global_address))"
    )
    traits = traits_def(
        OperandEffects(reads=(("global_address", GLOBAL),), writes=(("desc_ptr", GLOBAL),)), VerifyTensorLayouts()
    )

    @from_fields
    def __init__(
        self,
        desc_ptr: SSAValue,
        global_address: SSAValue,
        box_dim: Sequence[SSAValue],
        global_dim: Sequence[SSAValue],
        global_stride: Sequence[SSAValue],
        element_stride: Sequence[SSAValue],
        *,
        elem_type: int,
        interleave_layout: int,
        swizzle_mode: int,
        fill_mode: int,
    ) -> None: ...

    def verify_(self) -> None:
        rank = len(self.box_dim)
        for what, have, want in (
            ("global dim", len(self.global_dim), rank),
            ("global stride", len(self.global_stride), rank - 1),
            ("element stride", len(self.element_stride), rank),
        ):
            if have != want:
                raise VerifyException(f"Rank mismatch for {what}. Got {have} but expected {want}")


class TensormapFenceproxyAcquireOp(Op):
    """Makes a descriptor written at `desc_ptr` visible to TMA."""

    name = "ttng.tensormap_fenceproxy_acquire"

    desc_ptr = operand_def(PointerType)
    traits = traits_def(OperandEffects(writes=(("desc_ptr", GLOBAL),)), VerifyTensorLayouts(), LoweringBarrier())
    assembly_format = "$desc_ptr attr-dict `:` type($desc_ptr)"

    @from_fields
    def __init__(self, desc_ptr: SSAValue) -> None: ...
